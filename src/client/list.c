/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which locks are there? Every node lists its keys, some at a time, until its cursor has come
 * round. A name that any node has is reported once: nodes list in any order and may repeat
 * themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "client/list.h"
#include "client/report.h"
#include "client/request.h"
#include "drive/detail.h"
#include "drive/explain.h"
#include "drive/handles.h"
#include "drive/order.h"
#include "engine/survey.h"

#define PATTERN_MAX (2 * REDLOCK_PREFIX_MAX + 2)
/* A server with millions of other keys is not searched for ever. */
#define ROUNDS_MAX 20000
#define MISSES_MAX 4

/* What a list needs once its turn has come. */
struct listing {
    const redlock *client;
    int round;
    struct rl_survey survey;
    char pattern[PATTERN_MAX];
    uint8_t misses[REDLOCK_NODES_MAX];           /* times in a row that it was too slow */
    struct rl_node_vote vote[REDLOCK_NODES_MAX]; /* of the last time that a node was asked */
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

/* ---- asking ---- */

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

/* The prefix as it is: what SCAN would take for a wildcard is escaped. */
static void set_pattern(struct listing *l)
{
    char *at = l->pattern;

    for (size_t i = 0; i < l->client->prefix_size; i++) {
        if (strchr("*?[]\\^-", l->client->prefix[i]))
            *at++ = '\\';
        *at++ = l->client->prefix[i];
    }
    *at++ = '*';
    l->survey.pattern = (struct rl_slice){l->pattern, (size_t)(at - l->pattern)};
}

/*
 * Is it still to be asked? Many rounds are many chances to be slow once: the same question is
 * asked again, and a late answer to the first is not heard.
 */
static bool goes_on(struct listing *l, uint8_t node)
{
    if (l->vote[node].vote == REDLOCK_VOTE_SILENT)
        return ++l->misses[node] < MISSES_MAX;
    l->misses[node] = 0;
    return l->vote[node].vote == REDLOCK_VOTE_GRANTED &&
           !rl_survey_has_listed_all(&l->survey, node);
}

/* After a round: has any node more to list? */
static bool prepare_next(struct listing *l)
{
    bool more = false;

    for (uint8_t i = 0; i < l->client->engine.policy.node_count; i++) {
        if (!l->survey.cursor[i][0])
            continue;
        l->vote[i] = l->survey.node[i];
        if (goes_on(l, i))
            more = true;
        else
            l->survey.cursor[i][0] = '\0';
    }
    return more && l->name_count < REDLOCK_LIST_MAX && !l->out_of_memory;
}

/* ---- as a question ---- */

struct list {
    struct rl_question question; /* first */
    struct listing *listing;     /* NULL: its turn has not come */
};

static struct listing *new_listing(redlock *client)
{
    struct listing *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->client = client;
    l->names = malloc(REDLOCK_LIST_MAX * sizeof *l->names);
    l->out_of_memory = !l->names;
    l->survey.listed = add_key;
    l->survey.listed_data = l;
    rl_survey_set_cursors(&l->survey);
    set_pattern(l);
    return l;
}

static bool begin(redlock *client, struct list *list)
{
    struct rl_lock_terms terms = {0};

    list->listing = new_listing(client);
    if (!list->listing || list->listing->out_of_memory)
        return rl_question_set_lock(client, &list->question, NULL);
    list->question.op = RL_OP_LIST;
    list->question.survey = &list->listing->survey;
    return rl_question_set_lock(client, &list->question,
                                rl_lock_new_for(client, "", 0, &terms));
}

static void conclude(const redlock *client, struct list *list)
{
    struct rl_question *question = &list->question;
    struct listing *l = list->listing;

    if (l->out_of_memory) {
        question->error = rl_detail(REDLOCK_NOMEM, "out of memory");
        return;
    }
    memcpy(l->survey.node, l->vote, sizeof l->vote);
    question->error = rl_explain(question->lock, RL_QUESTION, rl_survey_error(&l->survey));
    if (question->error) {
        rl_report_survey(client, &l->survey, NULL, &l->report);
        question->answer.report = &l->report;
    } else {
        question->answer.names = (const char *const *)l->names;
        question->answer.name_count = l->name_count;
    }
}

static bool next(redlock *client, struct rl_question *question)
{
    struct list *list = (struct list *)question;

    if (!question->lock)
        return begin(client, list);
    if (prepare_next(list->listing) && ++list->listing->round < ROUNDS_MAX)
        return true;
    conclude(client, list);
    return false;
}

static void free_list(struct rl_question *question)
{
    struct list *list = (struct list *)question;
    struct listing *l = list->listing;

    if (l) {
        for (size_t i = 0; i < l->name_count; i++)
            free(l->names[i]);
        free(l->names);
        free(l);
    }
    free(list);
}

static const struct rl_question_kind list_kind = {
    .turn = RL_TURN_SEARCH,
    .next = next,
    .free = free_list,
};

struct rl_question *rl_list_new(void)
{
    struct list *list = calloc(1, sizeof *list);

    if (!list)
        return NULL;
    list->question.kind = &list_kind;
    return &list->question;
}
