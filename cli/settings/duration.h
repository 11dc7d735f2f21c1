/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations of the command line, written as those of the configuration file. */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include "base/duration.h"

/* NULL, or what is wrong with the text; see rl_duration_parse(). */
static inline const char *duration_parse(const char *text, int64_t *out_ms)
{
    return rl_duration_parse(text, out_ms);
}

#endif
