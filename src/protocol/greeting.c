/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session sends first, and what it learns from the answers. */
#include "base/number.h"
#include "protocol/elector.h"
#include "protocol/scripts.h"
#include "protocol/vetting.h"

/*
 * The key that native commands are tried with (native.lua). It never exists: every command
 * compares before it acts, and answers "no such key" where it is understood.
 */
#define PROBE_KEY "redlock.probe"

/* What native.lua answers, added up. */
enum { NATIVE_DELIFEQ = 1, NATIVE_DELEX = 2, NATIVE_SET_IFEQ = 4 };

int rl_greeting_write(struct rl_session *session, int64_t now_ns)
{
    const struct rl_login *login = session->login;
    char digits[21] = "";

    session->awaits_password = login->awaits_password;
    if (!login->awaits_password && (login->user || login->password) &&
        rl_session_log_in(session) < 0)
        return -1;
    *rl_number_write(login->database, digits) = '\0';
    if (login->database && RL_SEND(session, RL_STEP_SELECT, "SELECT", digits) < 0)
        return -1;
    if (session->greeting_left > 0) {
        session->gated = true;
        session->gate = session->output.size;
    }
    if (RL_SEND(session, RL_STEP_NAME, "CLIENT", "SETNAME", login->client_name) < 0)
        return -1;
    if (rl_login_is_of_elector(login))
        return rl_elector_greet(session, now_ns);
    if (login->channel)
        return RL_SEND(session, RL_STEP_SUBSCRIBE,
                       login->tag && !session->sharded_refused ? "SSUBSCRIBE" : "SUBSCRIBE",
                       login->channel);
    if (login->probe_native && !session->native_refused &&
        RL_SEND(session, RL_STEP_NATIVE, "EVAL", RL_SCRIPT(NATIVE).text.data, "1", PROBE_KEY) <
            0)
        return -1;
    if (rl_vetting_check(session, now_ns) < 0)
        return -1;
    return rl_vetting_sample_clock(session, now_ns);
}

static bool is_full(struct rl_slice error)
{
    return rl_slice_starts(error, "ERR max number"); /* of clients reached */
}

/* Errors that make the whole connection useless, whatever was requested. */
static bool is_fatal(enum rl_step step, struct rl_slice error)
{
    return step == RL_STEP_AUTH || step == RL_STEP_SELECT || rl_slice_starts(error, "NOAUTH") ||
           rl_slice_starts(error, "DENIED") || is_full(error) || step == RL_STEP_SUBSCRIBE;
}

int rl_greeting_answer(struct rl_session *session, enum rl_step step,
                       const struct rl_scalar *reply)
{
    struct rl_pending_queue *queue = &session->pending;
    bool refused = reply->type == RL_REPLY_ERROR;

    if (step == RL_STEP_SUBSCRIBE && refused && rl_slice_starts(reply->text, "ERR unknown"))
        session->sharded_refused =
            true; /* before Redis 7.0: the next connection does without */
    if (refused && is_fatal(step, reply->text)) {
        rl_session_refused(session, reply->text);
        /* A connection that is up stays what it was: a failed login changes nothing on it. */
        if (step == RL_STEP_AUTH && session->state == RL_SESSION_UP) {
            session->login_refused = true;
            return 0;
        }
        /* Whatever it answers to AUTH, unless it would have answered that to anything. */
        if (step == RL_STEP_AUTH && session->failure == REDLOCK_VOTE_ERROR &&
            !is_full(reply->text)) {
            session->failure = REDLOCK_VOTE_AUTH;
            session->failure_reason = REDLOCK_REASON_WRONG_PASSWORD;
        }
        /* It was right before: it is being changed, and waiting can help. */
        if (session->failure == REDLOCK_VOTE_AUTH && session->login->awaits_password &&
            session->was_logged_in)
            session->failure = REDLOCK_VOTE_UNREACHABLE;
        return -1;
    }
    if (step == RL_STEP_AUTH) {
        session->was_logged_in = true;
        session->login_refused = false;
    }
    if (step == RL_STEP_NATIVE && refused) {
        /* The server has written the refusal to its ACL log: later connections do not try. */
        session->native_refused = rl_slice_starts(reply->text, "NOPERM");
    } else if (step == RL_STEP_NATIVE) {
        if (reply->integer & NATIVE_DELIFEQ)
            session->abilities.delete_style = RL_DELETE_DELIFEQ;
        else if (reply->integer & NATIVE_DELEX)
            session->abilities.delete_style = RL_DELETE_DELEX;
        session->abilities.set_ifeq = (reply->integer & NATIVE_SET_IFEQ) != 0;
    }
    if (session->gated && step <= RL_STEP_SELECT) {
        const struct rl_pending *next = &queue->entry[queue->first];

        /* User and database are confirmed once the next reply is about something else. */
        session->gated = queue->count > 0 && !next->subject && next->op <= RL_STEP_SELECT;
    }
    return 0;
}
