/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/answer.h"

#include <string.h>

#include "core/lock.h"

enum redlock_vote rl_answer_error_vote(struct rl_slice error, enum redlock_reason *reason)
{
    static const struct {
        const char *word;
        enum redlock_vote vote;
        enum redlock_reason reason;
    } words[] = {
        {"NOAUTH", REDLOCK_VOTE_AUTH, REDLOCK_REASON_PASSWORD_NEEDED},
        {"WRONGPASS", REDLOCK_VOTE_AUTH, REDLOCK_REASON_WRONG_PASSWORD},
        {"NOPERM", REDLOCK_VOTE_NOPERM, REDLOCK_REASON_RIGHTS},
        {"DENIED", REDLOCK_VOTE_AUTH, REDLOCK_REASON_PROTECTED_MODE},
        {"ERR AUTH", REDLOCK_VOTE_AUTH, REDLOCK_REASON_WRONG_PASSWORD},
        {"ERR The user executing the script", REDLOCK_VOTE_NOPERM, REDLOCK_REASON_RIGHTS},
        /* The same since Redis 7.2. */
        {"ERR ACL failure in script", REDLOCK_VOTE_NOPERM, REDLOCK_REASON_RIGHTS},
        {"ERR invalid password", REDLOCK_VOTE_AUTH, REDLOCK_REASON_WRONG_PASSWORD},
        {"LOADING", REDLOCK_VOTE_LOADING, REDLOCK_REASON_LOADING},
        {"MASTERDOWN", REDLOCK_VOTE_READONLY, REDLOCK_REASON_REPLICA},
        {"READONLY", REDLOCK_VOTE_READONLY, REDLOCK_REASON_REPLICA},
        {"MOVED ", REDLOCK_VOTE_ERROR, REDLOCK_REASON_CLUSTER},
        {"ASK ", REDLOCK_VOTE_ERROR, REDLOCK_REASON_CLUSTER},
        {"CROSSSLOT", REDLOCK_VOTE_ERROR, REDLOCK_REASON_CLUSTER},
        {"CLUSTERDOWN", REDLOCK_VOTE_ERROR, REDLOCK_REASON_CLUSTER},
        {"TRYAGAIN", REDLOCK_VOTE_ERROR, REDLOCK_REASON_CLUSTER},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (rl_slice_starts(error, words[i].word)) {
            *reason = words[i].reason;
            return words[i].vote;
        }
    }
    *reason = REDLOCK_REASON_SERVER_ERROR;
    return REDLOCK_VOTE_ERROR;
}

size_t rl_answer_missing_right(const char *error, const char **command)
{
    static const char before[] = "run the '";
    const char *at = strstr(error, before);

    *command = at ? at + sizeof before - 1 : "";
    return strcspn(*command, "'| ");
}

/* To a native command: done, or not because of what is there, which is the vote `otherwise`. */
static enum redlock_vote native_vote(const struct rl_scalar *reply, enum redlock_vote otherwise)
{
    if (reply->type == RL_REPLY_STATUS && rl_slice_equals(reply->text, "OK"))
        return REDLOCK_VOTE_GRANTED;
    return reply->type == RL_REPLY_NIL ? otherwise : REDLOCK_VOTE_PROTO;
}

/* What a server sends is bounded before it is used in arithmetic. */
static int64_t at_most(int64_t number, int64_t limit)
{
    return number < limit ? number : limit;
}

static int64_t remaining_ms(int64_t pttl)
{
    /* No key: only the queue is in the way. No expiry: the rest is unknown. */
    return pttl == -2 ? 0 : pttl < 0 ? -1 : at_most(pttl, REDLOCK_WAIT_MAX_MS);
}

/* The ticket that the node offers, if it is one that a clock may have given. */
static void note_ticket(const struct rl_reply *reply, uint32_t index, struct rl_answer *answer)
{
    int64_t ticket = rl_reply_integer(reply, index, 0);

    answer->ticket = rl_is_token(ticket) ? ticket : 0;
}

/* Which value is in the way, cut. */
static void note_holder(const struct rl_reply *reply, uint32_t index, struct rl_answer *answer)
{
    if (index >= reply->element_count || reply->element[index].type != RL_REPLY_BULK)
        return;
    answer->names_holder = true;
    answer->holder = reply->element[index].text;
}

