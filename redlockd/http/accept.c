/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/accept.h"

/* The next part of *list, without blanks around it; false at its end. */
static bool next(struct rl_span *list, const char *separator, struct rl_span *part)
{
    if (list->length == 0)
        return false;
    *part = rl_span_until(list, separator);
    if (list->length > 0)
        rl_span_skip(list, 1);
    while (part->length > 0 && (part->at[0] == ' ' || part->at[0] == '\t'))
        rl_span_skip(part, 1);
    while (part->length > 0 &&
           (part->at[part->length - 1] == ' ' || part->at[part->length - 1] == '\t'))
        part->length--;
    return true;
}

/* q=0, q=0. or q=0.000: not this one. */
static bool is_refusal(struct rl_span parameter)
{
    if (parameter.length < 3 || rl_lower(parameter.at[0]) != 'q' || parameter.at[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.length; i++)
        if (parameter.at[i] != '0' && parameter.at[i] != '.')
            return false;
    return true;
}

static bool names(struct rl_span member, const char *type)
{
    struct rl_span part;

    if (!next(&member, ";", &part) || !rl_span_is(part, type))
        return false;
    while (next(&member, ";", &part))
        if (is_refusal(part))
            return false;
    return true;
}

bool http_accepts(const struct http_parser *parser, const char *bytes, const char *type)
{
    for (unsigned i = 0; i < parser->field_count; i++) {
        const struct http_field *field = &parser->field[i];
        struct rl_span value = {bytes + field->value_at, field->value_size};
        struct rl_span member;

        if (!rl_span_is((struct rl_span){bytes + field->name_at, field->name_size}, "accept"))
            continue;
        while (next(&value, ",", &member))
            if (names(member, type))
                return true;
    }
    return false;
}
