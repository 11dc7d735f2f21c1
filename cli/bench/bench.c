/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lock/terms.h"
#include "report/advice.h"
#include "report/report.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_RATE = OPTION_OWN };

#define CALLERS 64
#define DURATION_MS 10000
#define DURATION_MAX_MS 3600000
#define HOLD_MAX_MS 86400000
#define COUNT_MAX 1000000000L
#define RATE_MIN 0.1
#define RATE_MAX 1e6
/* Short, so that little is left for long if this process is killed. */
#define TTL "2s"
#define WAIT "10s"
#define CONNECT_NS (1000 * RL_NS_PER_MS)

static int read_rate(struct bench_plan *p, const char *value)
{
    char *end = NULL;
    double rate = strspn(value, "0123456789.") == strlen(value) ? strtod(value, &end) : 0;
    if (!end || *end || rate < RATE_MIN || rate > RATE_MAX)
        return message_usage("--rate takes a number of locks per second, from 0.1 to 1000000");
    p->rate = rate;
    return 0;
}

static int take(void *data, struct args *a, int id, const char *value)
{
    struct bench_plan *p = data;
    (void)a;
    return id == OPTION_RATE
               ? read_rate(p, value)
               : message_usage("unexpected word; bench makes up the names of its locks");
}

/* What holds for locks that protect something does not have to hold for these. */
static int set_own_defaults(struct settings *s)
{
    const char *problem = NULL;
    if (!settings_is_given(s, RL_SETTING_TTL))
        problem = settings_set(s, RL_SETTING_TTL, TTL);
    if (!problem && !settings_is_given(s, RL_SETTING_WAIT))
        problem = settings_set(s, RL_SETTING_WAIT, WAIT);
    return problem ? message_fail(EXIT_INTERNAL, "%s", problem) : 0;
}

static int complete(struct bench *b)
{
    struct bench_plan *p = &b->plan;
    struct settings *s = &b->settings;
    uint32_t random;
    int status;
    if (settings_is_given(s, RL_SETTING_WAIT) && !p->one_name)
        return message_usage(
            "-w goes with --one-name only: callers with names of their own never wait");
    if (p->clients > p->callers)
        return message_usage("--clients %ld are more than the %ld callers; raise --callers",
                             p->clients, p->callers);
    status = set_own_defaults(s);
    if (status == 0)
        status = settings_complete(s);
    if (status == 0)
        status = settings_check_ttl(s);
    if (status)
        return status;
    p->ttl_ms = s->ttl_ms;
    p->wait_ms = s->wait_ms;
    if (p->duration_ms == 0 && p->count == 0)
        p->duration_ms = DURATION_MS;
    if (p->hold_ms > p->ttl_ms / 2) {
        char hold[TEXT_TIME_MAX], ttl[TEXT_TIME_MAX];
        text_time(hold, p->hold_ms);
        text_time(ttl, p->ttl_ms);
        return message_usage("--hold: %s is more than half of the TTL of %s; ask for a longer "
                             "one with -t",
                             hold, ttl);
    }
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return message_fail(EXIT_INTERNAL, "no random numbers: %s", strerror(errno));
    snprintf(p->prefix, sizeof p->prefix, "redlock-bench-%08x:", random);
    return 0;
}

/* Are the nodes willing? One lock shows it, with the reason if they are not. */
static int try_name(struct bench *b, redlock *client, const char *name)
{
    redlock_lock *lock = NULL;
    char detail[512] = "", advice[ADVICE_MAX];
    int error = redlock_acquire(client, name, b->plan.ttl_ms, NULL, &lock);
    bool guarded;
    redlock_report report;
    int64_t wait_ms;
    if (error == REDLOCK_OK)
        error = redlock_release(lock);
    snprintf(detail, sizeof detail, "%s", redlock_detail());
    redlock_lock_free(lock);
    if (error == REDLOCK_OK)
        return 0;
    client_report(&report, error, NULL);
    guarded = quarantine_blocks(client, &report, &wait_ms);
    if (guarded)
        quarantine_advice(&report, wait_ms, advice);
    return report_failure(&b->settings, &(struct failure){.error = error,
                                                          .text = detail,
                                                          .advice = guarded ? advice : NULL,
                                                          .report = &report});
}

