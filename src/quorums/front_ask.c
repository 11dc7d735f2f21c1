/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to several quorums: all at once, and one answer made of all. */
#include <stdlib.h>
#include <string.h>

#include "client/report.h"
#include "drive/detail.h"
#include "drive/order.h"
#include "quorums/joint.h"

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

/* ---- one answer ---- */

/* The first that failed; NULL: none did. */
static const struct rl_part *first_failure(const struct rl_joint *joint)
{
    for (size_t i = 0; i < joint->front->count; i++)
        if (joint->part[i].error)
            return &joint->part[i];
    return NULL;
}

static int explain(const struct rl_joint *joint)
{
    const struct rl_part *failed = first_failure(joint);

    if (!failed)
        return REDLOCK_OK;
    return rl_detail(failed->error, "%s",
                     failed->detail ? failed->detail : redlock_strerror(failed->error));
}

/* NULL: no node was asked. */
static const redlock_report *report_of(const struct rl_joint *joint)
{
    const struct rl_part *failed = first_failure(joint);
    const struct rl_part *part = failed ? failed : &joint->part[0];

    return part->report.size ? &part->report : NULL;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Pointers into the parts, in order; NULL: out of memory. */
static const char **merge_names(const struct rl_joint *joint, size_t *count)
{
    const char **names;
    size_t total = 0;

    for (size_t i = 0; i < joint->front->count; i++)
        total += joint->part[i].name_count;
    names = calloc(total + 1, sizeof *names);
    if (!names)
        return NULL;
    total = 0;
    for (size_t i = 0; i < joint->front->count; i++)
        for (size_t n = 0; n < joint->part[i].name_count; n++)
            names[total++] = joint->part[i].names[n];
    qsort(names, total, sizeof *names, compare);
    *count = 0;
    for (size_t i = 0; i < total && *count < REDLOCK_LIST_MAX; i++)
        /* In two quorums only while a client has another set of them; see check_placement(). */
        if (*count == 0 || strcmp(names[*count - 1], names[i]) != 0)
            names[(*count)++] = names[i];
    return names;
}

int rl_joint_tell(struct rl_joint *joint)
{
    const struct rl_question_terms *terms = &joint->terms;
    redlock_answer answer = {.size = sizeof answer};
    const char **names = NULL;
    int error = explain(joint);

    if (terms->ask == RL_ASK_PING || terms->ask == RL_ASK_ADMIT)
        answer.report = report_of(joint);
    if (!error && terms->ask == RL_ASK_LIST) {
        names = merge_names(joint, &answer.name_count);
        answer.names = names;
        if (!names)
            error = rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    for (size_t i = 0; !error && i < joint->front->count; i++)
        rl_check_list_tell(&joint->part[i].checks, terms->each, terms->asker.data);
    terms->asker.done(error, &answer, terms->asker.data);
    free(names);
    return error;
}

/* ---- the calls ---- */

int rl_front_ask(redlock *client, const struct rl_question_terms *terms, bool blocks)
{
    struct rl_joint *joint;
    int error = rl_call_check(client, blocks);

    if (!error)
        error = rl_question_check(client->front->member[0], terms);
    if (error)
        return error;
    joint = rl_joint_new(client->front, terms, blocks);
    if (!joint)
        return REDLOCK_NOMEM;
    if (!blocks)
        return rl_joint_start(joint);
    error = rl_joint_wait(joint);
    if (error)
        return error;
    error = rl_joint_tell(joint);
    rl_joint_free(joint);
    return error;
}

int rl_front_forget(redlock *client, const void *data)
{
    const struct rl_front *front = client->front;
    int total = 0;

    for (size_t i = 0; i < front->count; i++) {
        int count = rl_client_forget(front->member[i], data);

        if (count < 0)
            return count;
        total += count;
    }
    return total;
}
