/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/leases.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "leases/acquire.h"
#include "leases/holdings.h"
#include "leases/keep.h"
#include "leases/reply.h"
#include "leases/resume.h"
#include "leases/stream.h"
#include "system/log.h"

/* ---- leases ------------------------------------------------------------------------------ */

static void on_ended(struct http_user *user, enum http_ended how)
{
    struct lease *lease = (struct lease *)(void *)((char *)user - offsetof(struct lease, user));

    if (lease->state == LEASE_WAITING || lease->state == LEASE_TOLD)
        lease_acquire_ended(lease, how);
    else if (lease->state == LEASE_STREAMING || lease->state == LEASE_RESUMING)
        lease_stream_ended(lease, how);
    else
        lease->exchange = NULL; /* a renewal or a release goes on without its client */
}

struct lease *lease_new(struct leases *leases, struct http_exchange *exchange,
                        const struct http_request *request, const struct lease_terms *terms,
                        const struct access_who *who, enum lease_state state)
{
    struct lease *lease = malloc(sizeof *lease);

    if (lease)
        *lease = (struct lease){.leases = leases, .state = state};
    if (!lease || (terms->is_stream && lease_stream_attach(lease) < 0)) {
        free(lease);
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", "Retry-After: 1\r\n");
        return NULL;
    }
    lease->exchange = exchange;
    lease->received_ns = request->received_ns;
    lease->ttl_ms = terms->ttl_ms;
    lease->is_local = request->peer->is_unix;
    lease->kind = (int8_t)terms->kind;
    lease->slots = (uint16_t)terms->slots;
    lease->is_known = terms->is_known;
    lease->is_fenced = (terms->flags & REDLOCK_FENCED) != 0;
    lease->tag = terms->tag;
    lease->who = *who;
    strcpy(lease->owner, terms->owner);
    lease->next = leases->all;
    if (lease->next)
        lease->next->previous = lease;
    leases->all = lease;
    lease->user.ended = on_ended;
    http_set_user(exchange, &lease->user);
    return lease;
}

bool lease_write_grant(const struct lease *lease, char text[LEASE_GRANT_MAX + 1])
{
    struct lease_grant grant = {.kind = lease->kind,
                                .is_stream = lease->stream != NULL,
                                .slots = lease->slots,
                                .fence = lease->fence};

    strcpy(grant.owner, lease->owner);
    strcpy(grant.value, redlock_value(lease->lock));
    return lease_grant_write(&grant, text);
}

void lease_free(struct lease *lease)
{
    lease_stream_detach(lease);
    *(lease->previous ? &lease->previous->next : &lease->leases->all) = lease->next;
    if (lease->next)
        lease->next->previous = lease->previous;
    redlock_lock_free(lease->lock);
    free(lease);
}

struct http_exchange *lease_take_exchange(struct lease *lease)
{
    struct http_exchange *exchange = lease->exchange;

    if (exchange)
        http_set_user(exchange, NULL);
    lease->exchange = NULL;
    return exchange;
}

/* ---- requests ---------------------------------------------------------------------------- */

static const struct lease_refusal proxied = {
    400, "PROXIED", "no stream through a proxy: connect directly, or use a lease"};

/*
 * The caps on the TTL, of the nodes and of its rule; one that the request leaves open is as long
 * as it may be. What is beyond that of the nodes the library refuses.
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
    *refusal = (struct lease_refusal){422, "INVALID",
                                      "ttl_ms is beyond the cap of the rule that allows this"};
    return false;
}

/* Does this replica know the lease, under this name: held, streamed or waited for here? */
static bool is_known(struct leases *leases, const struct lease_terms *terms, int64_t now_ns)
{
    void *user = NULL;
    enum ids_state state = ids_find(&leases->ids, &terms->tag, now_ns, &user);

    if (state == IDS_WAITING || state == IDS_STREAMING)
        return strcmp(redlock_name(((struct lease *)user)->lock), terms->name) == 0;
    return holdings_find(leases, &terms->tag, terms->name) != NULL;
}

/*
 * Every PUT counts. A release of a known lease never does, and a renewal only where such come much too
 * often. What is not known here another replica may have granted: that is charged when it turns out that there
 * is no such lease, and refused only after many that were not.
 */
static bool is_within_quota(struct leases *leases, const struct http_request *request,
                            struct lease_terms *terms, struct access_rule *rule)
{
    int64_t now_ns = request->received_ns;
    struct ledger_entry *entry;

