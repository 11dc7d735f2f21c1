/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leases: PUT acquires, POST renews, DELETE releases, on every replica. Replicas never talk to
 * each other; the nodes are the only state.
 *
 * The life of a PUT (struct lease, one per request that is under way):
 *
 *     begin -> WAITING    the library acquires; the exchange is suspended. The table of ids has it.
 *                 |  the client is gone: the acquisition is freed, which takes back what it has set
 *                 |  the same id again: the newer request takes the wait over, the older gets 409
 *                 |  DELETE of the id: ended, 410
 *                 |  refused: 423, 5xx
 *                 v
 *              TOLD       granted, and 201 is written. The handle deletes nothing by itself any more
 *                 |       (REDLOCK_KEEP): neither its deadline nor its end does.
 *                 |  a byte of it was sent: forgotten. From here on only the client knows the lease
 *                 v  none was, and the client is gone
 *              UNDONE     released by its value: no answer gave it to a client
 *
 * Of a PUT that asks for a stream, WAITING is followed by STREAMING instead: leases/stream.h.
 *
 * The rules of docs/service.md, and where each is:
 *     an id that was granted once is never granted again    lease_begin_acquire(), lease_acquired()
 *     no 200 or 201 from memory                             memory only refuses: leases/ids.h
 *     no replica prolongs a value that it found by its tag  POST needs the grant: leases/terms.c
 *     no handle sweeps                                      REDLOCK_KEEP: start()
 *     an extension is never rolled back                     lease_renewed()
 *     a client that disconnects while it waits is cancelled lease_acquire_ended()
 *     granted in that instant: released unless a byte was sent    lease_acquire_ended()
 *     a PUT behind which EOF was read is not begun          lease_begin_acquire()
 *     a wait that was taken over counts from its own request      take_over()
 *     where closing releases, belief ends with the stream         lease_stream_ended()
 *     and the grant is told with `reconnect` only                 lease_stream_granted()
 *     all are left, and only then told `reconnect`                tell_reconnect()
 */
#ifndef REDLOCKD_LEASES_H
#define REDLOCKD_LEASES_H

#include <stdbool.h>
#include <stdint.h>

#include "access/access.h"
#include "audit/audit.h"
#include "engine/timers.h"
#include "http/body.h"
#include "http/server.h"
#include "http/user.h"
#include "leases/ids.h"
#include "leases/ledger.h"
#include "leases/terms.h"
#include "redlock.h"
#include "system/asked.h"
#include "system/loop.h"

/* A comment on every stream so often. */
#define STREAM_COMMENT_NS (10 * INT64_C(1000000000))

enum lease_state {
    LEASE_WAITING,   /* PUT: the library acquires */
    LEASE_TOLD,      /* PUT: 201 is written, perhaps not sent */
    LEASE_STREAMING, /* PUT: granted, renewed while its client lives */
    LEASE_RESUMING,  /* PUT with the grant of a stream: the library extends */
    LEASE_UNDONE,    /* PUT: being released, the client is gone */
    LEASE_RENEWING,  /* POST */
    LEASE_ENDING,    /* DELETE */
};

/* A request that is under way: the data of its lock. Small: thousands of them wait. */
struct lease {
    enum asked asked_for;  /* first: the data of a release by its tag */
    struct http_user user; /* what http_set_user() is given */
    struct leases *leases;
    struct lease *previous, *next;  /* in leases->all */
    struct http_exchange *exchange; /* NULL: the client is gone, and the rest goes on without */
    redlock_lock *lock;             /* PUT: its acquisition; else adopted */
    int64_t received_ns;            /* of the request that will be answered */
    int64_t ttl_ms;
    int64_t fence;               /* of the grant; 0: none */
    struct lease_stream *stream; /* NULL: a lease */
    enum lease_state state;
    bool is_local;            /* it came through a unix socket */
    struct access_who who;    /* of the request that will be answered */
    struct access_rule *rule; /* whose cap on waiters it counts for; NULL: none */
    bool had_wait;            /* ENDING: a wait of the id was ended on the way */
    bool is_known;            /* not PUT: this replica knew the lease when the request came */
    bool is_fenced;           /* PUT: asked for */
    uint16_t slots;
    int8_t kind;
    struct lease_tag tag;
    char owner[LEASE_TAG_SIZE + 1];
};

