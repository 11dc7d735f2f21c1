/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/command_scripts.h"

#include <assert.h>
#include <string.h>

#include "core/kind.h"
#include "core/lock.h"
#include "protocol/resp.h"
#include "protocol/value.h"
#include "rl_scripts.h"

#define STRINGIFY_VALUE(x) #x
#define STRINGIFY(x) STRINGIFY_VALUE(x)

/*
 * As the queue knows the waiter. The letter tells readers from exclusive waiters; the client's id is
 * its channel. The label is for people who look at the queue: a wake-up goes by the first word
 * alone. Empty: the queue is not looked at.
 */
static void add_waiter(struct rl_command *command, const struct rl_request *request)
{
    struct rl_slice label = rl_label_of(request->value);
    char *at = command->text + command->text_size;

    if (!request->as_waiter) {
        ADD_TEXT(command, "");
        return;
    }
    *at++ = rl_kinds[request->kind].waiter;
    at = rl_slice_append(at, (struct rl_slice){request->client_id, RL_CLIENT_ID_SIZE});
    *at++ = '.';
    at = rl_resp_decimal(request->waiter, at);
    if (label.size) {
        *at++ = ' ';
        at = rl_slice_append(at, label);
    }
    rl_add_written(command, at);
}

/*
 * In which life of the server a counter is written; empty: unknown, or no token is asked for. It is in
 * doubt where the node may not vote yet, or its standing is unknown: a counter that begins in
 * quarantine begins too early, because clocks may differ by as much as the guard time, and is begun
 * anew by the first client that knows better. apart: the doubt is a word of its own, and left out
 * where there is none, for the scripts of a plain mutex: every word costs the server.
 */
static void add_incarnation(struct rl_command *command, const struct rl_request *request,
                            bool apart)
{
    /* A master that was demoted and promoted again has its run_id still, but an old memory. */
    const char *replid = request->fenced ? strchr(request->identity, ':') : NULL;
    char *at = command->text + command->text_size;

    if (replid && strlen(replid) > RL_INCARNATION_PART) {
        at = rl_slice_append(at, (struct rl_slice){request->identity, RL_INCARNATION_PART});
        at = rl_slice_append(at, (struct rl_slice){replid + 1, RL_INCARNATION_PART});
    }
    if (!apart && request->fenced && request->in_doubt)
        *at++ = '?';
    rl_add_written(command, at);
    if (apart && request->in_doubt)
        ADD_TEXT(command, "?");
}

/* ---- taking ---- */

/* The fencing script of a plain mutex that does not wait. */
static void fenced_command(const struct rl_request *request,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, ACQUIRE, request->needs_marker ? 3 : 2);
    rl_add(out, request->keys);
    ADD_BESIDE(out, FENCE, request->keys);
    if (request->needs_marker)
        ADD_TEXT(out, RL_MARKER_KEY);
    rl_add(out, request->value);
    rl_add_number(out, request->ttl_ms);
    add_incarnation(out, request, true);
}

/* A plain mutex from the queue. */
static void wait_command(const struct rl_request *request, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, WAIT, request->fenced ? 4 : 3);
    rl_add(out, request->keys);
    ADD_BESIDE(out, QUEUE, request->keys);
    ADD_BESIDE(out, ALIVE, request->keys);
    if (request->fenced)
        ADD_BESIDE(out, FENCE, request->keys);
    rl_add(out, request->value);
    rl_add_number(out, request->ttl_ms);
    add_waiter(out, request);
    rl_add_number(out, request->ticket);
    ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
    if (request->fenced)
        add_incarnation(out, request, true);
}

/* The script that takes a lock of this kind. */
static void take_head(const struct rl_request *request, const struct rl_abilities *abilities,
                      struct rl_command *out)
{
    unsigned key_count = 4u * request->name_count + 1;

    switch (request->kind) {
#define CASE(name, key_type, waiter, exclusive, single, has_owner, has_slots, script)          \
    case REDLOCK_##name:                                                                       \
        SCRIPT_HEAD(out, abilities, script, key_count);                                        \
        return;
        RL_KINDS(CASE)
#undef CASE
    }
}

/* waiter: '' ignores the queue. */
static void take_command(const struct rl_request *request, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    const struct rl_kind *kind = &rl_kinds[request->kind];
    bool healing = request->op == RL_OP_HEAL;

    take_head(request, abilities, out);
    rl_add_keys(out, request, KEY_LOCK | KEY_FENCE | KEY_QUEUE | KEY_ALIVE);
    ADD_TEXT(out, RL_MARKER_KEY);
    rl_add(out, request->value);
    rl_add_number(out, request->ttl_ms);
    add_waiter(out, request);
    rl_add_number(out, request->ticket);
    rl_add(out, healing ? TEXT("heal") : TEXT(STRINGIFY(RL_WAITER_TTL_MS)));
    rl_add(out, request->fenced && !healing ? TEXT(RL_FENCE_LIFE_MS) : TEXT("0"));
    rl_add(out, request->needs_marker ? TEXT("1") : TEXT("0"));
    add_incarnation(out, request, false);
    if (kind->has_owner)
        rl_add(out, request->owner);
    if (kind->has_slots) {
        rl_add_number(out, request->slots);
        rl_add_number(out, request->slot);
    }
}

