/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/number.h"

int64_t rl_number_read(struct rl_slice text, int64_t most)
{
    int64_t number = 0;

    if (text.size == 0)
        return -1;
    for (size_t i = 0; i < text.size; i++) {
        int digit = text.data[i] - '0';

        if (digit < 0 || digit > 9 || digit > most || number > (most - digit) / 10)
            return -1;
        number = number * 10 + digit;
    }
    return number;
}

bool rl_integer_read(struct rl_slice text, int64_t *out)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    int64_t number = 0; /* never positive: the negative range is the larger one */

    if (negative)
        rl_slice_skip(&text, 1);
    if (text.size == 0)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        int digit = text.data[i] - '0';

        if (digit < 0 || digit > 9 || number < (INT64_MIN + digit) / 10)
            return false;
        number = number * 10 - digit;
    }
    if (!negative && number == INT64_MIN)
        return false;
    *out = negative ? number : -number;
    return true;
}

size_t rl_number_size(uint64_t value)
{
    size_t size = 1;

    for (; value >= 10; value /= 10)
        size++;
    return size;
}

char *rl_number_write(uint64_t value, char *out)
{
    char *end = out + rl_number_size(value);

    for (char *at = end; at > out; value /= 10)
        *--at = (char)('0' + value % 10);
    return end;
}
