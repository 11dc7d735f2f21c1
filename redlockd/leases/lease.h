/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of a lease, as one step: what has happened, and when, becomes what is to be done.
 * No clock, no socket, no memory and no call of the library in here (tests/binaries/purity.sh):
 * leases/carry.c carries the actions out, and the simulator runs this very file behind
 * replicas, proxies and programs of its own (lab/sim/service.c).
 *
 * A struct lease is one request about a lease id, from its receipt to its end:
 *
 *     PUT     IDLE -> WAITING     the library acquires
 *                        |  the client is gone: its handle is freed, which takes back all set
 *                        |  the same id again: the newer request takes over, the older has 409
 *                        |  DELETE of the id: 410; refused: 423, 5xx
 *                        v
 *                     ANSWERED    granted, and 201 is written
 *                        |  a byte of it was sent: over. Only the client knows the lease now
 *                        v  none was, and the client is gone
 *                     UNDONE      released by its value: no answer gave it to a client
 *
 *     PUT     of a stream: WAITING -> STREAMING
 *                        |  the client closed its local socket: UNDONE, released at once
 *                        |  any other end of the connection: left, and the TTL runs out
 *                        |  DELETE of the id, or a newer request that comes back: `lost`, left
 *                        |  lost: `lost`
 *                        |  drain: renewed once, left, and `reconnect`
 *     PUT     with the grant of a stream: IDLE -> RESUMING -> STREAMING
 *     POST    IDLE -> RENEWING
 *     DELETE  IDLE -> ENDING
 *
 * The rules (leases/rules.h has what goes wrong without each):
 *
 *     an id that was granted once is never granted     ID_GRANTED_ONCE, ID_SPENT_FIRST
 *     a repeated PUT takes over the wait, and the      TAKEN_OVER_IF_SAME, NEWER_DECIDES,
 *         only right to decide                         COUNTED_FROM_OWN
 *     no 200 or 201 from memory                        MAJORITY_QUERIED
 *     no replica prolongs what it found by a tag       EXACT_GRANT
 *     no handle sweeps, no extension is rolled back    HANDLE_KEPT, RENEWAL_STAYS
 *     a PUT behind which EOF was read is not begun     EOF_BEGINS_NOTHING
 *     a client that disconnects in a wait is cancelled WAIT_ENDS_AT_ONCE
 *     a release ends the wait of its id                RELEASE_ENDS_WAIT
 *     granted then: released unless a byte was sent    UNDELIVERED_RELEASED, DELIVERED_STAYS
 *     the deadline allows for the client's clock       DRIFT_DEDUCTED
 *     a wait without its right ends                    RIGHT_AT_GRANT
 *     nor is a stream without it renewed               RIGHT_AT_RENEWAL
 *     where closing releases, belief ends with it      CLOSE_RELEASES, GRANT_WITH_RECONNECT
 *     elsewhere the client may work on                 REMOTE_STAYS, RETURNED_STAYS
 *     only a client's close releases                   CUT_STAYS
 *     all are left, and only then get `reconnect`      LEFT_BEFORE_RECONNECT
 *     silence is no proof of holding                   CLIENT_SEEN
 *
 * **If closing the connection releases the lock, the client must stop working when the stream
 * ends.** Its client is not given the grant
 * before `reconnect`, so that no request can renew what a close may be deleting.
 * `closing_leaves` is the other case: a client behind TCP may work on after its connection
 * broke, and a stream that came back shares its value with requests that may still be under
 * way. It is left on close, and may have its grant at once. So is a local stream that requests
 * that: `redlock run` does, which may be killed while its command is still there.
 *
 * **Only a client's close releases.** A stream that this side cut (its client does not read;
 * the process ends) is left: the client may be alive, and believes until the last deadline that
 * it was given.
 *
 * **Silence is no proof of holding.** On a local socket a client that is gone ends its stream,
 * and one that reads nothing is cut off (http/server.h). On TCP it is seen to live while its
 * machine has acknowledged all that was sent; until then nothing is renewed. So the lock of a
 * machine that vanished is renewed once more at most. Nor is a stream renewed whose client has
 * lost its right to the name: it gets `lost` when its time is over.
 *
 * **The deadline** is given as two spans (leases/reply.h). Of a stream over TCP `after_ms`
 * counts from the receipt of the PUT, and the clock of its client may drift from ours all that
 * time. When that allowance has eaten a third of the TTL, the stream gets `reconnect`, as by a
 * drain: its next PUT counts anew.
 */
#ifndef REDLOCKD_LEASES_LEASE_H
#define REDLOCKD_LEASES_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#define LEASE_RETRIES_PER_TTL                                                                  \
    20                      /* of the renewal of a stream that failed, or was not allowed */
#define LEASE_ACTIONS_MAX 8 /* of one step */

