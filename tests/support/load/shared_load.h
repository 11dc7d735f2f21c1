/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream of readers that never ends by itself, and one writer that wants in. */
#ifndef REDLOCK_TESTS_SHARED_LOAD_H
#define REDLOCK_TESTS_SHARED_LOAD_H

#include <stdint.h>

struct shared_outcome {
    int error;   /* of the writer's acquire */
    int readers; /* holds that the readers got while it waited */
};

struct shared_outcome shared_stream(int64_t wait_ms);

#endif