struct leases_counts {
    uint64_t yours, disconnected_waiters;
    uint64_t unknown; /* renewals that found nothing, of leases that were not known here */
    unsigned waiting, waiting_streams; /* of those that wait */
    unsigned streaming, jeopardy;      /* of these */
};

struct leases {
    struct loop *loop;
    struct access *access; /* rules, which HUP replaces */
    struct audit *audit;
    struct ledger ledger; /* what is held, as far as this replica knows */
    unsigned looks;       /* questions about leases whose time is over */
    redlock *client;
    struct ids ids;
    struct lease *all;
    struct rl_timers timers; /* of streams */
    size_t stream_count;     /* also those that wait */
    int64_t comment_ns;      /* a sign of life so often on every stream */
    struct http_body body;
    uint32_t drift_ppm; /* how much slower than ours a client's clock may be */
    int64_t max_ttl_ms; /* of the nodes' clients; 0: the library's default */
    bool is_due;        /* the library was given work in this turn */
    bool is_draining;   /* no more waits */
    struct leases_counts counts;
};

/* What --check looks at: the nodes are named, and their files can be used, which the log is warned of. No node
 * is asked. */
int leases_check(const char *config, char *why, size_t why_size);

/* 0, or -1 with a sentence in why and nothing left open. config: NULL for the machine's. */
int leases_open(struct leases *leases, struct loop *loop, struct access *access,
                struct audit *audit, const char *config, uint32_t drift_ppm, char *why,
                size_t why_size);
/* After the server is freed. Also of one that failed to open. */
void leases_close(struct leases *leases);

/*
 * Renewals of streams, and questions about leases whose time is over; when to be called next.
 */
int64_t leases_turn(struct leases *leases, int64_t now_ns);
/* The library was given something to do. */
void leases_wake(struct leases *leases);

/*
 * From the handler of the server; `name` is what stands behind /v1/locks/ in the path, decoded.
 */
void leases_begin(struct leases *leases, struct http_exchange *exchange,
                  const struct http_request *request, const char *name,
                  const struct access_who *who);

/* Rules or tokens are new: waits whose principal may not acquire any more end with 403. */
void leases_reload(struct leases *leases);

/*
 * ---- for the other files of this room -----------------------------------------------------
 */

/*
 * A request that waits for the nodes, with the exchange as its user. NULL: out of memory,
 * answered.
 */
struct lease *lease_new(struct leases *leases, struct http_exchange *exchange,
                        const struct http_request *request, const struct lease_terms *terms,
                        const struct access_who *who, enum lease_state state);
/* The text of its grant; false: none can be written. */
bool lease_write_grant(const struct lease *lease, char text[LEASE_GRANT_MAX + 1]);

/* Frees the handle, too: a waiting one is canceled, and what is held stays on the nodes. */
void lease_free(struct lease *lease);

/* The exchange, which gets an answer now, and of which the lease hears no more; NULL: gone. */
struct http_exchange *lease_take_exchange(struct lease *lease);

/*
 * A renewal or release found no such lease: charged to its rule, unless the lease was known
 * here.
 */
void lease_missed(const struct lease *lease, const char *name);

/* By the ways to hold, at this moment; in jeopardy: held, and the last renewal failed. */
struct leases_view {
    unsigned lease_waiting, lease_held;
    unsigned stream_waiting, stream_held, stream_jeopardy;
};
struct leases_view leases_look(const struct leases *leases);

/*
 * ---- the end of the process ---------------------------------------------------------------
 */

/*
 * Ends all waits with 503, sends the streams away, and begins none any more. Renewals and
 * releases go on.
 */
void leases_drain(struct leases *leases);

#endif
