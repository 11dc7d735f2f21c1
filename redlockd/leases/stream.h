/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams: a lock that the daemon renews while its client is seen to live (PUT with
 * Accept: text/event-stream). Its beginning is that of every PUT (leases/acquire.h); here is what follows.
 *
 *     WAITING --granted--> STREAMING    renewed at a third of the TTL; `renewed`, `jeopardy`, `recovered`
 *                              |  the client closed its local socket: released, at once
 *                              |  any other end of the connection: left, and the TTL runs out
 *                              |  DELETE of the id, or a newer request that comes back: `lost`, left
 *                              |  lost: `lost`
 *                              |  drain: renewed once, left, and only then told `reconnect`
 *     RESUMING ----extended----'  a stream that was told its grant came back (leases/resume.h)
 *
 * **Where closing releases, belief ends with the stream.** Its client is not told the grant before
 * `reconnect`, so that no request can renew what a close may be deleting. `closing_leaves` is the other
 * case: a client behind TCP may work on after its connection broke, and a stream that came back shares its
 * value with requests that may still be under way. It is left on close, and may be told its grant at once.
 *
 * **Only a client's close releases.** A stream that this side cut (its client does not read; the process
 * ends) is left: the client may be alive, and believes until the last deadline that it was told.
 *
 * **Silence is no proof of holding.** On a local socket a client that is gone ends its stream, and one that
 * reads nothing is cut off (http/server.h). On TCP it is seen to live while its machine has acknowledged all
 * that was sent; until then nothing is renewed. So the lock of a machine that vanished is renewed once more
 * at most. Nor is a stream renewed whose client has lost its right to the name: it is told `lost` when its
 * time is over.
 *
 * `after_ms` counts from the receipt of the PUT, and the clock of a TCP client may drift from ours all that
 * time. When that allowance has eaten a third of the TTL, the stream is told `reconnect`, as by a drain:
 * its next PUT counts anew.
 */
#ifndef REDLOCKD_LEASES_STREAM_H
#define REDLOCKD_LEASES_STREAM_H

#include "engine/timers.h"
#include "leases/leases.h"

/* 503: the nodes confirmed it, and no time is left. */
extern const struct lease_refusal lease_late;

#define STREAM_RETRIES_PER_TTL                                                                 \
    20 /* a renewal that failed, or was not allowed, is tried again */

/* What a lease has in addition if it is a stream. It lives as long as the lease. */
struct lease_stream {
    struct rl_timer timer; /* first: comments and renewals, whichever is due earlier */
    struct lease *lease;
    int64_t comment_ns;    /* the next one */
    int64_t renew_ns;      /* STREAMING: the next renewal; RL_NEVER_NS: one is under way */
    uint64_t granted_mark; /* http_written() before `granted` */
    int place;             /* in the queue, as told last; 0: not told yet */
    bool has_returned;     /* it came back with its grant: its value is not of this request */
    bool closing_leaves;   /* a close by the client does not release */
    bool is_extending;
    bool in_jeopardy;
    bool is_going; /* to be told `reconnect` as soon as its renewal has an outcome */
};

/* 0, or -1: out of memory. */
int lease_stream_attach(struct lease *lease);
/* Also of a lease that is no stream. */
void lease_stream_detach(struct lease *lease);

/* The lease waits, with an exchange that has not begun its stream. */
void lease_stream_wait(struct lease *lease);
/* Its place, if it is a stream that waits. */
void lease_stream_queued(struct lease *lease, int place);
/* The lock was acquired, or extended by the grant with which its client came back. */
void lease_stream_granted(struct lease *lease);
/* A renewal has this outcome. */
void lease_stream_extended(struct lease *lease, const redlock_event *event);
/* Told to a stream that holds. Of other leases: what follows says so. */
void lease_stream_lost(struct lease *lease, const redlock_event *event);

/* The lease is to be released: no more events and renewals. True: a renewal is under way, and lease_undo()
 * is called again behind it. Also of a lease that is no stream. */
bool lease_stream_stop(struct lease *lease);

/* The connection of a stream that holds, or comes back, has ended. */
void lease_stream_ended(struct lease *lease, enum http_ended how);

/* Told `lost` with this refusal, and left. The id is spent as `state`. */
void lease_stream_end(struct lease *lease, const struct lease_refusal *refusal,
                      enum ids_state state);

/* All that hold: renewed once if their clients are seen to live, left, and told `reconnect`. */
void leases_send_streams_away(struct leases *leases);

/* What is due; returns when it is to be called next. */
int64_t leases_turn_streams(struct leases *leases, int64_t now_ns);

#endif
