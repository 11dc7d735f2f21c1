/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/replica.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/target.h"
#include "base/time.h"
#include "io/clock.h"
#include "nodes/quorums.h"

/* ---- nodes ------------------------------------------------------------------------------- */

/* As in `redlock top`: between two tries what matters is how the last one ended. */
static const char *state_word(const redlock_node_info *node)
{
    if (node->state == REDLOCK_NODE_UP)
        return "up";
    return node->text[0] ? "down" : "connecting";
}

static void write_nodes(struct view *view)
{
    struct rl_json *json = &view->body.json;
    redlock_node_info node = REDLOCK_NODE_INFO();

    rl_json_array(json, "nodes");
    for (size_t i = 0; redlock_node(view->leases->client, i, &node) == REDLOCK_OK; i++) {
        bool has_clock = node.clock_error_us >= 0;

        rl_json_object(json, NULL);
        rl_json_string(json, "address", node.address);
        rl_json_string(json, "quorum", node.quorum_name[0] ? node.quorum_name : NULL);
        rl_json_bool(json, "up", node.state == REDLOCK_NODE_UP);
        rl_json_string(json, "state", state_word(&node));
        rl_json_bool(json, "votes", quorums_node_votes(&node));
        rl_json_bool(json, "quarantined", node.quarantined);
        rl_json_known(json, "quarantine_ms", node.quarantine_ms);
        rl_json_known(json, "rtt_us", node.rtt_us);
        if (has_clock)
            rl_json_integer(json, "clock_offset_us", node.clock_offset_us);
        else
            rl_json_string(json, "clock_offset_us", NULL);
        rl_json_string(json, "version", node.version[0] ? node.version : NULL);
        rl_json_string(json, "reason", node.reason ? redlock_reason_name(node.reason) : NULL);
        rl_json_string(json, "text", node.text);
        guarantee_node_json(&node, json);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
}

static void write_quorums(struct view *view)
{
    struct quorum_view quorums[REDLOCK_QUORUMS_MAX];
    unsigned count = quorums_look(view->leases->client, quorums);
    struct rl_json *json = &view->body.json;

    rl_json_array(json, "quorums");
    for (unsigned i = 0; i < count; i++) {
        rl_json_object(json, NULL);
        rl_json_string(json, "name", quorums[i].name[0] ? quorums[i].name : NULL);
        rl_json_integer(json, "nodes", quorums[i].nodes);
        rl_json_integer(json, "needed", quorums[i].needed);
        rl_json_integer(json, "voting", quorums[i].voting);
        guarantee_json(&quorums[i].guarantee, true, json);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
}

void view_begin_nodes(struct view *view, const struct routed *routed)
{
    http_body_begin(&view->body);
    write_nodes(view);
    http_body_answer(&view->body, routed->exchange, 200);
}

/* ---- status ------------------------------------------------------------------------------ */

/* A request that waits for the overview. */
struct status_request {
    struct http_completion completion; /* first: that of its exchange */
    struct overview_wait wait;
    struct view *view;
    struct http_exchange *exchange;
    struct access_who who;
    unsigned limit;
};

static void write_replica(struct view *view, const struct access_who *who, bool is_admin)
{
    redlock_counters stats = REDLOCK_COUNTERS();
    struct rl_json *json = &view->body.json;
    struct leases_view counts = leases_look(view->leases);
    unsigned streams = counts.stream_held + counts.stream_jeopardy;
    char host[256] = "";

    redlock_stats(view->leases->client, &stats);
    gethostname(host, sizeof host - 1);
    rl_json_string(json, "version", redlock_version());
    rl_json_string(json, "host", host);
    rl_json_string(json, "principal", who->principal);
    rl_json_bool(json, "admin", is_admin);
    rl_json_integer(json, "uptime_ms", (rl_now_ns() - view->began_ns) / RL_NS_PER_MS);
    rl_json_bool(json, "ready", !view->is_draining && quorums_are_ready(view->leases->client));
    rl_json_bool(json, "draining", view->is_draining);
    rl_json_integer(json, "waiting", (int64_t)stats.waiting);
    rl_json_integer(json, "leases", counts.lease_held + streams);
    rl_json_integer(json, "streams", streams);
    rl_json_integer(json, "jeopardy", counts.stream_jeopardy);
    rl_json_integer(json, "granted", (int64_t)stats.acquired);
    rl_json_integer(json, "renewed", (int64_t)stats.renewed);
    rl_json_integer(json, "lost", (int64_t)view->leases->journal->count[JOURNAL_LOST]);
}

/* What happens to locks, by patterns of the settings: for those that may read the metrics. */
static void write_classes(struct view *view, bool is_admin)
{
    const struct classes *classes = view->leases->journal->classes;
    struct rl_json *json = &view->body.json;

    if (!is_admin) {
        rl_json_string(json, "classes", NULL);
        return;
    }
    rl_json_array(json, "classes");
    for (unsigned i = 0; i < classes->count; i++) {
        const struct lock_class *class = &classes->list[i];

        rl_json_object(json, NULL);
        rl_json_string(json, "class", class->pattern);
        rl_json_integer(json, "granted", (int64_t) class->wait.count);
        rl_json_known(json, "wait_us",
                      class->wait.count ? (int64_t)(class->wait.sum_us / class->wait.count)
                                        : -1);
        rl_json_known(json, "hold_us",
                      class->hold.count ? (int64_t)(class->hold.sum_us / class->hold.count)
                                        : -1);
        rl_json_integer(json, "timeouts", (int64_t) class->timeouts);
        rl_json_integer(json, "lost", (int64_t) class->lost);
        rl_json_integer(json, "expired", (int64_t) class->expired);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
}

static void write_trouble(struct view *view, const struct access_who *who)
{
    struct trouble *trouble = &view->leases->journal->trouble;
    struct rl_json *json = &view->body.json;
    int64_t now_ns = rl_now_ns();

    trouble_age(trouble, now_ns);
    rl_json_array(json, "trouble");
    for (unsigned i = 0; i < trouble->count; i++) {
        const struct trouble_entry *entry = &trouble->entries[i];

        if (!access_may(view->leases->access, who, ACCESS_READ, entry->name))
            continue;
        rl_json_object(json, NULL);
        rl_json_string(json, "name", entry->name);
        rl_json_string(json, "label", entry->label[0] ? entry->label : NULL);
        rl_json_string(json, "state", journal_word(entry->event));
        rl_json_string(json, "reason", entry->reason[0] ? entry->reason : NULL);
        rl_json_integer(json, "ago_ms", (now_ns - entry->at_ns) / RL_NS_PER_MS);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
}

static void write_lock(struct rl_json *json, const struct overview_lock *lock)
{
    rl_json_object(json, NULL);
    rl_json_string(json, "name", lock->name);
    rl_json_bool(json, "held", lock->held);
    rl_json_string(json, "kind", lock->kind >= 0 ? redlock_kind_text(lock->kind) : NULL);
    rl_json_integer(json, "holder_count", lock->holder_count);
    rl_json_integer(json, "slots", lock->slots);
    rl_json_array(json, "holders");
    for (uint32_t i = 0; i < lock->shown; i++) {
        rl_json_object(json, NULL);
        rl_json_string(json, "label", lock->label[i][0] ? lock->label[i] : NULL);
        rl_json_string(json, "fingerprint", lock->fingerprint[i]);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
    rl_json_known(json, "held_ms", lock->held_ms);
    rl_json_bool(json, "held_at_least", lock->held_at_least);
    rl_json_known(json, "remaining_ms", lock->remaining_ms);
    rl_json_integer(json, "waiters", overview_waiters(lock));
    rl_json_bool(json, "disagree", lock->disagree);
    rl_json_bool(json, "record", lock->is_record);
    rl_json_end_object(json);
}

/* Those that the client may read, in the order of importance. */
static void write_locks(struct view *view, const struct access_who *who, bool is_admin,
                        unsigned limit)
{
    const struct overview *overview = &view->overview;
    struct rl_json *json = &view->body.json;
    unsigned count = 0, more = 0;

    rl_json_array(json, "locks");
    for (size_t i = 0; i < overview->count; i++) {
        if (!access_may(view->leases->access, who, ACCESS_READ, overview->locks[i].name))
            continue;
        if (count == limit) {
            more++;
        } else {
            write_lock(json, &overview->locks[i]);
            count++;
        }
    }
    rl_json_end_array(json);
    rl_json_object(json, "look");
    rl_json_known(json, "age_ms",
                  overview->looked_ns ? (rl_now_ns() - overview->looked_ns) / RL_NS_PER_MS
                                      : -1);
    rl_json_string(json, "code", overview->error ? redlock_error_name(overview->error) : NULL);
    rl_json_string(json, "detail", overview->error ? overview->detail : NULL);
    rl_json_integer(json, "more", more);
    /* Names that were not queried may be such as the client must not know of. */
    rl_json_known(json, "unasked", is_admin ? (int64_t)overview->unasked : -1);
    rl_json_end_object(json);
}

static void answer_status(struct view *view, struct http_exchange *exchange,
                          const struct access_who *who, unsigned limit)
{
    bool is_admin = access_may(view->leases->access, who, ACCESS_ADMIN, NULL);

    http_body_begin(&view->body);
    write_replica(view, who, is_admin);
    write_quorums(view);
    if (is_admin)
        write_nodes(view);
    else
        rl_json_string(&view->body.json, "nodes", NULL);
    write_classes(view, is_admin);
    write_trouble(view, who);
    if (limit > 0)
        write_locks(view, who, is_admin, limit);
    http_body_answer(&view->body, exchange, 200);
}

static void on_overview(struct overview_wait *wait)
{
    struct status_request *request =
        (struct status_request *)(void *)((char *)wait - offsetof(struct status_request, wait));

    request->exchange->completion = NULL;
    answer_status(request->view, request->exchange, &request->who, request->limit);
    free(request);
}

static void on_gone(struct http_completion *completion, enum http_ended how)
{
    struct status_request *request = (struct status_request *)(void *)completion;

    (void)how;
    overview_forget(&request->view->overview, &request->wait);
    free(request);
}

static void await_overview(struct view *view, const struct routed *routed, unsigned limit)
{
    struct http_exchange *exchange = routed->exchange;
    struct status_request *request = calloc(1, sizeof *request);

    if (!request) {
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", NULL);
        return;
    }
    request->completion.ended = on_gone;
    request->wait.done = on_overview;
    request->view = view;
    request->exchange = exchange;
    request->who = routed->who;
    request->limit = limit;
    exchange->completion = &request->completion;
    overview_await(&view->overview, &request->wait, rl_now_ns());
}

void view_begin_status(struct view *view, const struct routed *routed)
{
    static const char *const names[] = {"locks", NULL};
    const struct http_request *request = routed->request;
    struct http_exchange *exchange = routed->exchange;
    unsigned limit = 0;

    if (!rl_target_query_only(request->query, names) ||
        rl_target_query_number(request->query, "locks", 1, OVERVIEW_LOCKS_MAX, &limit) ==
            RL_TARGET_BAD) {
        http_answer_problem(exchange, 400, "QUERY",
                            "there is no parameter but locks, a number from 1 to 1000", NULL);
        return;
    }
    if (limit > 0)
        await_overview(view, routed, limit);
    else
        answer_status(view, exchange, &routed->who, 0);
}

/* ---- ready ------------------------------------------------------------------------------- */

void view_begin_ready(struct view *view, const struct routed *routed, bool may_look)
{
    static const char *const names[] = {"verbose", NULL};
    const struct http_request *request = routed->request;
    struct http_exchange *exchange = routed->exchange;
    bool is_ready = !view->is_draining && quorums_are_ready(view->leases->client);
    struct rl_json *json = &view->body.json;
    bool is_guarded;
    char verbose[8];

    if (!rl_target_query_only(request->query, names)) {
        http_answer_problem(exchange, 400, "QUERY", "there is no parameter but verbose", NULL);
        return;
    }
    http_body_begin(&view->body);
    is_guarded =
        !is_ready && !view->is_draining && quorums_are_of_another_set(view->leases->client);
    if (!is_ready)
        rl_json_string(json, "code",
                       view->is_draining ? "DRAINING"
                       : is_guarded      ? "GUARDED"
                                         : "NOQUORUM");
    rl_json_string(json, is_ready ? "status" : "detail",
                   is_ready            ? "ready"
                   : view->is_draining ? "this replica is about to end"
                   : is_guarded
                       ? "nodes belong to another set than this replica is configured with"
                       : "too few nodes vote");
    if (may_look &&
        rl_target_query_get(request->query, "verbose", verbose, sizeof verbose) >= 0)
        write_quorums(view);
    http_body_answer(&view->body, exchange, is_ready ? 200 : 503);
}
