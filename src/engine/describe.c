/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/describe.h"

#include <string.h>

#include "core/kind.h"
#include "engine/engine.h"

/* An argument that is there, and empty. */
#define NOTHING                                                                                \
    {                                                                                          \
        "", 0                                                                                  \
    }

enum beside { BESIDE_FENCE = 1, BESIDE_QUEUE = 2, BESIDE_ALIVE = 4 };

struct rl_slice rl_write_decimal(int64_t number, char *out)
{
    return (struct rl_slice){out, (size_t)(rl_resp_decimal((uint64_t)number, out) - out)};
}

/* How long the key should live from now on. */
static int64_t ttl_of_ns(const struct rl_lock *lock, enum rl_op op, int64_t now_ns)
{
    switch (op) {
    case RL_OP_EXTEND:
        return rl_extension_ttl_ns(lock);
    case RL_OP_HEAL:
        /* What is left of the extension that was just won (A8). */
        return lock->round_start_ns + rl_extension_ttl_ns(lock) - now_ns;
    default:
        return rl_ttl_ns(lock);
    }
}

/* Which keys beside the lock itself does the step need? */
static unsigned beside_of(const struct rl_subject *subject, enum rl_op op)
{
    bool simple = rl_recipe_is_plain(subject) && subject->waiter.size == 0;

    switch (op) {
    case RL_OP_ACQUIRE:
    case RL_OP_AGAIN:
    case RL_OP_HEAL:
        if (simple)
            return subject->fenced && op != RL_OP_HEAL ? BESIDE_FENCE : 0;
        return BESIDE_FENCE | BESIDE_QUEUE | BESIDE_ALIVE;
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
    case RL_OP_LEAVE:
    case RL_OP_WAKE:
        return BESIDE_QUEUE | BESIDE_ALIVE;
    case RL_OP_TICKET:
        return BESIDE_ALIVE;
    case RL_OP_WAITERS:
        return BESIDE_QUEUE;
    case RL_OP_ALIGN:
    case RL_OP_FORGET:
        return BESIDE_FENCE;
    case RL_OP_LOOK:
        return BESIDE_FENCE | BESIDE_QUEUE | BESIDE_ALIVE;
    default:
        return 0;
    }
}

/*
 * Beside the lock redlock:NAME stand redlock.fence:NAME and so on; beside any other KEY, of
 * another prefix, redlock.fence@KEY. Two locks never share what stands beside them.
 */
static char *write_beside(char *at, const char *head, size_t head_size, struct rl_slice key,
                          struct rl_slice *out)
{
    const size_t usual_size = sizeof RL_USUAL_PREFIX - 1;
    bool is_usual = rl_slice_starts(key, RL_USUAL_PREFIX);
    size_t skipped = is_usual ? usual_size : 0;

    out->data = at;
    memcpy(at, head, head_size);
    at += head_size;
    *at++ = is_usual ? ':' : '@';
    memcpy(at, key.data + skipped, key.size - skipped);
    at += key.size - skipped;
    out->size = (size_t)(at - out->data);
    return at;
}

#define WRITE_BESIDE(at, HEAD, key, out)                                                       \
    write_beside((at), (HEAD), sizeof(HEAD) - 1, (key), (out))

static void write_keys(const struct rl_claim *claim, unsigned beside,
                       struct rl_description *out)
{
    const char *key = claim->text;
    const char *end = key + claim->key_size;
    char *at = out->beside;

    for (uint8_t i = 0; i < claim->name_count; i++) {
        struct rl_name_keys *keys = &out->name[i];
        const char *stop =
            claim->name_count > 1 ? memchr(key, RL_KEY_SEPARATOR, (size_t)(end - key)) : NULL;

        keys->lock = (struct rl_slice){key, (size_t)((stop ? stop : end) - key)};
        if (beside & BESIDE_FENCE)
            at = WRITE_BESIDE(at, RL_FENCE_HEAD, keys->lock, &keys->fence);
        if (beside & BESIDE_QUEUE)
            at = WRITE_BESIDE(at, RL_QUEUE_HEAD, keys->lock, &keys->queue);
        if (beside & BESIDE_ALIVE)
            at = WRITE_BESIDE(at, RL_ALIVE_HEAD, keys->lock, &keys->alive);
        key = keys->lock.data + keys->lock.size + 1;
    }
}

/* The letter tells readers from those who want it alone; the client's id is its channel. */
static struct rl_slice write_waiter(const struct rl_engine *engine, enum redlock_kind kind,
                                    uint64_t waiter, char *out)
{
    char *at = out;

    *at++ = rl_kind(kind)->waiter;
    memcpy(at, engine->id, RL_CLIENT_ID_SIZE);
    at += RL_CLIENT_ID_SIZE;
    *at++ = '.';
    at = rl_resp_decimal(waiter, at);
    return (struct rl_slice){out, (size_t)(at - out)};
}

