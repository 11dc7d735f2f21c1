/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/command.h"

#include <assert.h>
#include <string.h>

#include "core/kind.h"
#include "core/lock.h"
#include "core/rules.h"
#include "rl_scripts.h"

#define STRINGIFY_VALUE(x) #x
#define STRINGIFY(x) STRINGIFY_VALUE(x)

#define TEXT(literal) ((struct rl_slice){(literal), sizeof(literal) - 1})
#define ADD_TEXT(command, literal) add((command), TEXT(literal))

/* ---- one command: arguments, scripts ---- */

static void add(struct rl_command *command, struct rl_slice argument)
{
    assert(command->argument_count < RL_ARGUMENTS_MAX);
    command->argument[command->argument_count++] = argument;
}

enum keys { LOCK = 1, FENCE = 2, QUEUE = 4, ALIVE = 8 };

/* Those keys of every name, for a script. */
static void add_keys(struct rl_command *command, const struct rl_words *words, unsigned keys)
{
    for (uint8_t i = 0; i < words->request->name_count; i++) {
        add(command, words->name[i].lock);
        if (keys & FENCE)
            add(command, words->name[i].fence);
        if (keys & QUEUE)
            add(command, words->name[i].queue);
        if (keys & ALIVE)
            add(command, words->name[i].alive);
    }
}

/* A script that this connection has not used before goes with its text, and the server keeps it. */
static void script_head(struct rl_command *out, const struct rl_abilities *abilities,
                        enum rl_script script, struct rl_slice text, struct rl_slice sha1,
                        unsigned key_count)
{
    static const char digits[] =
        "00010203040506070809101112131415161718192021222324252627282930"
        "3132333435363738394041424344454647484950515253545556575859"
        "60616263646566";
    const char *count = digits + (size_t)2 * key_count;

    out->script = 1u << script;
    if (abilities->script_by_text || !(abilities->known_scripts & out->script)) {
        ADD_TEXT(out, "EVAL");
        add(out, text);
    } else {
        ADD_TEXT(out, "EVALSHA");
        add(out, sha1);
    }
    add(out, key_count < 10 ? (struct rl_slice){count + 1, 1} : (struct rl_slice){count, 2});
}

