/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/command.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/slice.h"
#include "core/kind.h"
#include "core/lock.h"
#include "core/rules.h"
#include "protocol/resp.h"
#include "protocol/scripts.h"
#include "protocol/value.h"

#define STRINGIFY_VALUE(x) #x
#define STRINGIFY(x) STRINGIFY_VALUE(x)

#define TEXT(literal) ((struct rl_slice){(literal), sizeof(literal) - 1})
#define ADD_TEXT(command, literal) add((command), TEXT(literal))
#define ADD_BESIDE(command, NAME, key) add_beside((command), TEXT(RL_##NAME##_HEAD), (key))
#define SCRIPT_HEAD(out, NAME, key_count)                                                      \
    add_script((out), RL_SCRIPT_ID_##NAME, RL_SCRIPT(NAME), (key_count))

enum { KEY_LOCK = 1, KEY_FENCE = 2, KEY_QUEUE = 4, KEY_ALIVE = 8 };

/* ---- words ---- */

static void add(struct rl_command *command, struct rl_slice word)
{
    assert(command->argument_count < RL_ARGUMENTS_MAX);
    command->is_key[command->argument_count] = false;
    command->argument[command->argument_count++] = word;
}

static void mark_key(struct rl_command *command)
{
    command->is_key[command->argument_count - 1] = true;
}

static void add_key(struct rl_command *command, struct rl_slice key)
{
    add(command, key);
    mark_key(command);
}

/* What was written from the end of the command's own text up to `end` is its next word. */
static void add_written(struct rl_command *command, const char *end)
{
    char *start = command->text + command->text_size;

    command->text_size = (size_t)(end - command->text);
    add(command, (struct rl_slice){start, (size_t)(end - start)});
}

static void add_number(struct rl_command *command, int64_t number)
{
    char *at = command->text + command->text_size;

    add_written(command, rl_number_write((uint64_t)number, at));
}

/*
 * Beside the lock redlock:NAME stand redlock.fence:NAME and so on; beside any other KEY, of
 * another prefix, redlock.fence@KEY. Two locks never share what stands beside them.
 */
static void add_beside(struct rl_command *command, struct rl_slice head, struct rl_slice key)
{
    bool is_usual = rl_slice_starts(key, RL_USUAL_PREFIX);
    size_t skipped = is_usual ? sizeof RL_USUAL_PREFIX - 1 : 0;
    char *at = rl_slice_append(command->text + command->text_size, head);

    *at++ = is_usual ? ':' : '@';
    at = rl_slice_append(at, (struct rl_slice){key.data + skipped, key.size - skipped});
    add_written(command, at);
    mark_key(command);
}

/* Those keys of every name, the lock's own first. */
static void add_keys(struct rl_command *command, const struct rl_request *request,
                     unsigned keys)
{
    const char *at = request->keys.data;
    const char *end = at + request->keys.size;

    for (uint8_t i = 0; i < request->name_count; i++) {
        const char *stop =
            request->name_count > 1 ? memchr(at, RL_KEY_SEPARATOR, (size_t)(end - at)) : NULL;
        struct rl_slice key = {at, (size_t)((stop ? stop : end) - at)};

        add_key(command, key);
        if (keys & KEY_FENCE)
            ADD_BESIDE(command, FENCE, key);
        if (keys & KEY_QUEUE)
            ADD_BESIDE(command, QUEUE, key);
        if (keys & KEY_ALIVE)
            ADD_BESIDE(command, ALIVE, key);
        at = key.data + key.size + 1;
    }
}

/* A script that this connection has not used before goes with its text, and the
 * server keeps it. */
static void add_script(struct rl_command *out, enum rl_script script,
                       struct rl_script_text words, unsigned key_count)
{
    bool is_known = out->abilities->known_scripts & 1u << script;

    out->script = 1u << script;
    add(out, is_known ? TEXT("EVALSHA") : TEXT("EVAL"));
    add(out, is_known ? words.sha1 : words.text);
    add_number(out, key_count);
}

/*
 * As the queue knows the waiter. The letter separates readers from exclusive waiters; the
 * client's id is its channel. The label is for people who look at the queue: a wake-up goes by
 * the first word alone. Empty: the queue is not looked at.
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
    at = rl_number_write(request->waiter, at);
    if (label.size) {
        *at++ = ' ';
        at = rl_slice_append(at, label);
    }
    add_written(command, at);
}

/*
 * In which life of the server a counter is written; empty: unknown, or no token is requested.
 * It is in doubt where the node may not vote yet, or its standing is unknown: a counter that
 * begins in quarantine begins too early, because clocks may differ by as much as the guard
 * time, and is begun anew by the first client that knows better. apart: the doubt is a word of
 * its own, and left out where there is none, for the scripts of a plain mutex: every word costs
 * the server.
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
        /* An old master that wins back without being demoted must not count on (E11). */
        at = rl_slice_append(at, (struct rl_slice){request->term, strcspn(request->term, "@")});
    }
    if (!apart && request->fenced && request->in_doubt)
        *at++ = '?';
    add_written(command, at);
    if (apart && request->in_doubt)
        ADD_TEXT(command, "?");
}

