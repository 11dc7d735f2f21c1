/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/library.h"

#include <stddef.h>
#include <sys/epoll.h>

#include "leases/carry.h"
#include "leases/holdings.h"
#include "system/log.h"
#include "ui/subcommand.h"

static void answered(struct library *library, const redlock_event *event)
{
    switch (*(const enum asked *)event->data) {
    case ASKED_RELEASE:
        lease_heard(event);
        break;
    case ASKED_LOOK:
        holdings_looked(library->leases, event->data, event);
        break;
    case ASKED_LOCK:
        view_answer_lock(library->view, event);
        break;
    case ASKED_BREAK:
        view_answer_break(library->view, event);
        break;
    case ASKED_LIST:
        view_answer_list(library->view, event);
        break;
    case ASKED_LEADER:
        leaders_answered(&library->view->leaders, event);
        break;
    case ASKED_SURVEY_NAMES:
        survey_listed(&library->view->survey, event);
        break;
    case ASKED_SURVEY_LOCK:
        survey_answered(&library->view->survey, event);
        break;
    }
}

static void handle(struct library *library, const redlock_event *event)
{
    switch (event->type) {
    case REDLOCK_EVENT_ACQUIRED:
    case REDLOCK_EVENT_EXTENDED:
    case REDLOCK_EVENT_RELEASED:
    case REDLOCK_EVENT_LOST:
    case REDLOCK_EVENT_QUEUED:
        lease_heard(event);
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

void library_drain(struct library *library, int timeout_ms)
{
    struct leases *leases = library->leases;
    const redlock_event *event;

    while (redlock_next(leases->client, &event, timeout_ms) > 0) {
        handle(library, event);
        loop_again(leases->loop);
    }
    leases->is_due = false; /* what was started meanwhile is sent */
}

static void on_ready(struct loop_source *source, uint32_t events)
{
    (void)events;
    library_drain((struct library *)(void *)source, 0);
}

/* A part of the loop: what requests of this turn have started is sent with it. */
static int64_t turn(void *context, int64_t now_ns)
{
    struct library *library = context;

    if (library->leases->is_due)
        library_drain(library, 0);
    return leases_turn(library->leases, now_ns);
}

int library_open(struct library *library, struct leases *leases, struct view *view)
{
    *library = (struct library){.source.ready = on_ready, .view = view};
    if (loop_add(leases->loop, &library->source, redlock_fd(leases->client), EPOLLIN) < 0)
        return -1;
    library->leases = leases;
    loop_add_part(leases->loop, library, turn);
    return 0;
}

void library_close(struct library *library)
{
    if (library->leases)
        loop_remove(library->leases->loop, &library->source);
    library->leases = NULL;
}
