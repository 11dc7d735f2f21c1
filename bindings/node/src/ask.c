/* SPDX-License-Identifier: BSD-2-Clause */
#include "ask.h"

#include <stdlib.h>

#include "told.h"

struct question {
    struct client *client;
    uint32_t key;
};

static void on_answer(int error, const redlock_answer *answer, void *data)
{
    struct question *question = data;
    struct client *c = question->client;
    napi_env env = c->env;

    client_end(c);
    if (!c->is_shut) {
        napi_value out = told_report(env, answer ? answer->report : NULL);

        put_text(env, out, "said", error ? redlock_detail() : NULL);
        if (!error && answer && answer->info)
            put(env, out, "info", told_info(env, answer->info));
        if (!error && answer && answer->names) {
            napi_value names = NULL;

            napi_create_array_with_length(env, answer->name_count, &names);
            for (size_t i = 0; i < answer->name_count; i++) {
                napi_value name = NULL;

                napi_create_string_utf8(env, answer->names[i], NAPI_AUTO_LENGTH, &name);
                napi_set_element(env, names, (uint32_t)i, name);
            }
            put(env, out, "names", names);
        }
        client_note_answer(c, EVENT_ANSWER, question->key, error, out);
    }
    free(question);
}

static int begin(redlock *client, int what, const char *name, const char *mark,
                 struct question *question)
{
    switch (what) {
    case 0:
        return redlock_start_query(client, name, on_answer, question);
    case 1:
        return redlock_start_break(client, name, mark, on_answer, question);
    case 2:
        return redlock_start_list(client, on_answer, question);
    default:
        return redlock_start_ping(client, on_answer, question);
    }
}

napi_value ask(napi_env env, napi_callback_info info)
{
    napi_value argument[4];

    values_arguments(env, info, 4, argument);
    struct client *c = client_of(env, argument[0]);
    if (!c)
        return new_number(env, REDLOCK_INVAL);
    char *name = value_text(env, argument[2], NULL);
    char *mark = value_text(env, argument[3], NULL);
    struct question *question = must_have(malloc(sizeof *question));
    question->client = c;
    question->key = ++c->next_answer;
    int error = begin(c->redlock, (int)value_number(env, argument[1]), name, mark, question);
    free(name);
    free(mark);
    if (error) {
        free(question);
        return new_number(env, error);
    }
    client_begin(c);
    return new_number(env, question->key);
}

napi_value ask_nodes(napi_env env, napi_callback_info info)
{
    napi_value argument;
    napi_value list = NULL;
    redlock_node_info node = {.size = sizeof node};

    values_arguments(env, info, 1, &argument);
    struct client *c = client_of(env, argument);
    napi_create_array(env, &list);
    for (uint32_t i = 0; c && redlock_node(c->redlock, i, &node) == REDLOCK_OK; i++)
        napi_set_element(env, list, i, told_node(env, &node));
    return list;
}

napi_value ask_stats(napi_env env, napi_callback_info info)
{
    napi_value argument;
    redlock_stats stats = {.size = sizeof stats};

    values_arguments(env, info, 1, &argument);
    struct client *c = client_of(env, argument);
    if (c)
        redlock_stats_get(c->redlock, &stats);
    return told_stats(env, &stats);
}

napi_value ask_quorum(napi_env env, napi_callback_info info)
{
    napi_value argument[2];

    values_arguments(env, info, 2, argument);
    struct client *c = client_of(env, argument[0]);
    char *name = value_text(env, argument[1], NULL);
    int index = c ? redlock_quorum_of(c->redlock, name) : REDLOCK_INVAL;
    free(name);
    return new_number(env, index);
}
