/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/period.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "report/report.h"
#include "service/look.h"
#include "service/once.h"
#include "settings/open_client.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/guarantee.h"
#include "ui/message.h"
#include "ui/record.h"
#include "ui/text.h"

int period_open(struct period *p, const struct settings *s, const char *name)
{
    struct settings own;

    if (p->period_ms == 0)
        return 0;
    if (strlen(name) + strlen(RECORD_SUFFIX) > REDLOCK_NAME_MAX)
        return message_usage("with --every the lock name has at most %zu bytes: '%s' is added",
                             REDLOCK_NAME_MAX - strlen(RECORD_SUFFIX), RECORD_SUFFIX);
    snprintf(p->name, sizeof p->name, "%s" RECORD_SUFFIX, name);
    if (s->service)
        return 0;
    p->record_ms = p->period_ms + PERIOD_START_MS < REDLOCK_TTL_LIMIT_MS
                       ? p->period_ms + PERIOD_START_MS
                       : REDLOCK_TTL_LIMIT_MS;
    p->first_ms = s->ttl_ms < p->record_ms ? s->ttl_ms : p->record_ms;
    /* The lock is not renewed meanwhile. */
    p->sure_ms = s->ttl_ms / 10 < PERIOD_SURE_MS ? s->ttl_ms / 10 : PERIOD_SURE_MS;
    own = *s;
    own.config.guard = REDLOCK_NO_GUARD;
    own.no_node_warnings = true; /* the client of the lock prints them */
    if (own.config.max_ttl_ms < p->record_ms)
        own.config.max_ttl_ms = p->record_ms;
    return client_open(&own, &p->client);
}

/* The outcome of an operation of the record, with the words of a failure. */
static int conclude(struct period *p, int error, const char *detail)
{
    const redlock_report *report = redlock_lock_report(p->lock);
    snprintf(p->detail, sizeof p->detail, "%s", error == REDLOCK_OK ? "" : detail);
    p->report.node_count = 0;
    if (report)
        p->report = *report;
    return error;
}

/* Looks up the record. OK: a majority has one. */
static int find_record(struct period *p)
{
    redlock_answer *answer = NULL;
    int error = redlock_query(p->client, p->name, &answer);
    bool held;

    if (error != REDLOCK_OK)
        return error;
    held = answer->info->held;
    p->left_ms = answer->info->holder.remaining_ms;
    snprintf(p->by, sizeof p->by, "%s", answer->info->holder.label);
    redlock_answer_free(answer);
    return held ? REDLOCK_OK : REDLOCK_EXPIRED;
}

/* The same of a service. */
static int find_served_record(struct period *p, const struct service *s)
{
    redlock_info info = {0};
    redlock_report report;
    int error = service_look(s, p->name, &info, &report, p->detail);

    p->left_ms = info.holder.remaining_ms;
    snprintf(p->by, sizeof p->by, "%s", info.holder.label);
    return error == REDLOCK_OK && !info.held ? REDLOCK_EXPIRED : error;
}

int period_look(struct period *p, const struct held_lock *held)
{
    int error;

    if (p->period_ms == 0)
        return REDLOCK_OK;
    /* Nodes or a service that cannot be reached are reported by the lock, which is tried next.
     * To record a run needs no right to look. */
    error = p->client ? find_record(p) : find_served_record(p, &held->service);
    return error == REDLOCK_OK ? REDLOCK_BUSY : REDLOCK_OK;
}

/* Until the operation of the record has ended; the lock is renewed meanwhile. */
static int wait_for_record(struct period *p, struct held_lock *held, int error)
{
    struct pollfd watched[] = {{.fd = redlock_fd(p->client), .events = POLLIN},
                               {.fd = held_lock_fd(held), .events = POLLIN}};
    const redlock_event *event;
    while (error == REDLOCK_OK) {
        int got = redlock_next(p->client, &event, 0);
        if (got < 0)
            error = got;
        else if (got > 0 && event->lock)
            return conclude(p, event->error, event->detail);
        else if (held_lock_process(held, 0) == REDLOCK_STATE_LOST)
            return REDLOCK_LOST;
        else if (got == 0 && poll(watched, 2, -1) < 0 && errno != EINTR)
            return conclude(p, REDLOCK_SYSTEM, strerror(errno));
    }
    return conclude(p, error, redlock_detail());
}

/* One operation of the record; its time counts from before it was sent. */
static int begin_record(struct period *p, struct held_lock *held,
                        const redlock_request *request)
{
    int error;

    p->start_by_ns = timer_now_ns() + PERIOD_START_MS * RL_NS_PER_MS;
    error = redlock_start_acquire(p->client, p->name, p->first_ms, request, &p->lock);
    error = wait_for_record(p, held, error);
    if (error != REDLOCK_OK || p->record_ms == p->first_ms)
        return error;
    p->start_by_ns = timer_now_ns() + PERIOD_START_MS * RL_NS_PER_MS;
    return wait_for_record(p, held, redlock_start_extend(p->lock, p->record_ms));
}

