/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/reply.h"

#include <assert.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "ui/vote.h"

/* ---- held -------------------------------------------------------------------------------- */

static void write_held(struct rl_json *json, const struct lease_hold *hold)
{
    rl_json_string(json, "name", hold->name);
    if (hold->grant)
        rl_json_string(json, "grant", hold->grant);
    rl_json_known(json, "fence", hold->fence ? hold->fence : -1);
    rl_json_integer(json, "after_ms", hold->deadline.after_ms);
    rl_json_integer(json, "remaining_ms", hold->deadline.remaining_ms);
    rl_json_integer(json, "ttl_ms", hold->ttl_ms);
    if (hold->is_local)
        rl_json_integer(json, "deadline_boottime_ns", hold->deadline.deadline_ns);
}

void lease_reply_held(struct http_body *body, struct http_exchange *exchange, int status,
                      const struct lease_hold *hold)
{
    http_body_begin(body);
    write_held(&body->json, hold);
    http_body_answer(body, exchange, status);
}

void lease_send_held(struct http_body *body, struct http_exchange *exchange, const char *event,
                     const struct lease_hold *hold, int error, const char *detail)
{
    http_body_begin_event(body, event);
    write_held(&body->json, hold);
    if (error) {
        rl_json_string(&body->json, "code", redlock_error_name(error));
        rl_json_string(&body->json, "detail", detail);
    }
    http_body_send(body, exchange);
}

/* ---- refused ----------------------------------------------------------------------------- */

const char lease_too_late[] = "the nodes answered too late for this to be of use";

static const struct lease_refusal refusals[LEASE_ANSWER_COUNT] = {
    [LEASE_YOURS] = {409, "YOURS",
                     "this lease id was granted already: DELETE it and acquire with a new one"},
    [LEASE_YOURS_HERE] =
        {409, "YOURS",
         "this lease id waits or is held here: DELETE it, acquire with a new one"},
    [LEASE_SUPERSEDED] =
        {409, "SUPERSEDED",
         "the same request came again: DELETE the lease, acquire with a new id"},
    [LEASE_ELSEWHERE] = {409, "SUPERSEDED",
                         "the stream came back elsewhere: that request has it now"},
    [LEASE_HAS_ENDED] = {410, "ENDED", "this lease has ended: acquire with a new lease id"},
    [LEASE_STOP] = {410, "ENDED", "this lease has ended: stop what it protected"},
    [LEASE_WAS_GONE] = {410, "EXPIRED", "it was gone already"},
    [LEASE_NO_GRANT] = {400, "GRANT", "send the Grant that the answer to PUT gave"},
    [LEASE_OTHER_GRANT] = {400, "GRANT", "the grant of a stream serves for coming back"},
    [LEASE_DRAINING] = {503, "DRAINING", "this replica is about to end: use another"},
    [LEASE_FORBIDDEN] = {403, "FORBIDDEN", "no rule allows that any more"},
    [LEASE_QUOTA] = {429, "QUOTA", "the rule that allows this has no room for more at present"},
    [LEASE_LATE] = {503, "LATE", lease_too_late},
    [LEASE_NO_MEMORY] = {503, "NOMEM", "out of memory"},
};

static const struct lease_refusal busy = {423, "BUSY", "held by another"};

static void end_stream(struct http_exchange *exchange, const struct lease_refusal *refusal)
{
    char event[512];
    int size =
        snprintf(event, sizeof event,
                 "event: lost\ndata: {\"status\":%d,\"code\":\"%s\",\"detail\":\"%s\"}\n\n",
                 refusal->status, refusal->code, refusal->detail);

    assert(size > 0 && (size_t)size < sizeof event);
    http_stream_send(exchange, event, (size_t)size);
    http_stream_end(exchange);
}

void lease_reply_invalid(struct http_exchange *exchange, const struct lease_refusal *refusal)
{
    if (http_is_stream(exchange)) {
        end_stream(exchange, refusal);
        return;
    }
    http_answer_problem(exchange, refusal->status, refusal->code, refusal->detail, NULL);
}

