/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection to one node, without the connection: bytes in, bytes out.
 *
 * A session begins with a greeting (authentication, database, client name, which native
 * commands there are, and the check whether the node may vote). Requests may be pushed from the
 * first moment and travel behind it, so a short-lived program pays no extra round trip. With
 * credentials or a database the requests are held back until both are confirmed: nothing may
 * run as the wrong user or in the wrong database.
 *
 * Every reply belongs to the oldest pending request (late ones too). When the connection ends,
 * requests without a reply are taken back one by one; they are never sent again by themselves.
 */
#ifndef RL_PROTOCOL_SESSION_H
#define RL_PROTOCOL_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "core/electors.h"
#include "core/guard.h"
#include "core/set.h"
#include "core/trace.h"
#include "protocol/answer.h"
#include "protocol/cluster.h"
#include "protocol/pending.h"
#include "protocol/resp.h"

#define RL_SESSION_INPUT_SIZE (2 * RL_RESP_REPLY_MAX)
/* CLUSTER NODES: 130 to 450 bytes a node, and a word for each run of slots. */
#define RL_SESSION_NODES_MAX (512 * 1024)

/* New acquires stop here, so that there is always room for the releases of the old ones. */
#define RL_SESSION_ACQUIRES_MAX (RL_PENDING_MAX / 4 * 3)

/* What a node is sent first. The strings are the caller's and outlive the session. */
struct rl_login {
    const char *user;     /* NULL: none */
    const char *password; /* NULL: none */
    bool awaits_password; /* it is being read when a connection begins: rl_session_log_in() */
    uint32_t database;
    const char *client_name;
    bool probe_native;
    const char *channel; /* a session that only listens, to this; NULL: one of requests */
    const char *group; /* one with a Sentinel: it names the master of this; NULL: it is none */
    uint8_t
        vote_count;  /* one with an elector of a cluster: so many votes has it; 0: it is none */
    const char *tag; /* one with a vote of a cluster: in front of all keys; NULL: it is none */
};

/* Is the session one with an elector? */
static inline bool rl_login_is_of_elector(const struct rl_login *login)
{
    return login->group || login->vote_count;
}

/* What an elector has reported on this connection (elector.h). */
struct rl_elector_talk {
    char id[RL_ELECTOR_ID_SIZE + 1];   /* empty: not known yet */
    struct rl_term term[RL_VOTES_MAX]; /* of each vote of a cluster; else the first */
    int64_t answered_requested_ns;     /* when the request left that `term` answers */
    int64_t requested_ns;              /* when the request under way left; 0: none is */
    int64_t down_after_ms; /* its down-after-milliseconds for the group; -1: unknown */
    bool has_news;         /* the engine has not looked at it yet */
};

/* What a session requests by itself; session.c has a row for each. */
enum rl_step {
    /* The greeting: greeting.c. */
    RL_STEP_AUTH,
    RL_STEP_SELECT,
    RL_STEP_NAME,
    RL_STEP_SUBSCRIBE,
    RL_STEP_NATIVE,
    /* May the node vote? vetting.c; in the greeting too. */
    RL_STEP_SERVER,
    RL_STEP_REPLICATION,
    RL_STEP_PERSISTENCE,
    RL_STEP_MEMORY,
    RL_STEP_MARKER, /* the last of a check: its answer leads to the judgement */
    RL_STEP_SET,
    RL_STEP_RESTORE,
    RL_STEP_TIME,
    RL_STEP_PROBE,
    RL_STEP_ADMIT,
    RL_STEP_EXPEL,
    RL_STEP_STAMP,
    RL_STEP_SENTINEL,
    /* Who leads? elector.c. */
    RL_STEP_ELECTOR_ID,
    RL_STEP_ELECTOR_TERM,
    RL_STEP_ELECTOR_NODES,
    RL_STEP_ATTESTATION, /* for the engine, not for the session */
};

enum rl_session_state {
    RL_SESSION_DOWN,
    RL_SESSION_GREETING, /* begun, not confirmed */
    RL_SESSION_UP,
};

struct rl_session {
    const struct rl_login *login;
    struct rl_trace *trace; /* NULL: none */
    const char *address;    /* of the node, for the trace */
    enum rl_session_state state;
    struct rl_buffer output;
    size_t
        gate; /* bytes of output that may be sent; the greeting's while it is not confirmed */
    bool gated;
    bool awaits_password; /* nothing may be sent before rl_session_log_in() */
    bool was_logged_in;   /* on this connection or an earlier one: the password was right */
    bool login_refused;   /* the last time, on a connection that goes on as it was */
    struct rl_pending_queue pending;
    uint32_t greeting_left; /* greeting replies still to come */
    struct rl_abilities abilities;
    bool native_refused;  /* this user may not run native.lua; kept over connections */
    bool sharded_refused; /* the server knows no SSUBSCRIBE, or this user may not: the same */

