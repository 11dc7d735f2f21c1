/* SPDX-License-Identifier: BSD-2-Clause */
#include "once/once.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/time.h"
#include "io/clock.h"
#include "leases/reply.h"
#include "ui/guarantee.h"
#include "ui/record.h"

#define EVERY_MIN_MS 1000
#define EVERY_MAX_MS REDLOCK_TTL_LIMIT_MS
#define START_NS RL_NS_PER_S         /* from the record to the start */
#define FIRST_MS 10000               /* TTL with which a record is acquired */
#define SURE_NS (300 * RL_NS_PER_MS) /* a replica gets so long to have the record */
#define RECORDED_NAME_MAX ((int)(REDLOCK_NAME_MAX - sizeof RECORD_SUFFIX + 1))

enum run_state {
    RUN_LOOKING,
    RUN_RECORDING,
    RUN_FINDING,
    RUN_EXTENDING,
    RUN_SURE,
    RUN_ANSWERED,
    RUN_UNDOING,
    RUN_TAKING_BACK,
};

struct once_run {
    enum job_type job_type; /* first: the data of its jobs and of its lock */
    struct http_completion completion;
    struct once *once;
    struct once_run *previous, *next; /* in once->runs */
    struct http_exchange *exchange;   /* NULL: the client is gone */
    struct access_who who;
    struct access_rule *rule;
    enum run_state state;
    redlock *records;
    redlock_lock *record;
    struct lease_tag tag;
    int64_t every_ms;
    int64_t received_ns;
    int64_t start_by_ns; /* once it is written: later the run must not begin */
    int64_t sure_by_ns;
    char label[REDLOCK_LABEL_MAX + 1];
    char name[REDLOCK_NAME_MAX + 1]; /* of the record */
};

static int64_t record_ms(const struct once_run *run)
{
    int64_t longer_ms = run->every_ms + START_NS / RL_NS_PER_MS;

    return longer_ms < REDLOCK_TTL_LIMIT_MS ? longer_ms : REDLOCK_TTL_LIMIT_MS;
}

static int64_t first_ms(const struct once_run *run)
{
    return record_ms(run) < FIRST_MS ? record_ms(run) : FIRST_MS;
}

static void run_free(struct once_run *run)
{
    *(run->previous ? &run->previous->next : &run->once->runs) = run->next;
    if (run->next)
        run->next->previous = run->previous;
    redlock_lock_free(run->record);
    free(run);
}

void once_free(struct once *once)
{
    while (once->runs)
        run_free(once->runs);
}

static struct http_exchange *take_exchange(struct once_run *run)
{
    struct http_exchange *exchange = run->exchange;

    if (exchange)
        exchange->completion = NULL;
    run->exchange = NULL;
    return exchange;
}

void once_reload(struct once *once)
{
    char name[REDLOCK_NAME_MAX + 1];

    for (struct once_run *run = once->runs; run; run = run->next) {
        /* The rule is that of the lock. */
        strcpy(name, run->name);
        name[strlen(name) - strlen(RECORD_SUFFIX)] = '\0';
        run->rule = access_rule_of(once->leases->access, &run->who, name);
    }
}

/* ---- answers ----------------------------------------------------------------------------- */

static void refuse(struct once_run *run, int status, const char *code, const char *detail)
{
    struct http_exchange *exchange = take_exchange(run);

    if (exchange)
        http_answer_problem(exchange, status, code, detail, NULL);
}

static void fail(struct once_run *run, int error, const char *detail)
{
    struct access *access = run->once->leases->access;
    struct http_body *body = &run->once->leases->body;
    struct http_exchange *exchange = take_exchange(run);
    bool is_refused = error == REDLOCK_AUTH || error == REDLOCK_PROTO;
    int status = error == REDLOCK_INVAL ? 422 : is_refused ? 502 : 503;

    if (!exchange)
        return;
    detail = lease_detail(error, detail, access_sees_nodes(access, &run->who, run->rule));
    http_body_begin(body);
    rl_json_string(&body->json, "code", redlock_error_name(error));
    rl_json_string(&body->json, "detail", detail);
    http_body_answer(body, exchange, status);
}

