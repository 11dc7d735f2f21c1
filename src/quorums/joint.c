/* SPDX-License-Identifier: BSD-2-Clause */
#include "quorums/joint.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/check_list.h"
#include "core/audit.h"
#include "drive/detail.h"
#include "drive/order.h"
#include "drive/turn.h"

#define SENTENCE_MAX 512
/* Names that an audit uses for a moment, wherever it is. */
#define AUDIT_HEAD "doctor."

/*
 * What one member is asked, one question after the other. They are kept, since the answers are
 * in them. An audit goes on with a list of the locks, and with a query of one that is
 * misplaced.
 */
enum { FIRST, NAMES, STRANGER, QUESTIONS };

struct part {
    struct joint *joint;
    redlock *member;
    struct rl_question *question[QUESTIONS]; /* NULL: not asked, or no memory for it */
    size_t stranger_count; /* AUDIT: locks on its nodes that live in another quorum */
    const char *stranger;  /* one of them */
};

struct joint {
    struct rl_question question; /* first */
    const struct rl_front *front;
    struct rl_question_terms terms;
    uint32_t stamp;               /* the process that asks */
    atomic_uint reference_count;  /* its caller's or the client's, and the parts' */
    atomic_uint unanswered_count; /* parts */
    atomic_bool canceled;
    const char **names;          /* LIST: those of the parts */
    struct rl_check_list checks; /* AUDIT */
    size_t part_count;
    struct part part[];
};

static void unref(struct joint *joint)
{
    if (atomic_fetch_sub(&joint->reference_count, 1) > 1)
        return;
    for (size_t i = 0; i < joint->part_count; i++)
        for (int k = 0; k < QUESTIONS; k++)
            rl_question_free(joint->part[i].question[k]);
    rl_check_list_free(&joint->checks);
    free(joint->names);
    free(joint);
}

static void free_joint(struct rl_question *question)
{
    struct joint *joint = (struct joint *)question;

    /* In a child of the process no driver ends the parts. */
    if (joint->stamp != rl_process_stamp())
        atomic_store(&joint->reference_count, 1);
    atomic_store(&joint->canceled, true);
    unref(joint);
}

/* ---- one answer ---- */

static void add_placement(struct joint *joint, const struct part *part, int32_t verdict,
                          const char *text)
{
    enum redlock_reason reason =
        verdict == REDLOCK_CHECK_OK ? REDLOCK_REASON_NONE : REDLOCK_REASON_PLACEMENT;

    rl_check_list_add(&joint->checks,
                      &(redlock_check){
                          .address = "",
                          .name = "placement",
                          .verdict = verdict,
                          .reason = (int32_t)reason,
                          .text = text,
                          .remedy = verdict == REDLOCK_CHECK_FAIL ? rl_remedy(reason) : "",
                          .quorum = part->member->quorum_name,
                      });
}

/*
 * A lock that is where no client of this configuration would look for it was put there by a
 * client that has another set of quorums: those two do not exclude each other. It is the one
 * sign of that mistake which the nodes can show, and its label says which client that is.
 */
static void describe_strangers(struct joint *joint, const struct part *part)
{
    const struct rl_question *query = part->question[STRANGER];
    const redlock_info *info = query && !query->error ? query->answer.info : NULL;
    const char *label = info && info->holders_shown ? info->holder.label : NULL;
    size_t count = part->stranger_count;
    char text[SENTENCE_MAX];

    snprintf(text, sizeof text, "%zu lock%s on it that live%s in another quorum: '%.128s'%s%s",
             count, count == 1 ? "" : "s", count == 1 ? "s" : "", part->stranger,
             label ? ", held by " : "",
             !label     ? ""
             : label[0] ? label
                        : "a client without a label");
    add_placement(joint, part, REDLOCK_CHECK_FAIL, text);
}

/* Each member's own checks, and whether locks are where they should be. */
static void merge_checks(struct joint *joint)
{
    for (size_t i = 0; i < joint->part_count; i++) {
        const struct part *part = &joint->part[i];
        const struct rl_question *names = part->question[NAMES];
        const redlock_answer *audit = &part->question[FIRST]->answer;

        for (size_t n = 0; n < audit->check_count; n++)
            rl_check_list_add(&joint->checks, &audit->checks[n]);
        if (part->member->prefix_size == 0)
            add_placement(joint, part, REDLOCK_CHECK_UNKNOWN,
                          "without a prefix, keys of other programs cannot be told from locks");
        else if (!names || names->error)
            add_placement(joint, part, REDLOCK_CHECK_UNKNOWN, "too few nodes list their locks");
        else if (part->stranger_count == 0)
            add_placement(joint, part, REDLOCK_CHECK_OK, "every lock on it lives here");
        else
            describe_strangers(joint, part);
    }
    rl_check_list_answer(&joint->checks, &joint->question);
}

/* The names of each part are in order. */
static void merge_names(struct joint *joint)
{
    redlock_answer *answer = &joint->question.answer;
    size_t next[REDLOCK_QUORUMS_MAX] = {0};

    joint->names = calloc(REDLOCK_LIST_MAX, sizeof *joint->names);
    if (!joint->names) {
        joint->question.error = rl_detail(REDLOCK_NOMEM, "out of memory");
        return;
    }
    while (answer->name_count < REDLOCK_LIST_MAX) {
        const char *least = NULL;
        size_t from = 0;

        for (size_t i = 0; i < joint->part_count; i++) {
            const redlock_answer *part = &joint->part[i].question[FIRST]->answer;

            if (next[i] < part->name_count &&
                (!least || strcmp(part->names[next[i]], least) < 0)) {
                least = part->names[next[i]];
                from = i;
            }
        }
        if (!least)
            break;
        next[from]++;
        /* In two quorums only while a client has another set of them: see placement. */
        if (answer->name_count == 0 || strcmp(joint->names[answer->name_count - 1], least) != 0)
            joint->names[answer->name_count++] = least;
    }
    answer->names = joint->names;
}

