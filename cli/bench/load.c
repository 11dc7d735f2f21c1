/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/caller.h"
#include "bench/display.h"
#include "settings/open_client.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"

#define DRAIN_NS (5 * RL_NS_PER_S) /* for what is under way at the end; then it is let go */

enum { SOURCE_SIGNAL = BENCH_CLIENTS_MAX, SOURCE_TIMER, SOURCES };

/* What is to be requested at a rate: when the next one is due. */
static int64_t due_ns(const struct load_run *run)
{
    return run->begun_ns + (int64_t)((double)run->result->asked * 1e9 / run->plan->rate);
}

static void begin_due(struct load_run *run, int64_t now_ns)
{
    struct caller *c;
    while ((c = run->holding.first) && (c->until_ns <= now_ns || run->ending))
        caller_release(caller_list_take(&run->holding));
    while (!run->over && (c = run->pausing.first) && c->until_ns <= now_ns)
        caller_begin(caller_list_take(&run->pausing), now_ns);
    while (!run->over && run->plan->rate > 0 && run->free.first && due_ns(run) <= now_ns)
        caller_begin(caller_list_take(&run->free), due_ns(run));
}

/* The end of the measurement: waits and holds are cut short. */
static void end(struct load_run *run, int64_t now_ns)
{
    int64_t until_ns;
    if (run->ending)
        return;
    until_ns = now_ns < run->end_ns ? now_ns : run->end_ns;
    if (run->plan->rate > 0 && !run->over && due_ns(run) < until_ns)
        run->result->never_asked =
            (uint64_t)((double)(until_ns - due_ns(run)) * run->plan->rate / 1e9) + 1;
    run->over = run->ending = true;
    run->last_ns = now_ns;
    run->end_ns = now_ns + DRAIN_NS;
    for (uint32_t i = 0; i < run->plan->callers; i++) {
        struct caller *c = &run->caller[i];
        if (c->acquiring && run->plan->one_name)
            caller_cancel(c);
    }
}

static int64_t earliest(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static void set_alarm(struct load_run *run)
{
    int64_t at_ns = earliest(run->end_ns, progress_due_ns(&run->bench->progress));
    if (run->holding.first)
        at_ns = earliest(at_ns, run->holding.first->until_ns);
    if (run->pausing.first && !run->over)
        at_ns = earliest(at_ns, run->pausing.first->until_ns);
    if (run->free.first && !run->over && run->plan->rate > 0)
        at_ns = earliest(at_ns, due_ns(run));
    if (at_ns == run->alarm_ns)
        return;
    run->alarm_ns = at_ns;
    timer_set(run->timer_fd, at_ns);
}

static void on_signals(struct load_run *run)
{
    for (int signal; (signal = signals_next_fatal());) {
        if (run->result->signal) {
            errors_erase();
            signals_die(signal); /* the user does not want to wait for what is under way */
        }
        run->result->signal = signal;
        end(run, timer_now_ns());
    }
}

static void process(struct load_run *run, uint32_t source)
{
    if (source == SOURCE_SIGNAL) {
        on_signals(run);
    } else if (source == SOURCE_TIMER) {
        timer_drain(run->timer_fd);
        run->alarm_ns = 0;
    } else {
        const redlock_event *event;
        int got;
        while ((got = client_next(&run->bench->settings, run->bench->client[source], &event,
                                  0)) > 0)
            caller_take(event);
        if (got < 0)
            run->status = client_fail(got);
    }
}

static bool is_done(const struct load_run *run)
{
    return run->status || (run->over && run->busy == 0) ||
           (run->ending && timer_now_ns() >= run->end_ns);
}

static void loop(struct load_run *run)
{
    struct epoll_event ready[SOURCES];
    while (!is_done(run)) {
        int64_t now_ns = timer_now_ns();
        int count;
        if (now_ns >= run->end_ns)
            end(run, now_ns);
        begin_due(run, now_ns);
        if (now_ns >= progress_due_ns(&run->bench->progress))
            progress_draw(&run->bench->progress, run->plan, run->result,
                          now_ns - run->begun_ns);
        if (is_done(run))
            break;
        set_alarm(run);
        count = epoll_wait(run->epoll_fd, ready, SOURCES, -1);
        if (count < 0 && errno != EINTR)
            run->status = message_fail(EXIT_INTERNAL, "cannot wait: %s", strerror(errno));
        for (int i = 0; i < count; i++)
            process(run, ready[i].data.u32);
    }
}

static bool add_source(struct load_run *run, int fd, uint32_t source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = source};
    return fd >= 0 && epoll_ctl(run->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool prepare(struct load_run *run)
{
    const struct bench_plan *p = run->plan;
    run->caller = calloc(p->callers, sizeof *run->caller);
    run->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    run->timer_fd = timer_open();
    if (!run->caller || run->epoll_fd < 0 || !add_source(run, run->timer_fd, SOURCE_TIMER) ||
        !add_source(run, run->bench->signal_fd, SOURCE_SIGNAL))
        return false;
    for (uint32_t i = 0; i < p->clients; i++) {
        if (!add_source(run, redlock_fd(run->bench->client[i]), i))
            return false;
    }
    caller_list_init(&run->free);
    caller_list_init(&run->holding);
    caller_list_init(&run->pausing);
    for (uint32_t i = 0; i < p->callers; i++) {
        struct caller *c = &run->caller[i];
        c->run = run;
        c->client = run->bench->client[i % p->clients];
        snprintf(c->name, sizeof c->name, "%s%u", p->prefix, p->one_name ? 0 : i);
        caller_list_add(&run->free, c);
    }
    return true;
}

static int64_t cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * RL_NS_PER_S +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
}

static void conclude(struct load_run *run)
{
    struct bench_result *r = run->result;
    for (uint32_t i = 0; i < run->plan->callers; i++) {
        struct caller *c = &run->caller[i];
        r->fewest = i == 0 || c->locks < r->fewest ? c->locks : r->fewest;
        r->most = c->locks > r->most ? c->locks : r->most;
        if (!c->lock)
            continue;
        /* It did not end within DRAIN_NS. */
        r->unfinished++;
        redlock_lock_free(c->lock);
    }
}

int load_run(struct bench *bench)
{
    const struct bench_plan *plan = &bench->plan;
    struct load_run run = {
        .bench = bench, .plan = plan, .result = bench->result, .epoll_fd = -1, .timer_fd = -1};
    int64_t cpu_before_ns;
    if (!prepare(&run)) {
        run.status = message_fail(EXIT_INTERNAL, "cannot begin: %s", strerror(errno));
        goto cleanup;
    }
    cpu_before_ns = cpu_ns();
    run.begun_ns = run.last_ns = timer_now_ns();
    run.end_ns =
        plan->duration_ms > 0 ? run.begun_ns + plan->duration_ms * RL_NS_PER_MS : TIMER_NEVER;
    for (uint32_t i = 0; i < plan->callers && plan->rate <= 0; i++)
        caller_begin(caller_list_take(&run.free), timer_now_ns());
    loop(&run);
    bench->result->elapsed_ns = run.last_ns - run.begun_ns;
    bench->result->cpu_ns = cpu_ns() - cpu_before_ns;
    conclude(&run);
cleanup:
    errors_erase();
    if (run.epoll_fd >= 0)
        close(run.epoll_fd);
    if (run.timer_fd >= 0)
        close(run.timer_fd);
    free(run.caller);
    return run.status;
}