/* Another has run it, or runs it. All that may acquire it learn when it may run again. */
static void answer_done(struct once_run *run, const redlock_holder *holder)
{
    struct http_body *body = &run->once->leases->body;
    struct http_exchange *exchange = take_exchange(run);
    bool reads;

    if (!exchange)
        return;
    reads = access_gives(run->once->leases->access, &run->who, run->rule, ACCESS_READ);
    http_body_begin(body);
    rl_json_string(&body->json, "code", "DONE");
    rl_json_string(&body->json, "detail", "it has run in this period already");
    rl_json_string(&body->json, "label", reads && holder->label[0] ? holder->label : NULL);
    rl_json_known(&body->json, "next_ms", holder->remaining_ms);
    http_body_answer(body, exchange, 423);
}

/* Its completion stays: it learns whether a byte of this was sent. */
static void answer_recorded(struct once_run *run, const struct lease_deadline *start_by,
                            bool is_sure)
{
    struct http_body *body = &run->once->leases->body;

    http_body_begin(body);
    rl_json_integer(&body->json, "every_ms", run->every_ms);
    rl_json_integer(&body->json, "after_ms", start_by->after_ms);
    rl_json_integer(&body->json, "remaining_ms", start_by->remaining_ms);
    rl_json_bool(&body->json, "sure", is_sure);
    http_body_answer(body, run->exchange, 201);
}

/* ---- steps ------------------------------------------------------------------------------- */

/* Goes on if redlock_start_...() has begun something; else that was the end. */
static void go_on(struct once_run *run, enum run_state state, int error)
{
    run->state = state;
    if (!error) {
        loop_wake(&run->once->leases->library);
        return;
    }
    fail(run, error, redlock_detail());
    run_free(run);
}

/* Nothing begins under this record: the next holder of the lock must not meet it. */
static void undo(struct once_run *run)
{
    run->state = RUN_UNDOING;
    if (redlock_start_release(run->record) == REDLOCK_OK)
        loop_wake(&run->once->leases->library);
    else
        run_free(run);
}

static void answer_run(struct once_run *run, bool is_sure)
{
    struct access *access = run->once->leases->access;
    int64_t now_ns = rl_now_ns();
    struct lease_deadline start_by = lease_deadline_of(
        run->received_ns, now_ns, run->start_by_ns, run->once->leases->drift_ppm);

    if (!access_still_gives(access, &run->who, run->rule, run->exchange, ACCESS_ACQUIRE)) {
        refuse(run, 403, "FORBIDDEN", "no rule allows that any more");
        undo(run);
        return;
    }
    if (!run->exchange || start_by.remaining_ms == 0) {
        refuse(run, 503, "LATE", lease_too_late);
        undo(run);
        return;
    }
    run->state = RUN_ANSWERED;
    answer_recorded(run, &start_by, is_sure);
}

static void looked(struct once_run *run, const redlock_event *event)
{
    const redlock_info *info = event->answer ? event->answer->info : NULL;
    redlock_request request =
        REDLOCK_REQUEST(.flags = REDLOCK_KEEP, .data = run, .idempotency_key = run->tag.text);

    if (event->error) {
        fail(run, event->error, event->detail);
        run_free(run);
    } else if (!info->held || !lease_has_tag(info->holder.value, &run->tag)) {
        refuse(run, 410, "ENDED", "this lease does not have the lock: acquire it first");
        run_free(run);
    } else if (!run->exchange) {
        run_free(run);
    } else {
        strcpy(run->label, info->holder.label);
        request.label = run->label[0] ? run->label : NULL;
        run->start_by_ns = rl_now_ns() + START_NS;
        go_on(run, RUN_RECORDING,
              redlock_start_acquire(run->records, run->name, first_ms(run), &request,
                                    &run->record));
    }
}

