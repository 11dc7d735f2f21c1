/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which locks are there? Every node lists its keys, some at a time, until its cursor has come
 * round. A name that any node has is reported once: nodes list in any order and may repeat
 * themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "client/calls.h"

#define PATTERN_MAX (2 * REDLOCK_PREFIX_MAX + 2)
/* A server with millions of other keys is not searched for ever. */
#define ROUNDS_MAX 20000
#define MISSES_MAX 4

/* What a list needs once it is sent. */
struct listing {
    const redlock *client;
    int round;
    struct rl_survey survey;
    char pattern[PATTERN_MAX];
    uint8_t misses[REDLOCK_NODES_MAX];           /* times in a row that it was too slow */
    struct rl_node_vote vote[REDLOCK_NODES_MAX]; /* of the last request to a node */
    char **names;                                /* in order, with room for REDLOCK_LIST_MAX */
    size_t name_count;
    bool out_of_memory;
    redlock_report report; /* of a failure */
};

static void add_name(struct listing *l, const char *name, size_t size)
{
    size_t low = 0;
    size_t high = l->name_count;
    char *copy;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strncmp(name, l->names[middle], size);

        if (order == 0 && l->names[middle][size] == '\0')
            return;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (l->name_count == REDLOCK_LIST_MAX)
        return;
    copy = strndup(name, size);
    if (!copy) {
        l->out_of_memory = true;
        return;
    }
    memmove(&l->names[low + 1], &l->names[low], (l->name_count - low) * sizeof *l->names);
    l->names[low] = copy;
    l->name_count++;
}

/* ---- the requests ---- */

static void add_key(void *data, uint8_t node, struct rl_slice key)
{
    struct listing *l = data;
    size_t prefix_size = l->client->prefix_size;

    (void)node; /* a name that any of them has */
    /* What no request could name is no lock. */
    if (key.size <= prefix_size || key.size - prefix_size > REDLOCK_NAME_MAX ||
        memchr(key.data, '\0', key.size) ||
        rl_is_reserved(l->client, key.data + prefix_size, key.size - prefix_size))
        return;
    add_name(l, key.data + prefix_size, key.size - prefix_size);
}

/* After a round: has any node more to list? */
static bool prepare_next(struct listing *l)
{
    bool more = false;

    for (uint8_t i = 0; i < l->client->engine.policy.node_count; i++) {
        bool is_silent = l->survey.node[i].vote == REDLOCK_VOTE_SILENT;

        if (!l->survey.cursor[i][0])
            continue;
        l->vote[i] = l->survey.node[i];
        l->misses[i] = is_silent ? l->misses[i] + 1 : 0;
        /*
         * Many rounds are many chances to be slow once: the same request is sent again, and a
         * late answer to the first is dropped.
         */
        if (is_silent ? l->misses[i] < MISSES_MAX
                      : l->vote[i].vote == REDLOCK_VOTE_GRANTED &&
                            !rl_survey_has_listed_all(&l->survey, i))
            more = true;
        else
            l->survey.cursor[i][0] = '\0';
    }
    return more && l->name_count < REDLOCK_LIST_MAX && !l->out_of_memory;
}

/* ---- as a job ---- */

static bool begin(redlock *client, struct rl_job *job)
{
    struct rl_lock_terms terms = {0};
    struct listing *l = job->work = calloc(1, sizeof *l);
    char *at = l ? l->pattern : NULL;

    if (l)
        l->names = malloc(REDLOCK_LIST_MAX * sizeof *l->names);
    if (!l || !l->names)
        return rl_job_set_lock(client, job, NULL);
    l->client = client;
    /* The prefix as it is: what SCAN would take for a wildcard is escaped. */
    for (size_t i = 0; i < client->prefix_size; i++) {
        if (strchr("*?[]\\^-", client->prefix[i]))
            *at++ = '\\';
        *at++ = client->prefix[i];
    }
    *at++ = '*';
    l->survey.pattern = (struct rl_slice){l->pattern, (size_t)(at - l->pattern)};
    l->survey.listed = add_key;
    l->survey.listed_data = l;
    rl_survey_set_cursors(&l->survey);
    job->op = RL_OP_LIST;
    job->survey = &l->survey;
    return rl_job_set_lock(client, job, rl_lock_new_for(client, NULL, &terms));
}

static bool next(redlock *client, struct rl_job *job)
{
    struct listing *l = job->work;

    if (!job->lock)
        return begin(client, job);
    if (prepare_next(l) && ++l->round < ROUNDS_MAX)
        return true;
    if (l->out_of_memory) {
        job->error = rl_detail(REDLOCK_NOMEM, "out of memory");
        return false;
    }
    memcpy(l->survey.node, l->vote, sizeof l->vote);
    job->error = rl_explain(job->lock, RL_JOB, rl_survey_error(&l->survey));
    if (job->error) {
        rl_report_survey(client, &l->survey, NULL, &l->report);
        job->answer.report = &l->report;
    } else {
        job->answer.names = (const char *const *)l->names;
        job->answer.name_count = l->name_count;
    }
    return false;
}

static bool release(struct rl_job *job)
{
    struct listing *l = job->work;

    for (size_t i = 0; l && i < l->name_count; i++)
        free(l->names[i]);
    if (l)
        free(l->names);
    return true;
}

const struct rl_job_kind rl_list_kind = {
    .class = RL_CLASS_SEARCH,
    .next = next,
    .release = release,
};
