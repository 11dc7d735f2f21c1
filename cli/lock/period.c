/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/period.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "settings/open_client.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

int period_open(struct period *p, const struct settings *s, const char *name)
{
    if (p->period_ms == 0)
        return 0;
    if (strlen(name) + strlen(PERIOD_SUFFIX) > REDLOCK_NAME_MAX)
        return message_usage("with --every the lock name has at most %zu bytes: '%s' is added",
                             REDLOCK_NAME_MAX - strlen(PERIOD_SUFFIX), PERIOD_SUFFIX);
    snprintf(p->name, sizeof p->name, "%s" PERIOD_SUFFIX, name);
    p->first_ms = s->ttl_ms < p->period_ms ? s->ttl_ms : p->period_ms;
    struct settings own = *s;
    own.config.guard = REDLOCK_NO_GUARD;
    own.no_node_warnings = true; /* the client of the lock tells them */
    if (own.config.max_ttl_ms < p->period_ms)
        own.config.max_ttl_ms = p->period_ms;
    return client_open(&own, &p->client);
}

static void note_detail(struct period *p, int error)
{
    p->error = error;
    p->detail[0] = '\0';
    if (error != REDLOCK_OK)
        snprintf(p->detail, sizeof p->detail, "%s", redlock_detail());
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    struct period *p = data;
    p->pending = false;
    note_detail(p, error);
    p->report.size = sizeof p->report;
    if (redlock_lock_report(lock, &p->report) != REDLOCK_OK)
        p->report.node_count = 0;
}

int period_look(struct period *p)
{
    redlock_info info = {.size = sizeof info};
    if (p->period_ms == 0)
        return REDLOCK_OK;
    /* Nodes that cannot be asked are told of by the lock, which is tried next. */
    return redlock_query(p->client, p->name, &info, NULL) == REDLOCK_OK && info.held
               ? REDLOCK_BUSY
               : REDLOCK_OK;
}

/* Until the operation of the record has ended; the lock is renewed meanwhile. */
static int wait_for_record(struct period *p, struct held_lock *held, int error)
{
    struct pollfd watched[] = {{.fd = redlock_fd(p->client), .events = POLLIN},
                               {.fd = redlock_fd(held->client), .events = POLLIN}};
    p->pending = error == REDLOCK_OK;
    if (error != REDLOCK_OK)
        note_detail(p, error);
    while (p->pending) {
        error = redlock_process(p->client, 0);
        if (error >= 0)
            error = redlock_process(held->client, 0);
        if (error < 0 || held->lost)
            return held->lost ? REDLOCK_LOST : error;
        if (p->pending && poll(watched, 2, -1) < 0 && errno != EINTR)
            return REDLOCK_SYSTEM;
    }
    return p->error;
}

int period_begin(struct period *p, struct held_lock *held, const char *label)
{
    redlock_request request = {
        .size = sizeof request, .done = on_done, .data = p, .label = label};
    if (p->period_ms == 0)
        return REDLOCK_OK;
    int error = redlock_start(p->client, p->name, p->first_ms, &request, &p->lock);
    error = wait_for_record(p, held, error);
    if (error == REDLOCK_OK && p->period_ms > p->first_ms) {
        error = redlock_start_extend(p->lock, p->period_ms, on_done, p);
        error = wait_for_record(p, held, error);
    }
    if (error != REDLOCK_OK)
        period_undo(p);
    return error;
}

void period_undo(struct period *p)
{
    redlock_lock_free(p->lock);
    p->lock = NULL;
}

int period_report(struct period *p, const struct settings *s, const char *name, int error,
                  int busy_status)
{
    char text[HELD_LOCK_DETAIL_MAX + 64], left[TEXT_TIME_MAX], by[REDLOCK_LABEL_MAX + 1];
    redlock_info info = {.size = sizeof info, .ttl_ms = -1};
    struct failure f = {.name = name, .error = error, .status = exit_status_of(error)};
    if (error == REDLOCK_BUSY) {
        redlock_query(p->client, p->name, &info, NULL);
        text_time(left, info.ttl_ms);
        text_safe(by, sizeof by, info.label);
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