/*
 * Under strict rules the plain acquire stays as cheap as it is: one witness behind a batch of
 * them asks what the scripts that take a lock ask each time.
 */
void rl_take_command(const struct rl_request *request, const struct rl_abilities *abilities,
                     struct rl_command *out)
{
    if (!request->is_plain || request->op == RL_OP_HEAL ||
        (request->as_waiter && request->needs_marker)) {
        take_command(request, abilities, out);
        return;
    }
    out->needs_witness = request->needs_marker;
    if (request->as_waiter)
        wait_command(request, abilities, out);
    else
        fenced_command(request, abilities, out);
}

static void align_command(const struct rl_request *request,
                          const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, ALIGN, 2u * request->name_count);
    rl_add_keys(out, request, KEY_LOCK | KEY_FENCE);
    rl_add(out, request->value);
    rl_add_number(out, request->token);
    ADD_TEXT(out, RL_FENCE_LIFE_MS);
    add_incarnation(out, request, false);
}

/* ---- giving back ---- */

/* Everything about giving back that a compare-and-delete of one key cannot do. */
void rl_delete_script_command(const struct rl_request *request,
                              const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, GIVEBACK, 3u * request->name_count);
    rl_add_keys(out, request, KEY_LOCK | KEY_QUEUE | KEY_ALIVE);
    rl_add(out, request->value);
    add_waiter(out, request);
    /* A rollback gets our place back, which a grant has taken (served.lua). */
    rl_add_number(out, request->op == RL_OP_QUIT ? 0 : request->ticket);
    ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
}

/* ---- questions ---- */

static void list_command(const struct rl_request *request, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, LIST, 0);
    rl_add(out, request->cursor);
    rl_add(out, request->pattern);
    if (request->bad_counters)
        ADD_TEXT(out, "bad");
}

static void admit_command(const struct rl_request *request,
                          const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, VOUCH, 1);
    ADD_TEXT(out, RL_MARKER_KEY);
    rl_add(out, (struct rl_slice){request->identity, strlen(request->identity)});
    rl_add_number(out, request->ttl_ms);
    rl_add(out, request->set);
    rl_add(out, request->set_so_far);
}

void rl_command_write_witness(const struct rl_abilities *abilities, struct rl_command *out)
{
    out->argument_count = 0;
    out->text_size = 0;
    SCRIPT_HEAD(out, abilities, WITNESS, 1);
    ADD_TEXT(out, RL_MARKER_KEY);
}

void rl_script_command(const struct rl_request *request, const struct rl_abilities *abilities,
                       struct rl_command *out)
{
    switch (request->op) {
    case RL_OP_ALIGN:
        align_command(request, abilities, out);
        return;
    case RL_OP_ADMIT:
        admit_command(request, abilities, out);
        return;
    case RL_OP_LEAVE:
        SCRIPT_HEAD(out, abilities, LEAVE, 3u * request->name_count);
        rl_add_keys(out, request, KEY_LOCK | KEY_QUEUE | KEY_ALIVE);
        add_waiter(out, request);
        return;
    case RL_OP_TICKET:
        SCRIPT_HEAD(out, abilities, TICKET, 2u * request->name_count);
        rl_add_keys(out, request, KEY_LOCK | KEY_ALIVE);
        return;
    case RL_OP_INQUIRE:
        /* Less than a look: what a refused client wants to know. */
        SCRIPT_HEAD(out, abilities, PEEK, 2);
        rl_add_keys(out, request, KEY_LOCK | KEY_QUEUE);
        return;
    case RL_OP_BREAK:
        SCRIPT_HEAD(out, abilities, BREAK, 3);
        rl_add_keys(out, request, KEY_LOCK | KEY_QUEUE | KEY_ALIVE);
        rl_add(out, request->fingerprint);
        rl_add_number(out, request->ttl_ms);
        if (request->tag.size)
            rl_add(out, request->tag);
        return;
    case RL_OP_LOOK:
        SCRIPT_HEAD(out, abilities, LOOK, 4);
        rl_add_keys(out, request, KEY_LOCK | KEY_FENCE | KEY_QUEUE | KEY_ALIVE);
        return;
    case RL_OP_LIST:
        list_command(request, abilities, out);
        return;
    default:
        assert(!"an op that is no script");
    }
}
