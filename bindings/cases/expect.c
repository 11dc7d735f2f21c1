/* SPDX-License-Identifier: BSD-2-Clause */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *field(const json_t *step, const char *name, json_type type)
{
    const json_t *value = json_object_get(step, name);

    if (value && json_typeof(value) != type) {
        fprintf(stderr, "the field '%s' has the wrong type\n", name);
        exit(2);
    }
    return value;
}

const char *field_text(const json_t *step, const char *name, const char *otherwise)
{
    const json_t *value = field(step, name, JSON_STRING);

    return value ? json_string_value(value) : otherwise;
}

int64_t field_int(const json_t *step, const char *name, int64_t otherwise)
{
    const json_t *value = field(step, name, JSON_INTEGER);

    return value ? json_integer_value(value) : otherwise;
}

bool field_flag(const json_t *step, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(step, name);

    return value ? json_is_true(value) : otherwise;
}

size_t field_texts(const json_t *step, const char *name, const char **out, size_t max)
{
    const json_t *list = field(step, name, JSON_ARRAY);
    size_t count = 0;

    while (list && count < max && count < json_array_size(list)) {
        out[count] = json_string_value(json_array_get(list, count));
        count++;
    }
    return count;
}

static const char *vote_name(int32_t vote)
{
    static const char *const names[] = {
#define VOTE_NAME(name, text) #name,
        REDLOCK_VOTES(VOTE_NAME)
#undef VOTE_NAME
    };
    return vote >= 0 && (size_t)vote < sizeof names / sizeof names[0] ? names[vote] : "";
}

static bool votes_match(const json_t *step, const redlock_report *report)
{
    const json_t *wanted = field(step, "votes", JSON_OBJECT);
    const char *name;
    json_t *number;

    json_object_foreach((json_t *)wanted, name, number)
    {
        json_int_t count = 0;

        for (uint32_t i = 0; i < report->node_count; i++)
            count += strcmp(vote_name(report->node[i].vote), name) == 0;
        if (count < json_integer_value(number))
            return false;
    }
    return true;
}

static bool holder_matches(const json_t *step, const redlock_report *report)
{
    const char *label = field_text(step, "label_in_the_way", NULL);

    return !label || strcmp(label, report->holder.label) == 0;
}

bool outcome_matches(const json_t *step, const struct outcome *out)
{
    const char *says = field_text(step, "says", "");
    const char *never = field_text(step, "never_says", NULL);

    return strcmp(field_text(step, "expect", "OK"), redlock_error_name(out->error)) == 0 &&
           strstr(out->said, says) && !(never && strstr(out->said, never)) &&
           votes_match(step, &out->report) && holder_matches(step, &out->report);
}

bool expect_outcome(struct world *w, const json_t *step, const struct outcome *out)
{
    char votes[SAID_MAX / 2] = "";
    size_t used = 0;

    if (outcome_matches(step, out))
        return true;
    for (uint32_t i = 0; i < out->report.node_count && used < sizeof votes; i++)
        used += (size_t)snprintf(votes + used, sizeof votes - used, " %s",
                                 vote_name(out->report.node[i].vote));
    return world_fail(w, "came %s, nodes said%s, label in the way '%s': %s",
                      redlock_error_name(out->error), votes, out->report.holder.label,
                      out->said);
}

static bool number_matches(const json_t *step, const char *name, int64_t number)
{
    return field_int(step, name, number) == number;
}

static bool text_matches(const json_t *step, const char *name, const char *text)
{
    return strcmp(field_text(step, name, text), text) == 0;
}

bool info_matches(const json_t *step, const redlock_info *info)
{
    return field_flag(step, "held", info->held) == (info->held != 0) &&
           text_matches(step, "kind", redlock_kind_text(info->kind)) &&
           text_matches(step, "label", info->holder.label) &&
           text_matches(step, "owner", info->owner) &&
           number_matches(step, "holders", info->holder_count) &&
           number_matches(step, "waiters", info->waiter_count) &&
           number_matches(step, "slots", info->slots);
}
