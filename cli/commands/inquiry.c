/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/inquiry.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "service/look.h"
#include "settings/open_client.h"
#include "ui/exit.h"
#include "ui/message.h"

#define ASKED_AT_ONCE REDLOCK_JOBS_SENT
#define DETAIL_MAX 512

/* One listing of one quorum. */
struct listing {
    redlock *client;
    int quorum;
    struct names *names;
    size_t seen;
    bool out_of_memory;
    names_want_fn *want;
    void *data;
};

static void on_name(const char *name, void *data)
{
    struct listing *l = data;
    struct names *names = l->names;
    l->seen++;
    if (l->client && redlock_quorum_of(l->client, name) != l->quorum) {
        names->misplaced++;
        return;
    }
    if (l->want && !l->want(name, l->data))
        return;
    char *copy = strdup(name);
    char **more = copy ? reallocarray(names->name, names->count + 1, sizeof *more) : NULL;
    if (!more) {
        free(copy);
        l->out_of_memory = true;
        return;
    }
    names->name = more;
    names->name[names->count++] = copy;
}

bool names_match(const char *name, char *const *pattern, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fnmatch(pattern[i], name, 0) == 0)
            return true;
    }
    return count == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reports what ended a listing, and returns the exit status; 0: nothing did. */
static int end_listing(struct listing *l, const struct settings *s, int error,
                       const char *detail, const redlock_report *report)
{
    struct failure f = {
        .error = error, .status = exit_status_of(error), .text = detail, .report = report};
    if (l->out_of_memory)
        return message_fail(EXIT_INTERNAL, "out of memory");
    l->names->cut = l->names->cut || l->seen >= REDLOCK_LIST_MAX;
    return error == REDLOCK_OK ? 0 : report_failure(s, &f);
}

int names_list(struct names *names, struct source *source, const struct settings *s,
               names_want_fn *want, void *data)
{
    struct listing l = {.names = names, .want = want, .data = data};
    redlock *member;
    int status = 0;
    *names = (struct names){0};
    if (!source->client) {
        int error = service_list(&source->service, on_name, &l, source->detail);
        return end_listing(&l, s, error, source->detail, NULL);
    }
    for (size_t i = 0; (member = redlock_member(source->client, i)); i++) {
        l = (struct listing){.client = source->client,
                             .quorum = (int)i,
                             .names = names,
                             .want = want,
                             .data = data};
        redlock_answer *answer = NULL;
        int error = redlock_list(member, &answer);
        for (size_t k = 0; error == REDLOCK_OK && k < answer->name_count; k++)
            on_name(answer->names[k], &l);
        redlock_answer_free(answer);
        int failed = end_listing(&l, s, error, redlock_detail(), redlock_failure_report());
        if (l.out_of_memory)
            return failed;
        status = status ? status : failed;
    }
    if (names->count > 0)
        qsort(names->name, names->count, sizeof *names->name, compare_names);
    return status;
}

void names_warn(const struct names *names)
{
    if (names->misplaced > 0)
        message_warn("%zu lock%s in a quorum where %s not live: another client has a different "
                     "set of quorums; `redlock doctor` says more",
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

/* ---- asking ---- */

/* One question and what came of it; told when those before it have been. */
struct question {
    redlock_job job; /* 0: it has been answered */
    int error;
    char detail[DETAIL_MAX];
    redlock_info info;
    redlock_report report;
};

static void take_answer(struct question *q, int error, const char *detail,
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
static int ask(const struct settings *s, redlock *client, struct question *question,
               char *const *name, size_t count)
{
    const redlock_event *event;
    size_t pending = 0;
    int got = 0;
    for (size_t i = 0; i < count; i++) {
        question[i] = (struct question){0};
        int error = redlock_start_query(client, name[i], &question[i], &question[i].job);
        if (error != REDLOCK_OK)
            take_answer(&question[i], error, redlock_detail(), NULL);
        pending += error == REDLOCK_OK;
    }
    while (pending > 0 && (got = client_next(s, client, &event, -1)) >= 0) {
        if (got > 0 && event->type == REDLOCK_EVENT_ANSWERED) {
            take_answer(event->data, event->error, event->detail, event->answer);
            pending--;
        }
    }
    for (size_t i = 0; i < count && pending > 0; i++)
        redlock_cancel_job(client, question[i].job);
    return pending > 0 ? got : REDLOCK_OK;
}

static bool tell(const struct question *question, char *const *name, size_t count,
                 inquiry_fn *each, void *data)
{
    bool go_on = true;
    for (size_t at = 0; at < count && go_on; at++) {
        const struct question *q = &question[at];
        struct inquiry_answer answer = {.name = name[at],
                                        .error = q->error,
                                        .detail = q->detail,
                                        .info = &q->info,
                                        .report = &q->report};
        go_on = each(&answer, data);
    }
    return go_on;
}

/* A service answers for one name at a time. */
static int inquire_service(struct source *source, char *const *name, size_t count,
                           inquiry_fn *each, void *data)
{
    bool go_on = true;
    for (size_t at = 0; at < count && go_on; at++) {
        redlock_info info;
        redlock_report report;
        int error = source_query(source, name[at], &info, &report);
        struct inquiry_answer answer = {.name = name[at],
                                        .error = error,
                                        .detail = source->detail,
                                        .info = &info,
                                        .report = &report};
        go_on = each(&answer, data);
    }
    return 0;
}

int inquire(struct source *source, const struct settings *s, char *const *name, size_t count,
            inquiry_fn *each, void *data)
{
    if (!source->client)
        return inquire_service(source, name, count, each, data);
    struct question *question = calloc(ASKED_AT_ONCE, sizeof *question);
    if (!question)
        return message_fail(EXIT_INTERNAL, "out of memory");
    int error = REDLOCK_OK;
    bool go_on = true;
    for (size_t at = 0; at < count && go_on && error == REDLOCK_OK; at += ASKED_AT_ONCE) {
        size_t part = count - at < ASKED_AT_ONCE ? count - at : ASKED_AT_ONCE;
        error = ask(s, source->client, question, name + at, part);
        go_on = error == REDLOCK_OK && tell(question, name + at, part, each, data);
    }
    free(question);
    return error ? message_fail(exit_status_of(error), "%s", redlock_detail()) : 0;
}
