/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics/metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/ops.h"
#include "nodes/quorums.h"

#define US_PER_S 1e6
#define MS_PER_S 1e3

int metrics_init(struct metrics *metrics)
{
    *metrics = (struct metrics){0};
    metrics->out = open_memstream(&metrics->text, &metrics->size);
    return metrics->out ? 0 : -1;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics->out)
        fclose(metrics->out);
    free(metrics->text);
    *metrics = (struct metrics){0};
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP redlockd_%s %s\n# TYPE redlockd_%s %s\n", name, help, name, type);
}

static void number(FILE *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    head(out, name, type, help);
    fprintf(out, "redlockd_%s %" PRIu64 "\n", name, value);
}

/* `label`: NULL, or one as in op="acquire". */
static void buckets(FILE *out, const char *name, const char *label,
                    const redlock_histogram *values)
{
    static const uint64_t bounds[REDLOCK_BUCKETS - 1] = REDLOCK_BUCKET_BOUNDS_US;
    const char *comma = label ? "," : "", *open = label ? "{" : "", *close = label ? "}" : "";
    uint64_t sum = 0;

    label = label ? label : "";
    for (unsigned i = 0; i < REDLOCK_BUCKETS - 1; i++) {
        sum += values->bucket[i];
        fprintf(out, "redlockd_%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, label, comma,
                (double)bounds[i] / US_PER_S, sum);
    }
    sum += values->bucket[REDLOCK_BUCKETS - 1];
    fprintf(out, "redlockd_%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, label, comma, sum);
    fprintf(out, "redlockd_%s_sum%s%s%s %.6f\n", name, open, label, close,
            (double)values->sum_us / US_PER_S);
    fprintf(out, "redlockd_%s_count%s%s%s %" PRIu64 "\n", name, open, label, close, sum);
}

static void histogram(FILE *out, const char *name, const char *help,
                      const redlock_histogram *values)
{
    head(out, name, "histogram", help);
    buckets(out, name, NULL, values);
}

/* Addresses, quorums and classes are the operator's words, and may have
 * quotes and backslashes. */
static void label(FILE *out, const char *metric, const char *key, const char *value)
{
    fprintf(out, "redlockd_%s{%s=\"", metric, key);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            fputc('\\', out);
        fputc(*value == '\n' ? ' ' : *value, out);
    }
    fputs("\"} ", out);
}

/* ---- nodes ------------------------------------------------------------------------------- */

static double is_up(const redlock_node_info *node)
{
    return node->state == REDLOCK_NODE_UP;
}

static double votes(const redlock_node_info *node)
{
    return quorums_node_votes(node);
}

static double quarantine(const redlock_node_info *node)
{
    return node->quarantine_ms > 0 ? (double)node->quarantine_ms / MS_PER_S : 0;
}

/* NaN: in this format, unknown. */
static double rtt(const redlock_node_info *node)
{
    return node->rtt_us >= 0 ? node->rtt_us / US_PER_S : strtod("nan", NULL);
}

static double clock_offset(const redlock_node_info *node)
{
    return node->clock_error_us >= 0 ? (double)node->clock_offset_us / US_PER_S
                                     : strtod("nan", NULL);
}

static double last_answer(const redlock_node_info *node)
{
    return node->answered_ms >= 0 ? (double)node->answered_ms / MS_PER_S : strtod("nan", NULL);
}

static const struct {
    const char *name, *help;
    double (*value)(const redlock_node_info *node);
} gauges[] = {
    {"node_up", "1: connected", is_up},
    {"node_votes", "1: its grants are counted", votes},
    {"node_quarantine_seconds", "until it may vote by itself; 0: it may, or will not",
     quarantine},
    {"node_rtt_seconds", "smoothed round trip", rtt},
    {"node_clock_offset_seconds", "its clock minus ours", clock_offset},
    {"node_last_answer_seconds",
     "since its last answer; an idle node is sent something every 4 s", last_answer},
};

static void write_nodes(FILE *out, redlock *client)
{
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        head(out, gauges[i].name, "gauge", gauges[i].help);
        for (size_t k = 0; redlock_node(client, k, &node) == REDLOCK_OK; k++) {
            double value = gauges[i].value(&node);

            label(out, gauges[i].name, "node", node.address);
            if (value == value)
                fprintf(out, "%.6f\n", value);
            else
                fputs("NaN\n", out);
        }
    }
}

