/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/command.h"

#include "core/kind.h"
#include "core/lock.h"
#include "core/rules.h"
#include "rl_scripts.h"

#define STRINGIFY_VALUE(x) #x
#define STRINGIFY(x) STRINGIFY_VALUE(x)

static void add(struct rl_command *command, struct rl_slice argument)
{
    command->argument[command->argument_count++] = argument;
}

#define TEXT(literal) ((struct rl_slice){(literal), sizeof(literal) - 1})
#define ADD_TEXT(command, literal) add((command), TEXT(literal))

static void add_flag(struct rl_command *command, bool flag)
{
    add(command, flag ? TEXT("1") : TEXT("0"));
}

/* Small numbers in decimal: how many keys a script gets. */
static struct rl_slice number(unsigned value)
{
    static const char digits[] =
        "00010203040506070809101112131415161718192021222324252627282930"
        "3132333435363738394041424344454647484950515253545556575859"
        "60616263646566";
    const char *at = digits + (size_t)2 * value;

    return value < 10 ? (struct rl_slice){at + 1, 1} : (struct rl_slice){at, 2};
}

/* Creates the key or does nothing: the acquire of the specification, and healing. */
static void set_command(const struct rl_subject *subject, struct rl_command *out)
{
    ADD_TEXT(out, "SET");
    add(out, subject->name[0].lock);
    add(out, subject->value);
    ADD_TEXT(out, "NX");
    ADD_TEXT(out, "PX");
    add(out, subject->ttl_ms);
}

/* What this connection has not used before goes with its text; that teaches it to the server. */
static void script_head(struct rl_command *out, const struct rl_abilities *abilities,
                        enum rl_script script, struct rl_slice text, struct rl_slice sha1,
                        unsigned key_count)
{
    out->script = 1u << script;
    if (abilities->script_by_text || !(abilities->known_scripts & out->script)) {
        ADD_TEXT(out, "EVAL");
        add(out, text);
    } else {
        ADD_TEXT(out, "EVALSHA");
        add(out, sha1);
    }
    add(out, number(key_count));
}

#define SCRIPT_HEAD(out, abilities, NAME, key_count)                                           \
    script_head((out), (abilities), RL_SCRIPT_ID_##NAME, TEXT(RL_SCRIPT_##NAME),               \
                TEXT(RL_SCRIPT_##NAME##_SHA1), (key_count))

bool rl_recipe_is_plain(const struct rl_subject *subject)
{
    return rl_kind(subject->kind)->single && !subject->kind_unknown && subject->name_count == 1;
}

/* The incarnation that a counter of a plain mutex goes by; "?" behind it only if in doubt. */
static void add_incarnation(struct rl_command *out, struct rl_slice sure)
{
    bool in_doubt = sure.size > 0 && sure.data[sure.size - 1] == '?';

    sure.size -= in_doubt;
    add(out, sure);
    /* Every word costs the server, so the usual ones are left out. */
    if (in_doubt)
        ADD_TEXT(out, "?");
}

/* The fencing script of a plain mutex that does not wait. */
static void fenced_command(const struct rl_subject *subject,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, ACQUIRE, subject->marked ? 3 : 2);
    add(out, subject->name[0].lock);
    add(out, subject->name[0].fence);
    if (subject->marked)
        ADD_TEXT(out, RL_MARKER_KEY);
    add(out, subject->value);
    add(out, subject->ttl_ms);
    add_incarnation(out, subject->incarnation);
}

/* A plain mutex from the queue. */
static void wait_command(const struct rl_subject *subject, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, WAIT, subject->fenced ? 4 : 3);
    add(out, subject->name[0].lock);
    add(out, subject->name[0].queue);
    add(out, subject->name[0].alive);
    if (subject->fenced)
        add(out, subject->name[0].fence);
    add(out, subject->value);
    add(out, subject->ttl_ms);
    add(out, subject->waiter);
    add(out, subject->ticket);
    ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
    if (subject->fenced)
        add_incarnation(out, subject->incarnation);
}

/* The script that takes a lock of this kind. */
static void take_head(const struct rl_subject *subject, const struct rl_abilities *abilities,
                      struct rl_command *out)
{
    unsigned key_count = 4u * subject->name_count + 1;

    switch (subject->kind) {
#define CASE(name, key_type, waiter, exclusive, single, has_owner, has_slots, script)          \
    case REDLOCK_##name:                                                                       \
        SCRIPT_HEAD(out, abilities, script, key_count);                                        \
        return;
        RL_KINDS(CASE)
#undef CASE
    }
}

