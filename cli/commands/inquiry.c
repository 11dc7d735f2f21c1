/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/inquiry.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "ui/exit.h"
#include "ui/message.h"

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
    if (redlock_quorum_of(l->client, name) != l->quorum) {
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

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int names_list(struct names *names, redlock *client, const struct settings *s,
               names_want_fn *want, void *data)
{
    redlock *member;
    int status = 0;
    *names = (struct names){0};
    for (size_t i = 0; (member = redlock_member(client, i)); i++) {
        struct listing l = {
            .client = client, .quorum = (int)i, .names = names, .want = want, .data = data};
        int error = redlock_list(member, on_name, &l);
        if (l.out_of_memory)
            return message_fail(EXIT_INTERNAL, "out of memory");
        names->cut = names->cut || l.seen >= REDLOCK_LIST_MAX;
        if (error == REDLOCK_OK)
            continue;
        struct failure f = {
            .error = error, .status = exit_status_of(error), .text = redlock_detail()};
        int failed = report_failure(s, &f);
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

void inquire(redlock *client, char *const *name, size_t count, inquiry_fn *each, void *data)
{
    for (size_t i = 0; i < count; i++) {
        redlock_info info = {.size = sizeof info};
        redlock_report report = {.size = sizeof report};
        int error = redlock_query(client, name[i], &info, &report);
        if (!each(name[i], error, &info, &report, data))
            return;
    }
}
