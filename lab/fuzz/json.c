/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bodies, any bytes: never a byte too far, every text within the input, decoded to well-formed
 * UTF-8 without NUL and never longer than it stands there; the same whether an object is read
 * in one pass or by names; and what is taken another reader takes as well, and the other way
 * round.
 */
#include "base/json_read.h"

#include "base/utf8.h"
#include "fuzz.h"

#ifdef HAVE_JANSSON
#include <jansson.h>
#endif

static void check_text(struct rl_json_value value, struct rl_slice input)
{
    char *out = malloc(input.size + 1);
    uint32_t code;
    int size;

    FUZZ_CHECK(out && value.text.data >= input.data &&
               value.text.data + value.text.size <= input.data + input.size);
    size = rl_json_text(value, out, input.size + 1);
    FUZZ_CHECK(size >= 0 && (size_t)size <= value.text.size && out[size] == '\0');
    FUZZ_CHECK(strlen(out) == (size_t)size);
    for (int at = 0; at < size;) {
        size_t length = rl_utf8_read(out + at, (size_t)(size - at), &code);

        FUZZ_CHECK(length > 0);
        at += (int)length;
    }
    FUZZ_CHECK(size == 0 || rl_json_text(value, out, (size_t)size) == -1);
    free(out);
}

/* A value that was checked: what is in it can be read, down to the last. */
static void check_value(struct rl_json_value value, struct rl_slice input)
{
    bool is_object = value.type == RL_JSON_OBJECT, has_a = false;
    struct rl_json_reader reader = rl_json_read(is_object ? value.text : rl_slice_of("{}"));
    struct rl_json_value name, inner;

    FUZZ_CHECK(value.type != RL_JSON_ABSENT);
    if (value.type == RL_JSON_TEXT)
        check_text(value, input);
    while (rl_json_next(&reader, &name, &inner)) {
        check_text(name, input);
        check_value(inner, input);
        has_a |= rl_json_is(name, "a");
    }
    FUZZ_CHECK(!reader.failed);
    FUZZ_CHECK(has_a == (rl_json_member(value, "a").type != RL_JSON_ABSENT));
    while (rl_json_element(&value, &inner))
        check_value(inner, input);
}

static bool read_all(struct rl_slice input)
{
    struct rl_json_reader reader = rl_json_read(input);
    struct rl_json_value name, value, whole = rl_json_whole(input);

    while (rl_json_next(&reader, &name, &value))
        check_text(name, input);
    FUZZ_CHECK(reader.failed != (whole.type == RL_JSON_OBJECT));
    if (whole.type != RL_JSON_ABSENT)
        check_value(whole, input);
    return whole.type != RL_JSON_ABSENT;
}

#ifdef HAVE_JANSSON

static size_t count(struct rl_slice text, const char *these)
{
    size_t found = 0;

    for (size_t i = 0; i < text.size; i++)
        found += text.data[i] != '\0' && strchr(these, text.data[i]) != NULL;
    return found;
}

static bool has_exponent(struct rl_slice text)
{
    for (size_t i = 1; i < text.size; i++)
        if ((text.data[i] | 0x20) == 'e' && text.data[i - 1] >= '0' && text.data[i - 1] <= '9')
            return true;
    return false;
}

/* It nests deeper, refuses exponents that no double has, and passes over a NUL behind a number:
 * such inputs prove nothing. */
static void compare(struct rl_slice input, bool is_taken)
{
    json_t *other = json_loadb(input.data, input.size, JSON_DECODE_ANY, NULL);

    if (count(input, "[{") <= RL_JSON_DEPTH_MAX && !has_exponent(input) &&
        !rl_slice_has(input, '\0') && input.size < 300)
        FUZZ_CHECK((other != NULL) == is_taken);
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