/* waiter: '' ignores the queue. */
static void take_command(const struct rl_subject *subject, const struct rl_abilities *abilities,
                         bool healing, struct rl_command *out)
{
    const struct rl_kind *kind = rl_kind(subject->kind);

    take_head(subject, abilities, out);
    for (uint8_t i = 0; i < subject->name_count; i++) {
        add(out, subject->name[i].lock);
        add(out, subject->name[i].fence);
        add(out, subject->name[i].queue);
        add(out, subject->name[i].alive);
    }
    ADD_TEXT(out, RL_MARKER_KEY);
    add(out, subject->value);
    add(out, subject->ttl_ms);
    add(out, healing ? TEXT("") : subject->waiter);
    add(out, healing ? TEXT("0") : subject->ticket);
    add(out, healing ? TEXT("heal") : TEXT(STRINGIFY(RL_WAITER_TTL_MS)));
    add(out, subject->fenced && !healing ? TEXT(RL_FENCE_LIFE_MS) : TEXT("0"));
    add_flag(out, subject->marked);
    add(out, subject->incarnation);
    if (kind->has_owner || kind->has_slots)
        add(out, subject->group);
    if (kind->has_slots)
        add(out, subject->slot);
}

/*
 * Under strict rules the plain acquire stays as cheap as it is: one witness behind a batch of
 * them asks what the scripts that take a lock ask each time.
 */
static void acquire_command(const struct rl_subject *subject,
                            const struct rl_abilities *abilities, struct rl_command *out)
{
    if (!rl_recipe_is_plain(subject) || (subject->waiter.size > 0 && subject->marked)) {
        take_command(subject, abilities, false, out);
        return;
    }
    out->witnessed = subject->marked;
    if (subject->waiter.size > 0)
        wait_command(subject, abilities, out);
    else if (subject->fenced)
        fenced_command(subject, abilities, out);
    else
        set_command(subject, out);
}

/* A healing asks for no token: it is no new acquisition. */
static void heal_command(const struct rl_subject *subject, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    if (!rl_recipe_is_plain(subject)) {
        take_command(subject, abilities, true, out);
        return;
    }
    out->witnessed = subject->marked; /* is the node what it was? */
    set_command(subject, out);
}

void rl_recipe_witness(const struct rl_abilities *abilities, struct rl_command *out)
{
    out->argument_count = 0;
    out->witnessed = false;
    SCRIPT_HEAD(out, abilities, WITNESS, 1);
    ADD_TEXT(out, RL_MARKER_KEY);
}

static void align_command(const struct rl_subject *subject,
                          const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, ALIGN, 2u * subject->name_count);
    for (uint8_t i = 0; i < subject->name_count; i++) {
        add(out, subject->name[i].lock);
        add(out, subject->name[i].fence);
    }
    add(out, subject->value);
    add(out, subject->token);
    ADD_TEXT(out, RL_FENCE_LIFE_MS);
    add(out, subject->incarnation);
}

static void admit_command(const struct rl_subject *subject, struct rl_command *out)
{
    ADD_TEXT(out, "HSET");
    ADD_TEXT(out, RL_MARKER_KEY);
    ADD_TEXT(out, "id");
    add(out, subject->identity);
    ADD_TEXT(out, "max_ttl");
    add(out, subject->ttl_ms);
    ADD_TEXT(out, "quorums");
    add(out, subject->placement.data ? subject->placement : TEXT(""));
}

bool rl_recipe_deletes_natively(const struct rl_subject *subject,
                                const struct rl_abilities *abilities)
{
    return abilities->delete_style != RL_DELETE_SCRIPT && rl_recipe_is_plain(subject) &&
           !subject->contended;
}

static void native_delete_command(const struct rl_subject *subject,
                                  const struct rl_abilities *abilities, struct rl_command *out)
{
    if (abilities->delete_style == RL_DELETE_DELIFEQ) {
        ADD_TEXT(out, "DELIFEQ");
        add(out, subject->name[0].lock);
        add(out, subject->value);
        return;
    }
    /* Never without its condition: a bare DELEX deletes whatever is there. */
    ADD_TEXT(out, "DELEX");
    add(out, subject->name[0].lock);
    ADD_TEXT(out, "IFEQ");
    add(out, subject->value);
}

/* Deletes the key if it has this value, and tells who waits; '' tells only. */
static void release_command(const struct rl_subject *subject,
                            const struct rl_abilities *abilities, struct rl_slice value,
                            struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, RELEASE, 3);
    add(out, subject->name[0].lock);
    add(out, subject->name[0].queue);
    add(out, subject->name[0].alive);
    add(out, value);
    add_flag(out, subject->contended);
}

/* Everything about giving back that a compare-and-delete of one key cannot do. */
static void give_back_command(const struct rl_subject *subject,
                              const struct rl_abilities *abilities, enum rl_op op,
                              struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, GIVEBACK, 3u * subject->name_count);
    for (uint8_t i = 0; i < subject->name_count; i++) {
        add(out, subject->name[i].lock);
        add(out, subject->name[i].queue);
        add(out, subject->name[i].alive);
    }
    add(out, subject->value);
    add(out, subject->waiter);
    /* A rollback gets our place back, which a grant has taken (served.lua). */
    add(out, op == RL_OP_QUIT ? TEXT("0") : subject->ticket);
    ADD_TEXT(out, STRINGIFY(RL_WAITER_TTL_MS));
}

