/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leases: PUT acquires, POST renews, DELETE releases, on every replica. Replicas never talk to
 * each other; the nodes are the only state.
 *
 * What is done with a lease, and when, decides leases/lease.c, without a clock, a socket or the
 * library. This room brings it what happens: requests (leases.c), the library's events, the
 * ends of connections and time (carry.c), and carries its actions out (carry.c).
 */
#ifndef REDLOCKD_LEASES_H
#define REDLOCKD_LEASES_H

#include <stdbool.h>
#include <stdint.h>

#include "access/routed.h"
#include "http/body.h"
#include "http/server.h"
#include "journal/journal.h"
#include "leases/lease.h"
#include "leases/table.h"
#include "leases/terms.h"
#include "redlock.h"
#include "system/job.h"
#include "system/loop.h"

/* A comment on every stream so often. */
#define STREAM_COMMENT_NS (10 * RL_NS_PER_S)

/* A request that is under way: the data of its lock. Small: thousands of them wait. */
struct lease_request {
    enum job_type job_type;            /* first: the data of a release by its tag */
    struct http_completion completion; /* that of its exchange */
    struct lease lease;
    struct leases *leases;
    struct lease_request *previous, *next; /* in leases->all */
    struct http_exchange *exchange; /* NULL: the client is gone, and the rest goes on without */
    redlock_lock *lock;             /* PUT: its acquisition; else adopted, or NULL */
    const char *name;         /* of its lock; NULL: a release by tag, until it is answered */
    int64_t fence;            /* of the grant; 0: none */
    uint64_t granted_mark;    /* of a stream: http_written() before `granted` */
    struct access_who who;    /* of the request that will be answered */
    struct access_rule *rule; /* that decides about it; NULL: none */
    bool is_waiter;           /* while it waits, it counts for its rule */
    bool is_known;            /* not PUT: this replica knew the lease when the request came */
    bool is_fenced;           /* PUT: requested */
    uint16_t slots;
    int8_t kind;
    struct lease_tag tag;
    char owner[LEASE_TAG_SIZE + 1];
};

struct leases_counts {
    unsigned waiting, waiting_streams; /* of those that wait */
    unsigned streaming, jeopardy;      /* of these */
};

struct leases {
    struct loop *loop;
    struct access *access; /* rules, which HUP replaces */
    struct journal *journal;
    redlock *client;
    struct loop_part library; /* woken where the client was given something to do */
    struct lease_table table; /* what is known of each lease */
    unsigned looks;           /* queries of leases near or past their end */
    unsigned postponed;       /* in this turn: too many of them at once */
    struct lease_request *all;
    const struct lease_terms *terms; /* of the request that leases_begin() is about */
    int64_t comment_ns;              /* a sign of life so often on every stream */
    struct http_body body;
    uint32_t drift_ppm; /* how much slower than ours a client's clock may be */
    int64_t max_ttl_ms; /* of the nodes' clients; 0: the library's default */
    bool is_draining;   /* no more waits */
    struct leases_counts counts;
};

/* What --check looks at: the nodes are named, and their files can be used, which the log is
 * warned of. Nothing is sent to a node. */
int leases_check(const char *config, char *why, size_t why_size);

/* 0, or -1 with a sentence in why and nothing left open. config: NULL for the machine's. */
int leases_open(struct leases *leases, struct loop *loop, struct access *access,
                struct journal *journal, const char *config, uint32_t drift_ppm, char *why,
                size_t why_size);
/* After the server is freed. Also of one that failed to open. */
void leases_close(struct leases *leases);

/*
 * The turn of the table's part: renewals of streams, and queries of leases of which three
 * quarters of the time are over.
 */
int64_t leases_turn(void *leases, int64_t now_ns);

/* PUT, POST or DELETE of a lock, by a principal with the right to acquire it. */
void leases_begin(struct leases *leases, const struct routed *routed);

/* 429: a cap or a quota of a rule. */
void leases_refuse_quota(struct leases *leases, const struct routed *routed);

/* Rules or tokens are new: waits whose principal may not acquire any more end with 403. */
void leases_reload(struct leases *leases);

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
