/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/engine.h"
#include "engine/handle.h"
#include "engine/sets.h"
#include "engine/survey.h"
#include "engine/watch.h"

static void handle_timer(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    int64_t timeout_ns = engine->policy.node_timeout_ns;
    struct rl_event event = {
        .type = RL_EVENT_TIMER, .now_ns = now_ns, .warm_at_ns = now_ns + timeout_ns};
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    const struct rl_local_queue *queue;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_node *node = &engine->node[i];
        int64_t ready_ns = node->connected_ns + timeout_ns;
        bool can_answer = node->connected && !node->session.awaits_password;

        if (!node->warming || (can_answer && now_ns >= ready_ns))
            continue;
        event.warming |= (uint16_t)(1u << i);
        if (can_answer && ready_ns < event.warm_at_ns)
            event.warm_at_ns = ready_ns;
    }
    if (acquire && acquire->survey) {
        rl_survey_tick(engine, handle, event.warming, event.warm_at_ns, now_ns);
        return;
    }
    if (engine->awaits_sets && handle->lock.state == RL_ACQUIRING &&
        now_ns >= handle->lock.round_deadline_ns) {
        rl_sets_wait_no_more(engine, event.warming, now_ns);
        acquire = rl_pending_acquire_of(handle); /* it may be decided now */
    }
    queue = acquire ? acquire->queue : NULL;
    if (acquire && acquire->became_head) {
        acquire->became_head = false;
        event.type = RL_EVENT_UNPARK;
        event.client_holds = acquire->client_holds;
    } else if (queue && rl_local_queue_head(queue) != handle) {
        event.leader_error = rl_local_queue_head(queue)->lock.acquisition->attempt_error;
    }
    rl_handle_step(engine, handle, &event);
}

int64_t rl_engine_next_ns(const struct rl_engine *engine)
{
    int64_t next_ns = rl_timers_next_ns(&engine->timers);

    return engine->watch_at_ns < next_ns ? engine->watch_at_ns : next_ns;
}

void rl_engine_tick(struct rl_engine *engine, int64_t now_ns)
{
    struct rl_timer *timer;

    if (now_ns >= engine->watch_at_ns)
        rl_watch_tick(engine, now_ns);
    while ((timer = rl_timers_due(&engine->timers, now_ns)) != NULL)
        handle_timer(engine, (struct rl_handle *)timer, now_ns);
}