/* ---- taking ---- */

/*
 * Under strict rules the plain acquire stays as cheap as it is: one attestation behind a batch
 * of them checks what the scripts that take a lock check each time.
 */
static void plain_command(const struct rl_request *request, struct rl_command *out)
{
    out->needs_attestation = request->needs_marker;
    if (request->as_waiter) {
        SCRIPT_HEAD(out, WAIT, request->fenced ? 4 : 3);
        add_key(out, request->keys);
        ADD_BESIDE(out, QUEUE, request->keys);
        ADD_BESIDE(out, ALIVE, request->keys);
        if (request->fenced)
            ADD_BESIDE(out, FENCE, request->keys);
        add(out, request->value);
        add_number(out, request->ttl_ms);
        add_waiter(out, request);
        add_number(out, request->ticket);
        ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
        if (request->fenced)
            add_incarnation(out, request, true);
    } else if (request->fenced) {
        SCRIPT_HEAD(out, ACQUIRE, request->needs_marker ? 3 : 2);
        add_key(out, request->keys);
        ADD_BESIDE(out, FENCE, request->keys);
        if (request->needs_marker)
            add_key(out, TEXT(RL_MARKER_KEY));
        add(out, request->value);
        add_number(out, request->ttl_ms);
        add_incarnation(out, request, true);
    } else {
        /* Creates the key or does nothing: the acquire of the specification. */
        ADD_TEXT(out, "SET");
        add_key(out, request->keys);
        add(out, request->value);
        ADD_TEXT(out, "NX");
        ADD_TEXT(out, "PX");
        add_number(out, request->ttl_ms);
    }
}

static void acquire_command(const struct rl_request *request, struct rl_command *out)
{
    const struct rl_kind *kind = &rl_kinds[request->kind];
    unsigned key_count = 4u * request->name_count + 1;
    bool repairs = request->op == RL_OP_REPAIR; /* which looks first */

    if (request->is_plain && !repairs && !(request->as_waiter && request->needs_marker)) {
        plain_command(request, out);
        return;
    }
    switch (request->kind) {
#define CASE(name, key_type, waiter, exclusive, single, has_owner, has_slots, script)          \
    case REDLOCK_##name:                                                                       \
        SCRIPT_HEAD(out, script, key_count);                                                   \
        break;
        RL_KINDS(CASE)
#undef CASE
    }
    add_keys(out, request, KEY_LOCK | KEY_FENCE | KEY_QUEUE | KEY_ALIVE);
    add_key(out, TEXT(RL_MARKER_KEY));
    add(out, request->value);
    add_number(out, request->ttl_ms);
    add_waiter(out, request);
    add_number(out, request->ticket);
    add(out, repairs ? TEXT("repair") : TEXT(STRINGIFY(RL_WAITER_TTL_MS)));
    add(out, request->fenced && !repairs ? TEXT(RL_FENCE_LIFE_MS) : TEXT("0"));
    add(out, request->needs_marker ? TEXT("1") : TEXT("0"));
    add_incarnation(out, request, false);
    if (kind->has_owner)
        add(out, request->owner);
    if (kind->has_slots) {
        add_number(out, request->slots);
        add_number(out, request->slot);
    }
}