    /* A stream that comes back is a renewal. */
    if (request->method == HTTP_PUT && !terms->has_grant)
        return !rule || access_rule_take(rule, now_ns);
    terms->is_known = is_known(leases, terms, now_ns);
    if (!rule)
        return true;
    if (!terms->is_known)
        return access_rule_may_miss(rule, now_ns);
    entry = holdings_find(leases, &terms->tag, terms->name);
    return request->method == HTTP_DELETE || !entry || ledger_renewal_is_free(entry, now_ns) ||
           access_rule_take(rule, now_ns);
}

void lease_missed(const struct lease *lease, const char *name)
{
    struct access_rule *rule = access_rule_of(lease->leases->access, &lease->who, name);

    if (rule && !lease->is_known)
        access_rule_missed(rule, rl_now_ns());
}

void leases_begin(struct leases *leases, struct http_exchange *exchange,
                  const struct http_request *request, const char *name,
                  const struct access_who *who)
{
    struct lease_refusal refusal;
    struct access_rule *rule;
    struct lease_terms terms;

    if (request->query.length > 0) {
        http_answer_problem(exchange, 400, "QUERY",
                            request->method == HTTP_DELETE
                                ? "a release has no parameter; a break is POST /v1/breaks/NAME"
                                : "there is no such parameter",
                            NULL);
        return;
    }
    if (!lease_terms_read(request, name, who->principal, &terms, &refusal))
        lease_reply_refusal(exchange, &refusal);
    else if (terms.is_stream && access_is_proxied(leases->access, request))
        lease_reply_refusal(exchange, &proxied);
    else if (!is_within_quota(leases, request, &terms,
                              rule = access_rule_of(leases->access, who, terms.name)))
        lease_refuse_quota(leases, exchange, &request->path, who, terms.name);
    else if (!fit_ttl(leases, &terms, rule, &refusal))
        lease_reply_refusal(exchange, &refusal);
    else if (terms.is_stream && terms.has_grant)
        lease_begin_resume(leases, exchange, request, &terms, who);
    else if (request->method == HTTP_PUT)
        lease_begin_acquire(leases, exchange, request, &terms, who);
    else if (request->method == HTTP_POST)
        lease_begin_renew(leases, exchange, request, &terms, who);
    else
        lease_begin_release(leases, exchange, request, &terms, who);
}

void leases_wake(struct leases *leases)
{
    leases->is_due = true;
    loop_again(leases->loop);
}

int64_t leases_turn(struct leases *leases, int64_t now_ns)
{
    int64_t next_ns = leases_turn_streams(leases, now_ns);
    int64_t looks_ns = holdings_turn(leases, now_ns);

    return looks_ns < next_ns ? looks_ns : next_ns;
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
                struct audit *audit, const char *config, uint32_t drift_ppm, char *why,
                size_t why_size)
{
    *leases = (struct leases){.loop = loop,
                              .access = access,
                              .audit = audit,
                              .drift_ppm = drift_ppm,
                              .comment_ns = STREAM_COMMENT_NS};
    lease_terms_init();
    if (ids_init(&leases->ids) < 0 || ledger_init(&leases->ledger) < 0 ||
        http_body_init(&leases->body) < 0) {
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
    /* Sends what is under way; no event tells of it any more. */
    redlock_close(leases->client);
    while (leases->all)
        lease_free(leases->all);
    rl_timers_free(&leases->timers);
    http_body_free(&leases->body);
    ledger_free(&leases->ledger);
    ids_free(&leases->ids);
    *leases = (struct leases){0};
}

struct leases_view leases_look(const struct leases *leases)
{
    size_t held =
        leases->ledger.count; /* streams are in the ledger, too, while there is room */
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
    struct lease *lease;

    leases->is_draining = true;
    while ((lease = ids_any_wait(&leases->ids)) != NULL)
        lease_end_wait(lease, &lease_draining);
    leases_send_streams_away(leases);
}

static void look_at_right(void *wait, void *context)
{
    struct lease *lease = wait;
    const char *name = redlock_name(lease->lock);

    (void)context;
    /* The counters of the new rules begin at 0. */
    lease->rule = lease->rule ? access_rule_of(lease->leases->access, &lease->who, name) : NULL;
    if (lease->rule)
        lease->rule->waiters++;
    if (access_still_may(lease->leases->access, &lease->who, lease->exchange, ACCESS_ACQUIRE,
                         name))
        return;
    holdings_denied(lease->leases, lease->exchange, NULL, &lease->who, name,
                    lease_forbidden.code);
    lease_end_wait(lease, &lease_forbidden);
}

void leases_reload(struct leases *leases)
{
    ids_each_wait(&leases->ids, look_at_right, NULL);
    holdings_reload(leases);
}