/* What a start that failed has left on too few nodes is in the way, and is no run. */
static void found(struct once_run *run, const redlock_event *event)
{
    if (event->error)
        fail(run, event->error, event->detail);
    else if (event->answer->info->held)
        answer_done(run, &event->answer->info->holder);
    else
        refuse(run, 503, "NOQUORUM",
               "what is left of an earlier record is on some of the nodes, and on no majority");
    run_free(run);
}

static bool is_elected(redlock *member)
{
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; redlock_node(member, i, &node) == REDLOCK_OK; i++)
        if (guarantee_is_elected(&node))
            return true;
    return false;
}

static redlock *home_of(const struct once_run *run)
{
    int home = redlock_quorum_of(run->records, run->name);

    return redlock_member(run->records, home < 0 ? 0 : (size_t)home);
}

/* A failover forgets what no replica has. */
static void make_sure(struct once_run *run)
{
    redlock_job job;

    run->state = RUN_SURE;
    if (redlock_start_replicate(home_of(run), run, &job) == REDLOCK_OK)
        loop_wake(&run->once->leases->library);
    else
        answer_run(run, false);
}

static void extended(struct once_run *run)
{
    run->sure_by_ns = rl_now_ns() + SURE_NS;
    if (is_elected(home_of(run)))
        make_sure(run);
    else
        answer_run(run, true);
}

static void recorded(struct once_run *run, const redlock_event *event)
{
    redlock_job job;

    if (event->error == REDLOCK_BUSY) {
        go_on(run, RUN_FINDING, redlock_start_query(run->records, run->name, run, &job));
    } else if (event->error) {
        if (event->error == REDLOCK_YOURS)
            refuse(run, 409, "YOURS",
                   "this lease has a record already: DELETE it, acquire with a new id");
        else
            fail(run, event->error, event->detail);
        run_free(run);
    } else if (!run->exchange) {
        undo(run);
    } else if (record_ms(run) == first_ms(run)) {
        extended(run);
    } else {
        run->start_by_ns = rl_now_ns() + START_NS;
        run->state = RUN_EXTENDING;
        if (redlock_start_extend(run->record, record_ms(run)) == REDLOCK_OK) {
            loop_wake(&run->once->leases->library);
            return;
        }
        fail(run, REDLOCK_INVAL, redlock_detail());
        undo(run);
    }
}

static void taken_back(struct once_run *run, const redlock_event *event)
{
    struct http_exchange *exchange;

    if (event->error == REDLOCK_EXPIRED)
        refuse(run, 410, "EXPIRED", "this lease has no record");
    else if (event->error)
        fail(run, event->error, event->detail);
    else if ((exchange = take_exchange(run)) != NULL)
        http_answer(exchange, &(struct http_answer){.status = 204});
    run_free(run);
}

void once_on_event(struct once *once, const redlock_event *event)
{
    struct once_run *run = event->data;

    (void)once;
    if (event->type == REDLOCK_EVENT_LOST || event->type == REDLOCK_EVENT_QUEUED)
        return; /* the outcome of what is under way decides */
    switch (run->state) {
    case RUN_LOOKING:
        looked(run, event);
        break;
    case RUN_RECORDING:
        recorded(run, event);
        break;
    case RUN_FINDING:
        found(run, event);
        break;
    case RUN_EXTENDING:
        if (event->error) {
            fail(run, event->error, event->detail);
            undo(run);
        } else {
            extended(run);
        }
        break;
    case RUN_SURE:
        if (event->error && rl_now_ns() < run->sure_by_ns)
            make_sure(run);
        else
            answer_run(run, !event->error);
        break;
    case RUN_ANSWERED:
        break;
    case RUN_UNDOING:
        run_free(run);
        break;
    case RUN_TAKING_BACK:
        taken_back(run, event);
        break;
    }
}

