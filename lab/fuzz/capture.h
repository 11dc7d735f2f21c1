/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command's parts print while an input runs, instead of the terminal. */
#ifndef REDLOCK_FUZZ_CAPTURE_H
#define REDLOCK_FUZZ_CAPTURE_H

#include <stddef.h>

struct capture {
    char *out; /* standard output, terminated after capture_end() */
    char *err;
    size_t out_size;
    size_t err_size;
};

void capture_begin(struct capture *capture);
void capture_end(struct capture *capture);
void capture_free(struct capture *capture);

#endif
