/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/library.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/time.h"
#include "leases/carry.h"
#include "leases/holdings.h"
#include "system/log.h"
#include "ui/subcommand.h"

static void answered(struct library *library, const redlock_event *event)
{
    switch (*(const enum job_type *)event->data) {
    case JOB_RELEASE:
        lease_on_event(event);
        break;
    case JOB_LOOK:
        holdings_looked(library->leases, event->data, event);
        break;
    case JOB_LOCK:
        view_answer_lock(library->view, event);
        break;
    case JOB_BREAK:
        view_answer_break(library->view, event);
        break;
    case JOB_LIST:
        view_answer_list(library->view, event);
        break;
    case JOB_LEADER:
        leaders_answered(&library->view->leaders, event);
        break;
    case JOB_ONCE:
        once_on_event(library->once, event);
        break;
    case JOB_OVERVIEW_NAMES:
        overview_listed(&library->view->overview, event);
        break;
    case JOB_OVERVIEW_LOCK:
        overview_answered(&library->view->overview, event);
        break;
    }
}

static bool is_of_once(const redlock_event *event)
{
    return event->data && *(const enum job_type *)event->data == JOB_ONCE;
}

static void handle(struct library *library, const redlock_event *event)
{
    if (is_of_once(event)) {
        once_on_event(library->once, event);
        return;
    }
    switch (event->type) {
    case REDLOCK_EVENT_ACQUIRED:
    case REDLOCK_EVENT_EXTENDED:
    case REDLOCK_EVENT_RELEASED:
    case REDLOCK_EVENT_LOST:
    case REDLOCK_EVENT_QUEUED:
        lease_on_event(event);
        break;
    case REDLOCK_EVENT_ANSWERED:
        answered(library, event);
        break;
    case REDLOCK_EVENT_WARNING:
        log_line("%s: %s%s", event->address, event->detail, subcommand_for(event->reason));
        break;
    default: /* the watchdog's: the daemon renews by itself */
        break;
    }
}

/* Warnings about nodes come from the client of the locks. */
static void drain_records(struct library *library)
{
    const redlock_event *event;

    while (redlock_next(library->records, &event, 0) > 0) {
        if (is_of_once(event))
            once_on_event(library->once, event);
    }
}

void library_drain(struct library *library, int timeout_ms)
{
    struct leases *leases = library->leases;
    const redlock_event *event;

    while (redlock_next(leases->client, &event, timeout_ms) > 0) {
        handle(library, event);
    }
    if (library->records)
        drain_records(library);
    leases->library.due_ns = RL_NEVER_NS; /* what was started meanwhile is sent */
}

static void on_ready(struct loop_source *source, uint32_t events)
{
    (void)events;
    library_drain((struct library *)(void *)source, 0);
}

static void on_records_ready(struct loop_source *source, uint32_t events)
{
    (void)events;
    drain_records(
        (struct library *)(void *)((char *)source - offsetof(struct library, records_source)));
}

static void note_difference(const char *key)
{
    log_line("%s has changed since the start: no record of a run is kept until a restart", key);
}

/* The same nodes, though a file may have others by now; longer times, and no guard. */
static redlock *open_records(const struct library *library, char *why, size_t why_size)
{
    redlock_options options =
        REDLOCK_OPTIONS(.config_file = library->config, .client_name = "redlockd",
                        .flags = REDLOCK_NO_GUARD, .profile = REDLOCK_PROFILE_EFFICIENCY,
                        .max_ttl_ms = REDLOCK_TTL_LIMIT_MS);
    struct quorum_print print;
    redlock *client = NULL;

    if (quorum_print_read(library->config, &print, why, why_size) < 0)
        return NULL;
    if (!quorum_print_compare(library->print, &print, note_difference))
        snprintf(why, why_size, "the nodes are others than at the start");
    else if (redlock_open(&options, &client) != REDLOCK_OK)
        snprintf(why, why_size, "%s", redlock_detail());
    return client;
}

static redlock *records(void *context, char *why, size_t why_size)
{
    struct library *library = context;

    if (library->records)
        return library->records;
    library->records = open_records(library, why, why_size);
    if (!library->records) {
        log_line("no record of a run can be kept: %s", why);
    } else if (loop_add(library->leases->loop, &library->records_source,
                        redlock_fd(library->records), EPOLLIN) < 0) {
        redlock_close(library->records);
        library->records = NULL;
    }
    return library->records;
}

/* A part of the loop: what requests of this turn have started is sent with it. */
static int64_t turn(void *context, int64_t now_ns)
{
    (void)now_ns;
    on_ready(context, 0); /* the source is its first member */
    return RL_NEVER_NS;
}

int library_open(struct library *library, struct leases *leases, struct view *view,
                 struct once *once, const char *config, const struct quorum_print *print)
{
    *library = (struct library){.source.ready = on_ready,
                                .view = view,
                                .once = once,
                                .records_source.ready = on_records_ready,
                                .config = config,
                                .print = print};
    if (loop_add(leases->loop, &library->source, redlock_fd(leases->client), EPOLLIN) < 0)
        return -1;
    library->leases = leases;
    once->records = records;
    once->context = library;
    loop_add_part(leases->loop, &leases->library, library, turn);
    loop_add_part(leases->loop, &leases->table.part, leases, leases_turn);
    return 0;
}

void library_close(struct library *library)
{
    if (library->leases)
        loop_remove(library->leases->loop, &library->source);
    if (library->records)
        loop_remove(library->leases->loop, &library->records_source);
    redlock_close(library->records);
    library->records = NULL;
    library->leases = NULL;
}
