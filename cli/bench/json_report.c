/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/json.h"
#include "bench/bench.h"
#include "bench/display.h"
#include "report/nodes.h"
#include "ui/message.h"

static int64_t quantile_ns(const struct latency *latency, double quantile)
{
    return latency->count > 0 ? (int64_t)(latency_quantile_us(latency, quantile) * 1e3 + 0.5)
                              : -1;
}

static void write_plan(const struct bench_plan *p, struct rl_json *j)
{
    rl_json_string(j, "mode", p->one_name ? "one-name" : "distinct");
    rl_json_string(j, "names", p->prefix);
    rl_json_integer(j, "callers", p->callers);
    rl_json_integer(j, "clients", p->clients);
    rl_json_known(j, "duration_ms", p->duration_ms > 0 ? p->duration_ms : -1);
    rl_json_known(j, "count", p->count > 0 ? p->count : -1);
    if (p->rate > 0)
        rl_json_real(j, "rate", p->rate);
    else
        rl_json_string(j, "rate", NULL);
    rl_json_integer(j, "hold_ms", p->hold_ms);
    rl_json_integer(j, "ttl_ms", p->ttl_ms);
    rl_json_bool(j, "fence", p->fence);
    rl_json_bool(j, "fair", p->fair);
}

static void write_timing(const char *key, const struct bench_timing *t, struct rl_json *j)
{
    struct histogram h;
    uint64_t count = t->spread.count;
    rl_json_object(j, key);
    rl_json_integer(j, "count", (int64_t)count);
    rl_json_known(j, "min_ns", count > 0 ? t->min_ns : -1);
    rl_json_known(j, "mean_ns", count > 0 ? (int64_t)(t->sum_ns / (double)count) : -1);
    rl_json_known(j, "p50_ns", quantile_ns(&t->spread, 0.5));
    rl_json_known(j, "p90_ns", quantile_ns(&t->spread, 0.9));
    rl_json_known(j, "p99_ns", quantile_ns(&t->spread, 0.99));
    rl_json_known(j, "p99_9_ns", quantile_ns(&t->spread, 0.999));
    rl_json_known(j, "max_ns", count > 0 ? t->max_ns : -1);
    rl_json_array(j, "histogram");
    histogram_make(&h, &t->spread, HISTOGRAM_RANGES_MAX);
    for (size_t i = 0; i < h.count; i++) {
        if (h.range[i].count == 0)
            continue;
        rl_json_object(j, NULL);
        rl_json_integer(j, "up_to_ns", h.range[i].up_to_ns);
        rl_json_integer(j, "count", (int64_t)h.range[i].count);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
    rl_json_end_object(j);
}

static void write_failure(const char *operation, int error, uint64_t count, struct rl_json *j)
{
    if (count == 0)
        return;
    rl_json_object(j, NULL);
    rl_json_string(j, "operation", operation);
    rl_json_string(j, "error", redlock_error_name(error));
    rl_json_integer(j, "count", (int64_t)count);
    rl_json_end_object(j);
}

static void write_nodes(const struct bench_result *r, redlock *client, struct rl_json *j)
{
    rl_json_integer(j, "quorum", r->quorum);
    rl_json_array(j, "nodes");
    for (uint32_t i = 0; i < r->node_count; i++) {
        const struct bench_node *n = &r->node[i];
        redlock_node_info info = REDLOCK_NODE_INFO();
        bool known = redlock_node(client, i, &info) == REDLOCK_OK;
        rl_json_object(j, NULL);
        rl_json_string(j, "address", n->address);
        if (r->quorum_count > 1)
            rl_json_string(j, "quorum_name", n->quorum_name);
        rl_json_string(j, "state", known ? node_state_text(info.state) : NULL);
        rl_json_integer(j, "in_time", (int64_t)n->in_time);
        rl_json_integer(j, "late", (int64_t)n->late);
        rl_json_integer(j, "failed", (int64_t)n->failed);
        rl_json_known(j, "rtt_p50_ns", quantile_ns(&n->rtt, 0.5));
        rl_json_known(j, "rtt_p99_ns", quantile_ns(&n->rtt, 0.99));
        rl_json_string(j, "why", n->failed > 0 ? redlock_vote_text(n->vote) : "");
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

void bench_report_json(const struct bench_plan *p, const struct bench_result *r,
                       redlock *client)
{
    struct rl_json j = {.out = stdout};
    message_json(&j, r->locks > 0 ? REDLOCK_OK : r->last_error, r->last_detail);
    write_plan(p, &j);
    rl_json_integer(&j, "elapsed_ns", r->elapsed_ns);
    rl_json_bool(&j, "interrupted", r->signal != 0);
    rl_json_integer(&j, "asked", (int64_t)r->asked);
    rl_json_integer(&j, "locks", (int64_t)r->locks);
    rl_json_integer(&j, "failed", (int64_t)bench_failures(r));
    rl_json_integer(&j, "unfinished", (int64_t)r->unfinished);
    rl_json_integer(&j, "never_asked", (int64_t)r->never_asked);
    rl_json_real(&j, "locks_per_s", bench_per_second(r));
    rl_json_integer(&j, "cpu_percent", bench_cpu_percent(r));
    write_timing("acquire", &r->acquire, &j);
    write_timing("release", &r->release, &j);
    rl_json_array(&j, "failures");
    for (int i = 0; i < BENCH_ERRORS; i++) {
        write_failure("acquire", -i, r->acquire_failed[i], &j);
        write_failure("release", -i, r->release_failed[i], &j);
    }
    rl_json_end_array(&j);
    rl_json_object(&j, "share");
    rl_json_integer(&j, "fewest", (int64_t)r->fewest);
    rl_json_integer(&j, "most", (int64_t)r->most);
    rl_json_end_object(&j);
    write_nodes(r, client, &j);
    rl_json_finish(&j);
}
