/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/resume.h"

#include <string.h>

#include "io/clock.h"
#include "leases/acquire.h"
#include "leases/keep.h"
#include "leases/reply.h"
#include "leases/stream.h"

static const struct lease_refusal ended = {410, "ENDED",
                                           "this lease has ended: stop what it protected"};
static const struct lease_refusal yours = {
    409, "YOURS", "this lease id waits or is held here: DELETE it, acquire with a new one"};
static const struct lease_refusal superseded = {
    409, "SUPERSEDED", "the stream came back elsewhere: that request has it now"};
static const struct lease_refusal no_memory = {503, "NOMEM", "out of memory"};

/* An extension is never rolled back: to one that failed, the deadline that the client knows stands. */
void lease_resumed(struct lease *lease, const redlock_event *event)
{
    struct leases *leases = lease->leases;
    bool is_over = event->error == REDLOCK_LOST || event->error == REDLOCK_EXPIRED;

    if (!event->error && !leases->is_draining) {
        lease_stream_granted(lease);
        return;
    }
    if (is_over)
        lease_missed(lease, redlock_name(lease->lock));
    if (event->error)
        lease_reply_error(lease, redlock_name(lease->lock), event->error, event->detail);
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
               (state == IDS_STREAMING &&
                strcmp(redlock_name(lease->lock), terms->name) != 0) ||
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
    error = redlock_start_extend(lease->lock, terms->ttl_ms);
    if (error) {
        lease_reply_error(lease, terms->name, error, redlock_detail());
        ids_set_spent(&leases->ids, &terms->tag, IDS_GRANTED, rl_now_ns());
        lease_free(lease);
        return;
    }
    leases_wake(leases);
}
