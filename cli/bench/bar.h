/* SPDX-License-Identifier: BSD-2-Clause */
/* A bar of text: eighths of a character where the terminal has them, # elsewhere. */
#ifndef CLI_BAR_H
#define CLI_BAR_H

#include <stdbool.h>
#include <stddef.h>

#define BAR_COLUMNS_MAX 100
#define BAR_TEXT_MAX (3 * BAR_COLUMNS_MAX + 1)

/* Writes a bar that fills `share` (0 to 1) of so many columns; what is more than nothing is
 * never drawn as nothing. `pad`: with blanks behind it. Returns the columns written. */
size_t bar_write(char out[BAR_TEXT_MAX], double share, size_t columns, bool utf8, bool pad);

#endif