/* Of later questions of an audit, errors are findings, unless the client is being closed. */
static const struct rl_question *first_failure(const struct joint *joint)
{
    for (size_t i = 0; i < joint->part_count; i++)
        for (int k = 0; k < QUESTIONS; k++) {
            const struct rl_question *q = joint->part[i].question[k];

            if (q && q->error && (k == FIRST || q->error == REDLOCK_CANCELED))
                return q;
        }
    return NULL;
}

static void conclude(struct joint *joint)
{
    const struct rl_question *failed = first_failure(joint);
    const struct rl_question *reporter = failed ? failed : joint->part[0].question[FIRST];

    joint->question.answer.report = reporter->answer.report;
    if (failed)
        joint->question.error = rl_detail(failed->error, "%s", rl_question_detail(failed));
    else if (joint->terms.ask == RL_ASK_LIST)
        merge_names(joint);
    else if (joint->terms.ask == RL_ASK_AUDIT)
        merge_checks(joint);
}

/* By the first member: all parts are answered. */
static void carry_out_end(redlock *client, struct rl_order *order)
{
    struct joint *joint =
        (struct joint *)((char *)order - offsetof(struct joint, question.call.order));

    if (joint->question.state == RL_ASKED) { /* else it was canceled */
        conclude(joint);
        rl_question_finish(client, &joint->question);
    }
    unref(joint);
}

/* ---- parts ---- */

static void hear_part(redlock *member, struct rl_question *q);

/* False: out of memory. */
static bool prepare(struct part *part, int which, const struct rl_question_terms *terms)
{
    struct rl_question *q = part->question[which] = rl_question_new(terms);

    if (!q)
        return false;
    q->data = part;
    q->ended = hear_part;
    q->canceled = &part->joint->canceled;
    return true;
}

static void find_strangers(struct part *part)
{
    const redlock_answer *answer = &part->question[NAMES]->answer;

    for (size_t i = 0; i < answer->name_count; i++) {
        const char *name = answer->names[i];

        if (rl_front_home(part->joint->front, name, strlen(name)) ==
                part->member->quorum_index ||
            strncmp(name, AUDIT_HEAD, strlen(AUDIT_HEAD)) == 0)
            continue;
        if (part->stranger_count++ == 0)
            part->stranger = name;
    }
}

/* Goes on with an audit. False: there is nothing more to ask. */
static bool ask_more(struct part *part, const struct rl_question *answered)
{
    int which = answered == part->question[FIRST] ? NAMES : STRANGER;
    struct rl_question_terms terms = {.ask = RL_ASK_LIST};

    if (part->joint->terms.ask != RL_ASK_AUDIT || answered->error ||
        answered == part->question[STRANGER] || part->member->prefix_size == 0)
        return false;
    if (which == STRANGER) {
        find_strangers(part);
        terms = (struct rl_question_terms){.ask = RL_ASK_QUERY, .name = part->stranger};
    }
    if ((which == STRANGER && !part->stranger) || !prepare(part, which, &terms))
        return false;
    rl_question_join(part->member, part->question[which]);
    return true;
}

/* With the mutex of the member. */
static void hear_part(redlock *member, struct rl_question *q)
{
    struct part *part = q->data;
    struct joint *joint = part->joint;
    redlock *first = joint->front->member[0];

    (void)member;
    if (ask_more(part, q) || atomic_fetch_sub(&joint->unanswered_count, 1) > 1)
        return;
    /* The order of a blocked caller has been carried out: it is free for this. */
    joint->question.call.order.carry_out = carry_out_end;
    rl_order_put(first, &joint->question.call.order);
    rl_wake(first);
}

static bool next(redlock *client, struct rl_question *question)
{
    struct joint *joint = (struct joint *)question;

    (void)client;
    for (size_t i = 0; i < joint->part_count; i++)
        if (!prepare(&joint->part[i], FIRST, &joint->terms)) {
            question->error = rl_detail(REDLOCK_NOMEM, "out of memory");
            return false;
        }
    atomic_fetch_add(&joint->reference_count, 1);
    for (size_t i = 0; i < joint->part_count; i++)
        rl_question_join(joint->part[i].member, joint->part[i].question[FIRST]);
    return true;
}

static const struct rl_question_kind joint_kind = {
    .turn = RL_TURN_JOINT,
    .next = next,
    .free = free_joint,
};

struct rl_question *rl_joint_new(const struct rl_front *front,
                                 const struct rl_question_terms *terms)
{
    struct joint *joint = calloc(1, sizeof *joint + front->count * sizeof joint->part[0]);

    if (!joint)
        return NULL;
    joint->question.kind = &joint_kind;
    joint->front = front;
    joint->terms = *terms;
    joint->stamp = rl_process_stamp();
    atomic_init(&joint->reference_count, 1);
    atomic_init(&joint->unanswered_count, (unsigned)front->count);
    joint->part_count = front->count;
    for (size_t i = 0; i < front->count; i++) {
        joint->part[i].joint = joint;
        joint->part[i].member = front->member[i];
    }
    return &joint->question;
}