/* queue: the element from which on the reply has the queue, the holder and free slots. */
static void note_refusal(const struct rl_reply *reply, uint32_t queue, struct rl_answer *answer)
{
    answer->vote = REDLOCK_VOTE_TAKEN;
    answer->key_ttl_ms = remaining_ms(reply->element[1].integer);
    note_ticket(reply, queue, answer);
    answer->place = (uint32_t)rl_reply_integer(reply, queue + 1, 0);
    answer->ahead_ms = at_most(rl_reply_integer(reply, queue + 2, 0), RL_WAITER_TTL_MS);
    note_holder(reply, queue + 3, answer);
    for (uint32_t i = 0; i < RL_FREE_SLOTS_MAX; i++)
        answer->free_slot[i] = (uint16_t)rl_reply_integer(reply, queue + 4 + i, 0);
}

/* The node's marker, identity and set, from an element on. False: that is not what is there. */
static bool read_marker(const struct rl_reply *reply, uint32_t first, struct rl_answer *answer)
{
    const struct rl_scalar *element = reply->element + first;

    if (reply->element_count < first + 4 || element[0].type != RL_REPLY_BULK ||
        element[1].type != RL_REPLY_INTEGER || element[2].type != RL_REPLY_BULK ||
        element[3].type != RL_REPLY_BULK)
        return false;
    answer->has_marker = true;
    answer->marker = element[0].text;
    answer->marker_max_ttl_ms = element[1].integer;
    answer->identity = element[2].text;
    answer->set = element[3].text;
    return true;
}

/*
 * {1, token, id, max_ttl, identity, set, ...}, {0, remaining ms, ...} or {-2, max_ttl}:
 * request.lua. A token or {0, remaining ms, holder}: acquire.lua, and with the queue before the
 * holder wait.lua, which do not return the marker.
 */
static void read_script_acquire(const struct rl_reply *reply, struct rl_answer *answer)
{
    const struct rl_scalar *element = reply->element;

    if (reply->scalar.type == RL_REPLY_INTEGER && reply->scalar.integer != 0) {
        answer->vote = REDLOCK_VOTE_GRANTED;
        answer->token = reply->scalar.integer;
        return;
    }
    if (reply->element_count < 2 || element[0].type != RL_REPLY_INTEGER ||
        element[1].type != RL_REPLY_INTEGER)
        return;
    if (element[0].integer == -2) {
        answer->vote = REDLOCK_VOTE_GUARDED;
        answer->beyond_max_ttl = true;
    } else if (!read_marker(reply, 2, answer)) {
        if ((reply->element_count == 3 || reply->element_count == 6) && element[0].integer == 0)
            note_refusal(reply, 2, answer);
        if (reply->element_count == 3)
            note_holder(reply, 2, answer);
    } else if (element[0].integer == 1) {
        answer->vote = REDLOCK_VOTE_GRANTED;
        answer->token = element[1].integer;
        answer->owners_token = rl_reply_integer(reply, 6, 0);
    } else if (element[0].integer == 0) {
        note_refusal(reply, 6, answer);
    }
}

struct rl_answer rl_answer_read_attestation(const struct rl_reply *reply)
{
    struct rl_answer answer = {.vote = REDLOCK_VOTE_PROTO, .key_ttl_ms = -1};
    enum redlock_reason reason;

    if (reply->scalar.type == RL_REPLY_ERROR)
        answer.vote = rl_answer_error_vote(reply->scalar.text, &reason);
    else if (reply->scalar.type == RL_REPLY_ARRAY && reply->element_count == 4 &&
             read_marker(reply, 0, &answer))
        answer.vote = REDLOCK_VOTE_GRANTED;
    return answer;
}

/*
 * {remaining ms, holder, waiters}: peek.lua. {1, ms that the evicted holder had left, its
 * value} or {0, remaining ms, ''}: break.lua.
 */
static void read_holder(enum rl_op op, const struct rl_reply *reply, struct rl_answer *answer)
{
    uint32_t first = op == RL_OP_BREAK ? 1 : 0;
    int64_t found = rl_reply_integer(reply, 0, -1);
    int64_t pttl = rl_reply_integer(reply, first, -1);

    if (reply->scalar.type != RL_REPLY_ARRAY || reply->element_count != 3 ||
        (op == RL_OP_BREAK ? found < 0 || found > 1
                           : reply->element[0].type != RL_REPLY_INTEGER))
        return;
    answer->vote = pttl == -2 ? REDLOCK_VOTE_MISSING : REDLOCK_VOTE_TAKEN;
    if (op == RL_OP_BREAK && found)
        answer->vote = REDLOCK_VOTE_GRANTED;
    /* -1 is a key without expiry: held, for an unknown time. */
    if (pttl >= 0)
        answer->key_ttl_ms = at_most(pttl, REDLOCK_WAIT_MAX_MS);
    note_holder(reply, first + 1, answer);
    if (op == RL_OP_INQUIRE)
        answer->waiters = (uint32_t)rl_reply_integer(reply, 2, 0);
}