#define SCRIPT_HEAD(out, abilities, NAME, key_count)                                           \
    script_head((out), (abilities), RL_SCRIPT_ID_##NAME, TEXT(RL_SCRIPT_##NAME),               \
                TEXT(RL_SCRIPT_##NAME##_SHA1), (key_count))

/* In which life of the server a counter is written; empty: unknown, or no token is asked for. */
static struct rl_slice write_incarnation(const struct rl_request *request, char *out)
{
    const char *replid = request->fenced ? strchr(request->identity, ':') : NULL;

    /* A master that was demoted and promoted again has its run_id still, but an old memory. */
    if (!replid || strlen(replid) <= RL_INCARNATION_PART)
        return (struct rl_slice){out, 0};
    memcpy(out, request->identity, RL_INCARNATION_PART);
    memcpy(out + RL_INCARNATION_PART, replid + 1, RL_INCARNATION_PART);
    return (struct rl_slice){out, RL_INCARNATION_SIZE};
}

/*
 * With "?" behind it where the node may not vote yet, or its standing is unknown: a counter that
 * begins in quarantine begins too early, because clocks may differ by as much as the guard time,
 * and is begun anew by the first client that knows better.
 */
static void add_incarnation(const struct rl_request *request, struct rl_command *out)
{
    struct rl_slice incarnation = write_incarnation(request, out->incarnation);

    if (request->fenced && request->in_doubt)
        out->incarnation[incarnation.size++] = '?';
    add(out, incarnation);
}

/* ---- taking ---- */

/* Creates the key or does nothing: the acquire of the specification, and healing. */
static void set_command(const struct rl_words *words, struct rl_command *out)
{
    ADD_TEXT(out, "SET");
    add(out, words->name[0].lock);
    add(out, words->request->value);
    ADD_TEXT(out, "NX");
    ADD_TEXT(out, "PX");
    add(out, words->ttl_ms);
}

/* The same in two words, for the scripts of a plain mutex. */
static void add_incarnation_apart(const struct rl_request *request, struct rl_command *out)
{
    add(out, write_incarnation(request, out->incarnation));
    /* Every word costs the server, so the usual ones are left out. */
    if (request->in_doubt)
        ADD_TEXT(out, "?");
}

/* The fencing script of a plain mutex that does not wait. */
static void fenced_command(const struct rl_words *words, const struct rl_abilities *abilities,
                           struct rl_command *out)
{
    const struct rl_request *request = words->request;

    SCRIPT_HEAD(out, abilities, ACQUIRE, request->needs_marker ? 3 : 2);
    add(out, words->name[0].lock);
    add(out, words->name[0].fence);
    if (request->needs_marker)
        ADD_TEXT(out, RL_MARKER_KEY);
    add(out, request->value);
    add(out, words->ttl_ms);
    add_incarnation_apart(request, out);
}

/* A plain mutex from the queue. */
static void wait_command(const struct rl_words *words, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    const struct rl_request *request = words->request;

    SCRIPT_HEAD(out, abilities, WAIT, request->fenced ? 4 : 3);
    add(out, words->name[0].lock);
    add(out, words->name[0].queue);
    add(out, words->name[0].alive);
    if (request->fenced)
        add(out, words->name[0].fence);
    add(out, request->value);
    add(out, words->ttl_ms);
    add(out, words->waiter);
    add(out, words->ticket);
    ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
    if (request->fenced)
        add_incarnation_apart(request, out);
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
static void take_command(const struct rl_words *words, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    const struct rl_request *request = words->request;
    const struct rl_kind *kind = &rl_kinds[request->kind];
    bool healing = request->op == RL_OP_HEAL;

    take_head(request, abilities, out);
    add_keys(out, words, LOCK | FENCE | QUEUE | ALIVE);
    ADD_TEXT(out, RL_MARKER_KEY);
    add(out, request->value);
    add(out, words->ttl_ms);
    add(out, words->waiter);
    add(out, words->ticket);
    add(out, healing ? TEXT("heal") : TEXT(STRINGIFY(RL_WAITER_TTL_MS)));
    add(out, request->fenced && !healing ? TEXT(RL_FENCE_LIFE_MS) : TEXT("0"));
    add(out, request->needs_marker ? TEXT("1") : TEXT("0"));
    add_incarnation(request, out);
    if (kind->has_owner || kind->has_slots)
        add(out, words->group);
    if (kind->has_slots)
        add(out, words->slot);
}

/*
 * Under strict rules the plain acquire stays as cheap as it is: one witness behind a batch of
 * them asks what the scripts that take a lock ask each time. A healing asks for no token: it is no
 * new acquisition.
 */
static void acquire_command(const struct rl_words *words, const struct rl_abilities *abilities,
                            struct rl_command *out)
{
    const struct rl_request *request = words->request;

    if (!request->is_plain || (request->as_waiter && request->needs_marker)) {
        take_command(words, abilities, out);
        return;
    }
    out->needs_witness = request->needs_marker;
    if (request->as_waiter)
        wait_command(words, abilities, out);
    else if (request->fenced && request->op != RL_OP_HEAL)
        fenced_command(words, abilities, out);
    else
        set_command(words, out);
}

static void align_command(const struct rl_words *words, const struct rl_abilities *abilities,
                          struct rl_command *out)
{
    const struct rl_request *request = words->request;

    SCRIPT_HEAD(out, abilities, ALIGN, 2u * request->name_count);
    add_keys(out, words, LOCK | FENCE);
    add(out, request->value);
    add(out, words->token);
    ADD_TEXT(out, RL_FENCE_LIFE_MS);
    add_incarnation(request, out);
}

static void extend_command(const struct rl_words *words, const struct rl_abilities *abilities,
                           struct rl_command *out)
{
    const struct rl_request *request = words->request;

    if (!request->is_plain && RL_RULE(EXTEND_COMPARES)) {
        SCRIPT_HEAD(out, abilities, RENEW, request->name_count);
        add_keys(out, words, LOCK);
    } else if ((abilities->set_ifeq && !request->may_shorten) || !RL_RULE(EXTEND_COMPARES)) {
        /* It replaces the expiry, so it serves only where it cannot shorten a life (A7). */
        ADD_TEXT(out, "SET");
        add(out, words->name[0].lock);
        add(out, request->value);
        if (RL_RULE(EXTEND_COMPARES)) {
            ADD_TEXT(out, "IFEQ");
            add(out, request->value);
        }
        ADD_TEXT(out, "PX");
        add(out, words->ttl_ms);
        return;
    } else {
        SCRIPT_HEAD(out, abilities, EXTEND, 1);
        add(out, words->name[0].lock);
    }
    add(out, request->value);
    add(out, words->ttl_ms);
}

/* ---- giving back ---- */

bool rl_command_deletes_natively(const struct rl_request *request,
                                 const struct rl_abilities *abilities)
{
    return abilities->delete_style != RL_DELETE_SCRIPT && request->is_plain &&
           !request->contended;
}

static void native_delete_command(const struct rl_words *words,
                                  const struct rl_abilities *abilities, struct rl_command *out)
{
    if (abilities->delete_style == RL_DELETE_DELIFEQ) {
        ADD_TEXT(out, "DELIFEQ");
        add(out, words->name[0].lock);
        add(out, words->request->value);
        return;
    }
    /* Never without its condition: a bare DELEX deletes whatever is there. */
    ADD_TEXT(out, "DELEX");
    add(out, words->name[0].lock);
    ADD_TEXT(out, "IFEQ");
    add(out, words->request->value);
}

/* Deletes the key if it has this value, and wakes the head of the queue; '' only wakes. */
static void release_command(const struct rl_words *words, const struct rl_abilities *abilities,
                            struct rl_slice value, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, RELEASE, 3);
    add(out, words->name[0].lock);
    add(out, words->name[0].queue);
    add(out, words->name[0].alive);
    add(out, value);
    add(out, words->request->contended ? TEXT("1") : TEXT("0"));
}

/* Everything about giving back that a compare-and-delete of one key cannot do. */
static void give_back_command(const struct rl_words *words,
                              const struct rl_abilities *abilities, struct rl_command *out)
{
    const struct rl_request *request = words->request;

    SCRIPT_HEAD(out, abilities, GIVEBACK, 3u * request->name_count);
    add_keys(out, words, LOCK | QUEUE | ALIVE);
    add(out, request->value);
    add(out, words->waiter);
    /* A rollback gets our place back, which a grant has taken (served.lua). */
    add(out, request->op == RL_OP_QUIT ? TEXT("0") : words->ticket);
    ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
}

static void leave_command(const struct rl_words *words, const struct rl_abilities *abilities,
                          struct rl_command *out)
{
    const struct rl_request *request = words->request;

    SCRIPT_HEAD(out, abilities, LEAVE, 3u * request->name_count);
    add_keys(out, words, LOCK | QUEUE | ALIVE);
    add(out, words->waiter);
}

static void delete_command(const struct rl_words *words, const struct rl_abilities *abilities,
                           struct rl_command *out)
{
    const struct rl_request *request = words->request;

    if (!RL_RULE(RELEASE_COMPARES)) {
        ADD_TEXT(out, "DEL");
        add(out, words->name[0].lock);
    } else if (!request->is_plain || request->as_waiter) {
        give_back_command(words, abilities, out);
    } else if (rl_command_deletes_natively(request, abilities)) {
        native_delete_command(words, abilities, out);
    } else {
        release_command(words, abilities, request->value, out);
    }
}

/* ---- the rest ---- */

static void list_command(const struct rl_request *request, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, LIST, 0);
    add(out, request->cursor);
    add(out, request->pattern);
    if (request->bad_counters)
        ADD_TEXT(out, "bad");
}

static void admit_command(const struct rl_words *words, const struct rl_abilities *abilities,
                          struct rl_command *out)
{
    const struct rl_request *request = words->request;

    SCRIPT_HEAD(out, abilities, VOUCH, 1);
    ADD_TEXT(out, RL_MARKER_KEY);
    add(out, (struct rl_slice){request->identity, strlen(request->identity)});
    add(out, words->ttl_ms);
    add(out, request->set);
    add(out, request->set_so_far);
}

void rl_command_write_witness(const struct rl_abilities *abilities, struct rl_command *out)
{
    out->argument_count = 0;
    SCRIPT_HEAD(out, abilities, WITNESS, 1);
    ADD_TEXT(out, RL_MARKER_KEY);
}

void rl_command_write(const struct rl_words *words, const struct rl_abilities *abilities,
                      struct rl_command *out)
{
    out->argument_count = 0;
    out->script = 0;
    out->needs_witness = false;
    switch (words->request->op) {
    case RL_OP_ACQUIRE:
    case RL_OP_ACQUIRE_AGAIN:
    case RL_OP_HEAL:
        acquire_command(words, abilities, out);
        return;
    case RL_OP_ALIGN:
        align_command(words, abilities, out);
        return;
    case RL_OP_ADMIT:
        admit_command(words, abilities, out);
        return;
    case RL_OP_FORGET:
        ADD_TEXT(out, "DEL");
        add(out, words->name[0].fence);
        return;
    case RL_OP_EXTEND:
        extend_command(words, abilities, out);
        return;
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
        delete_command(words, abilities, out);
        return;
    case RL_OP_LEAVE:
        leave_command(words, abilities, out);
        return;
    case RL_OP_TICKET:
        SCRIPT_HEAD(out, abilities, TICKET, 2u * words->request->name_count);
        add_keys(out, words, LOCK | ALIVE);
        return;
    case RL_OP_WAKE:
        release_command(words, abilities, TEXT(""), out);
        return;
    case RL_OP_WAITERS:
        ADD_TEXT(out, "EXISTS");
        add(out, words->name[0].queue);
        return;
    case RL_OP_INQUIRE:
        /* Less than a look: what a refused client wants to know. */
        SCRIPT_HEAD(out, abilities, PEEK, 2);
        add_keys(out, words, LOCK | QUEUE);
        return;
    case RL_OP_BREAK:
        SCRIPT_HEAD(out, abilities, BREAK, 3);
        add_keys(out, words, LOCK | QUEUE | ALIVE);
        add(out, words->request->mark);
        if (words->request->tag.size)
            add(out, words->request->tag);
        return;
    case RL_OP_LOOK:
        SCRIPT_HEAD(out, abilities, LOOK, 4);
        add_keys(out, words, LOCK | FENCE | QUEUE | ALIVE);
        return;
    case RL_OP_LIST:
        list_command(words->request, abilities, out);
        return;
    case RL_OP_PING:
        ADD_TEXT(out, "PING");
        return;
    }
}