static void extend_command(const struct rl_request *request, struct rl_command *out)
{
    if (!request->is_plain && RL_RULE(EXTEND_COMPARES)) {
        SCRIPT_HEAD(out, RENEW, request->name_count);
        add_keys(out, request, KEY_LOCK);
    } else if ((out->abilities->set_ifeq && !request->may_shorten) ||
               !RL_RULE(EXTEND_COMPARES)) {
        /* It replaces the expiry, so it serves only where it cannot shorten a life (A7). */
        ADD_TEXT(out, "SET");
        add_key(out, request->keys);
        add(out, request->value);
        if (RL_RULE(EXTEND_COMPARES)) {
            ADD_TEXT(out, "IFEQ");
            add(out, request->value);
        }
        ADD_TEXT(out, "PX");
        add_number(out, request->ttl_ms);
        return;
    } else {
        SCRIPT_HEAD(out, EXTEND, 1);
        add_key(out, request->keys);
    }
    add(out, request->value);
    add_number(out, request->ttl_ms);
}

/* ---- giving back ---- */

bool rl_command_deletes_natively(const struct rl_request *request,
                                 const struct rl_abilities *abilities)
{
    return abilities->delete_style != RL_DELETE_SCRIPT && request->is_plain &&
           !request->contended;
}

/* Deletes the key if it has this value, and wakes the head of the queue; '' only wakes. */
static void release_command(const struct rl_request *request, struct rl_slice value,
                            struct rl_command *out)
{
    SCRIPT_HEAD(out, RELEASE, 3);
    add_key(out, request->keys);
    ADD_BESIDE(out, QUEUE, request->keys);
    ADD_BESIDE(out, ALIVE, request->keys);
    add(out, value);
    add(out, request->contended ? TEXT("1") : TEXT("0"));
}

static void delete_command(const struct rl_request *request, struct rl_command *out)
{
    if (!RL_RULE(RELEASE_COMPARES)) {
        ADD_TEXT(out, "DEL");
        add_keys(out, request, KEY_LOCK);
    } else if (!request->is_plain || request->as_waiter) {
        /* Everything that a compare-and-delete of one key cannot do. */
        SCRIPT_HEAD(out, GIVEBACK, 3u * request->name_count);
        add_keys(out, request, KEY_LOCK | KEY_QUEUE | KEY_ALIVE);
        add(out, request->value);
        add_waiter(out, request);
        /* A rollback gets our place back, which a grant has taken (served.lua). */
        add_number(out, request->op == RL_OP_QUIT ? 0 : request->ticket);
        ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
    } else if (!rl_command_deletes_natively(request, out->abilities)) {
        release_command(request, request->value, out);
    } else if (out->abilities->delete_style == RL_DELETE_DELIFEQ) {
        ADD_TEXT(out, "DELIFEQ");
        add_key(out, request->keys);
        add(out, request->value);
    } else {
        /* Never without its condition: a bare DELEX deletes whatever is there. */
        ADD_TEXT(out, "DELEX");
        add_key(out, request->keys);
        ADD_TEXT(out, "IFEQ");
        add(out, request->value);
    }
}

/* ---- requests ---- */

