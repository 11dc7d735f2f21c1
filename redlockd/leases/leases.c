/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/leases.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "leases/carry.h"
#include "leases/holdings.h"
#include "leases/reply.h"
#include "system/log.h"

/* ---- requests ---------------------------------------------------------------------------- */

static const struct lease_refusal proxied = {
    400, "PROXIED", "no stream through a proxy: connect directly, or use a lease"};
static const struct lease_refusal ahead = {
    400, "GRANT", "the fence of the Grant is later than the clock of this host"};

/* Fences are microseconds of the nodes' clocks. As far as these may be ahead of the clock
 * here. */
#define FENCE_AHEAD_MS INT64_C(86400000)

/*
 * The caps on the TTL, of the nodes and of its rule; one that the request leaves open is as
 * long as it may be. What is beyond that of the nodes the library refuses.
 */
static bool fit_ttl(const struct leases *leases, struct lease_terms *terms,
                    const struct access_rule *rule, struct lease_refusal *refusal)
{
    if (!terms->has_ttl && leases->max_ttl_ms && terms->ttl_ms > leases->max_ttl_ms)
        terms->ttl_ms = leases->max_ttl_ms;
    if (!rule || !rule->ttl_max_ms || terms->ttl_ms <= rule->ttl_max_ms)
        return true;
    if (!terms->has_ttl) {
        terms->ttl_ms = rule->ttl_max_ms;
        return true;
    }
    *refusal = (struct lease_refusal){422, "INVAL",
                                      "ttl_ms is beyond the cap of the rule that allows this"};
    return false;
}

/*
 * Every PUT counts. A release of a known lease never does, and a renewal only where such come
 * much too often. What is not known here another replica may have granted: that is charged when
 * it turns out that there is no such lease, and refused only after many that were not.
 */
static bool is_within_quota(struct leases *leases, const struct http_request *request,
                            const struct lease_terms *terms, struct access_rule *rule)
{
    int64_t now_ns = request->received_ns;
    struct lease_held *held;

    if (!rule)
        return true;
    /* A stream that comes back is a renewal. */
    if (request->method == HTTP_PUT && !terms->has_grant)
        return access_rule_take(rule, now_ns);
    if (!terms->is_known)
        return access_rule_may_miss(rule, now_ns);
    held = holdings_find(leases, &terms->tag, terms->name);
    return request->method == HTTP_DELETE || !held || lease_renewal_is_free(held, now_ns) ||
           access_rule_take(rule, now_ns);
}

void leases_refuse_quota(struct leases *leases, const struct routed *routed)
{
    holdings_denied(leases, routed->exchange, &routed->request->path, &routed->who,
                    routed->name[0] ? routed->name : NULL, "QUOTA");
    lease_reply_refusal(routed->exchange, LEASE_QUOTA);
}

/* A fence is handed on to resources that refuse smaller ones: a made-up one near the end of
 * the range would lock the next holders out. */
static bool is_ahead(const struct http_request *request, const struct lease_terms *terms)
{
    return terms->has_grant && request->method != HTTP_DELETE &&
           terms->grant.fence / 1000 > rl_wall_ms(NULL) + FENCE_AHEAD_MS;
}

/* ---- to the rules ------------------------------------------------------------------------ */

/* A request that waits or streams here, under this name? */
static bool has_name(const struct lease_request *other, const struct lease_terms *terms)
{
    return strcmp(redlock_name(other->lock), terms->name) == 0;
}

/* What would be granted is what this request wants. */
static bool is_same(const struct lease_request *other, const struct lease_terms *terms)
{
    return has_name(other, terms) && other->lease.is_stream == terms->is_stream &&
           other->lease.leaves == terms->leaves && other->kind == terms->kind &&
           other->slots == terms->slots && strcmp(other->owner, terms->owner) == 0 &&
           other->is_fenced == ((terms->flags & REDLOCK_FENCED) != 0);
}

static enum lease_verb verb_of(const struct http_request *request,
                               const struct lease_terms *terms)
{
    if (request->method == HTTP_PUT)
        return terms->has_grant ? LEASE_RESUME : LEASE_ACQUIRE;
    return request->method == HTTP_POST ? LEASE_RENEW : LEASE_RELEASE;
}

