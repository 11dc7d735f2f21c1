/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/look.h"

#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"
#include "service/look.h"
#include "settings/open_client.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"

#define QUERIES_AT_ONCE REDLOCK_JOBS_SENT
/* A lock whose expiry was just missed, or is renewed in its last moment, is not looked at
 * once. */
#define SLEEP_MIN_NS (20 * RL_NS_PER_MS)

/* Moves the words to the front of argv. */
static int take(void *data, struct args *a, int id, const char *value)
{
    struct look *l = data;
    if (id != ARGS_WORD)
        return l->own->option ? l->own->option(l, id, value) : 0;
    l->name = a->argv;
    a->argv[l->count++] = a->argv[a->at - 1];
    return l->own->patterns ? 0 : command_check_name(value);
}

static int open_source(struct look *l, bool signals)
{
    int status = settings_complete(&l->settings);
    if (status == 0)
        status = l->settings.service ? service_open(&l->service, &l->settings)
                                     : client_open(&l->settings, &l->client);
    if (status || !signals)
        return status;
    l->expires_ns = TIMER_NEVER;
    l->signal_fd = signals_take();
    return l->signal_fd < 0 ? EXIT_INTERNAL : 0;
}

int look_main(struct look *l, const struct command *command, int argc, char **argv,
              const struct look_command *own)
{
    int status;
    l->own = own;
    status = args_read(command, &l->settings, argc, argv, take, l);
    if (status == 0 && own->needs_name && l->count == 0)
        status = message_usage("NAME is missing: which lock?");
    if (status == 0 && own->check)
        status = own->check(l);
    if (status == 0)
        status = open_source(l, own->signals);
    if (status == 0)
        status = own->run(l);
    client_close(&l->settings, l->client);
    service_close(&l->service);
    settings_free(&l->settings);
    return status;
}

/* One listing of one quorum. */
struct listing {
    struct look *look;
    struct names *names;
    int quorum;
    size_t seen;
    bool out_of_memory;
};

static bool is_wanted(const struct look *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++) {
        if (fnmatch(l->name[i], name, 0) == 0)
            return true;
    }
    return l->count == 0;
}

static void on_name(const char *name, void *data)
{
    struct listing *g = data;
    struct names *names = g->names;
    redlock *client = g->look->client;
    char **more, *copy;
    g->seen++;
    if (client && redlock_quorum_of(client, name) != g->quorum) {
        names->misplaced++;
        return;
    }
    if (!is_wanted(g->look, name))
        return;
    copy = strdup(name);
    more = copy ? reallocarray(names->name, names->count + 1, sizeof *more) : NULL;
    if (!more) {
        free(copy);
        g->out_of_memory = true;
        return;
    }
    names->name = more;
    names->name[names->count++] = copy;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int look_names_of(struct look *l, struct names *names, size_t index)
{
    struct listing g = {.look = l, .names = names, .quorum = (int)index};
    redlock_answer *answer = NULL;
    int error;
    if (l->client) {
        error = redlock_list(redlock_member(l->client, index), &answer);
        snprintf(l->detail, sizeof l->detail, "%s", redlock_detail());
        for (size_t i = 0; error == REDLOCK_OK && i < answer->name_count; i++)
            on_name(answer->names[i], &g);
        redlock_answer_free(answer);
    } else {
        error = service_list(&l->service, on_name, &g, l->detail);
    }
    if (g.out_of_memory) {
        snprintf(l->detail, sizeof l->detail, "out of memory");
        error = REDLOCK_NOMEM;
    }
    names->cut = names->cut || g.seen >= REDLOCK_LIST_MAX;
    if (names->count > 0)
        qsort(names->name, names->count, sizeof *names->name, compare_names);
    return error;
}

int look_names(struct look *l, struct names *names)
{
    int status = 0;
    *names = (struct names){0};
    for (size_t i = 0; l->client ? redlock_member(l->client, i) != NULL : i == 0; i++) {
        bool is_other = l->member && redlock_member(l->client, i) != l->member;
        int error = is_other ? REDLOCK_OK : look_names_of(l, names, i);
        struct failure f = {.error = error, .text = l->detail};
        int failed;
        if (error == REDLOCK_OK)
            continue;
        if (l->client && error != REDLOCK_NOMEM)
            f.report = redlock_failure_report();
        failed = report_failure(&l->settings, &f);
        status = status ? status : failed;
    }
    return status;
}

void names_warn(const struct names *names)
{
    if (names->misplaced > 0)
        message_warn("%zu lock%s in a quorum where %s not live: another client has a different "
                     "set of quorums; `redlock doctor` has more",
                     names->misplaced, names->misplaced == 1 ? " is" : "s are",
                     names->misplaced == 1 ? "it does" : "they do");
    if (names->cut)
        message_warn("there may be more: only the first %d names found are shown",
                     REDLOCK_LIST_MAX);
}

void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    *names = (struct names){0};
}

/* One query and its answer, which is shown when those before it have been. */
struct query {
    redlock_job job; /* 0: it has been answered */
    int error;
    char detail[SERVICE_DETAIL_MAX];
    redlock_info info;
    redlock_report report;
};