enum lease_state {
    LEASE_IDLE,      /* its request has not come */
    LEASE_WAITING,   /* PUT: the library acquires */
    LEASE_ANSWERED,  /* PUT: 201 is written, perhaps not sent */
    LEASE_STREAMING, /* PUT: granted, renewed while its client lives */
    LEASE_RESUMING,  /* PUT with the grant of a stream: the library extends */
    LEASE_UNDONE,    /* PUT: being released, the client is gone */
    LEASE_RENEWING,  /* POST */
    LEASE_ENDING,    /* DELETE */
    LEASE_OVER,      /* to be freed, with its handle; one that waits is cancelled by that */
};

/*
 * What a replica remembers of a lease id (leases/table.h). Memory only ever refuses: never 200
 * or 201, which need a majority that was queried after the request came.
 */
enum lease_memory {
    LEASE_UNKNOWN,
    LEASE_WAITS,   /* a PUT of this id waits here. Until it is granted, refused or gone */
    LEASE_STREAMS, /* a stream of this id holds it, or comes back. Until it ends */
    LEASE_GRANTED, /* granted here in the last two minutes, or its stream was left */
    LEASE_ENDED,   /* released, lost or not delivered in the last two minutes */
};

enum lease_verb {
    LEASE_ACQUIRE, /* PUT */
    LEASE_RESUME,  /* PUT with the grant of a stream */
    LEASE_RENEW,   /* POST */
    LEASE_RELEASE, /* DELETE */
};

struct lease {
    enum lease_state state;
    enum lease_verb verb;
    bool is_stream;      /* PUT: it requested events */
    bool is_local;       /* the request that will be answered came through a unix socket */
    bool leaves;         /* PUT: a close by the client is to release nothing */
    bool has_returned;   /* it came back with its grant: its value is not of this request */
    bool closing_leaves; /* a close by the client does not release */
    bool is_extending;   /* STREAMING, and UNDONE after that: a renewal is under way */
    bool in_jeopardy;    /* held, and the last renewal failed */
    bool is_going;       /* gets `reconnect` as soon as its renewal has an outcome */
    bool had_wait;       /* ENDING: a wait of the id was ended on the way */
    bool is_spent;       /* ENDING: its id is of this lock, and ends with it */
    int place;           /* in the queue, of a stream that waits; 0: it was given none */
    uint32_t drift_ppm;  /* how much slower than ours the client's clock may be */
    int64_t received_ns; /* of the request that will be answered */
    int64_t ttl_ms;
    int64_t comment_every_ns; /* a sign of life so often on a stream */
    int64_t comment_ns;       /* the next one */
    int64_t renew_ns;         /* STREAMING: the next renewal; RL_NEVER_NS: one is under way */
};

enum lease_event_type {
    LEASE_REQUESTED, /* the request that this lease is of */
    LEASE_REPEATED,  /* another request of an id that waits or streams here, to that lease */
    LEASE_QUEUED,    /* the acquisition has a place in the queue */
    LEASE_ACQUIRED,  /* the library's: error 0, or why not */
    LEASE_EXTENDED,
    LEASE_RELEASED,
    LEASE_LOST,   /* a majority does not have it, or its validity is over */
    LEASE_SENT,   /* a byte of the answer was sent; of a stream: all of it was */
    LEASE_GONE,   /* the client has closed */
    LEASE_CUT,    /* this side has closed: the client may be there and not know */
    LEASE_TICK,   /* lease_due_ns() has come */
    LEASE_RULED,  /* rules or tokens are new */
    LEASE_DRAIN,  /* the process is about to end */
    LEASE_FAILED, /* the last action found no memory; those behind it were not carried out */
};

/* Fields that an event does not mention are 0. */
struct lease_event {
    enum lease_event_type type;
    /* REQUESTED and REPEATED */
    enum lease_verb verb;
    enum lease_memory memory; /* of the id */
    bool eof;                 /* the client has closed behind it */
    bool is_draining;         /* also EXTENDED */
    bool has_grant;           /* it has the exact value, of a lease ... */
    bool is_streams_grant;    /* ... or of a stream */
    bool is_local;            /* REPEATED: it came through a unix socket */
    bool had_wait;            /* REQUESTED, of a release: a wait of the id was ended for it */
    /* REPEATED: it requests just what waits, of a release or resumption: for the same name;
     * REQUESTED, of a release: the id is of this name, as far as is known here. */
    bool is_same;
    int64_t received_ns;
    bool may;            /* it has the right, now; also ACQUIRED, TICK, RULED, DRAIN */
    bool has_room;       /* its rule has room for it; also ACQUIRED */
    bool is_seen;        /* TICK, DRAIN: its client has taken all that was sent */
    bool was_sent;       /* GONE, CUT of a stream: a byte of `granted` was sent */
    bool is_older;       /* SENT, GONE, CUT: of a request whose wait was taken over */
    int error;           /* of the library's events */
    int place;           /* QUEUED */
    int64_t deadline_ns; /* until then the library vouches for the lock */
};

