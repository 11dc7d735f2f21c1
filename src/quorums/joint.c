/* SPDX-License-Identifier: BSD-2-Clause */
#include "quorums/front.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/audit.h"

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

/* The work of such a question; it is there from the beginning. */
struct joint {
    struct rl_question *question;
    const struct rl_reader *reader;
    uint32_t stamp;               /* the process that asks */
    atomic_uint reference_count;  /* its caller's or the client's, and the parts' */
    atomic_uint unanswered_count; /* parts */
    atomic_bool canceled;
    const char **names; /* LIST: those of the parts */
    size_t part_count;
    struct part part[];
};

/* Drops one reference: that of the parts once they have ended, else they are canceled. */
static bool release(struct rl_question *question)
{
    struct joint *joint = question->work;

    /* In a child of the process no driver ends the parts. */
    if (joint->stamp != rl_process_stamp())
        atomic_store(&joint->reference_count, 1);
    atomic_store(&joint->canceled, true);
    if (atomic_fetch_sub(&joint->reference_count, 1) > 1)
        return false;
    for (size_t i = 0; i < joint->part_count; i++)
        for (int k = 0; k < QUESTIONS; k++)
            rl_question_free(joint->part[i].question[k]);
    free(joint->names);
    return true;
}

/* ---- one answer ---- */

/*
 * Are locks where they should be? One that is where no client of this configuration would look
 * for it was put there by a client that has another set of quorums: those two do not exclude
 * each other. It is the one sign of that mistake which the nodes can show, and its label says
 * which client that is.
 */
static void check_placement(struct joint *joint, const struct part *part)
{
    const struct rl_question *names = part->question[NAMES];
    const struct rl_question *query = part->question[STRANGER];
    const redlock_info *info = query && !query->error ? query->answer.info : NULL;
    const char *label = info && info->holders_shown ? info->holder.label : NULL;
    size_t count = part->stranger_count;
    char text[SENTENCE_MAX];
    redlock_check check = {
        .address = "",
        .name = "placement",
        .verdict = REDLOCK_CHECK_UNKNOWN,
        .reason = REDLOCK_REASON_PLACEMENT,
        .text = text,
        .remedy = "",
        .quorum = part->member->quorum_name,
    };

    if (part->member->prefix_size == 0) {
        check.text = "without a prefix, keys of other programs cannot be told from locks";
    } else if (!names || names->error) {
        check.text = "too few nodes list their locks";
    } else if (count == 0) {
        check.verdict = REDLOCK_CHECK_OK;
        check.reason = REDLOCK_REASON_NONE;
        check.text = "every lock on it lives here";
    } else {
        check.verdict = REDLOCK_CHECK_FAIL;
        check.remedy = rl_remedy(REDLOCK_REASON_PLACEMENT);
        snprintf(text, sizeof text,
                 "%zu lock%s on it that live%s in another quorum: '%.128s'%s%s", count,
                 count == 1 ? "" : "s", count == 1 ? "s" : "", part->stranger,
                 label ? ", held by " : "",
                 !label     ? ""
                 : label[0] ? label
                            : "a client without a label");
    }
    rl_question_add_check(joint->question, &check);
}