/* ---- requests ---------------------------------------------------------------------------- */

/* Under way it goes on without its client, to its end. */
static void on_ended(struct http_completion *completion, enum http_ended how)
{
    struct once_run *run =
        (struct once_run *)(void *)((char *)completion - offsetof(struct once_run, completion));

    run->exchange = NULL;
    if (run->state != RUN_ANSWERED)
        return;
    if (how == HTTP_ENDED_SENT) {
        redlock_lock_leave(run->record);
        run->record = NULL;
        run_free(run);
    } else {
        undo(run);
    }
}

static bool read_id(const struct http_request *request, struct lease_tag *tag)
{
    struct rl_slice id;

    return http_request_field(request, HTTP_FIELD_LEASE_ID, &id) == 1 && lease_tag_of(id, tag);
}

/* 0: no period. */
static int64_t read_every(const struct http_request *request)
{
    struct rl_json_value every;

    return rl_json_sole(request->body, "every_ms", &every) == 1 &&
                   every.type == RL_JSON_INTEGER && every.integer >= EVERY_MIN_MS &&
                   every.integer <= EVERY_MAX_MS
               ? every.integer
               : 0;
}

static struct once_run *run_new(struct once *once, const struct routed *routed)
{
    struct once_run *run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    run->job_type = JOB_ONCE;
    run->completion.ended = on_ended;
    run->once = once;
    run->exchange = routed->exchange;
    run->who = routed->who;
    run->rule = routed->rule;
    run->received_ns = routed->request->received_ns;
    snprintf(run->name, sizeof run->name, "%.*s" RECORD_SUFFIX, RECORDED_NAME_MAX,
             routed->name);
    run->next = once->runs;
    if (run->next)
        run->next->previous = run;
    once->runs = run;
    run->exchange->completion = &run->completion;
    return run;
}

void once_begin(struct once *once, const struct routed *routed)
{
    const struct http_request *request = routed->request;
    bool is_put = request->method == HTTP_PUT;
    int64_t every_ms = is_put ? read_every(request) : 0;
    struct http_exchange *exchange = routed->exchange;
    struct lease_tag tag;
    struct once_run *run;
    char why[256];
    redlock *records;
    redlock_job job;

    if (request->query.size > 0) {
        http_answer_problem(exchange, 400, "QUERY", "there is no such parameter", NULL);
    } else if (!read_id(request, &tag)) {
        http_answer_problem(exchange, 400, "LEASE_ID",
                            "send the Lease-Id with which the lock was acquired", NULL);
    } else if (is_put && every_ms == 0) {
        http_answer_problem(exchange, 422, "INVAL",
                            "the body has one field: every_ms, from 1000 to 86400000", NULL);
    } else if (strlen(routed->name) > (size_t)RECORDED_NAME_MAX) {
        http_answer_problem(exchange, 422, "INVAL", "the name is too long: .every is added",
                            NULL);
    } else if (is_put && once->leases->is_draining) {
        lease_reply_refusal(exchange, LEASE_DRAINING);
    } else if (is_put && request->eof) {
        http_drop(exchange); /* its client may be gone: nothing is begun for it */
    } else if (!(records = once->records(once->context, why, sizeof why))) {
        http_answer_problem(exchange, 503, "RECORDS", "records cannot be kept: see the log",
                            NULL);
    } else if (!(run = run_new(once, routed))) {
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", NULL);
    } else {
        run->records = records;
        run->tag = tag;
        run->every_ms = every_ms;
        if (is_put)
            go_on(run, RUN_LOOKING,
                  redlock_start_query(once->leases->client, routed->name, run, &job));
        else
            go_on(run, RUN_TAKING_BACK,
                  redlock_start_release_by_key(records, run->name, tag.text, run, &job));
    }
}