/* What is answered. HELD, RELEASED and FAILURE are by the library's word, the others
 * refusals (reply.c). */
enum lease_answer {
    LEASE_HELD,        /* 201 or 200, with the deadline */
    LEASE_IS_RELEASED, /* 204 */
    LEASE_FAILURE,     /* the library's error */
    LEASE_YOURS,       /* 409 */
    LEASE_YOURS_HERE,  /* 409, to a stream that comes back */
    LEASE_SUPERSEDED,  /* 409 */
    LEASE_ELSEWHERE,   /* 409: the stream came back elsewhere */
    LEASE_HAS_ENDED,   /* 410, to PUT: acquire with a new id */
    LEASE_STOP,        /* 410, to a holder */
    LEASE_WAS_GONE,    /* 410, to DELETE */
    LEASE_NO_GRANT,    /* 400 */
    LEASE_OTHER_GRANT, /* 400: that of a stream */
    LEASE_DRAINING,    /* 503 */
    LEASE_FORBIDDEN,   /* 403 */
    LEASE_QUOTA,       /* 429 */
    LEASE_LATE,        /* 503: given back */
    LEASE_NO_MEMORY,   /* 503 */
    LEASE_ANSWER_COUNT,
};

/* Events of a stream. */
enum lease_word {
    LEASE_SENDS_PLACE, /* queued */
    LEASE_SENDS_GRANTED,
    LEASE_SENDS_RENEWED,
    LEASE_SENDS_JEOPARDY,
    LEASE_SENDS_RECOVERED,
    LEASE_SENDS_RECONNECT, /* and the stream ends */
    LEASE_SENDS_ALIVE,     /* a comment */
};

/* For the audit log, the caps of rules and the counters. */
enum lease_note {
    LEASE_NOTES_GRANT,
    LEASE_NOTES_HELD, /* renewed, or come back */
    LEASE_NOTES_RELEASE,
    LEASE_NOTES_CLOSE,       /* released, since its client closed its stream */
    LEASE_NOTES_UNDELIVERED, /* released, since no byte of its grant was sent */
    LEASE_NOTES_LEFT,        /* a stream that is renewed no more and not released */
    LEASE_NOTES_LOSS,        /* of a stream; with the error */
    LEASE_NOTES_MISSING,     /* a renewal or release has not found it; with the error */
    LEASE_NOTES_JEOPARDY,    /* with the error */
    LEASE_NOTES_RECOVERY,
    LEASE_NOTES_DENIAL, /* no right */
    LEASE_NOTES_QUOTA,  /* no room */
    LEASE_NOTES_YOURS,
    LEASE_NOTES_DISCONNECT, /* of a client that waited */
};

enum lease_action_type {
    LEASE_REMEMBER, /* `memory` of the id, UNKNOWN: nothing. Before the actions behind it */
    LEASE_START,    /* acquire; kept: the handle deletes nothing by itself (REDLOCK_KEEP) */
    LEASE_EXTEND,   /* exactly the value of the handle */
    LEASE_END,      /* release: that value, or without one what has the tag */
    LEASE_ANSWER,   /* the request; a stream that has begun gets `lost` */
    LEASE_SEND,     /* a stream */
    LEASE_NOTE,
    /* REPEATED, about the newer request: */
    LEASE_REFUSE, /* answers it */
    LEASE_TAKE,   /* it is the one that will be answered from here on */
    /* REQUESTED and REPEATED */
    LEASE_DROP, /* the request that came ends without an answer */
};

struct lease_action {
    enum lease_action_type type;
    union {
        enum lease_memory memory;
        enum lease_answer answer;
        enum lease_word word;
        enum lease_note note;
        bool is_kept; /* START */
    };
    bool with_grant; /* SEND */
    int error;       /* FAILURE, JEOPARDY and notes: an error of the library */
};

/* When a client's belief ends, as it is sent: reply.h. */
struct lease_deadline {
    int64_t after_ms;
    int64_t remaining_ms; /* never negative */
    int64_t deadline_ns;  /* CLOCK_BOOTTIME, as the library has it */
};

/* To be carried out in this order. Then a lease that is OVER is freed. */
struct lease_actions {
    unsigned count;
    struct lease_deadline deadline; /* of HELD and SEND */
    struct lease_action list[LEASE_ACTIONS_MAX];
};

void lease_step(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                struct lease_actions *actions);

/* When a TICK is due; RL_NEVER_NS: no time matters. */
int64_t lease_due_ns(const struct lease *lease);

/* Less drift_ppm of both spans, and 1 ms for what was cut off. */
struct lease_deadline lease_deadline_of(int64_t received_ns, int64_t now_ns,
                                        int64_t deadline_ns, uint32_t drift_ppm);

#endif