static bool is_elected(redlock *member)
{
    redlock_node_info *node = calloc(1, sizeof *node);
    bool found = false;
    for (size_t i = 0; node && !found; i++) {
        node->size = sizeof *node;
        if (redlock_node(member, i, node) != REDLOCK_OK)
            break;
        found = guarantee_is_elected(node);
    }
    free(node);
    return found;
}

static void warn_unsure(void)
{
    message_warn("no replica has the record of this run yet: a failover may forget it, and let "
                 "the command run again within the period");
}

/* A failover forgets what no replica has. */
static void make_sure(struct period *p)
{
    int home = redlock_quorum_of(p->client, p->name);
    redlock *member = redlock_member(p->client, home < 0 ? 0 : (size_t)home);
    int64_t end_ns = timer_now_ns() + p->sure_ms * RL_NS_PER_MS;
    int error;
    if (!is_elected(member))
        return;
    do
        error = redlock_replicate(member, NULL);
    while (error != REDLOCK_OK && timer_now_ns() < end_ns);
    if (error != REDLOCK_OK)
        warn_unsure();
}

/* The service renews the lock meanwhile, and held_lock_freshen() learns of that. */
static int begin_served_record(struct period *p, struct held_lock *held)
{
    struct service_run run;
    int error = service_once_record(&held->service, held->served.name,
                                    service_hold_lease(held->hold), p->period_ms, &run);

    p->under = run.may_be_recorded ? held : NULL;
    /* One that came too late for its start is undone and begun anew; a lock that is lost is
     * not. */
    p->start_by_ns = error == REDLOCK_OK        ? run.start_by_ns
                     : error == REDLOCK_EXPIRED ? 0
                                                : TIMER_NEVER;
    p->left_ms = run.next_ms;
    snprintf(p->by, sizeof p->by, "%s", run.label);
    snprintf(p->detail, sizeof p->detail, "%s", run.detail);
    if (error == REDLOCK_OK && !run.is_sure)
        warn_unsure();
    return error == REDLOCK_EXPIRED ? REDLOCK_LOST : error;
}

int period_begin(struct period *p, struct held_lock *held, const char *label)
{
    redlock_request request = REDLOCK_REQUEST(.label = label);
    int error;

    if (p->period_ms == 0)
        return REDLOCK_OK;
    if (!p->client) {
        error = begin_served_record(p, held);
        if (error != REDLOCK_OK)
            period_undo(p);
        return error;
    }
    error = begin_record(p, held, &request);
    /* What a start that failed left on too few nodes is in the way, but records no run. */
    if (error == REDLOCK_BUSY && find_record(p) != REDLOCK_OK) {
        error = REDLOCK_NOQUORUM;
        snprintf(
            p->detail, sizeof p->detail,
            "what is left of an earlier record is on some of the nodes, and on no majority");
    }
    if (error != REDLOCK_OK)
        period_undo(p);
    else
        make_sure(p);
    return error;
}

bool period_is_late(const struct period *p)
{
    return p->period_ms > 0 && timer_now_ns() >= p->start_by_ns;
}

void period_undo(struct period *p)
{
    if (p->under)
        service_once_take_back(&p->under->service, p->under->served.name,
                               service_hold_lease(p->under->hold));
    p->under = NULL;
    redlock_lock_free(p->lock);
    redlock_close(p->client);
    p->lock = NULL;
    p->client = NULL;
}

int period_report(const struct period *p, const struct settings *s, const char *name, int error,
                  int busy_status)
{
    char text[HELD_LOCK_DETAIL_MAX + 64], left[TEXT_TIME_MAX], by[REDLOCK_LABEL_MAX + 1];
    struct failure f = {.name = name, .error = error, .status = exit_status_of(error)};
    if (error == REDLOCK_BUSY) {
        text_time(left, p->left_ms);
        rl_quote_safe(by, sizeof by, p->by);
        snprintf(text, sizeof text, "it has run already%s%s; --every allows it again in %s",
                 *by ? ", by " : "", by, left);
        f.status = busy_status;
        f.advice = "to run it now all the same, leave --every out";
    } else {
        snprintf(text, sizeof text, "that it runs now could not be recorded: %s",
                 p->detail[0] ? p->detail : redlock_strerror(error));
        f.report = p->report.node_count > 0 ? &p->report : NULL;
    }
    f.text = text;
    return report_failure(s, &f);
}

void period_close(struct period *p)
{
    if (p->lock)
        redlock_lock_leave(p->lock);
    redlock_close(p->client);
    p->lock = NULL;
    p->client = NULL;
}
