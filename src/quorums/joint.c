/* SPDX-License-Identifier: BSD-2-Clause */
#include "quorums/joint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/detail.h"
#include "drive/order.h"
#include "drive/turn.h"

#define SENTENCE_MAX 512
/* Names that an audit uses for a moment, wherever it is. */
#define AUDIT_HEAD "doctor."

struct rl_joint *rl_joint_new(const struct rl_front *front,
                              const struct rl_question_terms *terms, bool blocks)
{
    struct rl_joint *joint = calloc(1, sizeof *joint + front->count * sizeof joint->part[0]);

    if (!joint) {
        rl_detail(REDLOCK_NOMEM, "out of memory");
        return NULL;
    }
    joint->front = front;
    joint->terms = *terms;
    joint->blocks = blocks;
    atomic_init(&joint->left, (unsigned)front->count);
    atomic_init(&joint->forgotten, false);
    for (size_t i = 0; i < front->count; i++) {
        joint->part[i].joint = joint;
        joint->part[i].index = i;
    }
    return joint;
}

void rl_joint_free(struct rl_joint *joint)
{
    for (size_t i = 0; i < joint->front->count; i++) {
        struct rl_part *part = &joint->part[i];

        for (size_t n = 0; n < part->name_count; n++)
            free(part->names[n]);
        free(part->names);
        free(part->detail);
        rl_check_list_free(&part->checks);
    }
    free(joint);
}

/* ---- the end ---- */

/* All parts are answered. */
static void end(struct rl_joint *joint)
{
    redlock *first = joint->front->member[0];

    if (joint->forgotten) {
        rl_joint_free(joint);
    } else if (!joint->blocks) {
        rl_joint_tell(joint);
        rl_joint_free(joint);
    } else {
        pthread_mutex_lock(&first->mutex);
        joint->is_complete = true;
        if (joint->call) {
            rl_call_finish(joint->call, REDLOCK_OK);
            rl_wake(first);
        }
        pthread_mutex_unlock(&first->mutex);
    }
}

static void end_part(struct rl_joint *joint)
{
    if (atomic_fetch_sub(&joint->left, 1) == 1)
        end(joint);
}

/* One forgotten part is enough: the caller will hear nothing. */
static bool forget_part(void *data)
{
    struct rl_joint *joint = ((struct rl_part *)data)->joint;
    bool is_news = !atomic_exchange(&joint->forgotten, true);

    end_part(joint);
    return is_news;
}

/* ---- a part ---- */

static void keep_names(struct rl_part *part, const redlock_answer *answer)
{
    if (answer->name_count == 0)
        return;
    part->names = calloc(answer->name_count, sizeof *part->names);
    for (size_t i = 0; part->names && i < answer->name_count; i++) {
        part->names[i] = strdup(answer->names[i]);
        if (!part->names[i])
            break;
        part->name_count++;
    }
    if (part->name_count == answer->name_count)
        return;
    part->error = REDLOCK_NOMEM;
    part->detail = strdup("out of memory");
}

static void hear_part(int error, const redlock_answer *answer, void *data)
{
    struct rl_part *part = data;

    part->error = error;
    if (error)
        part->detail = strdup(redlock_detail());
    if (answer->report)
        part->report = *answer->report;
    keep_names(part, answer);
    end_part(part->joint);
}

static void keep_check(const redlock_check *check, void *data)
{
    rl_check_list_add(&((struct rl_part *)data)->checks, check);
}

static struct rl_asker asker_of(struct rl_part *part, redlock_answer_fn *done)
{
    const struct rl_joint *joint = part->joint;

    return (struct rl_asker){
        .done = done,
        .data = part,
        .key = joint->blocks ? joint : joint->terms.asker.key,
        .forgotten = forget_part,
    };
}

/* ---- an audit: each member's own, and whether locks are where they should be ---- */

/* How many names live in another quorum, and one of them. */
static size_t count_strangers(const struct rl_part *part, const redlock_answer *answer,
                              const char **example)
{
    size_t count = 0;

    for (size_t i = 0; i < answer->name_count; i++) {
        const char *name = answer->names[i];

        if (rl_front_home(part->joint->front, name, strlen(name)) == part->index ||
            strncmp(name, AUDIT_HEAD, strlen(AUDIT_HEAD)) == 0)
            continue;
        if (count++ == 0)
            *example = name;
    }
    return count;
}

/*
 * A lock that is where no client of this configuration would look for it was put there by a client
 * that has another set of quorums: those two do not exclude each other. It is the one sign of that
 * mistake which the nodes can show, and its label says which client that is.
 */
static void describe_stranger(struct rl_part *part, const char *example,
                              const redlock_info *info, char text[SENTENCE_MAX])
{
    const redlock_holder *holder =
        info && info->shown_holder_count > 0 ? &info->shown_holder[0] : NULL;
    size_t count = part->stranger_count;

    snprintf(text, SENTENCE_MAX, "%zu lock%s on it that live%s in another quorum: '%.128s'%s%s",
             count, count == 1 ? "" : "s", count == 1 ? "s" : "", example,
             holder ? ", held by " : "",
             !holder            ? ""
             : holder->label[0] ? holder->label
                                : "a client without a label");
}

