/* SPDX-License-Identifier: BSD-2-Clause */
#include "look.h"

#include <string.h>

#include "expect.h"

enum { AGAIN_MS = 20 };

redlock *step_client_of(struct world *w, const json_t *step)
{
    return world_actor(w, field_text(step, "client", "a"))->client;
}

bool step_ping(struct world *w, const json_t *step)
{
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;
    struct outcome out = {0};

    do {
        out.pending = true;
        int error = redlock_start_ping(step_client_of(w, step), outcome_answered, &out);
        if (error)
            outcome_take(&out, error, NULL);
        if (!world_await(w, &out))
            return false;
        if (outcome_matches(step, &out))
            return true;
        world_turn(w, AGAIN_MS);
    } while (world_now_ms() < end_ms);
    return expect_outcome(w, step, &out);
}

bool step_quorum_of(struct world *w, const json_t *step)
{
    int is = redlock_quorum_of(step_client_of(w, step), field_text(step, "name", ""));

    return is == field_int(step, "is", 0) || world_fail(w, "it is in quorum %d", is);
}

/* The answer to a query or list, and whether it is what the step wants. */
struct sight {
    const json_t *step;
    struct outcome outcome;
    bool matches;
    char mark[REDLOCK_MARK_SIZE + 1];
};

static void on_query(int error, const redlock_answer *answer, void *data)
{
    struct sight *sight = data;

    outcome_answered(error, answer, &sight->outcome);
    if (error || !answer->info)
        return;
    sight->matches = info_matches(sight->step, answer->info);
    if (answer->info->shown_holder_count)
        memcpy(sight->mark, answer->info->shown_holder[0].mark, sizeof sight->mark);
}

static bool has_name(const redlock_answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->name_count; i++)
        if (strcmp(answer->names[i], name) == 0)
            return true;
    return false;
}

static void on_list(int error, const redlock_answer *answer, void *data)
{
    struct sight *sight = data;
    const char *names[LOCKS_MAX];

    outcome_answered(error, answer, &sight->outcome);
    if (error)
        return;
    sight->matches = true;
    size_t count = field_texts(sight->step, "has", names, LOCKS_MAX);
    for (size_t i = 0; i < count; i++)
        sight->matches &= has_name(answer, names[i]);
    count = field_texts(sight->step, "lacks", names, LOCKS_MAX);
    for (size_t i = 0; i < count; i++)
        sight->matches &= !has_name(answer, names[i]);
}

static bool look(struct world *w, const json_t *step, bool lists)
{
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;
    redlock *client = step_client_of(w, step);
    struct sight sight = {.step = step};

    do {
        sight.outcome.pending = true;
        int error =
            lists ? redlock_start_list(client, on_list, &sight)
                  : redlock_start_query(client, field_text(step, "name", ""), on_query, &sight);
        if (error)
            outcome_take(&sight.outcome, error, NULL);
        if (!world_await(w, &sight.outcome))
            return false;
        if (sight.outcome.error)
            return expect_outcome(w, step, &sight.outcome);
        if (sight.matches) {
            const char *mark = field_text(step, "keep_mark", NULL);
            if (mark)
                memcpy(world_mark(w, mark)->mark, sight.mark, sizeof sight.mark);
            return true;
        }
        world_turn(w, AGAIN_MS);
    } while (world_now_ms() < end_ms);
    return world_fail(w, "it did not come to be so");
}

bool step_query(struct world *w, const json_t *step)
{
    return look(w, step, false);
}

bool step_list(struct world *w, const json_t *step)
{
    return look(w, step, true);
}

bool step_break(struct world *w, const json_t *step)
{
    struct outcome out = {.pending = true};
    const char *mark = field_text(step, "literal_mark", NULL);

    if (!mark)
        mark = world_mark(w, field_text(step, "mark", "m"))->mark;
    int error = redlock_start_break(step_client_of(w, step), field_text(step, "name", ""), mark,
                                    outcome_answered, &out);
    if (error)
        outcome_take(&out, error, NULL);
    if (!world_await(w, &out) || !expect_outcome(w, step, &out))
        return false;
    const char *label = field_text(step, "label", out.report.holder.label);
    return strcmp(label, out.report.holder.label) == 0 ||
           world_fail(w, "evicted was '%s'", out.report.holder.label);
}
