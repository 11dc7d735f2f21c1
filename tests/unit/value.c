/* SPDX-License-Identifier: BSD-2-Clause */
/* The values that stand under the keys: built, taken apart, and shown. */
#include "check.h"

#include "base/slice.h"
#include "protocol/value.h"

#include <stdlib.h>
#include <string.h>

#define HEX "00112233445566778899aabbccddeeff01234567"
#define TAG "AZaz09_-AZaz09_-AZaz09"
#define SLICE(literal) ((struct rl_slice){(literal), sizeof(literal) - 1})

static void check_slice(const char *expected, struct rl_slice actual)
{
    char text[REDLOCK_VALUE_MAX + 1];
    CHECK(actual.size < sizeof text);
    memcpy(text, actual.data, actual.size);
    text[actual.size] = '\0';
    CHECK_STR(expected, text);
}

static void check_form(const char *text, const char *tag, unsigned slot, int64_t stamp_ms,
                       const char *label)
{
    struct rl_value value;
    char again[RL_VALUE_WRITTEN_MAX];
    CHECK(rl_value_read(rl_slice_of(text), &value));
    check_slice(tag, value.tag);
    check_slice(HEX, value.random);
    CHECK_INT(slot, value.slot);
    CHECK_INT(stamp_ms, value.stamp_ms);
    check_slice(label, value.label);
    check_slice(text, (struct rl_slice){again, rl_value_write(&value, again)});
    CHECK(rl_value_size(slot > 0, value.tag.size, value.label.size) >= strlen(text));
}

CASE(every_form, "A value of every form comes apart and together again.")
{
    check_form(HEX, "", 0, -1, "");
    check_form(HEX "#1024", "", 1024, -1, "");
    check_form(TAG ":" HEX, TAG, 0, -1, "");
    check_form(HEX "@01a0c44f7b1 me", "", 0, 0x1a0c44f7b1, "me");
    check_form(TAG ":" HEX "#7@19bcdef0123 a#8@ b: c", TAG, 7, 0x19bcdef0123, "a#8@ b: c");
    check_form(HEX "@00000000000 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92", "", 0, 0,
               "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92");
    CHECK(RL_VALUE_WRITTEN_MAX <= REDLOCK_VALUE_MAX);
}

static const char *const foreign[] = {
    "",
    "a",
    "0011223344556677889900112233445566778",
    "00112233445566778899AABBCCDDEEFF01234567",
    HEX "8",
    HEX "#",
    HEX "#0",
    HEX "#01",
    HEX "#1025",
    HEX "#10240",
    HEX "@01a0c44f7b1",
    HEX "@01a0c44f7b1 ",
    HEX "@01a0c44f7b me",
    HEX "@01A0c44f7b1 me",
    HEX " me",
    HEX "@01a0c44f7b1 \x1b[31mred",
    HEX "@01a0c44f7b1 two\nlines",
    HEX "@01a0c44f7b1 \xff",
    TAG HEX,
    ":" HEX,
    "AZaz09_-AZaz09_-AZaz0+:" HEX,
    "5f0c7a52-7b4e-4b8e-9a0b-2f6d1c3e4a5b",
};

CASE(foreign_values, "What does not have the form is another program's: no part of it is used.")
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        struct rl_value value;
        if (rl_value_read((struct rl_slice){foreign[i], strlen(foreign[i])}, &value))
            FAIL("taken for a value: %s", foreign[i]);
        CHECK_INT(0, value.tag.size + value.random.size + value.label.size + value.slot);
        CHECK_INT(-1, value.stamp_ms);
    }
}

CASE(labels,
     "A label is printable UTF-8 of at most 64 bytes, and the sentence says what is wrong.")
{
    char long_label[REDLOCK_LABEL_MAX + 2];
    static const struct rl_slice bad[] = {
        {"a\nb", 3},
        {"\x1b[2J", 4},
        {"\x7f", 1},
        {"\0", 1},
        {"\xc2\x9b"
         "31m",
         5},
        {"\xc0\xaf", 2},
        {"\xed\xa0\x80", 3},
        {"\xe2\x82", 2},
        {"\xf4\x90\x80\x80", 4},
        {"\xe2\x80\xae", 3},
        {"\xe2\x80\xa8", 3},
        {"\xe2\x81\xa6", 3},
        {"\xef\xbb\xbf", 3},
        {"\x80", 1},
        {"\xd8\x9c", 2},
    };
    memset(long_label, 'x', sizeof long_label);
    CHECK(rl_label_fault((struct rl_slice){long_label, REDLOCK_LABEL_MAX}) == NULL);
    CHECK_HAS("64 bytes", rl_label_fault((struct rl_slice){long_label, REDLOCK_LABEL_MAX + 1}));
    CHECK(rl_label_fault(SLICE("deploy@web3:4711 (make) <b>&amp;\\")) == NULL);
    CHECK(rl_label_fault(SLICE("")) == NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (rl_label_fault(bad[i]) == NULL)
            FAIL("label %zu was accepted", i);
}

static void check_shown(const char *expected, struct rl_slice text, size_t size)
{
    char out[64];
    memset(out, 'x', sizeof out);
    rl_text_show(text, out, size);
    CHECK_STR(expected, out);
}

CASE(shown_texts,
     "Bytes that are not printable are shown as \\xHH, and a text is cut at a character.")
{
    check_shown("plain \xc3\xa9", SLICE("plain \xc3\xa9"), 64);
    check_shown("\\x1b[31m\\x00\\xff!", SLICE("\x1b[31m\0\xff!"), 64);
    check_shown("a\\xe2\\x80\\xae"
                "b",
                SLICE("a\xe2\x80\xae"
                      "b"),
                64);
    check_shown("abc", SLICE("abcd"), 4);
    check_shown("ab", SLICE("ab\xc3\xa9"), 4);
    check_shown("ab", SLICE("ab\x01"), 6);
    check_shown("", SLICE("ab"), 1);
}

CASE(labels_of_waiters,
     "The label of a waiter is what stands behind the first word of its name.")
{
    check_slice("me and you", rl_label_of(SLICE("w0123456789abcdef.17 me and you")));
    check_slice("", rl_label_of(SLICE("w0123456789abcdef.17")));
    check_slice("", rl_label_of(SLICE("w0123456789abcdef.17 \x1b[2J")));
}
