/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/greeting.h"

#include <string.h>

#include "protocol/vetting.h"
#include "rl_scripts.h"

/*
 * The key that native commands are tried with (native.lua). It never exists: every command
 * compares before it acts, and answers "no such key" where it is understood.
 */
#define PROBE_KEY "redlock.probe"

/* What native.lua answers, added up. */
enum { NATIVE_DELIFEQ = 1, NATIVE_DELEX = 2, NATIVE_SET_IFEQ = 4 };

enum step {
    STEP_AUTH,
    STEP_SELECT,
    STEP_NAME,
    STEP_SUBSCRIBE,
    STEP_NATIVE,
};

const char *rl_greeting_step_name(uint16_t step)
{
    static const char *const names[] = {
        [STEP_AUTH] = "AUTH",
        [STEP_SELECT] = "SELECT",
        [STEP_NAME] = "CLIENT SETNAME",
        [STEP_SUBSCRIBE] = "SUBSCRIBE",
        [STEP_NATIVE] = "native commands",
    };

    return names[step];
}

#define SAY(session, step, ...)                                                                \
    rl_session_say((session), (step), (const char *const[]){__VA_ARGS__, NULL})

static int say_who_we_are(struct rl_session *session)
{
    const struct rl_login *login = session->login;
    char digits[21] = "";

    /* Until the password has left: rl_session_sent(). */
    session->output.secret = login->password != NULL;
    if (login->user) {
        if (SAY(session, STEP_AUTH, "AUTH", login->user,
                login->password ? login->password : "") < 0)
            return -1;
    } else if (login->password) {
        if (SAY(session, STEP_AUTH, "AUTH", login->password) < 0)
            return -1;
    }
    if (login->database) {
        *rl_resp_decimal(login->database, digits) = '\0';
        if (SAY(session, STEP_SELECT, "SELECT", digits) < 0)
            return -1;
    }
    if (session->greeting_left > 0) {
        session->gated = true;
        session->gate = session->output.size;
    }
    return 0;
}

int rl_greeting_write(struct rl_session *session, int64_t now_ns)
{
    if (say_who_we_are(session) < 0 ||
        SAY(session, STEP_NAME, "CLIENT", "SETNAME", session->login->client_name) < 0)
        return -1;
    if (session->login->channel)
        return SAY(session, STEP_SUBSCRIBE, "SUBSCRIBE", session->login->channel);
    if (session->login->probe_native && !session->native_refused &&
        SAY(session, STEP_NATIVE, "EVAL", RL_SCRIPT_NATIVE, "0", PROBE_KEY) < 0)
        return -1;
    if (rl_vetting_check(session, now_ns) < 0)
        return -1;
    return rl_vetting_sample_clock(session, now_ns);
}

static bool is_full(struct rl_slice error)
{
    return rl_slice_starts(error, "ERR max number"); /* of clients reached */
}

/* Errors that say the whole connection is useless, whatever was asked. */
static bool is_fatal(enum step step, struct rl_slice error)
{
    return step == STEP_AUTH || step == STEP_SELECT || rl_slice_starts(error, "NOAUTH") ||
           rl_slice_starts(error, "DENIED") || is_full(error) || step == STEP_SUBSCRIBE;
}

/*
 * A server that answers a question with something that is no answer to it is out of step, or no
 * Redis at all: its next "OK" would be taken for a grant.
 */
static bool makes_sense(enum step step, const struct rl_scalar *reply)
{
    if (reply->type == RL_REPLY_ERROR)
        return true;
    switch (step) {
    case STEP_AUTH:
    case STEP_SELECT:
    case STEP_NAME:
        return reply->type == RL_REPLY_STATUS;
    case STEP_SUBSCRIBE:
        return reply->type == RL_REPLY_ARRAY;
    case STEP_NATIVE:
        return reply->type == RL_REPLY_INTEGER;
    }
    return false;
}

static void learn_native(struct rl_session *session, const struct rl_scalar *reply)
{
    if (reply->type == RL_REPLY_ERROR) {
        /* The server has written the refusal to its ACL log: later connections do not ask. */
        session->native_refused = rl_slice_starts(reply->text, "NOPERM");
        return;
    }
    if (reply->integer & NATIVE_DELIFEQ)
        session->abilities.delete_style = RL_DELETE_DELIFEQ;
    else if (reply->integer & NATIVE_DELEX)
        session->abilities.delete_style = RL_DELETE_DELEX;
    session->abilities.set_ifeq = (reply->integer & NATIVE_SET_IFEQ) != 0;
}

int rl_greeting_answer(struct rl_session *session, uint16_t step, const struct rl_reply *reply)
{
    const struct rl_scalar *scalar = &reply->scalar;

    if (scalar->type == RL_REPLY_ERROR && is_fatal((enum step)step, scalar->text)) {
        rl_session_refused(session, scalar->text);
        /* Whatever it says to AUTH, unless it would have said it to anything. */
        if (step == STEP_AUTH && session->failure == REDLOCK_VOTE_ERROR &&
            !is_full(scalar->text)) {
            session->failure = REDLOCK_VOTE_AUTH;
            session->failure_reason = REDLOCK_REASON_WRONG_PASSWORD;
        }
        return 1;
    }
    if (!makes_sense((enum step)step, scalar))
        return -1;
    if (step == STEP_NATIVE)
        learn_native(session, scalar);
    if (session->gated && step <= STEP_SELECT) {
        struct rl_pending_queue *queue = &session->pending;
        const struct rl_pending *next = &queue->entry[queue->first];

        /* User and database are confirmed once the next reply is about something else. */
        session->gated = queue->count > 0 && !next->subject && next->op <= STEP_SELECT;
    }
    return 0;
}