/* The request that waits or streams here, of what is known of its id; NULL: none. */
static struct lease_request *under_way(const struct lease_entry *entry)
{
    bool is_here = entry && (entry->memory == LEASE_WAITS || entry->memory == LEASE_STREAMS);

    return is_here ? lease_request_of(entry->lease) : NULL;
}

/* The id waits or streams here: what becomes of that, and perhaps of the newer request as
 * well. */
static void begin_again(struct lease_request *other, const struct lease_terms *terms,
                        struct lease_event event, struct lease_newer *newer)
{
    struct lease_cause cause = {.newer = newer};

    event.type = LEASE_REPEATED;
    event.is_same =
        event.verb == LEASE_ACQUIRE ? is_same(other, terms) : has_name(other, terms);
    lease_happened(other, &event, &cause);
}

static void begin(struct leases *leases, const struct routed *routed, struct lease_terms *terms)
{
    const struct http_request *request = routed->request;
    struct lease_newer newer = {.routed = routed};
    int64_t now_ns = request->received_ns;
    struct lease_event event = {.type = LEASE_REQUESTED,
                                .verb = verb_of(request, terms),
                                .eof = request->eof,
                                .is_draining = leases->is_draining,
                                .has_grant = terms->has_grant,
                                .is_streams_grant = terms->has_grant && terms->grant.is_stream,
                                .is_local = request->peer->is_unix,
                                .received_ns = now_ns};
    struct lease_entry *entry = lease_table_find(&leases->table, &terms->tag, now_ns);
    struct lease_request *other = under_way(entry), *own;

    event.memory = lease_memory_of(entry);
    /* Under another name a release ends nothing here. */
    event.is_same = other                  ? has_name(other, terms)
                    : entry && entry->held ? strcmp(entry->held->name, terms->name) == 0
                                           : true;
    if (other) {
        event.had_wait = event.is_same && event.memory == LEASE_WAITS;
        begin_again(other, terms, event, &newer);
        if (newer.is_settled)
            return;
        event.memory = lease_memory_of(lease_table_find(&leases->table, &terms->tag, now_ns));
    }
    event.has_room = !routed->rule || access_rule_has_room(routed->rule, terms->wait_ms > 0);
    own = lease_request_new(leases, routed, terms);
    if (own)
        lease_happened(own, &event, NULL);
}

/* Does this replica know the lease, under this name: held, streamed or waited for here? With
 * another grant than its own it does not. */
static bool is_known(struct leases *leases, const struct lease_terms *terms, int64_t now_ns)
{
    struct lease_request *other =
        under_way(lease_table_find(&leases->table, &terms->tag, now_ns));
    const struct lease_held *held = holdings_find(leases, &terms->tag, terms->name);

    if (held && terms->has_grant &&
        held->mark != lease_grant_mark(&terms->grant, leases->table.key))
        return false;
    return other ? has_name(other, terms) : held != NULL;
}

void leases_begin(struct leases *leases, const struct routed *routed)
{
    const struct http_request *request = routed->request;
    struct http_exchange *exchange = routed->exchange;
    struct lease_refusal refusal;
    struct lease_terms terms;

    if (request->query.size > 0) {
        http_answer_problem(exchange, 400, "QUERY",
                            request->method == HTTP_DELETE
                                ? "a release has no parameter; a break is POST /v1/breaks/NAME"
                                : "there is no such parameter",
                            NULL);
        return;
    }
    if (!lease_terms_read(request, routed->name, routed->who.principal, &terms, &refusal)) {
        lease_reply_invalid(exchange, &refusal);
        return;
    }
    if (terms.is_stream && access_is_proxied(leases->access, request)) {
        lease_reply_invalid(exchange, &proxied);
        return;
    }
    terms.is_known = (request->method != HTTP_PUT || terms.has_grant) &&
                     is_known(leases, &terms, request->received_ns);
    if (!is_within_quota(leases, request, &terms, routed->rule)) {
        leases_refuse_quota(leases, routed);
    } else if (!fit_ttl(leases, &terms, routed->rule, &refusal)) {
        lease_reply_invalid(exchange, &refusal);
    } else if (is_ahead(request, &terms)) {
        lease_reply_invalid(exchange, &ahead);
    } else {
        leases->terms = &terms;
        begin(leases, routed, &terms);
        leases->terms = NULL;
    }
}