void lease_reply_refusal(struct http_exchange *exchange, enum lease_answer what)
{
    lease_reply_invalid(exchange, &refusals[what]);
}

static int status_of(int error)
{
    switch (error) {
    case REDLOCK_BUSY:
    case REDLOCK_TIMEOUT:
        return 423;
    case REDLOCK_LOST:
    case REDLOCK_EXPIRED:
        return 410;
    case REDLOCK_INVAL:
        return 422;
    case REDLOCK_AUTH:
    case REDLOCK_PROTO:
        return 502;
    default: /* NOQUORUM, GUARDED, CANCELED, NOMEM, SYSTEM */
        return 503;
    }
}

/*
 * The fingerprint of the value, as the nodes make it (src/scripts/pieces/fingerprint.lua);
 * NULL: the value was cut.
 */
static const char *fingerprint_of(const char *value,
                                  char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1])
{
    uint8_t digest[SHA_DIGEST_LENGTH];

    if (!value[0] || strlen(value) >= REDLOCK_VALUE_MAX || strstr(value, "\\x"))
        return NULL;
    SHA1((const uint8_t *)value, strlen(value), digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(fingerprint + 2 * i, 3, "%02x", digest[i]);
    return fingerprint;
}

_Static_assert(REDLOCK_FINGERPRINT_SIZE == 2 * SHA_DIGEST_LENGTH, "it is a SHA-1 in hex");

static void write_holder(struct rl_json *json, const redlock_holder *holder)
{
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];

    rl_json_object(json, "holder");
    rl_json_string(json, "label", holder->label[0] ? holder->label : NULL);
    rl_json_string(json, "fingerprint", fingerprint_of(holder->value, fingerprint));
    rl_json_known(json, "remaining_ms", holder->remaining_ms);
    rl_json_known(json, "held_ms", holder->held_ms);
    rl_json_end_object(json);
}

static void write_nodes(struct rl_json *json, const redlock_report *report)
{
    rl_json_array(json, "nodes");
    for (uint32_t i = 0; i < report->node_count; i++) {
        rl_json_object(json, NULL);
        rl_json_string(json, "address", report->node[i].address);
        rl_json_string(json, "vote", vote_name(report->node[i].vote));
        rl_json_string(json, "reason",
                       report->node[i].reason ? redlock_reason_name(report->node[i].reason)
                                              : NULL);
        rl_json_known(json, "rtt_us", report->node[i].rtt_us);
        rl_json_string(json, "text", report->node[i].text);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
}

const char *lease_detail(int error, const char *detail, bool sees_nodes)
{
    return sees_nodes || error == REDLOCK_INVAL ? detail : redlock_strerror(error);
}

void lease_reply_error(struct lease_request *request, int error, const char *detail)
{
    struct access *access = request->leases->access;
    struct http_body *body = &request->leases->body;
    struct http_exchange *exchange = lease_take_exchange(request);
    /* A call without a lock would replace `detail`, which may be the library's own. */
    const redlock_report *report = request->lock ? redlock_lock_report(request->lock) : NULL;
    int status = status_of(error);
    bool sees_nodes, is_stream;

    if (!exchange)
        return;
    if (status == 423 && !access_gives(access, &request->who, request->rule, ACCESS_READ)) {
        lease_reply_invalid(exchange, &busy);
        return;
    }
    sees_nodes = access_sees_nodes(access, &request->who, request->rule);
    is_stream = http_is_stream(exchange);
    if (is_stream) {
        http_body_begin_event(body, "lost");
        rl_json_integer(&body->json, "status", status);
    } else {
        http_body_begin(body);
    }
    rl_json_string(&body->json, "code", redlock_error_name(error));
    rl_json_string(&body->json, "detail", lease_detail(error, detail, sees_nodes));
    if (status == 423 && report) {
        write_holder(&body->json, &report->holder);
        rl_json_integer(&body->json, "waiters", report->waiter_count);
    }
    if (sees_nodes && report && report->node_count > 0)
        write_nodes(&body->json, report);
    if (!is_stream) {
        http_body_answer(body, exchange, status);
        return;
    }
    http_body_send(body, exchange);
    http_stream_end(exchange);
}
