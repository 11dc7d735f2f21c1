/* SPDX-License-Identifier: BSD-2-Clause */
#include "quorums/sharded.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/audit.h"

#define SENTENCE_MAX 512
/* Names that an audit uses for a moment, wherever it is. */
#define AUDIT_HEAD "doctor."

/*
 * What one member carries out, one job after the other. They are kept, since the answers are
 * in them. An audit goes on with a list of the locks, and with a query of one that is
 * misplaced.
 */
enum { FIRST, NAMES, STRANGER, JOBS };

struct part {
    struct gather *gather;
    redlock *member;
    struct rl_job *job[JOBS]; /* NULL: not begun, or no memory for it */
    size_t stranger_count;    /* AUDIT: locks on its nodes that live in another quorum */
    const char *stranger;     /* one of them */
};

/* The work of such a job; it is there from the beginning. */
struct gather {
    struct rl_job *job;
    const struct rl_reader *reader;
    uint32_t stamp;               /* of the process that began it */
    atomic_uint reference_count;  /* its caller's or the client's, and the parts' */
    atomic_uint unanswered_count; /* parts */
    atomic_bool canceled;
    const char **names; /* LIST: those of the parts */
    size_t part_count;
    struct part part[];
};

/* Drops one reference: that of the parts once they have ended, else they are canceled. */
static bool release(struct rl_job *job)
{
    struct gather *gather = job->work;

    /* In a child of the process no driver ends the parts. */
    if (gather->stamp != rl_process_stamp())
        atomic_store(&gather->reference_count, 1);
    atomic_store(&gather->canceled, true);
    if (atomic_fetch_sub(&gather->reference_count, 1) > 1)
        return false;
    for (size_t i = 0; i < gather->part_count; i++)
        for (int k = 0; k < JOBS; k++)
            rl_job_free(gather->part[i].job[k]);
    free(gather->names);
    return true;
}

/* ---- one answer ---- */

/*
 * Are locks where they should be? One that is where no client of this configuration would look
 * for it was put there by a client that has another set of quorums: those two do not exclude
 * each other. It is the one sign of that mistake which the nodes can show, and its label shows
 * which client that is.
 */
static void check_placement(struct gather *gather, const struct part *part)
{
    const struct rl_job *names = part->job[NAMES];
    const struct rl_job *query = part->job[STRANGER];
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
        check.text = "without a prefix, keys of other programs look like locks";
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
    rl_job_add_check(gather->job, &check);
}