/* What is there is read by the survey: here only whether something is. */
static enum redlock_vote look_vote(const struct rl_reply *reply)
{
    if (reply->scalar.type != RL_REPLY_ARRAY || reply->element_count < 7 ||
        reply->element[0].type != RL_REPLY_BULK)
        return REDLOCK_VOTE_PROTO;
    return rl_slice_equals(reply->element[0].text, "none") ? REDLOCK_VOTE_MISSING
                                                           : REDLOCK_VOTE_TAKEN;
}

/* Of an error. */
static enum redlock_vote error_vote(enum rl_op op, struct rl_slice error)
{
    enum redlock_reason reason;

    /* Another kind of lock is under our key: whatever it is, it is not ours. */
    if ((op == RL_OP_EXTEND || op == RL_OP_RELEASE) && rl_slice_starts(error, "WRONGTYPE"))
        return REDLOCK_VOTE_MISSING;
    return rl_answer_error_vote(error, &reason);
}

struct rl_answer rl_answer_read(enum rl_op op, bool by_script, const struct rl_reply *reply)
{
    const struct rl_scalar *scalar = &reply->scalar;
    struct rl_answer answer = {.vote = REDLOCK_VOTE_PROTO, .key_ttl_ms = -1};

    if (scalar->type == RL_REPLY_ERROR) {
        answer.vote = error_vote(op, scalar->text);
        return answer;
    }
    switch (op) {
    case RL_OP_ACQUIRE:
    case RL_OP_ACQUIRE_AGAIN:
    case RL_OP_REPAIR:
        /*
         * An OK to a script would be a grant without the token and the marker that were
         * requested.
         */
        if (by_script)
            read_script_acquire(reply, &answer);
        else
            answer.vote = native_vote(scalar, REDLOCK_VOTE_TAKEN);
        break;
    case RL_OP_TICKET: /* {ticket, remaining ms}: ticket.lua. */
        note_ticket(reply, 0, &answer);
        if (scalar->type != RL_REPLY_ARRAY || reply->element_count != 2 || !answer.ticket)
            break;
        answer.vote = REDLOCK_VOTE_TAKEN;
        answer.key_ttl_ms = remaining_ms(rl_reply_integer(reply, 1, -1));
        break;
    case RL_OP_FORGET:
        if (scalar->type == RL_REPLY_INTEGER)
            answer.vote = REDLOCK_VOTE_GRANTED;
        break;
    case RL_OP_ADMIT:
        if (scalar->type == RL_REPLY_INTEGER)
            answer.vote = scalar->integer ? REDLOCK_VOTE_GRANTED : REDLOCK_VOTE_GUARDED;
        break;
    case RL_OP_EXTEND:
    case RL_OP_RELEASE:
    case RL_OP_ALIGN:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
    case RL_OP_LEAVE:
    case RL_OP_WAITERS:
    case RL_OP_WAKE:
        /* Scripts and native deletes answer 1 (2: and others wait) or 0; SET IFEQ OK or nil. */
        if (scalar->type != RL_REPLY_INTEGER)
            answer.vote = native_vote(scalar, REDLOCK_VOTE_MISSING);
        else if (scalar->integer >= 0 && scalar->integer <= 2)
            answer.vote = scalar->integer ? REDLOCK_VOTE_GRANTED : REDLOCK_VOTE_MISSING;
        answer.contended = scalar->type == RL_REPLY_INTEGER && scalar->integer == 2;
        break;
    case RL_OP_INQUIRE:
    case RL_OP_BREAK:
        read_holder(op, reply, &answer);
        break;
    case RL_OP_LOOK:
        answer.vote = look_vote(reply);
        break;
    case RL_OP_LIST:
        if (scalar->type == RL_REPLY_ARRAY && reply->element_count > 0)
            answer.vote = REDLOCK_VOTE_GRANTED;
        break;
    case RL_OP_REPLICATE:
        if (scalar->type == RL_REPLY_INTEGER && scalar->integer >= 0)
            answer.vote = scalar->integer ? REDLOCK_VOTE_GRANTED : REDLOCK_VOTE_MISSING;
        break;
    case RL_OP_PING:
        if (scalar->type == RL_REPLY_STATUS && rl_slice_equals(scalar->text, "PONG"))
            answer.vote = REDLOCK_VOTE_GRANTED;
        break;
    }
    return answer;
}
