/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/value.h"

#include <string.h>

#include "base/number.h"
#include "protocol/resp.h"

static const char hex_digits[] = "0123456789abcdef";

/* ---- printable text ---- */

/* The size of the well-formed character that a text begins with; 0: none. */
static size_t character_size(struct rl_slice text)
{
    const unsigned char *s = (const unsigned char *)text.data;
    unsigned low = 0x80;
    unsigned high = 0xbf;
    size_t size;

    if (s[0] < 0x80)
        return 1;
    /* The second byte's range rules out overlong forms, surrogates and beyond U+10FFFF. */
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        size = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        size = 3;
        low = s[0] == 0xe0 ? 0xa0 : low;
        high = s[0] == 0xed ? 0x9f : high;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        size = 4;
        low = s[0] == 0xf0 ? 0x90 : low;
        high = s[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (text.size < size || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

/* Controls, what ends a line, and what turns the direction of writing. */
static bool steers(const char *character, size_t size)
{
    const unsigned char *s = (const unsigned char *)character;
    uint32_t code = size == 1 ? s[0] : s[0] & (0x7fu >> size);

    for (size_t i = 1; i < size; i++)
        code = code << 6 | (s[i] & 0x3fu);
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/* The size of the printable character that a text begins with; 0: none. */
static size_t printable_size(struct rl_slice text)
{
    size_t size;

    if (text.data[0] >= ' ' && text.data[0] < 0x7f) /* as most are */
        return 1;
    size = character_size(text);
    return size && !steers(text.data, size) ? size : 0;
}

static struct rl_slice rest_of(struct rl_slice text, size_t size)
{
    return (struct rl_slice){text.data + size, text.size - size};
}

bool rl_text_is_printable(struct rl_slice text)
{
    while (text.size > 0) {
        size_t size = printable_size(text);

        if (!size)
            return false;
        text = rest_of(text, size);
    }
    return true;
}

void rl_text_show(struct rl_slice text, char *out, size_t size)
{
    size_t used = 0;

    while (text.size > 0) {
        size_t whole = printable_size(text);
        unsigned char byte = (unsigned char)text.data[0];
        char escaped[] = {'\\', 'x', hex_digits[byte >> 4], hex_digits[byte & 15]};
        size_t needed = whole ? whole : sizeof escaped;

        if (used + needed >= size)
            break;
        memcpy(out + used, whole ? text.data : escaped, needed);
        used += needed;
        text = rest_of(text, whole ? whole : 1);
    }
    out[used] = '\0';
}

const char *rl_label_fault(struct rl_slice label)
{
    if (label.size > REDLOCK_LABEL_MAX)
        return "is too long: at most 64 bytes";
    if (!rl_text_is_printable(label))
        return "is not printable UTF-8 text: no controls, line ends or direction marks";
    return NULL;
}

struct rl_slice rl_label_of(struct rl_slice text)
{
    const char *space = memchr(text.data, ' ', text.size);
    struct rl_slice label = {"", 0};

    if (space)
        label = rest_of(text, (size_t)(space + 1 - text.data));
    return rl_label_fault(label) ? (struct rl_slice){"", 0} : label;
}

/* ---- values ---- */

/* A set of characters, a bit for each. */
struct set {
    uint64_t words[4];
};

/* 0-9 and a-f: small letters only, a value has one form. */
static const struct set hex = {{0x03ff000000000000, 0x0000007e00000000, 0, 0}};
/* 0-9, A-Z, a-z, "_" and "-". */
static const struct set of_tags = {{0x03ff200000000000, 0x07fffffe87fffffe, 0, 0}};

/* Without a branch for each character: of random digits and letters every other one
 * is guessed wrong. */
static bool consists_of(struct rl_slice text, const struct set *set)
{
    uint64_t all = 1;

    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];

        all &= set->words[c >> 6] >> (c & 63);
    }
    return all & 1;
}

bool rl_tag_is_valid(struct rl_slice tag)
{
    return tag.size == REDLOCK_IDEMPOTENCY_KEY_SIZE && consists_of(tag, &of_tags);
}

size_t rl_value_size(bool has_slots, size_t tag_size, size_t label_size)
{
    return (tag_size ? tag_size + 1 : 0) + RL_VALUE_DRAWN + (has_slots ? RL_SLOT_MAX : 0) +
           (label_size ? RL_STAMP_SIZE + label_size : 0);
}

size_t rl_value_write(const struct rl_value *value, char *out)
{
    char *at = out;

    if (value->tag.size) {
        at = rl_slice_append(at, value->tag);
        *at++ = ':';
    }
    at = rl_slice_append(at, value->random);
    if (value->slot) {
        *at++ = '#';
        at = rl_number_write(value->slot, at);
    }
    if (value->label.size) {
        *at++ = '@';
        for (int shift = 4 * (RL_STAMP_DIGITS - 1); shift >= 0; shift -= 4)
            *at++ = hex_digits[value->stamp_ms >> shift & 15];
        *at++ = ' ';
        at = rl_slice_append(at, value->label);
    }
    return (size_t)(at - out);
}

/* "#" and a number from 1 to REDLOCK_SLOTS_MAX; returns what is behind it. */
static struct rl_slice read_slot(struct rl_slice text, uint16_t *slot)
{
    uint32_t number = 0;
    size_t at = 1;

    if (text.size == 0 || text.data[0] != '#')
        return text;
    for (; at < text.size && at < RL_SLOT_MAX && text.data[at] >= '0' && text.data[at] <= '9';
         at++)
        number = number * 10 + (uint32_t)(text.data[at] - '0');
    if (number == 0 || number > REDLOCK_SLOTS_MAX || text.data[1] == '0')
        return text;
    *slot = (uint16_t)number;
    return rest_of(text, at);
}

/* "@", the stamp, a space, a label. */
static bool read_label(struct rl_slice text, struct rl_value *out)
{
    struct rl_slice stamp = {text.data + 1, RL_STAMP_DIGITS};

    if (text.size <= RL_STAMP_SIZE || text.data[0] != '@' || !consists_of(stamp, &hex) ||
        text.data[RL_STAMP_SIZE - 1] != ' ')
        return false;
    out->label = rest_of(text, RL_STAMP_SIZE);
    if (rl_label_fault(out->label))
        return false;
    out->stamp_ms = 0;
    for (size_t i = 0; i < stamp.size; i++)
        /* Of a hexadecimal digit: the letters are 0x61 to 0x66. */
        out->stamp_ms = out->stamp_ms << 4 | ((stamp.data[i] & 15) + (stamp.data[i] >> 6) * 9);
    return true;
}

bool rl_value_read(struct rl_slice text, struct rl_value *out)
{
    const struct rl_value nothing = {
        .tag = {"", 0}, .random = {"", 0}, .stamp_ms = -1, .label = {"", 0}};
    struct rl_value value = nothing;
    struct rl_slice rest = text;

    *out = nothing;
    if (rest.size > REDLOCK_IDEMPOTENCY_KEY_SIZE &&
        rest.data[REDLOCK_IDEMPOTENCY_KEY_SIZE] == ':') {
        value.tag = (struct rl_slice){rest.data, REDLOCK_IDEMPOTENCY_KEY_SIZE};
        rest = rest_of(rest, REDLOCK_IDEMPOTENCY_KEY_SIZE + 1);
        if (!rl_tag_is_valid(value.tag))
            return false;
    }
    if (rest.size < RL_VALUE_DRAWN)
        return false;
    value.random = (struct rl_slice){rest.data, RL_VALUE_DRAWN};
    if (!consists_of(value.random, &hex))
        return false;
    rest = read_slot(rest_of(rest, RL_VALUE_DRAWN), &value.slot);
    if (rest.size > 0 && !read_label(rest, &value))
        return false;
    *out = value;
    return true;
}
