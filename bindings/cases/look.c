/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps.h"

#include <string.h>

#include "expect.h"

redlock *step_client_of(struct world *w, const json_t *step)
{
    return world_actor(w, field_text(step, "client", "a"))->client;
}

bool step_ping(struct world *w, const json_t *step)
{
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;
    struct outcome out;

    do {
        redlock_answer *answer = NULL;
        int error = redlock_ping(step_client_of(w, step), &answer);
        outcome_take(&out, error, answer ? answer->report : NULL);
        redlock_answer_free(answer);
        if (outcome_matches(step, &out))
            return true;
        world_sleep(AGAIN_MS);
    } while (world_now_ms() < end_ms);
    return expect_outcome(w, step, &out);
}

bool step_quorum_of(struct world *w, const json_t *step)
{
    int is = redlock_quorum_of(step_client_of(w, step), field_text(step, "name", ""));

    return is == field_int(step, "is", 0) || world_fail(w, "it is in quorum %d", is);
}

static bool has_name(const redlock_answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->name_count; i++)
        if (strcmp(answer->names[i], name) == 0)
            return true;
    return false;
}

static bool list_matches(const json_t *step, const redlock_answer *answer)
{
    const char *names[LOCKS_MAX];
    bool matches = true;

    size_t count = field_texts(step, "has", names, LOCKS_MAX);
    for (size_t i = 0; i < count; i++)
        matches &= has_name(answer, names[i]);
    count = field_texts(step, "lacks", names, LOCKS_MAX);
    for (size_t i = 0; i < count; i++)
        matches &= !has_name(answer, names[i]);
    return matches;
}

static void keep_mark(struct world *w, const json_t *step, const redlock_info *info)
{
    const char *name = field_text(step, "keep_mark", NULL);
    struct mark *mark = name ? world_mark(w, name) : NULL;

    if (mark && info->holders_shown)
        memcpy(mark->mark, info->holders[0].fingerprint, sizeof mark->mark);
}

/* query, list */
bool step_look(struct world *w, const json_t *step)
{
    bool lists = strcmp(field_text(step, "do", ""), "list") == 0;
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;
    redlock *client = step_client_of(w, step);

    do {
        redlock_answer *answer = NULL;
        int error = lists ? redlock_list(client, &answer)
                          : redlock_query(client, field_text(step, "name", ""), &answer);
        bool matches;

        if (error) {
            struct outcome out;

            outcome_take(&out, error, NULL);
            return expect_outcome(w, step, &out);
        }
        matches = lists ? list_matches(step, answer) : info_matches(step, answer->info);
        if (matches && !lists)
            keep_mark(w, step, answer->info);
        redlock_answer_free(answer);
        if (matches)
            return true;
        world_sleep(AGAIN_MS);
    } while (world_now_ms() < end_ms);
    return world_fail(w, "it did not come to be so");
}

bool step_break(struct world *w, const json_t *step)
{
    struct outcome out;
    redlock_answer *answer = NULL;
    const char *mark = field_text(step, "literal_mark", NULL);
    const char *label;
    int error;

    if (!mark)
        mark = world_mark(w, field_text(step, "mark", "m"))->mark;
    error = redlock_break(step_client_of(w, step), field_text(step, "name", ""), mark, &answer);
    outcome_take(&out, error, answer ? answer->report : NULL);
    redlock_answer_free(answer);
    if (!expect_outcome(w, step, &out))
        return false;
    label = field_text(step, "label", out.report.holder.label);
    return strcmp(label, out.report.holder.label) == 0 ||
           world_fail(w, "evicted was '%s'", out.report.holder.label);
}
