/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/leases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/time.h"
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
    struct lease *lease = (struct lease *)(void *)user;

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
    lease->is_fenced = (terms->flags & REDLOCK_FENCED) != 0;
    lease->tag = terms->tag;
    lease->who = *who;
    strcpy(lease->owner, terms->owner);
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
    redlock_lock_free(lease->lock);
    free(lease);
}

void lease_rest(struct lease *lease)
{
    struct leases *leases = lease->leases;

    lease->next = NULL;
    lease->rested_ns = rl_now_ns() + LEASE_REST_NS;
    *(leases->resting ? &leases->last_resting->next : &leases->resting) = lease;
    leases->last_resting = lease;
}

static void free_rested(struct leases *leases, int64_t now_ns)
{
    while (leases->resting && leases->resting->rested_ns <= now_ns) {
        struct lease *lease = leases->resting;

        leases->resting = lease->next;
        lease_free(lease);
    }
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

/* The caps of its rule on the TTL; a TTL that the request leaves open is as long as it may be. */
static bool fit_ttl(struct lease_terms *terms, const struct access_rule *rule,
                    struct lease_refusal *refusal)
{
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

/* Quotas are never for DELETE, and for renewals only where they come much too often. */
static bool is_within_quota(struct leases *leases, const struct http_request *request,
                            const struct lease_terms *terms, struct access_rule *rule)
{
    int64_t now_ns = request->received_ns;

    if (!rule || request->method == HTTP_DELETE)
        return true;
    /* A stream that comes back is a renewal. */
    if ((request->method == HTTP_POST || terms->has_grant) &&
        pace_is_free(&leases->pace, terms->tag.text, terms->ttl_ms, now_ns))
        return true;
    return access_rule_take(rule, now_ns);
}

void leases_begin(struct leases *leases, struct http_exchange *exchange,
                  const struct http_request *request, const char *name,
                  const struct access_who *who)
{
    struct lease_refusal refusal;
    struct access_rule *rule;
    struct lease_terms terms;

    if (request->query.length > 0) {
        http_answer_problem(exchange, 400, "QUERY", "there is no such parameter", NULL);
        return;
    }
    if (!lease_terms_read(request, name, who->principal, &terms, &refusal))
        lease_reply_refusal(exchange, &refusal);
    else if (terms.is_stream && access_is_proxied(leases->access, request))
        lease_reply_refusal(exchange, &proxied);
    else if (!is_within_quota(leases, request, &terms,
                              rule = access_rule_of(leases->access, who, terms.name)))
        lease_refuse_quota(leases, exchange, who, terms.name);
    else if (!fit_ttl(&terms, rule, &refusal))
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

/* ---- the library in the loop ------------------------------------------------------------- */

/* Answers that callbacks queue leave with the parts of the loop, which run after every event. */
static void process(struct leases *leases)
{
    leases->is_due = false;
    if (redlock_process(leases->client, 0) > 0)
        loop_again(leases->loop);
}

static void on_ready(struct loop_source *source, uint32_t events)
{
    (void)events;
    process((struct leases *)(void *)((char *)source - offsetof(struct leases, source)));
}

void leases_wake(struct leases *leases)
{
    leases->is_due = true;
    loop_again(leases->loop);
}

/* A part of the loop: what requests of this turn have started is sent with it. */
static int64_t turn(void *context, int64_t now_ns)
{
    struct leases *leases = context;
    int64_t next_ns, looks_ns;

    if (leases->is_due)
        process(leases);
    free_rested(leases, now_ns);
    next_ns = leases_turn_streams(leases, now_ns);
    looks_ns = holdings_turn(leases, now_ns);
    if (looks_ns < next_ns)
        next_ns = looks_ns;
    return leases->resting && leases->resting->rested_ns < next_ns ? leases->resting->rested_ns
                                                                   : next_ns;
}

static void on_warn(const char *address, const char *text, void *data)
{
    (void)data;
    log_line("%s: %s", address, text);
}

/* ---- the process ------------------------------------------------------------------------- */

/* The library's client for the nodes of this file; NULL with a sentence. */
static redlock *open_client(const char *config, char *why, size_t why_size)
{
    redlock_options options = {.size = sizeof options,
                               .config_file = config,
                               .client_name = "redlockd",
                               .warn = on_warn};
    redlock *client = NULL;

    if (redlock_open(&options, &client) != REDLOCK_OK)
        snprintf(why, why_size, "%s", redlock_detail());
    return client;
}

int leases_check(const char *config, char *why, size_t why_size)
{
    redlock *client = open_client(config, why, why_size);

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
    leases->source.ready = on_ready;
    lease_terms_init();
    if (ids_init(&leases->ids) < 0 || ledger_init(&leases->ledger) < 0 ||
        http_body_init(&leases->body) < 0) {
        snprintf(why, why_size, "out of memory");
        goto cleanup;
    }
    leases->client = open_client(config, why, why_size);
    if (!leases->client)
        goto cleanup;
    if (loop_add(loop, &leases->source, redlock_fd(leases->client), EPOLLIN) < 0) {
        snprintf(why, why_size, "cannot start: %s", strerror(errno));
        goto cleanup;
    }
    leases->is_watched = true;
    loop_add_part(loop, leases, turn);
    return 0;
cleanup:
    leases_close(leases);
    return -1;
}

void leases_close(struct leases *leases)
{
    if (leases->is_watched)
        loop_remove(leases->loop, &leases->source);
    free_rested(leases, RL_NEVER_NS);
    redlock_close(leases->client);
    free_rested(leases, RL_NEVER_NS);
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
        .stream_held = leases->counts.streaming - leases->counts.jeopardy,
        .stream_jeopardy = leases->counts.jeopardy,
    };

    for (struct lease_stream *stream = leases->streams; stream; stream = stream->next)
        view.stream_waiting += stream->lease->state == LEASE_WAITING;
    view.lease_waiting = leases->counts.waiting - view.stream_waiting;
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
    holdings_denied(lease->leases, &lease->who, name, lease_forbidden.code);
    lease_end_wait(lease, &lease_forbidden);
}

void leases_reload(struct leases *leases)
{
    ids_each_wait(&leases->ids, look_at_right, NULL);
    holdings_reload(leases);
}