/* The names of each part are in order. */
static void merge_names(struct gather *gather)
{
    redlock_answer *answer = &gather->job->answer;
    size_t next[REDLOCK_QUORUMS_MAX] = {0};

    gather->names = calloc(REDLOCK_LIST_MAX, sizeof *gather->names);
    if (!gather->names) {
        gather->job->error = rl_detail(REDLOCK_NOMEM, "out of memory");
        return;
    }
    while (answer->name_count < REDLOCK_LIST_MAX) {
        const char *least = NULL;
        size_t from = 0;

        for (size_t i = 0; i < gather->part_count; i++) {
            const redlock_answer *part = &gather->part[i].job[FIRST]->answer;

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
        if (answer->name_count == 0 ||
            strcmp(gather->names[answer->name_count - 1], least) != 0)
            gather->names[answer->name_count++] = least;
    }
    answer->names = gather->names;
}

/* Of later jobs of an audit, errors are findings, unless the client is being closed. */
static const struct rl_job *find_failure(const struct part *part)
{
    for (int k = 0; k < JOBS; k++) {
        const struct rl_job *job = part->job[k];

        if (job && job->error && (k == FIRST || job->error == REDLOCK_CANCELED))
            return job;
    }
    return NULL;
}

/* By the first member: all parts are answered. */
static void carry_out_end(redlock *client, struct rl_submission *submission)
{
    struct rl_job *job =
        (struct rl_job *)((char *)submission - offsetof(struct rl_job, call.submission));
    struct gather *gather = job->work;
    const struct rl_job *failed = NULL;

    if (job->state == RL_SENT) { /* else it was canceled */
        for (size_t i = 0; i < gather->part_count && !failed; i++)
            failed = find_failure(&gather->part[i]);
        job->answer.report = (failed ? failed : gather->part[0].job[FIRST])->answer.report;
        if (failed)
            job->error = rl_detail(failed->error, "%s", rl_job_detail(failed));
        else if (job->terms.type == RL_JOB_LIST)
            merge_names(gather);
        for (size_t i = 0; !failed && i < gather->part_count; i++) {
            const redlock_answer *audit = &gather->part[i].job[FIRST]->answer;

            for (size_t n = 0; n < audit->check_count; n++)
                rl_job_add_check(job, &audit->checks[n]);
            if (job->terms.type == RL_JOB_AUDIT)
                check_placement(gather, &gather->part[i]);
        }
        rl_job_answer_checks(job);
        rl_job_finish(client, job);
    }
    rl_job_free(job);
}

/* ---- parts ---- */

static void part_ended(redlock *member, struct rl_job *job);

/* False: out of memory. */
static bool prepare(struct part *part, int which, const struct rl_job_terms *terms)
{
    struct rl_job *job = part->job[which] = rl_job_new(terms);

    if (!job)
        return false;
    job->data = part;
    job->ended = part_ended;
    job->canceled = &part->gather->canceled;
    return true;
}

/* Goes on with an audit. False: that was the last job. */
static bool go_on(struct part *part, const struct rl_job *answered)
{
    const redlock_answer *answer = &answered->answer;
    struct rl_job_terms terms = {.type = RL_JOB_LIST};
    int which = answered == part->job[FIRST] ? NAMES : STRANGER;

    if (part->gather->job->terms.type != RL_JOB_AUDIT || answered->error ||
        answered == part->job[STRANGER] || part->member->prefix_size == 0)
        return false;
    for (size_t i = 0; which == STRANGER && i < answer->name_count; i++) {
        const char *name = answer->names[i];

        if (rl_quorum_of(part->gather->reader, name, strlen(name)) ==
                part->member->quorum_index ||
            strncmp(name, AUDIT_HEAD, strlen(AUDIT_HEAD)) == 0)
            continue;
        if (part->stranger_count++ == 0)
            part->stranger = name;
    }
    if (which == STRANGER)
        terms = (struct rl_job_terms){.type = RL_JOB_QUERY, .name = part->stranger};
    if ((which == STRANGER && !part->stranger) || !prepare(part, which, &terms))
        return false;
    rl_job_join(part->member, part->job[which]);
    return true;
}

/* With the mutex of the member. */
static void part_ended(redlock *member, struct rl_job *job)
{
    struct part *part = job->data;
    struct gather *gather = part->gather;
    redlock *first = gather->reader->member[0];

    (void)member;
    if (go_on(part, job) || atomic_fetch_sub(&gather->unanswered_count, 1) > 1)
        return;
    /* The submission of a blocked caller has been carried out: it is free for this. */
    gather->job->call.submission.carry_out = carry_out_end;
    rl_submit(first, &gather->job->call.submission);
    rl_wake(first);
}

static bool next(redlock *client, struct rl_job *job)
{
    struct gather *gather = job->work;

    (void)client;
    for (size_t i = 0; i < gather->part_count; i++)
        if (!prepare(&gather->part[i], FIRST, &job->terms)) {
            job->error = rl_detail(REDLOCK_NOMEM, "out of memory");
            return false;
        }
    atomic_fetch_add(&gather->reference_count, 1);
    for (size_t i = 0; i < gather->part_count; i++)
        rl_job_join(gather->part[i].member, gather->part[i].job[FIRST]);
    return true;
}

static const struct rl_job_kind gather_kind = {
    .class = RL_CLASS_GATHER,
    .next = next,
    .release = release,
};

struct rl_job *rl_gather_new(const struct rl_reader *reader, const struct rl_job_terms *terms)
{
    struct gather *gather = calloc(1, sizeof *gather + reader->count * sizeof gather->part[0]);
    struct rl_job *job = gather ? rl_job_new_as(&gather_kind, terms) : NULL;

    if (!job) {
        free(gather);
        return NULL;
    }
    job->work = gather;
    gather->job = job;
    gather->reader = reader;
    gather->stamp = rl_process_stamp();
    atomic_init(&gather->reference_count, 1);
    atomic_init(&gather->unanswered_count, (unsigned)reader->count);
    gather->part_count = reader->count;
    for (size_t i = 0; i < reader->count; i++) {
        gather->part[i].gather = gather;
        gather->part[i].member = reader->member[i];
    }
    return job;
}