static void question_command(const struct rl_request *request, struct rl_command *out)
{
    switch (request->op) {
    case RL_OP_ADMIT:
        SCRIPT_HEAD(out, VOUCH, 1);
        add_key(out, TEXT(RL_MARKER_KEY));
        add(out, rl_slice_of(request->admitted));
        add_number(out, request->ttl_ms);
        add(out, request->set);
        add(out, request->set_so_far);
        if (request->electors.size)
            add(out, request->electors);
        return;
    case RL_OP_INQUIRE:
        /* Less than a look: what a refused client wants to know. */
        SCRIPT_HEAD(out, PEEK, 2);
        add_keys(out, request, KEY_LOCK | KEY_QUEUE);
        return;
    case RL_OP_BREAK:
        SCRIPT_HEAD(out, BREAK, 3);
        add_keys(out, request, KEY_LOCK | KEY_QUEUE | KEY_ALIVE);
        add(out, request->fingerprint);
        add_number(out, request->ttl_ms);
        if (request->tag.size)
            add(out, request->tag);
        return;
    case RL_OP_LOOK:
        SCRIPT_HEAD(out, LOOK, 4);
        add_keys(out, request, KEY_LOCK | KEY_FENCE | KEY_QUEUE | KEY_ALIVE);
        return;
    case RL_OP_LIST:
        SCRIPT_HEAD(out, LIST, 1);
        add_key(out, TEXT(RL_MARKER_KEY));
        add(out, request->cursor);
        add_key(out, request->pattern);
        if (request->bad_counters)
            ADD_TEXT(out, "bad");
        return;
    case RL_OP_WAITERS:
        ADD_TEXT(out, "EXISTS");
        ADD_BESIDE(out, QUEUE, request->keys);
        return;
    case RL_OP_FORGET:
        ADD_TEXT(out, "DEL");
        ADD_BESIDE(out, FENCE, request->keys);
        return;
    case RL_OP_REPLICATE:
        /* A server that is no group's is not waited for: it has no replica to count on. */
        ADD_TEXT(out, "WAIT");
        add_number(out, request->term[0] ? 1 : 0);
        add_number(out, request->term[0] ? request->ttl_ms : 1);
        return;
    case RL_OP_PING:
        ADD_TEXT(out, "PING");
        return;
    default:
        assert(!"an op that is no request");
    }
}

static void begin(struct rl_command *out, const struct rl_abilities *abilities)
{
    out->abilities = abilities;
    out->argument_count = 0;
    out->tag = TEXT("");
    out->text_size = 0;
    out->script = 0;
    out->needs_attestation = false;
}

void rl_command_write_attestation(const struct rl_abilities *abilities, struct rl_command *out)
{
    begin(out, abilities);
    SCRIPT_HEAD(out, ATTESTATION, 1);
    add_key(out, TEXT(RL_MARKER_KEY));
}

/* ---- each of them ---- */

void rl_command_write(const struct rl_request *request, const struct rl_abilities *abilities,
                      struct rl_command *out)
{
    begin(out, abilities);
    switch (request->op) {
    case RL_OP_ACQUIRE:
    case RL_OP_ACQUIRE_AGAIN:
    case RL_OP_REPAIR:
        acquire_command(request, out);
        return;
    case RL_OP_ALIGN:
        SCRIPT_HEAD(out, ALIGN, 2u * request->name_count);
        add_keys(out, request, KEY_LOCK | KEY_FENCE);
        add(out, request->value);
        add_number(out, request->token);
        ADD_TEXT(out, RL_FENCE_LIFE_MS);
        add_incarnation(out, request, false);
        return;
    case RL_OP_EXTEND:
        extend_command(request, out);
        return;
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
        delete_command(request, out);
        return;
    case RL_OP_WAKE:
        release_command(request, TEXT(""), out);
        return;
    case RL_OP_LEAVE:
        SCRIPT_HEAD(out, LEAVE, 3u * request->name_count);
        add_keys(out, request, KEY_LOCK | KEY_QUEUE | KEY_ALIVE);
        add_waiter(out, request);
        return;
    case RL_OP_TICKET:
        SCRIPT_HEAD(out, TICKET, 2u * request->name_count);
        add_keys(out, request, KEY_LOCK | KEY_ALIVE);
        return;
    case RL_OP_WAITERS:
    case RL_OP_INQUIRE:
    case RL_OP_LOOK:
    case RL_OP_BREAK:
    case RL_OP_LIST:
    case RL_OP_FORGET:
    case RL_OP_ADMIT:
    case RL_OP_REPLICATE:
    case RL_OP_PING:
        question_command(request, out);
        return;
    }
}