/* One lock in each quorum: names are tried until every one has had its turn. */
static int try_all(struct bench *b, redlock *client)
{
    bool tried[REDLOCK_QUORUMS_MAX] = {false};
    uint32_t left = b->result->quorum_count;
    for (uint32_t i = 0; left > 0; i++) {
        char name[BENCH_PREFIX_MAX + 16];
        int status, home;
        snprintf(name, sizeof name, "%stry%u", b->plan.prefix, i);
        home = redlock_quorum_of(client, name);
        if (home >= 0 && tried[home])
            continue;
        status = try_name(b, client, name);
        if (status)
            return status;
        tried[home > 0 ? home : 0] = true;
        left--;
    }
    return 0;
}

/* Which nodes are there, of which quorums? */
static int count_nodes(struct bench_result *r, redlock *client)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    while (redlock_node(client, r->node_count, &info) == REDLOCK_OK)
        r->node_count++;
    r->node = calloc(r->node_count, sizeof *r->node);
    if (!r->node)
        return message_fail(EXIT_INTERNAL, "out of memory");
    for (uint32_t i = 0; i < r->node_count; i++) {
        redlock_node(client, i, &info);
        memcpy(r->node[i].address, info.address, sizeof info.address);
        memcpy(r->node[i].quorum_name, info.quorum_name, sizeof info.quorum_name);
        if (info.quorum_index == r->quorum_count)
            r->first[r->quorum_count++] = i;
    }
    return 0;
}

static bool is_connecting(redlock *client, uint32_t node_count)
{
    for (uint32_t i = 0; i < node_count; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        if (redlock_node(client, i, &info) == REDLOCK_OK &&
            info.state == REDLOCK_NODE_CONNECTING)
            return true;
    }
    return false;
}

/* What is measured are locks, not the setting up of connections. */
static int connect_all(struct bench *b)
{
    redlock_report report = {0};
    int64_t until_ns;
    for (uint32_t i = 0; i < b->plan.clients; i++) {
        int status = client_open(&b->settings, &b->client[i]);
        if (status == 0 && i == 0)
            status = count_nodes(b->result, b->client[i]);
        if (status == 0)
            status = try_all(b, b->client[i]);
        if (status)
            return status;
    }
    until_ns = timer_now_ns() + CONNECT_NS;
    for (uint32_t i = 0; i < b->plan.clients; i++) {
        do
            client_ping(b->client[i], &report);
        while (is_connecting(b->client[i], b->result->node_count) && timer_now_ns() < until_ns);
    }
    b->result->quorum = report.quorum;
    return 0;
}

static void announce(const struct bench *b)
{
    const struct bench_plan *p = &b->plan;
    uint32_t nodes = b->result->node_count;
    char time[TEXT_TIME_MAX + 8] = "", count[40] = "", rate[40] = "as fast as possible";
    char needed[32];
    if (b->settings.quiet || b->settings.json)
        return;
    if (p->duration_ms > 0) {
        char text[TEXT_TIME_MAX];
        text_time(text, p->duration_ms);
        snprintf(time, sizeof time, "for %s, ", text);
    }
    if (p->count > 0)
        snprintf(count, sizeof count, "%ld locks, ", p->count);
    if (p->rate > 0)
        snprintf(rate, sizeof rate, "%.15g locks/s", p->rate);
    if (b->result->quorum_count > 1)
        snprintf(needed, sizeof needed, "of %u quorums", b->result->quorum_count);
    else
        snprintf(needed, sizeof needed, "(%u needed)", b->result->quorum);
    message_line("%ld caller%s%s on %u node%s %s, %s%s%s", p->callers,
                 p->callers == 1 ? "" : "s", p->one_name ? " for one lock" : "", nodes,
                 nodes == 1 ? "" : "s", needed, time, count, rate);
}

