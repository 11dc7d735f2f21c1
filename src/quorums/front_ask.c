/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to several quorums: all at once, and one answer made of all. */
#include <stdlib.h>
#include <string.h>

#include "client/audit.h"
#include "client/query.h"
#include "client/report.h"
#include "client/request.h"
#include "drive/detail.h"
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

static void tell_checks(const struct rl_joint *joint, redlock_check_fn *each, void *data)
{
    for (size_t i = 0; i < joint->front->count; i++)
        rl_check_list_tell(&joint->part[i].checks, each, data);
}

void rl_joint_tell(struct rl_joint *joint)
{
    redlock_answer answer = {.size = sizeof answer};
    const char **names = NULL;
    int error = explain(joint);

    if (joint->question == RL_JOINT_PING || joint->question == RL_JOINT_ADMIT)
        answer.report = report_of(joint);
    if (!error && joint->question == RL_JOINT_LIST) {
        names = merge_names(joint, &answer.name_count);
        answer.names = names;
        if (!names)
            error = rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    if (!error && joint->question == RL_JOINT_AUDIT)
        tell_checks(joint, joint->each, joint->data);
    joint->done(error, &answer, joint->data);
    free(names);
}

/* ---- the calls ---- */

static int start(struct rl_joint *joint, redlock_answer_fn *done, void *data)
{
    if (!joint)
        return REDLOCK_NOMEM;
    joint->done = done;
    joint->data = data;
    return rl_joint_start(joint);
}

int rl_front_start(redlock *client, enum rl_op op, redlock_answer_fn *done, void *data)
{
    enum rl_joint_question question = op == RL_OP_PING    ? RL_JOINT_PING
                                      : op == RL_OP_ADMIT ? RL_JOINT_ADMIT
                                                          : RL_JOINT_LIST;
    int error = rl_front_enter(client, false);

    if (!error)
        error = rl_done_check(done);
    return error ? error : start(rl_joint_new(client, question), done, data);
}

int rl_front_start_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each,
                         redlock_answer_fn *done, void *data)
{
    struct rl_joint *joint;
    int error = rl_front_enter(client, false);

    if (!error)
        error = rl_audit_check(client->front->member[0], ttl_ms, each);
    if (!error)
        error = rl_done_check(done);
    if (error)
        return error;
    joint = rl_joint_new(client, RL_JOINT_AUDIT);
    if (joint) {
        joint->ttl_ms = ttl_ms;
        joint->each = each;
    }
    return start(joint, done, data);
}

/* Asks and waits. *out is to be freed, unless it is NULL. */
static int ask(struct rl_joint *joint, struct rl_joint **out)
{
    int error = joint ? rl_joint_wait(joint) : REDLOCK_NOMEM;

    *out = error ? NULL : joint;
    return error ? error : explain(joint);
}

int rl_front_poll(redlock *client, enum rl_op op, redlock_report *report)
{
    struct rl_joint *joint;
    int error = report ? rl_struct_check("redlock_report", report) : REDLOCK_OK;

    if (error)
        return error;
    error =
        ask(rl_joint_new(client, op == RL_OP_PING ? RL_JOINT_PING : RL_JOINT_ADMIT), &joint);
    if (!joint)
        return error;
    if (report && report_of(joint))
        rl_struct_fill(report, report_of(joint), sizeof *report);
    rl_joint_free(joint);
    return error;
}

int rl_front_list(redlock *client, redlock_name_fn *each, void *data)
{
    const char **names = NULL;
    struct rl_joint *joint;
    size_t count = 0;
    int error;

    if (!each)
        return rl_detail(REDLOCK_INVAL, "there is no function to tell the names to");
    error = ask(rl_joint_new(client, RL_JOINT_LIST), &joint);
    if (!joint)
        return error;
    if (!error) {
        names = merge_names(joint, &count);
        if (!names)
            error = rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++)
        each(names[i], data);
    free(names);
    rl_joint_free(joint);
    return error;
}

int rl_front_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each, void *data)
{
    struct rl_joint *joint;
    int error = rl_audit_check(client->front->member[0], ttl_ms, each);

    if (error)
        return error;
    joint = rl_joint_new(client, RL_JOINT_AUDIT);
    if (joint)
        joint->ttl_ms = ttl_ms;
    error = ask(joint, &joint);
    if (!joint)
        return error;
    if (!error)
        tell_checks(joint, each, data);
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