static void take_answer(struct query *q, int error, const char *detail,
                        const redlock_answer *answer)
{
    q->job = 0;
    q->error = error;
    snprintf(q->detail, sizeof q->detail, "%s", detail);
    if (answer && answer->info)
        q->info = *answer->info;
    if (answer && answer->report)
        q->report = *answer->report;
}

/* All of them at once: the answers take one round trip, not one each. */
static int query_all(struct look *l, struct query *query, char *const *name, size_t count)
{
    const redlock_event *event;
    size_t pending = 0;
    int got = 0;
    for (size_t i = 0; i < count; i++) {
        int error;
        query[i] = (struct query){0};
        error = redlock_start_query(l->client, name[i], &query[i], &query[i].job);
        if (error != REDLOCK_OK)
            take_answer(&query[i], error, redlock_detail(), NULL);
        pending += error == REDLOCK_OK;
    }
    while (pending > 0 && (got = client_next(&l->settings, l->client, &event, -1)) >= 0) {
        if (got > 0 && event->type == REDLOCK_EVENT_ANSWERED) {
            take_answer(event->data, event->error, event->detail, event->answer);
            pending--;
        }
    }
    for (size_t i = 0; i < count && pending > 0; i++)
        redlock_cancel_job(l->client, query[i].job);
    return pending > 0 ? got : REDLOCK_OK;
}

/* What is seen of a lock, with what the next look has to know of it. */
static struct snapshot see(struct look *l, const struct query *q, const char *name)
{
    struct snapshot s = q->error == REDLOCK_OK
                            ? snapshot_of(name, &q->info, &q->report)
                            : (struct snapshot){.name = name, .report = &q->report, .kind = -1};
    int64_t expires_ns = timer_now_ns() + (s.left_ms + 1) * RL_NS_PER_MS;
    s.error = q->error;
    s.detail = q->detail;
    if (s.held && s.left_ms >= 0 && expires_ns < l->expires_ns)
        l->expires_ns = expires_ns;
    if (s.error && !l->failed.error) {
        snprintf(l->failed_detail, sizeof l->failed_detail, "%s", q->detail);
        l->failed_report = q->report;
        l->failed = s;
        l->failed.detail = l->failed_detail;
        l->failed.report = &l->failed_report;
    }
    return s;
}

int look_at(struct look *l, char *const *name, size_t count, look_fn *each, void *data)
{
    size_t most =
        l->client ? QUERIES_AT_ONCE : 1; /* a service answers for one name at a time */
    struct query *query = calloc(most, sizeof *query);
    int error = REDLOCK_OK;
    bool go_on = true;
    l->failed.error = REDLOCK_OK;
    if (!query)
        return message_fail(EXIT_INTERNAL, "out of memory");
    for (size_t at = 0; at < count && go_on && error == REDLOCK_OK; at += most) {
        size_t part = count - at < most ? count - at : most;
        if (l->client)
            error = query_all(l, query, name + at, part);
        else
            query->error = service_look(&l->service, name[at], &query->info, &query->report,
                                        query->detail);
        for (size_t i = 0; i < part && go_on && error == REDLOCK_OK; i++) {
            struct snapshot s = see(l, &query[i], name[at + i]);
            go_on = each(&s, data);
        }
    }
    free(query);
    return error ? message_fail(exit_status_of(error), "%s", redlock_detail()) : 0;
}

int look_fail(const struct look *l, const struct snapshot *s)
{
    struct failure f = {
        .name = s->name, .error = s->error, .text = s->detail, .report = s->report};
    return report_failure(&l->settings, &f);
}

int look_break(struct look *l, const char *name, const char *fingerprint,
               redlock_report *report)
{
    redlock_answer *answer = NULL;
    int error;
    if (!l->client)
        return service_break(&l->service, name, fingerprint, report, l->detail);
    error = redlock_break(l->client, name, fingerprint, &answer);
    if (error != REDLOCK_OK)
        snprintf(l->detail, sizeof l->detail, "%s", redlock_detail());
    return client_report(report, error, answer);
}

bool look_sleep(struct look *l, int64_t delay_ms, int64_t end_ns)
{
    struct pollfd watched[] = {
        {.fd = l->signal_fd, .events = POLLIN},
        {.fd = l->needs_reader ? STDOUT_FILENO : -1},
    };
    int64_t now_ns = timer_now_ns();
    int64_t wake_ns = now_ns + delay_ms * RL_NS_PER_MS;
    if (l->expires_ns < wake_ns)
        wake_ns = l->expires_ns;
    if (wake_ns < now_ns + SLEEP_MIN_NS)
        wake_ns = now_ns + SLEEP_MIN_NS;
    if (wake_ns > end_ns)
        wake_ns = end_ns;
    l->expires_ns = TIMER_NEVER;
    do {
        int64_t left_ms = (wake_ns - timer_now_ns() + RL_NS_PER_MS - 1) / RL_NS_PER_MS;
        if (poll(watched, 2, left_ms > 0 ? (int)left_ms : 0) < 0 && errno != EINTR)
            return false;
        if (watched[0].revents)
            l->signal = signals_next_fatal();
        if (watched[1].revents & POLLERR)
            l->signal = SIGPIPE;
    } while (!l->signal && timer_now_ns() < wake_ns);
    return !l->signal;
}