static void write_quorums(FILE *out, redlock *client)
{
    struct quorum_view quorums[REDLOCK_QUORUMS_MAX];
    unsigned count = quorums_look(client, quorums);

    head(out, "quorum_margin", "gauge", "nodes that vote beyond a bare majority");
    for (unsigned i = 0; i < count; i++) {
        label(out, "quorum_margin", "quorum", quorums[i].name);
        fprintf(out, "%d\n", (int)quorums[i].voting - (int)quorums[i].needed);
    }
}

/* ---- requests and leases ---------------------------------------------------------------- */

static const char *const ops[] = {
#define X(name, text) text,
    OPS(X)
#undef X
};

static void write_requests(FILE *out, const struct http_tally *tally)
{
    char text[32];

    head(out, "requests_total", "counter", "answers, by operation and status");
    for (unsigned op = 0; op < OP_COUNT; op++)
        for (unsigned i = 0; i < HTTP_STATUS_COUNT; i++)
            if (tally->count[op][i] > 0)
                fprintf(out, "redlockd_requests_total{op=\"%s\",code=\"%u\"} %" PRIu64 "\n",
                        ops[op], HTTP_STATUS_FIRST + i, tally->count[op][i]);
    head(out, "request_seconds", "histogram", "from the request to its answer, waits included");
    for (unsigned op = 0; op < OP_COUNT; op++) {
        if (tally->took[op].count == 0)
            continue;
        snprintf(text, sizeof text, "op=\"%s\"", ops[op]);
        buckets(out, "request_seconds", text, &tally->took[op]);
    }
}

static void write_connections(FILE *out, const struct http_server *server,
                              const char *const *listeners)
{
    struct http_counts counts;

    http_server_counts(server, &counts);
    head(out, "connections", "gauge", "open connections");
    for (unsigned i = 0; i < HTTP_LISTENERS_MAX; i++) {
        if (!listeners[i])
            continue;
        label(out, "connections", "listener", listeners[i]);
        fprintf(out, "%u\n", counts.by_listener[i]);
    }
    number(out, "connections_evicted_total", "counter",
           "connections that were closed to make room for others", counts.evicted);
}

static void write_leases(FILE *out, const struct leases *leases)
{
    struct leases_view view = leases_look(leases);
    const struct {
        const char *way, *state;
        unsigned count;
    } rows[] = {{"lease", "waiting", view.lease_waiting},
                {"lease", "held", view.lease_held},
                {"stream", "waiting", view.stream_waiting},
                {"stream", "held", view.stream_held},
                {"stream", "jeopardy", view.stream_jeopardy}};

    head(out, "leases", "gauge",
         "locks as this replica knows them; jeopardy: held, and the last renewal failed");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fprintf(out, "redlockd_leases{way=\"%s\",state=\"%s\"} %u\n", rows[i].way,
                rows[i].state, rows[i].count);
}

static void write_lost(FILE *out, const struct journal *journal)
{
    head(out, "lost_total", "counter",
         "locks that were gone before their time, as a renewal or release found");
    for (size_t i = 0; i < JOURNAL_REASONS_MAX && journal->lost[i].word; i++)
        fprintf(out, "redlockd_lost_total{reason=\"%s\"} %" PRIu64 "\n", journal->lost[i].word,
                journal->lost[i].count);
}

/* ---- classes ----------------------------------------------------------------------------- */

/* Without buckets: those of a hundred classes would be the larger part of an answer. */
static void write_times(FILE *out, const char *name, const struct lock_class *class,
                        const struct class_times *times)
{
    char text[64];

    snprintf(text, sizeof text, "%s_sum", name);
    label(out, text, "class", class->pattern);
    fprintf(out, "%.6f\n", (double)times->sum_us / US_PER_S);
    snprintf(text, sizeof text, "%s_count", name);
    label(out, text, "class", class->pattern);
    fprintf(out, "%" PRIu64 "\n", times->count);
}

/* Patterns of the settings, never names. */
static void write_classes(FILE *out, const struct classes *classes)
{
    static const struct {
        const char *name, *help;
        size_t at;
    } counts[] = {
        {"class_timeouts_total", "waits that ended without the lock",
         offsetof(struct lock_class, timeouts)},
        {"class_lost_total", "as lost_total, by class", offsetof(struct lock_class, lost)},
        {"class_expired_unreleased_total", "as expired_unreleased_total, by class",
         offsetof(struct lock_class, expired)},
    };

    if (classes->count == 0)
        return;
    head(out, "class_wait_seconds", "summary", "from the request to the grant, by class");
    for (unsigned i = 0; i < classes->count; i++)
        write_times(out, "class_wait_seconds", &classes->list[i], &classes->list[i].wait);
    head(out, "class_hold_seconds", "summary", "from the grant to the end, by class");
    for (unsigned i = 0; i < classes->count; i++)
        write_times(out, "class_hold_seconds", &classes->list[i], &classes->list[i].hold);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        head(out, counts[k].name, "counter", counts[k].help);
        for (unsigned i = 0; i < classes->count; i++) {
            const char *class = (const char *)&classes->list[i];

            label(out, counts[k].name, "class", classes->list[i].pattern);
            fprintf(out, "%" PRIu64 "\n",
                    *(const uint64_t *)(const void *)(class + counts[k].at));
        }
    }
}