static void leave_command(const struct rl_subject *subject,
                          const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, LEAVE, 3u * subject->name_count);
    for (uint8_t i = 0; i < subject->name_count; i++) {
        add(out, subject->name[i].lock);
        add(out, subject->name[i].queue);
        add(out, subject->name[i].alive);
    }
    add(out, subject->waiter);
}

static void delete_command(const struct rl_subject *subject,
                           const struct rl_abilities *abilities, enum rl_op op,
                           struct rl_command *out)
{
    if (!RL_RULE(RELEASE_COMPARES)) {
        ADD_TEXT(out, "DEL");
        add(out, subject->name[0].lock);
    } else if (!rl_recipe_is_plain(subject) || subject->waiter.size > 0) {
        give_back_command(subject, abilities, op, out);
    } else if (rl_recipe_deletes_natively(subject, abilities)) {
        native_delete_command(subject, abilities, out);
    } else {
        release_command(subject, abilities, subject->value, out);
    }
}

static void extend_command(const struct rl_subject *subject,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    if (!rl_recipe_is_plain(subject) && RL_RULE(EXTEND_COMPARES)) {
        SCRIPT_HEAD(out, abilities, RENEW, subject->name_count);
        for (uint8_t i = 0; i < subject->name_count; i++)
            add(out, subject->name[i].lock);
    } else if ((abilities->set_ifeq && !subject->may_shorten) || !RL_RULE(EXTEND_COMPARES)) {
        /* It replaces the expiry, so it serves only where it cannot shorten a life (A7). */
        ADD_TEXT(out, "SET");
        add(out, subject->name[0].lock);
        add(out, subject->value);
        if (RL_RULE(EXTEND_COMPARES)) {
            ADD_TEXT(out, "IFEQ");
            add(out, subject->value);
        }
        ADD_TEXT(out, "PX");
        add(out, subject->ttl_ms);
        return;
    } else {
        SCRIPT_HEAD(out, abilities, EXTEND, 1);
        add(out, subject->name[0].lock);
    }
    add(out, subject->value);
    add(out, subject->ttl_ms);
}

static void ticket_command(const struct rl_subject *subject,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, TICKET, 2u * subject->name_count);
    for (uint8_t i = 0; i < subject->name_count; i++) {
        add(out, subject->name[i].lock);
        add(out, subject->name[i].alive);
    }
}

static void look_command(const struct rl_subject *subject, const struct rl_abilities *abilities,
                         struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, LOOK, 4);
    add(out, subject->name[0].lock);
    add(out, subject->name[0].fence);
    add(out, subject->name[0].queue);
    add(out, subject->name[0].alive);
}

void rl_recipe_command(enum rl_op op, const struct rl_subject *subject,
                       const struct rl_abilities *abilities, struct rl_command *out)
{
    out->argument_count = 0;
    out->script = 0;
    out->witnessed = false;
    switch (op) {
    case RL_OP_ACQUIRE:
    case RL_OP_AGAIN:
        acquire_command(subject, abilities, out);
        return;
    case RL_OP_HEAL:
        heal_command(subject, abilities, out);
        return;
    case RL_OP_ALIGN:
        align_command(subject, abilities, out);
        return;
    case RL_OP_ADMIT:
        admit_command(subject, out);
        return;
    case RL_OP_FORGET:
        ADD_TEXT(out, "DEL");
        add(out, subject->name[0].fence);
        return;
    case RL_OP_EXTEND:
        extend_command(subject, abilities, out);
        return;
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
        delete_command(subject, abilities, op, out);
        return;
    case RL_OP_LEAVE:
        leave_command(subject, abilities, out);
        return;
    case RL_OP_TICKET:
        ticket_command(subject, abilities, out);
        return;
    case RL_OP_WAKE:
        release_command(subject, abilities, TEXT(""), out);
        return;
    case RL_OP_WAITERS:
        ADD_TEXT(out, "EXISTS");
        add(out, subject->name[0].queue);
        return;
    case RL_OP_INQUIRE:
        ADD_TEXT(out, "PTTL");
        add(out, subject->name[0].lock);
        return;
    case RL_OP_LOOK:
        look_command(subject, abilities, out);
        return;
    case RL_OP_LIST:
        SCRIPT_HEAD(out, abilities, LIST, 0);
        add(out, subject->cursor);
        add(out, subject->pattern);
        if (subject->bad_counters)
            ADD_TEXT(out, "bad");
        return;
    case RL_OP_PING:
        ADD_TEXT(out, "PING");
        return;
    }
}