static void describe_acquire(const struct rl_engine *engine, const struct rl_handle *handle,
                             struct rl_description *out)
{
    const struct rl_lock *lock = &handle->lock;
    const struct rl_seeker *seeker = rl_seeker_of(handle);
    struct rl_subject *subject = &out->subject;

    /*
     * Only a first attempt may overtake: one that reaches few nodes would do so for ever. Behind
     * our own release nobody need ask the queue: what the release says of it decides.
     */
    if (!handle->claim->follows &&
        (lock->terms.fair || lock->polite ||
         (seeker &&
          (lock->pursuit->ticket || (seeker->line && lock->pursuit->attempt_count > 1)))))
        subject->waiter =
            write_waiter(engine, subject->kind, seeker ? seeker->waiter : handle->claim->waiter,
                         out->waiter);
    if (seeker)
        subject->ticket = rl_write_decimal(lock->pursuit->ticket, out->ticket);
    subject->group = rl_claim_owner(handle->claim);
    if (rl_kind(lock->terms.kind)->has_slots) {
        subject->group = rl_write_decimal(lock->terms.slots, out->slots);
        subject->slot = rl_write_decimal(lock->slot, out->slot);
    }
}

void rl_describe(const struct rl_engine *engine, const struct rl_claim *claim,
                 const struct rl_handle *handle, enum rl_op op, int64_t now_ns,
                 struct rl_description *out)
{
    struct rl_subject *subject = &out->subject;

    *subject = (struct rl_subject){
        .name_count = claim->name_count,
        .name = out->name,
        .kind = (enum redlock_kind)claim->kind,
        .kind_unknown = claim->kind_unknown,
        .value = rl_claim_value(claim),
        .contended = claim->contended,
        .group = NOTHING,
        .slot = NOTHING,
        .ticket = {"0", 1},
        .waiter = NOTHING,
        .incarnation = NOTHING,
    };
    if (op == RL_OP_ROLLBACK || op == RL_OP_QUIT || op == RL_OP_LEAVE) {
        if (claim->waiter)
            subject->waiter = write_waiter(engine, subject->kind, claim->waiter, out->waiter);
        subject->ticket = rl_write_decimal(claim->ticket, out->ticket);
    } else if (handle) {
        int64_t ttl_ns = ttl_of_ns(&handle->lock, op, now_ns);

        /* Never zero, which would be an error: at the very end it is a key for a millisecond. */
        subject->ttl_ms =
            rl_write_decimal(ttl_ns < RL_NS_PER_MS ? 1 : ttl_ns / RL_NS_PER_MS, out->ttl_ms);
        subject->may_shorten =
            op == RL_OP_EXTEND && handle->lock.extension_ttl_ms < handle->lock.longest_ttl_ms;
        subject->fenced = handle->lock.terms.fenced;
        subject->marked = engine->strict;
        if (op == RL_OP_ALIGN)
            subject->token = rl_write_decimal(handle->lock.token, out->token);
        if (op == RL_OP_ACQUIRE || op == RL_OP_AGAIN || op == RL_OP_HEAL)
            describe_acquire(engine, handle, out);
    }
    write_keys(claim, beside_of(subject, op), out);
}

/*
 * Which life of the server a counter is written in, and "?" if it may not vote yet, or nobody
 * knows: a counter that begins in quarantine begins too early, because clocks may differ by as
 * much as the guard time, and is begun anew by the first who knows better.
 */
static struct rl_slice write_incarnation(struct rl_guard *guard, int64_t now_ns, char *out)
{
    const char *replid = strchr(guard->identity, ':');
    size_t size = 0;

    /* A master that was demoted and promoted again has its run_id still, but an old memory. */
    if (replid && strlen(replid) > RL_INCARNATION_PART) {
        memcpy(out, guard->identity, RL_INCARNATION_PART);
        memcpy(out + RL_INCARNATION_PART, replid + 1, RL_INCARNATION_PART);
        size = RL_INCARNATION_SIZE;
    }
    if (!rl_guard_may_vote(guard, now_ns))
        out[size++] = '?';
    return (struct rl_slice){out, size};
}

void rl_describe_node(struct rl_engine *engine, const struct rl_handle *handle, uint8_t node,
                      int64_t now_ns, struct rl_description *out)
{
    struct rl_subject *subject = &out->subject;
    const struct rl_survey *survey = handle ? rl_survey_of(handle) : NULL;

    if (subject->fenced)
        subject->incarnation =
            write_incarnation(&engine->node[node].session.guard, now_ns, out->incarnation);
    if (survey) {
        subject->cursor = survey->cursor[node];
        subject->pattern = survey->pattern;
        subject->bad_counters = survey->bad_counters;
    }
}
