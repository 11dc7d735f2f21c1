/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/recipe.h"

#include <string.h>

#include "core/rules.h"
#include "rl_scripts.h"

#define STRINGIFY_VALUE(x) #x
#define STRINGIFY(x) STRINGIFY_VALUE(x)
/* The last byte that GETRANGE is asked for, of values that are never longer. */
#define VALUE_END STRINGIFY(REDLOCK_VALUE_MAX)

bool rl_slice_equals(struct rl_slice slice, const char *text)
{
    size_t size = strlen(text);

    return slice.size == size && memcmp(slice.data, text, size) == 0;
}

bool rl_slice_starts(struct rl_slice slice, const char *text)
{
    size_t size = strlen(text);

    return slice.size >= size && memcmp(slice.data, text, size) == 0;
}

static void add(struct rl_command *command, struct rl_slice argument)
{
    command->argument[command->argument_count++] = argument;
}

#define ADD_TEXT(command, literal)                                                             \
    add((command), (struct rl_slice){(literal), sizeof(literal) - 1})

/* Creates the key or does nothing: the acquire of the specification, and healing. */
static void set_command(const struct rl_subject *subject, struct rl_command *out)
{
    ADD_TEXT(out, "SET");
    add(out, subject->key);
    add(out, subject->value);
    ADD_TEXT(out, "NX");
    ADD_TEXT(out, "PX");
    add(out, subject->ttl_ms);
}

static void script_head(struct rl_command *out, const struct rl_abilities *abilities,
                        struct rl_slice text, struct rl_slice sha1, const char *key_count)
{
    if (abilities->script_by_text) {
        ADD_TEXT(out, "EVAL");
        add(out, text);
    } else {
        ADD_TEXT(out, "EVALSHA");
        add(out, sha1);
    }
    add(out, (struct rl_slice){key_count, 1});
}