static int measure(struct bench *b)
{
    int status;
    b->result = calloc(1, sizeof *b->result);
    if (!b->result)
        return message_fail(EXIT_INTERNAL, "out of memory");
    b->signal_fd = signals_take();
    if (b->signal_fd < 0)
        return EXIT_INTERNAL;
    status = connect_all(b);
    if (status)
        return status;
    announce(b);
    progress_begin(&b->progress, !b->settings.quiet && !b->settings.json);
    status = load_run(b);
    if (status)
        return status;
    if (b->settings.json)
        bench_report_json(&b->plan, b->result, b->client[0]);
    else
        bench_report(&b->plan, b->result, b->client[0]);
    status = message_flush();
    if (status == 0 && b->result->signal)
        status = EXIT_SIGNAL + b->result->signal;
    if (status == 0 && b->result->locks == 0)
        status = exit_status_of(b->result->last_error);
    return status;
}

static int bench_main(const struct command *command, int argc, char **argv)
{
    struct bench b = {.plan = {.callers = CALLERS, .clients = 1}, .signal_fd = -1};
    int status = args_read(command, &b.settings, argc, argv, take, &b.plan);
    if (status == 0)
        status = complete(&b);
    if (status == 0)
        status = measure(&b);
    for (uint32_t i = 0; i < BENCH_CLIENTS_MAX; i++)
        client_close(&b.settings, b.client[i]);
    if (b.result)
        free(b.result->node);
    free(b.result);
    settings_free(&b.settings);
    return status;
}

static const struct cli_option options[] = {
    NUMBER(0, "callers", "so many want a lock at the same time (64)", struct bench_plan,
           callers, 1, BENCH_CALLERS_MAX),
    TIME(0, "duration", "measure for this long (10s)", struct bench_plan, duration_ms, 1,
         DURATION_MAX_MS),
    NUMBER('c', "count", "stop when so many locks have been asked for", struct bench_plan,
           count, 1, COUNT_MAX),
    OPTION(OPTION_RATE, 'r', "rate", "N", "ask for N locks a second (as many as possible)"),
    SWITCH(0, "one-name", "all callers want the same lock", struct bench_plan, one_name),
    OPTION(RL_SETTING_WAIT, 'w', "wait", "TIME",
           "with --one-name: wait this long at most (10s)"),
    TIME(0, "hold", "hold every lock for this long (0)", struct bench_plan, hold_ms, 0,
         HOLD_MAX_MS),
    NUMBER(0, "clients", "spread the callers over N clients (1)", struct bench_plan, clients, 1,
           BENCH_CLIENTS_MAX),
    OPTION(RL_SETTING_TTL, 't', "ttl", "TTL", "of every lock (2s)"),
    SWITCH(0, "fair", "first come, first served", struct bench_plan, fair),
    SWITCH(0, "fence", "with fencing tokens", struct bench_plan, fence),
    {0},
};

const struct command command_bench = {
    .name = "bench",
    .summary = "measure how many locks the nodes give, and how fast",
    .usage = "[OPTION...]",
    .about =
        "Takes and releases locks on the nodes as fast as they give them, and prints how many "
        "there were per second, how long it took to acquire and to release one, how these "
        "times are distributed, what part each node had in it, and what failed. Other users of "
        "these nodes will notice: --rate limits the load.\n\n"
        "The names of the locks begin with redlock-bench- and eight random digits. All of them "
        "are released at the end; what a killed process leaves expires after the TTL.\n\n"
        "With --rate, the time to acquire a lock counts from the moment at which it was to be "
        "asked for, so that no stall of the nodes is hidden. Ctrl-C ends the measurement early "
        "and prints what there is; once more, it ends everything.\n\n"
        "Exits with 0 when at least one lock was acquired and released, with 69 when too few "
        "nodes could vote.\n",
    .examples = "redlock bench\n"
                "redlock bench --rate 1000 --duration 1m\n"
                "redlock bench --one-name --callers 16 --clients 16\n"
                "redlock bench --json --duration 5 | jq .acquire.p99_ns",
    .options = options,
    .run = bench_main,
};
