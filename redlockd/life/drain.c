/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/drain.h"

#include "base/time.h"
#include "io/clock.h"
#include "leases/holdings.h"

#define FINISH_NS RL_NS_PER_S              /* for requests that are under way when it stops */
#define LOOK_AGAIN_NS (100 * RL_NS_PER_MS) /* leases end without an event */

bool drain_has_begun(const struct drain *drain)
{
    return drain->end_ns != RL_NEVER_NS;
}

static void stop(struct drain *drain, int64_t now_ns)
{
    http_server_stop(drain->server);
    drain->is_stopped = true;
    drain->end_ns = now_ns + FINISH_NS;
}

/* A part of the loop: stops it when nothing is left to do, or the time is over. */
static int64_t turn(void *context, int64_t now_ns)
{
    struct drain *drain = context;

    if (!drain_has_begun(drain))
        return RL_NEVER_NS;
    if (!drain->is_stopped &&
        (now_ns >= drain->end_ns ||
         (http_server_is_idle(drain->server) && holdings_are_over(drain->leases, now_ns))))
        stop(drain, now_ns);
    if (drain->is_stopped && (http_server_is_done(drain->server) || now_ns >= drain->end_ns))
        loop_stop(drain->loop);
    return drain->is_stopped || now_ns + LOOK_AGAIN_NS >= drain->end_ns
               ? drain->end_ns
               : now_ns + LOOK_AGAIN_NS;
}

void drain_init(struct drain *drain, struct loop *loop, struct http_server *server,
                struct leases *leases)
{
    *drain =
        (struct drain){.loop = loop, .server = server, .leases = leases, .end_ns = RL_NEVER_NS};
    loop_add_part(loop, &drain->part, drain, turn);
}

void drain_begin(struct drain *drain, int64_t span_ns)
{
    drain->end_ns = rl_now_ns() + span_ns;
    drain->part.is_watching = true;
    leases_drain(drain->leases);
    http_server_drain(drain->server);
}
