/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/caller.h"

#include <stdio.h>

#include "system/timer.h"

#define PAUSE_NS (50 * RL_NS_PER_MS) /* after a failure: nodes that are down are not hammered */
#define SAMPLE_ALL 1000              /* the first reports are all looked at, */
#define SAMPLE_EVERY 17 /* then few: each costs a microsecond. Prime: callers come in turns */

void caller_list_init(struct caller_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

void caller_list_add(struct caller_list *list, struct caller *c)
{
    c->next = NULL;
    *list->end = c;
    list->end = &c->next;
}

struct caller *caller_list_take(struct caller_list *list)
{
    struct caller *c = list->first;
    if (c && !(list->first = c->next))
        list->end = &list->first;
    return c;
}

static void be_free(struct caller *c, bool failed)
{
    struct load_run *run = c->run;
    if (run->over || run->plan->rate > 0)
        caller_list_add(&run->free, c);
    else if (!failed)
        caller_begin(c, timer_now_ns());
    else {
        c->until_ns = timer_now_ns() + PAUSE_NS;
        caller_list_add(&run->pausing, c);
    }
}

static void count_failure(struct load_run *run, uint64_t counts[BENCH_ERRORS], int error,
                          const char *detail)
{
    counts[-error >= 0 && -error < BENCH_ERRORS ? -error : BENCH_ERRORS - 1]++;
    run->result->last_error = error;
    snprintf(run->result->last_detail, sizeof run->result->last_detail, "%s", detail);
}

static void finish(struct caller *c, bool failed)
{
    redlock_lock_free(c->lock);
    c->lock = NULL;
    c->run->busy--;
    c->run->last_ns = timer_now_ns();
    be_free(c, failed);
}

static void on_released(struct caller *c, int error, const char *detail)
{
    struct bench_result *r = c->run->result;
    if (error == REDLOCK_OK) {
        bench_timing_add(&r->release, timer_now_ns() - c->since_ns);
        r->locks++;
        c->locks++;
    } else {
        count_failure(c->run, r->release_failed, error, detail);
    }
    finish(c, error != REDLOCK_OK);
}

void caller_release(struct caller *c)
{
    int error;
    c->since_ns = timer_now_ns();
    error = redlock_start_release(c->lock);
    if (error != REDLOCK_OK)
        on_released(c, error, redlock_detail());
}

void caller_cancel(struct caller *c)
{
    c->acquiring = false;
    c->run->result->unfinished++;
    finish(c, true);
}

static void look_at_nodes(struct load_run *run, const redlock_lock *lock)
{
    const redlock_report *report = redlock_lock_report(lock);
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *from = &report->node[i];
        struct bench_node *node =
            &run->result->node[run->result->first[report->quorum_index] + i];
        switch (from->vote) {
        case REDLOCK_VOTE_NONE:
            break;
        case REDLOCK_VOTE_PENDING:
            node->late++;
            break;
        case REDLOCK_VOTE_GRANTED:
        case REDLOCK_VOTE_TAKEN:
            node->in_time++;
            if (from->rtt_us >= 0)
                latency_add(&node->rtt, from->rtt_us * 1000LL);
            break;
        default:
            node->failed++;
            node->vote = from->vote;
        }
    }
}

static void on_acquired(struct caller *c, int error, const char *detail)
{
    struct load_run *run = c->run;
    int64_t now_ns = timer_now_ns();
    c->acquiring = false;
    run->answers++;
    if (c->lock && (run->answers <= SAMPLE_ALL || run->answers % SAMPLE_EVERY == 0))
        look_at_nodes(run, c->lock);
    if (error != REDLOCK_OK) {
        count_failure(run, run->result->acquire_failed, error, detail);
        finish(c, true);
        return;
    }
    bench_timing_add(&run->result->acquire, now_ns - c->since_ns);
    if (run->plan->hold_ms > 0 && !run->ending) {
        c->until_ns = now_ns + run->plan->hold_ms * RL_NS_PER_MS;
        caller_list_add(&run->holding, c);
    } else {
        caller_release(c);
    }
}

void caller_take(const redlock_event *event)
{
    if (event->type == REDLOCK_EVENT_ACQUIRED)
        on_acquired(event->data, event->error, event->detail);
    else if (event->type == REDLOCK_EVENT_RELEASED)
        on_released(event->data, event->error, event->detail);
}

void caller_begin(struct caller *c, int64_t since_ns)
{
    struct load_run *run = c->run;
    const struct bench_plan *p = run->plan;
    redlock_request request =
        REDLOCK_REQUEST(.flags = (p->fence ? REDLOCK_FENCED : 0) | (p->fair ? REDLOCK_FAIR : 0),
                        .wait_ms = p->one_name ? p->wait_ms : 0, .data = c);
    int error;
    if (run->over) {
        caller_list_add(&run->free, c);
        return;
    }
    run->result->asked++;
    if ((long)run->result->asked == p->count)
        run->over = true;
    c->since_ns = since_ns;
    c->acquiring = true;
    run->busy++;
    error = redlock_start_acquire(c->client, c->name, p->ttl_ms, &request, &c->lock);
    if (error != REDLOCK_OK)
        on_acquired(c, error, redlock_detail());
}