#define SCRIPT_HEAD(out, abilities, NAME, key_count)                                           \
    script_head(                                                                               \
        (out), (abilities), (struct rl_slice){RL_SCRIPT_##NAME, sizeof RL_SCRIPT_##NAME - 1},  \
        (struct rl_slice){RL_SCRIPT_##NAME##_SHA1, sizeof RL_SCRIPT_##NAME##_SHA1 - 1},        \
        (key_count))

static bool acquires_by_script(const struct rl_subject *subject)
{
    return subject->fenced || subject->marked;
}

static void acquire_command(const struct rl_subject *subject,
                            const struct rl_abilities *abilities, struct rl_command *out)
{
    if (!acquires_by_script(subject)) {
        set_command(subject, out);
        return;
    }
    SCRIPT_HEAD(out, abilities, ACQUIRE, "3");
    add(out, subject->key);
    add(out, subject->fence_key);
    ADD_TEXT(out, RL_MARKER_KEY);
    add(out, subject->value);
    add(out, subject->ttl_ms);
    if (subject->fenced)
        ADD_TEXT(out, RL_FENCE_LIFE_MS);
    else
        ADD_TEXT(out, "0");
    if (subject->marked)
        ADD_TEXT(out, "1");
    else
        ADD_TEXT(out, "0");
}

static void align_command(const struct rl_subject *subject,
                          const struct rl_abilities *abilities, struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, ALIGN, "2");
    add(out, subject->key);
    add(out, subject->fence_key);
    add(out, subject->value);
    add(out, subject->token);
    ADD_TEXT(out, RL_FENCE_LIFE_MS);
}

static void admit_command(const struct rl_subject *subject, struct rl_command *out)
{
    ADD_TEXT(out, "HSET");
    ADD_TEXT(out, RL_MARKER_KEY);
    ADD_TEXT(out, "id");
    add(out, subject->identity);
    ADD_TEXT(out, "max_ttl");
    add(out, subject->ttl_ms);
}

static void delete_command(const struct rl_subject *subject,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    if (!RL_RULE(RELEASE_COMPARES)) {
        ADD_TEXT(out, "DEL");
        add(out, subject->key);
        return;
    }
    switch (abilities->delete_style) {
    case RL_DELETE_DELIFEQ:
        ADD_TEXT(out, "DELIFEQ");
        add(out, subject->key);
        add(out, subject->value);
        return;
    case RL_DELETE_DELEX:
        /* Never without its condition: a bare DELEX deletes whatever is there. */
        ADD_TEXT(out, "DELEX");
        add(out, subject->key);
        ADD_TEXT(out, "IFEQ");
        add(out, subject->value);
        return;
    case RL_DELETE_SCRIPT:
        SCRIPT_HEAD(out, abilities, RELEASE, "1");
        add(out, subject->key);
        add(out, subject->value);
        return;
    }
}

/* SET ... IFEQ replaces the expiry, so it serves only where it cannot shorten a life (A7). */
static bool renews_natively(const struct rl_subject *subject,
                            const struct rl_abilities *abilities)
{
    return (abilities->set_ifeq && !subject->may_shorten) || !RL_RULE(EXTEND_COMPARES);
}

static void extend_command(const struct rl_subject *subject,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    if (renews_natively(subject, abilities)) {
        ADD_TEXT(out, "SET");
        add(out, subject->key);
        add(out, subject->value);
        if (RL_RULE(EXTEND_COMPARES)) {
            ADD_TEXT(out, "IFEQ");
            add(out, subject->value);
        }
        ADD_TEXT(out, "PX");
        add(out, subject->ttl_ms);
        return;
    }
    SCRIPT_HEAD(out, abilities, EXTEND, "1");
    add(out, subject->key);
    add(out, subject->value);
    add(out, subject->ttl_ms);
}

void rl_recipe_command(enum rl_op op, const struct rl_subject *subject,
                       const struct rl_abilities *abilities, struct rl_command *out)
{
    out->argument_count = 0;
    switch (op) {
    case RL_OP_ACQUIRE:
        acquire_command(subject, abilities, out);
        return;
    case RL_OP_HEAL:
        set_command(subject, out);
        return;
    case RL_OP_ALIGN:
        align_command(subject, abilities, out);
        return;
    case RL_OP_ADMIT:
        admit_command(subject, out);
        return;
    case RL_OP_FENCE:
        ADD_TEXT(out, "GET");
        add(out, subject->fence_key);
        return;
    case RL_OP_FORGET:
        ADD_TEXT(out, "DEL");
        add(out, subject->fence_key);
        return;
    case RL_OP_EXTEND:
        extend_command(subject, abilities, out);
        return;
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
        delete_command(subject, abilities, out);
        return;
    case RL_OP_INQUIRE:
        ADD_TEXT(out, "PTTL");
        add(out, subject->key);
        return;
    case RL_OP_GET:
        /* Not GET: a key of somebody else may hold megabytes. */
        ADD_TEXT(out, "GETRANGE");
        add(out, subject->key);
        ADD_TEXT(out, "0");
        ADD_TEXT(out, VALUE_END);
        return;
    case RL_OP_PING:
        ADD_TEXT(out, "PING");
        return;
    }
}

bool rl_recipe_uses_script(enum rl_op op, const struct rl_subject *subject,
                           const struct rl_abilities *abilities)
{
    switch (op) {
    case RL_OP_ACQUIRE:
        return acquires_by_script(subject);
    case RL_OP_ALIGN:
        return true;
    case RL_OP_EXTEND:
        return !renews_natively(subject, abilities);
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
        return abilities->delete_style == RL_DELETE_SCRIPT;
    default:
        return false;
    }
}

enum redlock_vote rl_recipe_error_vote(struct rl_slice error)
{
    static const struct {
        const char *word;
        enum redlock_vote vote;
    } words[] = {
        {"NOAUTH", REDLOCK_VOTE_AUTH},
        {"WRONGPASS", REDLOCK_VOTE_AUTH},
        {"NOPERM", REDLOCK_VOTE_AUTH},
        {"DENIED", REDLOCK_VOTE_AUTH},
        {"ERR AUTH", REDLOCK_VOTE_AUTH},
        {"ERR The user executing the script", REDLOCK_VOTE_AUTH},
        {"ERR invalid password", REDLOCK_VOTE_AUTH},
        {"LOADING", REDLOCK_VOTE_LOADING},
        {"MASTERDOWN", REDLOCK_VOTE_READONLY},
        {"READONLY", REDLOCK_VOTE_READONLY},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (rl_slice_starts(error, words[i].word))
            return words[i].vote;
    return REDLOCK_VOTE_ERROR;
}

bool rl_recipe_is_noscript(const struct rl_reply *reply)
{
    return reply->scalar.type == RL_REPLY_ERROR &&
           rl_slice_starts(reply->scalar.text, "NOSCRIPT");
}

static enum redlock_vote set_vote(const struct rl_scalar *reply)
{
    if (reply->type == RL_REPLY_STATUS && rl_slice_equals(reply->text, "OK"))
        return REDLOCK_VOTE_GRANTED;
    if (reply->type == RL_REPLY_NIL)
        return REDLOCK_VOTE_HELD;
    return REDLOCK_VOTE_PROTO;
}

/* {1, token, id, max_ttl, identity}, {0, remaining ms, ...} or {-2, max_ttl}: acquire.lua. */
static struct rl_answer script_acquire_answer(const struct rl_reply *reply)
{
    const struct rl_scalar *element = reply->element;
    struct rl_answer answer = {.vote = REDLOCK_VOTE_PROTO, .key_ttl_ms = -1};

    if (reply->element_count < 2 || element[0].type != RL_REPLY_INTEGER ||
        element[1].type != RL_REPLY_INTEGER)
        return answer;
    if (element[0].integer == -2) {
        answer.vote = REDLOCK_VOTE_GUARDED;
        answer.beyond_max_ttl = true;
        return answer;
    }
    if (reply->element_count != 5 || element[2].type != RL_REPLY_BULK ||
        element[3].type != RL_REPLY_INTEGER || element[4].type != RL_REPLY_BULK)
        return answer;
    answer.has_marker = true;
    answer.marker = element[2].text;
    answer.marker_max_ttl_ms = element[3].integer;
    answer.present = element[4].text;
    if (element[0].integer == 1) {
        answer.vote = REDLOCK_VOTE_GRANTED;
        answer.token = element[1].integer;
    } else if (element[0].integer == 0) {
        answer.vote = REDLOCK_VOTE_HELD;
        answer.key_ttl_ms = element[1].integer < 0 ? -1 : element[1].integer;
    }
    return answer;
}

/* Scripts and native deletes answer 1 or 0; SET ... IFEQ answers OK or nil. */
static enum redlock_vote compare_vote(const struct rl_scalar *reply)
{
    if (reply->type == RL_REPLY_INTEGER && reply->integer == 1)
        return REDLOCK_VOTE_GRANTED;
    if (reply->type == RL_REPLY_INTEGER && reply->integer == 0)
        return REDLOCK_VOTE_MISSING;
    if (reply->type == RL_REPLY_STATUS && rl_slice_equals(reply->text, "OK"))
        return REDLOCK_VOTE_GRANTED;
    if (reply->type == RL_REPLY_NIL)
        return REDLOCK_VOTE_MISSING;
    return REDLOCK_VOTE_PROTO;
}

/* A key that is not there reads as an empty value; the remaining time tells them apart. */
static enum redlock_vote get_vote(const struct rl_scalar *reply)
{
    if (reply->type == RL_REPLY_NIL || (reply->type == RL_REPLY_BULK && reply->text.size == 0))
        return REDLOCK_VOTE_MISSING;
    return reply->type == RL_REPLY_BULK ? REDLOCK_VOTE_HELD : REDLOCK_VOTE_PROTO;
}

static struct rl_answer inquire_answer(const struct rl_scalar *reply)
{
    struct rl_answer answer = {.vote = REDLOCK_VOTE_PROTO, .key_ttl_ms = -1};

    if (reply->type != RL_REPLY_INTEGER)
        return answer;
    answer.vote = reply->integer == -2 ? REDLOCK_VOTE_MISSING : REDLOCK_VOTE_HELD;
    /* -1 is a key without expiry: held, for nobody knows how long. */
    if (reply->integer >= 0)
        answer.key_ttl_ms = reply->integer;
    return answer;
}

/* The counter of a name, written in decimal. */
static struct rl_answer fence_answer(const struct rl_scalar *reply)
{
    struct rl_answer answer = {.vote = get_vote(reply), .key_ttl_ms = -1};

    for (size_t i = 0; reply->type == RL_REPLY_BULK && i < reply->text.size && i < 18; i++) {
        if (reply->text.data[i] < '0' || reply->text.data[i] > '9')
            break;
        answer.token = answer.token * 10 + (reply->text.data[i] - '0');
    }
    return answer;
}

struct rl_answer rl_recipe_answer(enum rl_op op, const struct rl_reply *reply)
{
    const struct rl_scalar *scalar = &reply->scalar;
    struct rl_answer answer = {.vote = REDLOCK_VOTE_PROTO, .key_ttl_ms = -1};

    if (scalar->type == RL_REPLY_ERROR) {
        answer.vote = rl_recipe_error_vote(scalar->text);
        /* A key of another type is somebody else's, whatever it is. */
        if (op == RL_OP_GET && rl_slice_starts(scalar->text, "WRONGTYPE"))
            answer.vote = REDLOCK_VOTE_HELD;
        return answer;
    }
    switch (op) {
    case RL_OP_ACQUIRE:
        if (scalar->type == RL_REPLY_ARRAY)
            return script_acquire_answer(reply);
        answer.vote = set_vote(scalar);
        break;
    case RL_OP_HEAL:
        answer.vote = set_vote(scalar);
        break;
    case RL_OP_FENCE:
        return fence_answer(scalar);
    case RL_OP_FORGET:
    case RL_OP_ADMIT:
        if (scalar->type == RL_REPLY_INTEGER)
            answer.vote = REDLOCK_VOTE_GRANTED;
        break;
    case RL_OP_EXTEND:
    case RL_OP_RELEASE:
    case RL_OP_ALIGN:
    case RL_OP_ROLLBACK:
        answer.vote = compare_vote(scalar);
        break;
    case RL_OP_INQUIRE:
        return inquire_answer(scalar);
    case RL_OP_GET:
        answer.vote = get_vote(scalar);
        break;
    case RL_OP_PING:
        if (scalar->type == RL_REPLY_STATUS && rl_slice_equals(scalar->text, "PONG"))
            answer.vote = REDLOCK_VOTE_GRANTED;
        break;
    }
    return answer;
}