static void end_audit(struct rl_part *part, int32_t verdict, const char *text,
                      const char *remedy)
{
    redlock_check check = {
        .size = sizeof check,
        .address = "",
        .name = "placement",
        .verdict = verdict,
        .text = text,
        .remedy = remedy,
        .quorum = part->joint->front->member[part->index]->quorum_name,
    };

    keep_check(&check, part);
    end_part(part->joint);
}

/* Other errors of these questions are findings of the audit. */
static void note_cancellation(struct rl_part *part, int error)
{
    if (error != REDLOCK_CANCELED)
        return;
    part->error = error;
    part->detail = strdup(redlock_detail());
}

static void hear_stranger(int error, const redlock_answer *answer, void *data)
{
    struct rl_part *part = data;
    char text[SENTENCE_MAX];

    note_cancellation(part, error);
    describe_stranger(part, answer->name, error ? NULL : answer->info, text);
    end_audit(
        part, REDLOCK_CHECK_FAIL, text,
        "another client has a different set of quorums, and does not exclude this one; give "
        "all the same set (after a change of it: wait for max_ttl)");
}

static void hear_names(int error, const redlock_answer *answer, void *data)
{
    struct rl_part *part = data;
    redlock *member = part->joint->front->member[part->index];
    struct rl_question_terms terms = {.ask = RL_ASK_QUERY,
                                      .asker = asker_of(part, hear_stranger)};

    note_cancellation(part, error);
    part->stranger_count = error ? 0 : count_strangers(part, answer, &terms.name);
    if (member->prefix_size == 0)
        end_audit(part, REDLOCK_CHECK_UNKNOWN,
                  "without a prefix, keys of other programs cannot be told from locks", "");
    else if (error)
        end_audit(part, REDLOCK_CHECK_UNKNOWN, "too few nodes list their locks", "");
    else if (part->stranger_count == 0)
        end_audit(part, REDLOCK_CHECK_OK, "every lock on it lives here", "");
    else if (rl_client_ask(member, &terms, false) != REDLOCK_OK)
        hear_stranger(REDLOCK_NOMEM, &(redlock_answer){.name = terms.name}, part);
}

static void hear_audit(int error, const redlock_answer *answer, void *data)
{
    struct rl_part *part = data;
    redlock *member = part->joint->front->member[part->index];
    struct rl_question_terms list = {.ask = RL_ASK_LIST, .asker = asker_of(part, hear_names)};

    if (error)
        hear_part(error, answer, data);
    else if (member->prefix_size == 0 || rl_client_ask(member, &list, false) != REDLOCK_OK)
        hear_names(REDLOCK_NOMEM, answer, part);
}

/* ---- asking ---- */

static struct rl_question *new_question(struct rl_part *part)
{
    struct rl_question_terms terms = part->joint->terms;

    terms.asker = asker_of(part, terms.ask == RL_ASK_AUDIT ? hear_audit : hear_part);
    terms.each = keep_check;
    return rl_question_new(&terms);
}

int rl_joint_start(struct rl_joint *joint)
{
    const struct rl_front *front = joint->front;
    struct rl_question *question[REDLOCK_QUORUMS_MAX] = {0};
    size_t count = 0;
    int error = REDLOCK_OK;

    while (count < front->count && (question[count] = new_question(&joint->part[count])))
        count++;
    if (count < front->count)
        error = REDLOCK_NOMEM;
    /* Only the first may be refused: from then on an answer is certain. */
    if (!error) {
        error = rl_question_start(front->member[0], question[0]);
        question[0] = NULL;
    }
    if (error) {
        for (size_t i = 0; i < count; i++)
            rl_question_free(question[i]);
        rl_joint_free(joint);
        return error;
    }
    for (size_t i = 1; i < count; i++)
        rl_question_join(front->member[i], question[i]);
    return REDLOCK_OK;
}

struct joint_call {
    struct rl_call call; /* first */
    struct rl_joint *joint;
};

static void carry_out_joint(redlock *client, struct rl_order *order)
{
    struct joint_call *j = (struct joint_call *)order;

    (void)client; /* the first member, whose mutex is held */
    if (j->joint->is_complete)
        rl_call_finish(&j->call, REDLOCK_OK);
    else
        j->joint->call = &j->call;
}

/* One member's driver wakes the caller, which drives the first member and serves the others. */
int rl_joint_wait(struct rl_joint *joint)
{
    const struct rl_front *front = joint->front;
    struct joint_call j = {.call.order.carry_out = carry_out_joint, .joint = joint};
    int error;

    /* So that no part goes into a connection that ended while no thread looked. */
    for (size_t i = 0; i < front->count; i++)
        if (!front->member[i]->threaded)
            rl_front_serve(front->member[i]);
    error = rl_joint_start(joint);
    return error ? error : rl_call_wait(front->member[0], &j.call);
}
