/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of bad input: each mistake is INVAL with a sentence of its own.
 */
#ifndef REDLOCK_TESTS_INVALID_H
#define REDLOCK_TESTS_INVALID_H

#include "check.h"

#include <redlock.h>

/* INVAL, with a detail that no earlier mistake of this case had. */
#define INVALID(call)                                                                          \
    do {                                                                                       \
        CHECK_ERR(REDLOCK_INVAL, call);                                                        \
        invalid_expect_new_detail(#call);                                                      \
    } while (0)

/* Also INVAL, where it does not matter whether the sentence was seen before. */
#define INVALID_TOO(call)                                                                      \
    do {                                                                                       \
        CHECK_ERR(REDLOCK_INVAL, call);                                                        \
        CHECK(redlock_detail()[0] != '\0');                                                    \
    } while (0)

void invalid_expect_new_detail(const char *what);

#endif
