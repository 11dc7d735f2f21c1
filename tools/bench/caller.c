/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/caller.h"

#include <stdio.h>

#include "system/timer.h"

#define PAUSE_NS (50 * NS_PER_MS) /* after a failure: nodes that are down are not hammered */
#define SAMPLE_ALL 1000           /* the first reports are all looked at, */
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

static void count_failure(struct load_run *run, uint64_t counts[BENCH_ERRORS], int error)
{
    counts[-error >= 0 && -error < BENCH_ERRORS ? -error : BENCH_ERRORS - 1]++;
    run->result->last_error = error;
    snprintf(run->result->last_detail, sizeof run->result->last_detail, "%s", redlock_detail());
}

static void finish(struct caller *c, bool failed)
{
    redlock_lock_free(c->lock);
    c->lock = NULL;
    c->run->busy--;
    c->run->last_ns = timer_now_ns();
    be_free(c, failed);
}

static void on_released(redlock_lock *lock, int error, void *data)
{
    struct caller *c = data;
    struct bench_result *r = c->run->result;
    (void)lock;
    if (error == REDLOCK_OK) {
        bench_timing_add(&r->release, timer_now_ns() - c->since_ns);
        r->locks++;
        c->locks++;
    } else {
        count_failure(c->run, r->release_failed, error);
    }
    finish(c, error != REDLOCK_OK);
}

void caller_release(struct caller *c)
{
    c->since_ns = timer_now_ns();
    int error = redlock_start_release(c->lock, on_released, c);
    if (error == REDLOCK_OK)
        return;
    count_failure(c->run, c->run->result->release_failed, error);
    finish(c, true);
}

static void look_at_nodes(struct load_run *run, const redlock_lock *lock)
{
    redlock_report report = {.size = sizeof report};
    if (redlock_lock_report(lock, &report) != REDLOCK_OK)
        return;
    for (uint32_t i = 0; i < report.node_count; i++) {
        const redlock_node_report *from = &report.node[i];
        struct bench_node *node =
            &run->result->node[run->result->first[report.quorum_index] + i];
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

static void on_acquired(redlock_lock *lock, int error, void *data)
{
    struct caller *c = data;
    struct load_run *run = c->run;
    int64_t now_ns = timer_now_ns();
    c->acquiring = false;
    run->answers++;
    if (run->answers <= SAMPLE_ALL || run->answers % SAMPLE_EVERY == 0)
        look_at_nodes(run, lock);
    if (error == REDLOCK_CANCELED && run->ending) {
        run->result->unfinished++;
        finish(c, true);
    } else if (error != REDLOCK_OK) {
        count_failure(run, run->result->acquire_failed, error);
        finish(c, true);
    } else {
        bench_timing_add(&run->result->acquire, now_ns - c->since_ns);
        if (run->plan->hold_ms > 0 && !run->ending) {
            c->until_ns = now_ns + run->plan->hold_ms * NS_PER_MS;
            caller_list_add(&run->holding, c);
        } else {
            caller_release(c);
        }
    }
}

void caller_begin(struct caller *c, int64_t since_ns)
{
    struct load_run *run = c->run;
    const struct bench_plan *p = run->plan;
    redlock_request request = {
        .size = sizeof request,
        .flags = (p->fence ? REDLOCK_FENCED : 0) | (p->fair ? REDLOCK_FAIR : 0),
        .wait_ms = p->one_name ? p->wait_ms : 0,
        .done = on_acquired,
        .data = c,
    };
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
    int error = redlock_start(c->client, c->name, p->ttl_ms, &request, &c->lock);
    if (error == REDLOCK_OK)
        return;
    c->acquiring = false;
    count_failure(run, run->result->acquire_failed, error);
    finish(c, true);
}
