/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/resume.h"

#include "io/clock.h"
#include "leases/acquire.h"
#include "leases/keep.h"
#include "leases/reply.h"
#include "leases/stream.h"

static const struct lease_refusal ended = {410, "ENDED",
                                           "this lease has ended: stop what it protected"};
static const struct lease_refusal yours = {
    409, "yours", "this lease id waits or is held here: DELETE it, acquire with a new one"};
static const struct lease_refusal superseded = {
    409, "superseded", "the stream came back elsewhere: that request has it now"};
static const struct lease_refusal no_memory = {503, "NOMEM", "out of memory"};

/* An extension is never rolled back: to one that failed, the deadline that the client knows stands. */
static void on_resumed(redlock_lock *lock, int error, void *data)
{
    struct lease *lease = data;
    struct leases *leases = lease->leases;
    bool is_over = error == REDLOCK_LOST || error == REDLOCK_EXPIRED;

    (void)lock;
    if (!error && !leases->is_draining) {
        lease_stream_granted(lease);
        return;
    }
    if (error)
        lease_reply_outcome(lease, error);
    else
        lease_reply_refusal(lease_take_exchange(lease), &lease_draining);
    ids_set_spent(&leases->ids, &lease->tag, is_over ? IDS_ENDED : IDS_GRANTED, rl_now_ns());
    lease_free(lease);
}

/* True: answered, by what this replica remembers of the id. */
static bool is_refused(struct leases *leases, struct http_exchange *exchange,
                       const struct lease_terms *terms)
{
    void *user = NULL;
    enum ids_state state = ids_find(&leases->ids, &terms->tag, rl_now_ns(), &user);
    struct lease *lease = user;

    if (leases->is_draining) {
        lease_reply_refusal(exchange, &lease_draining);
    } else if (state == IDS_ENDED) {
        lease_reply_refusal(exchange, &ended);
    } else if (state == IDS_WAITING ||
               (state == IDS_STREAMING && !lease->stream->closing_leaves &&
                lease->state == LEASE_STREAMING)) {
        lease_reply_refusal(exchange, &yours);
    } else {
        /* A stream that was left on a broken connection: the newer request has it. */
        if (state == IDS_STREAMING)
            lease_stream_end(lease, &superseded, IDS_GRANTED);
        return false;
    }
    return true;
}

void lease_begin_resume(struct leases *leases, struct http_exchange *exchange,
                        const struct http_request *request, const struct lease_terms *terms,
                        const struct access_who *who)
{
    struct lease *lease;
    int error;

    if (request->eof) {
        http_drop(exchange);
        return;
    }
    if (is_refused(leases, exchange, terms))
        return;
    lease = lease_adopt(leases, exchange, request, terms, who, LEASE_RESUMING);
    if (!lease)
        return;
    lease->stream->has_returned = true;
    if (ids_set_streaming(&leases->ids, &terms->tag, lease) < 0) {
        lease_reply_refusal(lease_take_exchange(lease), &no_memory);
        lease_free(lease);
        return;
    }
    error = redlock_start_extend(lease->lock, terms->ttl_ms, on_resumed, lease);
    if (error) {
        lease_reply_outcome(lease, error);
        ids_set_spent(&leases->ids, &terms->tag, IDS_GRANTED, rl_now_ns());
        lease_free(lease);
        return;
    }
    leases_wake(leases);
}