/* ---- the answer -------------------------------------------------------------------------- */

/* By the number of the rule, from 1: principals and names are not for everyone
 * who sees metrics. */
static void write_quotas(FILE *out, const struct access *access)
{
    const struct access_rules *rules = &access->rules;

    head(out, "quota_rejected_total", "counter",
         "requests beyond a cap of a rule, by its number; none: of principals without any");
    for (unsigned i = 0; i < rules->count; i++)
        fprintf(out, "redlockd_quota_rejected_total{rule=\"%u\"} %" PRIu64 "\n", i + 1,
                rules->rule[i].rejected);
    fprintf(out, "redlockd_quota_rejected_total{rule=\"none\"} %" PRIu64 "\n",
            access->strangers.rejected);
}

static void write_counts(FILE *out, const struct leases *leases)
{
    const struct leases_counts *counts = &leases->counts;
    const uint64_t *count = leases->journal->count;
    struct rl_sink_counts lines = audit_counts(leases->journal->audit);

    number(out, "waiters", "gauge", "acquisitions under way", counts->waiting);
    number(out, "yours_total", "counter", "requests with an id that was granted already",
           count[JOURNAL_YOURS]);
    number(out, "disconnected_waiters_total", "counter", "clients that went while they waited",
           count[JOURNAL_DISCONNECTED]);
    number(
        out, "expired_unreleased_total", "counter",
        "leases that ran out without a release, as the nodes were seen to have forgotten them",
        count[JOURNAL_EXPIRED]);
    number(out, "ended_elsewhere_total", "counter",
           "leases that were gone before their time was over: released through another replica",
           count[JOURNAL_ENDED]);
    number(out, "unknown_renewals_total", "counter",
           "renewals that found nothing, of leases that this replica did not know",
           count[JOURNAL_UNKNOWN]);
    number(out, "broken_total", "counter", "holders that an operator evicted",
           count[JOURNAL_BROKEN]);
    number(out, "denied_total", "counter", "requests that got 401, 403 or 429",
           count[JOURNAL_DENIED]);
    number(out, "audit_dropped_total", "counter",
           "lines of the audit log that its target did not take", lines.dropped);
    number(out, "audit_queued", "gauge", "lines of the audit log that are not written yet",
           lines.queued);
    write_quotas(out, leases->access);
    write_leases(out, leases);
}

void metrics_answer(struct metrics *metrics, struct http_exchange *exchange,
                    const struct leases *leases, const struct http_server *server,
                    const char *const listeners[HTTP_LISTENERS_MAX])
{
    redlock_counters stats = REDLOCK_COUNTERS();
    FILE *out = metrics->out;
    long size;

    redlock_stats(leases->client, &stats);
    rewind(out);
    head(out, "build_info", "gauge", "the version of the daemon");
    label(out, "build_info", "version", redlock_version());
    fputs("1\n", out);
    write_counts(out, leases);
    number(out, "leader_polls", "gauge", "requests that wait for another leader",
           metrics->leaders->polls);
    write_requests(out, http_server_tally(server));
    write_connections(out, server, listeners);
    number(out, "granted_total", "counter", "locks that were granted", stats.acquired);
    number(out, "renewed_total", "counter", "renewals that a majority confirmed",
           stats.renewed);
    write_lost(out, leases->journal);
    histogram(out, "hold_seconds", "from the grant to the end, of locks granted here",
              &leases->journal->hold);
    histogram(out, "acquire_wait_seconds", "from the request to the grant", &stats.wait);
    write_classes(out, leases->journal->classes);
    write_nodes(out, leases->client);
    write_quorums(out, leases->client);
    size = ftell(out);
    if (size < 0 || fflush(out) != 0) {
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", NULL);
        return;
    }
    http_answer(exchange, &(struct http_answer){.status = 200,
                                                .type = "text/plain; version=0.0.4",
                                                .body = metrics->text,
                                                .body_size = (size_t)size});
}
