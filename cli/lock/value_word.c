/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/value_word.h"

#include "base/percent.h"

void value_word_write(char out[VALUE_WORD_MAX], const char *value)
{
    rl_percent_encode(out, value, "._-@:#");
}

size_t value_word_read(const char *word, size_t length, char out[REDLOCK_VALUE_MAX + 2])
{
    return rl_percent_decode(word, length, out, REDLOCK_VALUE_MAX + 2);
}
