/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/json.h"

#include <stdalign.h>
#include <stddef.h>

static alignas(max_align_t) char memory[HTTP_JSON_MEMORY];
static size_t used;

static void *take(size_t size)
{
    size_t rounded =
        (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    void *piece = memory + used;

    if (size > sizeof memory || rounded > sizeof memory - used)
        return NULL;
    used += rounded;
    return piece;
}

/* All of it is given back by the next http_json_read(). */
static void give(void *piece)
{
    (void)piece;
}

void http_json_init(void)
{
    json_set_alloc_funcs(take, give);
    json_object_seed(0); /* random: names must not be chosen to collide */
}

json_t *http_json_read(struct rl_slice text, const char **why)
{
    json_error_t error;
    json_t *value;

    used = 0;
    if (text.size == 0)
        text = (struct rl_slice){"{}", 2};
    value = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        *why = json_error_code(&error) == json_error_duplicate_key
                   ? "a name stands twice in the object"
                   : "the body is not JSON";
        return NULL;
    }
    if (!json_is_object(value)) {
        *why = "the body must be a JSON object";
        return NULL;
    }
    return value;
}
