/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The value of a lock as scripts hand it on: one word, though the label in it may have blanks
 * and brackets, so that it survives a shell without quotes, `read -r value token` and xargs.
 */
#ifndef CLI_VALUE_WORD_H
#define CLI_VALUE_WORD_H

#include <redlock.h>
#include <stddef.h>

#define VALUE_WORD_MAX (3 * REDLOCK_VALUE_MAX + 1)

void value_word_write(char out[VALUE_WORD_MAX], const char *value);

/* Back to the value. Its length, which is more than REDLOCK_VALUE_MAX if it is none. */
size_t value_word_read(const char *word, size_t length, char out[REDLOCK_VALUE_MAX + 2]);

#endif
