/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to several quorums: one after the other, and one answer made of all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/audit.h"
#include "client/list.h"
#include "client/report.h"
#include "client/request.h"
#include "drive/detail.h"
#include "quorums/front.h"

#define SENTENCE_MAX 512
/* Names that an audit uses for a moment, wherever it is. */
#define AUDIT_HEAD "doctor."

int rl_front_node(redlock *client, size_t index, redlock_node_info *out)
{
    const struct rl_front *front = client->front;
    size_t left = index;

    for (size_t i = 0; i < front->count; i++) {
        size_t count = front->member[i]->engine.policy.node_count;

        if (left < count)
            return rl_client_node(front->member[i], left, out);
        left -= count;
    }
    return rl_detail(REDLOCK_INVAL, "there is no node %zu", index);
}

/* All are asked, also after one has failed; the first failure is the result. */
int rl_front_each(redlock *client, int (*ask)(redlock *, redlock_report *),
                  redlock_report *report)
{
    const struct rl_front *front = client->front;
    char detail[SENTENCE_MAX] = "";
    int first = report ? rl_struct_check("redlock_report", report) : REDLOCK_OK;

    if (first)
        return first;
    for (size_t i = 0; i < front->count; i++) {
        redlock_report own = {.size = sizeof own};
        int error = ask(front->member[i], &own);

        if (report && (i == 0 || (error && !first)))
            rl_struct_fill(report, &own, sizeof own);
        if (!error || first)
            continue;
        first = error;
        snprintf(detail, sizeof detail, "%s", redlock_detail());
    }
    return first ? rl_detail(first, "%s", detail) : REDLOCK_OK;
}

/* ---- names ---- */

struct names {
    char **name;
    size_t count;
    size_t room;
    bool out_of_memory;
};

static void keep_name(const char *name, void *data)
{
    struct names *n = data;

    if (n->count == n->room) {
        size_t room = n->room ? 2 * n->room : 64;
        char **more = reallocarray(n->name, room, sizeof *more);

        if (!more) {
            n->out_of_memory = true;
            return;
        }
        n->name = more;
        n->room = room;
    }
    n->name[n->count] = strdup(name);
    if (n->name[n->count])
        n->count++;
    else
        n->out_of_memory = true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void tell(const struct names *n, redlock_name_fn *each, void *data)
{
    size_t told = 0;

    for (size_t i = 0; i < n->count && told < REDLOCK_LIST_MAX; i++) {
        /* In two quorums only while a client has another set of them; see rl_front_audit(). */
        if (i > 0 && strcmp(n->name[i], n->name[i - 1]) == 0)
            continue;
        each(n->name[i], data);
        told++;
    }
}

int rl_front_list(redlock *client, redlock_name_fn *each, void *data)
{
    const struct rl_front *front = client->front;
    struct names names = {0};
    int error = REDLOCK_OK;

    if (!each)
        return rl_detail(REDLOCK_INVAL, "there is no function to tell the names to");
    for (size_t i = 0; i < front->count && !error; i++)
        error = rl_client_list(front->member[i], keep_name, &names);
    if (!error && names.out_of_memory)
        error = rl_detail(REDLOCK_NOMEM, "out of memory");
    if (!error && names.count > 0) {
        qsort(names.name, names.count, sizeof *names.name, compare);
        tell(&names, each, data);
    }
    for (size_t i = 0; i < names.count; i++)
        free(names.name[i]);
    free(names.name);
    return error;
}

/* ---- audit ---- */

struct strangers {
    const struct rl_front *front;
    size_t home;
    size_t count;
    char example[REDLOCK_NAME_MAX + 1];
};

static void count_stranger(const char *name, void *data)
{
    struct strangers *s = data;

    if (rl_front_home(s->front, name, strlen(name)) == s->home ||
        strncmp(name, AUDIT_HEAD, strlen(AUDIT_HEAD)) == 0)
        return;
    if (s->count++ == 0)
        snprintf(s->example, sizeof s->example, "%s", name);
}

/*
 * A lock that is where no client of this configuration would look for it was put there by a client
 * that has another set of quorums: those two do not exclude each other. It is the one sign of that
 * mistake which the nodes can show.
 */
static void check_placement(const struct rl_front *front, size_t index, redlock_check_fn *each,
                            void *data)
{
    redlock *member = front->member[index];
    struct strangers strangers = {.front = front, .home = index};
    char text[SENTENCE_MAX] = "every lock on it lives here";
    redlock_check check = {
        .size = sizeof check,
        .address = "",
        .name = "placement",
        .verdict = REDLOCK_CHECK_OK,
        .text = text,
        .remedy = "",
        .quorum = member->quorum_name,
    };

    if (member->prefix_size == 0) {
        check.verdict = REDLOCK_CHECK_UNKNOWN;
        check.text = "without a prefix, keys of other programs cannot be told from locks";
    } else if (rl_client_list(member, count_stranger, &strangers) != REDLOCK_OK) {
        check.verdict = REDLOCK_CHECK_UNKNOWN;
        check.text = "too few nodes list their locks";
    } else if (strangers.count > 0) {
        check.verdict = REDLOCK_CHECK_FAIL;
        snprintf(text, sizeof text, "%zu lock%s on it that live%s in another quorum: '%.128s'",
                 strangers.count, strangers.count == 1 ? "" : "s",
                 strangers.count == 1 ? "s" : "", strangers.example);
        check.remedy =
            "another client has a different set of quorums, and does not exclude "
            "this one; give all the same set (after a change of it: wait for max_ttl)";
    }
    each(&check, data);
}

int rl_front_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each, void *data)
{
    const struct rl_front *front = client->front;
    int error = REDLOCK_OK;

    for (size_t i = 0; i < front->count && !error; i++) {
        error = rl_client_audit(front->member[i], ttl_ms, each, data);
        if (!error)
            check_placement(front, i, each, data);
    }
    return error;
}
