/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bodies of requests, any bytes: never a byte too far, every text within the input, decoded to
 * well-formed UTF-8 without NUL and never longer than it stands there; and what is taken
 * another reader takes as well, and the other way round.
 */
#include "base/json_read.h"

#include "base/utf8.h"
#include "fuzz.h"

#ifdef HAVE_JANSSON
#include <jansson.h>
#endif

static void check_text(const struct rl_json_value *value, struct rl_slice input)
{
    char *out = malloc(input.size + 1);
    uint32_t code;
    int size;

    FUZZ_CHECK(out && value->text.data >= input.data &&
               value->text.data + value->text.size <= input.data + input.size);
    size = rl_json_text(value, out, input.size + 1);
    FUZZ_CHECK(size >= 0 && (size_t)size <= value->text.size && out[size] == '\0');
    FUZZ_CHECK(strlen(out) == (size_t)size);
    for (int at = 0; at < size;) {
        size_t length = rl_utf8_read(out + at, (size_t)(size - at), &code);

        FUZZ_CHECK(length > 0);
        at += (int)length;
    }
    FUZZ_CHECK(size == 0 || rl_json_text(value, out, (size_t)size) == -1);
    free(out);
}

static bool read_all(struct rl_slice input)
{
    struct rl_json_reader reader = rl_json_read(input);
    struct rl_json_value name, value;

    while (rl_json_next(&reader, &name, &value)) {
        check_text(&name, input);
        if (value.type == RL_JSON_TEXT)
            check_text(&value, input);
        FUZZ_CHECK(value.type != RL_JSON_ABSENT);
    }
    return !reader.failed;
}

#ifdef HAVE_JANSSON

static size_t count(struct rl_slice text, const char *these)
{
    size_t found = 0;

    for (size_t i = 0; i < text.size; i++)
        found += text.data[i] != '\0' && strchr(these, text.data[i]) != NULL;
    return found;
}

/* It nests deeper, refuses fractions that no double has, and passes over a NUL behind a number:
 * such inputs prove nothing. */
static void compare(struct rl_slice input, bool is_taken)
{
    json_t *other = json_loadb(input.data, input.size, 0, NULL);

    if (count(input, "[{") <= RL_JSON_DEPTH_MAX && count(input, "eE") == 0 &&
        !rl_slice_has(input, '\0') && input.size < 300)
        FUZZ_CHECK(json_is_object(other) == is_taken);
    json_decref(other);
}

#else

static void compare(struct rl_slice input, bool is_taken)
{
    (void)input;
    (void)is_taken;
}

#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *copy = fuzz_copy(bytes, size);
    struct rl_slice input = {copy, size};

    compare(input, read_all(input));
    free(copy);
    return 0;
}
