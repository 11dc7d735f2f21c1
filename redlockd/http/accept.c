/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/accept.h"

/* The next part of *list, without blanks around it; false at its end. */
static bool next(struct rl_slice *list, const char *separator, struct rl_slice *part)
{
    if (list->size == 0)
        return false;
    *part = rl_slice_until(list, separator);
    if (list->size > 0)
        rl_slice_skip(list, 1);
    while (part->size > 0 && (part->data[0] == ' ' || part->data[0] == '\t'))
        rl_slice_skip(part, 1);
    while (part->size > 0 &&
           (part->data[part->size - 1] == ' ' || part->data[part->size - 1] == '\t'))
        part->size--;
    return true;
}

/* q=0, q=0. or q=0.000: not this one. */
static bool is_refusal(struct rl_slice parameter)
{
    if (parameter.size < 3 || rl_lower(parameter.data[0]) != 'q' || parameter.data[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.size; i++)
        if (parameter.data[i] != '0' && parameter.data[i] != '.')
            return false;
    return true;
}

static bool names(struct rl_slice member, const char *type)
{
    struct rl_slice part;

    if (!next(&member, ";", &part) || !rl_slice_is(part, type))
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
        struct rl_slice value = {bytes + field->value_at, field->value_size};
        struct rl_slice member;

        if (!rl_slice_is((struct rl_slice){bytes + field->name_at, field->name_size}, "accept"))
            continue;
        while (next(&value, ",", &member))
            if (names(member, type))
                return true;
    }
    return false;
}