int64_t leases_turn(void *context, int64_t now_ns)
{
    struct leases *leases = context;
    struct lease_entry *entry;

    leases->postponed = 0;
    while ((entry = lease_table_due(&leases->table, now_ns)) != NULL) {
        struct lease_request *request = under_way(entry);

        if (request && lease_due_ns(&request->lease) <= now_ns)
            lease_tick(request, LEASE_TICK); /* which plans it anew */
        else
            holdings_look(leases, entry, now_ns);
    }
    return rl_timers_next_ns(&leases->table.due);
}

/* ---- the process ------------------------------------------------------------------------- */

/* The library's client for the nodes of this file; NULL with a sentence. */
static redlock *open_client(const char *config, char *why, size_t why_size)
{
    redlock_options options = REDLOCK_OPTIONS(.config_file = config, .client_name = "redlockd");
    redlock *client = NULL;

    if (redlock_open(&options, &client) != REDLOCK_OK)
        snprintf(why, why_size, "%s", redlock_detail());
    return client;
}

int leases_check(const char *config, char *why, size_t why_size)
{
    redlock *client = open_client(config, why, why_size);
    const redlock_event *event;

    while (client && redlock_next(client, &event, 0) > 0)
        log_line("%s: %s", event->address, event->detail);
    redlock_close(client);
    return client ? 0 : -1;
}

int leases_open(struct leases *leases, struct loop *loop, struct access *access,
                struct journal *journal, const char *config, uint32_t drift_ppm, char *why,
                size_t why_size)
{
    *leases = (struct leases){.loop = loop,
                              .access = access,
                              .journal = journal,
                              .drift_ppm = drift_ppm,
                              .comment_ns = STREAM_COMMENT_NS};
    if (lease_table_init(&leases->table) < 0 || http_body_init(&leases->body) < 0) {
        snprintf(why, why_size, "out of memory");
    } else {
        leases->client = open_client(config, why, why_size);
        if (leases->client)
            return 0;
    }
    leases_close(leases);
    return -1;
}

void leases_close(struct leases *leases)
{
    /* Sends what is under way; no event reports it any more. */
    redlock_close(leases->client);
    while (leases->all)
        lease_request_free(leases->all);
    http_body_free(&leases->body);
    lease_table_free(&leases->table);
    *leases = (struct leases){0};
}

struct leases_view leases_look(const struct leases *leases)
{
    size_t held = leases->table.held_count; /* streams, too, while there is room */
    struct leases_view view = {
        .lease_held =
            (unsigned)(held > leases->counts.streaming ? held - leases->counts.streaming : 0),
        .lease_waiting = leases->counts.waiting - leases->counts.waiting_streams,
        .stream_waiting = leases->counts.waiting_streams,
        .stream_held = leases->counts.streaming - leases->counts.jeopardy,
        .stream_jeopardy = leases->counts.jeopardy,
    };

    return view;
}

void leases_drain(struct leases *leases)
{
    struct lease_request *next;

    leases->is_draining = true;
    for (struct lease_request *request = leases->all; request; request = next) {
        next = request->next;
        lease_tick(request, LEASE_DRAIN);
    }
}

void leases_reload(struct leases *leases)
{
    struct lease_request *next;

    for (struct lease_request *request = leases->all; request; request = next) {
        next = request->next;
        request->rule =
            request->name ? access_rule_of(leases->access, &request->who, request->name) : NULL;
        /* The counters of the new rules begin at 0. */
        if (request->rule && request->is_waiter && request->lease.state == LEASE_WAITING)
            request->rule->waiters++;
    }
    for (struct lease_request *request = leases->all; request; request = next) {
        next = request->next;
        lease_tick(request, LEASE_RULED);
    }
    holdings_reload(leases);
}
