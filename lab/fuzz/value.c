/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values and names of waiters as nodes return them, any bytes: what is taken for a value is
 * written again byte by byte, a label is always one that a request may have, and what is shown
 * is printable, ends within its array and is the text itself if that was printable.
 */
#include "protocol/value.h"

#include <string.h>

#include "base/slice.h"
#include "fuzz.h"

#define SHOWN_MAX (REDLOCK_VALUE_MAX + 1)

static void check_shown(struct rl_slice text, size_t size)
{
    char *shown = malloc(size);
    struct rl_slice out;

    FUZZ_CHECK(shown != NULL);
    rl_text_show(text, shown, size);
    FUZZ_CHECK(memchr(shown, '\0', size) != NULL);
    out = rl_slice_of(shown);
    FUZZ_CHECK(rl_text_is_printable(out));
    if (rl_text_is_printable(text))
        FUZZ_CHECK(out.size <= text.size && memcmp(out.data, text.data, out.size) == 0);
    if (rl_text_is_printable(text) && text.size < size)
        FUZZ_CHECK(out.size == text.size);
    free(shown);
}

static void check_value(struct rl_slice text)
{
    struct rl_value value;
    char again[RL_VALUE_WRITTEN_MAX];
    bool is_value = rl_value_read(text, &value);

    FUZZ_CHECK(!rl_label_fault(value.label));
    if (!is_value) {
        FUZZ_CHECK(value.label.size == 0 && value.stamp_ms == -1);
        return;
    }
    FUZZ_CHECK(text.size <= sizeof again);
    FUZZ_CHECK(rl_value_write(&value, again) == text.size);
    FUZZ_CHECK(memcmp(again, text.data, text.size) == 0);
    FUZZ_CHECK(rl_text_is_printable(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    size_t shown_size = 1 + fuzz_byte(&input) % SHOWN_MAX;
    char *copy = fuzz_copy(input.left ? input.at : (const uint8_t *)"", input.left);
    struct rl_slice text = {copy, input.left};

    check_value(text);
    check_shown(text, shown_size);
    FUZZ_CHECK(!rl_label_fault(rl_label_of(text)));
    free(copy);
    return 0;
}