/* The names of each part are in order. */
static void merge_names(struct joint *joint)
{
    redlock_answer *answer = &joint->question->answer;
    size_t next[REDLOCK_QUORUMS_MAX] = {0};

    joint->names = calloc(REDLOCK_LIST_MAX, sizeof *joint->names);
    if (!joint->names) {
        joint->question->error = rl_detail(REDLOCK_NOMEM, "out of memory");
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
static const struct rl_question *find_failure(const struct part *part)
{
    for (int k = 0; k < QUESTIONS; k++) {
        const struct rl_question *q = part->question[k];

        if (q && q->error && (k == FIRST || q->error == REDLOCK_CANCELED))
            return q;
    }
    return NULL;
}

/* By the first member: all parts are answered. */
static void carry_out_end(redlock *client, struct rl_order *order)
{
    struct rl_question *question =
        (struct rl_question *)((char *)order - offsetof(struct rl_question, call.order));
    struct joint *joint = question->work;
    const struct rl_question *failed = NULL;

    if (question->state == RL_ASKED) { /* else it was canceled */
        for (size_t i = 0; i < joint->part_count && !failed; i++)
            failed = find_failure(&joint->part[i]);
        question->answer.report =
            (failed ? failed : joint->part[0].question[FIRST])->answer.report;
        if (failed)
            question->error = rl_detail(failed->error, "%s", rl_question_detail(failed));
        else if (question->terms.ask == RL_ASK_LIST)
            merge_names(joint);
        for (size_t i = 0; !failed && i < joint->part_count; i++) {
            const redlock_answer *audit = &joint->part[i].question[FIRST]->answer;

            for (size_t n = 0; n < audit->check_count; n++)
                rl_question_add_check(question, &audit->checks[n]);
            if (question->terms.ask == RL_ASK_AUDIT)
                check_placement(joint, &joint->part[i]);
        }
        rl_question_answer_checks(question);
        rl_question_finish(client, question);
    }
    rl_question_free(question);
}

/* ---- parts ---- */

static void hear_part(redlock *member, struct rl_question *q);

/* False: out of memory. */
static bool prepare(struct part *part, int which, const struct rl_question_terms *terms)
{
    struct rl_question *q = part->question[which] = rl_ask_new(terms);

    if (!q)
        return false;
    q->data = part;
    q->ended = hear_part;
    q->canceled = &part->joint->canceled;
    return true;
}

/* Goes on with an audit. False: there is nothing more to ask. */
static bool ask_more(struct part *part, const struct rl_question *answered)
{
    const redlock_answer *answer = &answered->answer;
    struct rl_question_terms terms = {.ask = RL_ASK_LIST};
    int which = answered == part->question[FIRST] ? NAMES : STRANGER;

    if (part->joint->question->terms.ask != RL_ASK_AUDIT || answered->error ||
        answered == part->question[STRANGER] || part->member->prefix_size == 0)
        return false;
    for (size_t i = 0; which == STRANGER && i < answer->name_count; i++) {
        const char *name = answer->names[i];

        if (rl_home_of(part->joint->reader, name, strlen(name)) == part->member->quorum_index ||
            strncmp(name, AUDIT_HEAD, strlen(AUDIT_HEAD)) == 0)
            continue;
        if (part->stranger_count++ == 0)
            part->stranger = name;
    }
    if (which == STRANGER)
        terms = (struct rl_question_terms){.ask = RL_ASK_QUERY, .name = part->stranger};
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
    redlock *first = joint->reader->member[0];

    (void)member;
    if (ask_more(part, q) || atomic_fetch_sub(&joint->unanswered_count, 1) > 1)
        return;
    /* The order of a blocked caller has been carried out: it is free for this. */
    joint->question->call.order.carry_out = carry_out_end;
    rl_order_put(first, &joint->question->call.order);
    rl_wake(first);
}

static bool next(redlock *client, struct rl_question *question)
{
    struct joint *joint = question->work;

    (void)client;
    for (size_t i = 0; i < joint->part_count; i++)
        if (!prepare(&joint->part[i], FIRST, &question->terms)) {
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
    .release = release,
};

struct rl_question *rl_joint_new(const struct rl_reader *reader,
                                 const struct rl_question_terms *terms)
{
    struct joint *joint = calloc(1, sizeof *joint + reader->count * sizeof joint->part[0]);
    struct rl_question *question = joint ? rl_question_new(&joint_kind, terms) : NULL;

    if (!question) {
        free(joint);
        return NULL;
    }
    question->work = joint;
    joint->question = question;
    joint->reader = reader;
    joint->stamp = rl_process_stamp();
    atomic_init(&joint->reference_count, 1);
    atomic_init(&joint->unanswered_count, (unsigned)reader->count);
    joint->part_count = reader->count;
    for (size_t i = 0; i < reader->count; i++) {
        joint->part[i].joint = joint;
        joint->part[i].member = reader->member[i];
    }
    return question;
}