    char *input;
    size_t input_size;
    size_t input_start;
    size_t input_end;
    /*
     * Silence begins when something was sent and nothing is answered (pending.sent_count): what
     * waits here is not the node's fault.
     */
    int64_t progress_ns; /* the last reply, or the first request sent since the one before */

    struct rl_elector_talk elector; /* of a session with one */
    struct rl_facts facts; /* what the node reports of itself, as far as it has answered */
    struct rl_guard guard; /* may it vote? */
    struct rl_set_answer set_answer; /* its set (G8), on whatever connection it came */
    bool set_news;                   /* the engine has not looked at that yet */
    bool has_news; /* its own requests were answered, or it ended: there may be new findings */
    char marker_error[REDLOCK_TEXT_MAX]; /* if set_answer is unreadable: the server's words */
    bool restore_requested;              /* its set was written on this connection */
    int64_t checked_ns;                  /* when the facts were last requested */
    int64_t clock_requested_ns; /* when the clock sample under way was requested; 0: none is */
    int64_t clock_answered_ns;  /* when the last one came */
    bool check_requested;       /* a check is under way */
    bool wants_attestation;     /* acquires were queued that need one behind them (G2) */
    bool admission_requested;   /* a PROBE or ADMIT is under way */
    int64_t admission_requested_ns; /* when the last one was sent */
    bool has_sentinel;              /* one watches it, as far as it has answered */
    char version[32];               /* "redis 7.0.15"; empty: unknown */
    /* Why the session failed; what every request then gets. */
    enum redlock_vote failure;
    enum redlock_reason failure_reason;
    char failure_text[REDLOCK_TEXT_MAX];
};

/* The guard and the trace are the caller's to set up afterwards. */
int rl_session_init(struct rl_session *session, const struct rl_login *login);
void rl_session_free(struct rl_session *session);

/* A new connection is being made: writes the greeting. The pending queue must be empty. */
int rl_session_begin(struct rl_session *session, int64_t now_ns);

/* The connection is gone. Pending requests stay, to be taken by rl_pending_pop(). */
void rl_session_end(struct rl_session *session);

/* Queues a request of the session's own, a list of words that ends with NULL. */
int rl_session_send(struct rl_session *session, enum rl_step step, const char *const *words);
#define RL_SEND(session, step, ...)                                                            \
    rl_session_send((session), (step), (const char *const[]){__VA_ARGS__, NULL})

/*
 * AUTH with the password as it is now: in front of a greeting that waits for it; on a session
 * that is up, behind the requests so far. That one goes on as before if it is refused. -1: out
 * of memory.
 */
int rl_session_log_in(struct rl_session *session);

/* Writes the greeting in front of an empty output. -1: out of memory. */
int rl_greeting_write(struct rl_session *session, int64_t now_ns);
/* Understands the reply to one step of it. -1: the node refuses us, failure has the cause. */
int rl_greeting_answer(struct rl_session *session, enum rl_step step,
                       const struct rl_scalar *reply);

/* For the trace, if there is one: that request was queued; or, with a reply, answered. */
void rl_session_trace(const struct rl_session *session, enum rl_step step,
                      const struct rl_reply *reply);

/* Queues one command. False: the session is down or full; nothing was queued. */
bool rl_session_push(struct rl_session *session, struct rl_command *command,
                     struct rl_pending entry);

/*
 * What may be sent now; *bytes is valid until the next call. Closes a batch of acquires with
 * their attestation, so call it when nothing more comes for the moment.
 */
size_t rl_session_output(struct rl_session *session, const char **bytes);
void rl_session_sent(struct rl_session *session, size_t size, int64_t now_ns);

/*
 * Where received bytes go: input_end is to be moved behind them. Never 0 after
 * rl_session_next() has returned 0.
 */
size_t rl_session_room(struct rl_session *session, char **bytes);

/*
 * Takes the next reply to a request: 1 with *entry and *reply (valid until the next call), 0
 * when there is none yet, -1 when the session failed (failure and failure_text have the cause).
 * For a session that listens, *reply is a message and *entry means nothing. An entry without a
 * subject is an attestation.
 */
int rl_session_next(struct rl_session *session, struct rl_pending *entry,
                    struct rl_reply *reply, int64_t now_ns);

/*
 * The words of a server as they may be shown on a terminal: printable characters only, and not
 * the arguments of ours that they repeat.
 */
void rl_session_quote(struct rl_slice text, char out[REDLOCK_TEXT_MAX]);

/*
 * Remembers why requests of this session cannot be answered: for programs, and in words. text:
 * NULL for those of the reason.
 */
void rl_session_fail(struct rl_session *session, enum redlock_vote vote,
                     enum redlock_reason reason, const char *text);
/* The same from an error that the server replied with. */
void rl_session_refused(struct rl_session *session, struct rl_slice error);

#endif
