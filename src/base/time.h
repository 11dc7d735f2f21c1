/* SPDX-License-Identifier: BSD-2-Clause */
/* Moments and spans are nanoseconds in an int64_t; what people set is milliseconds. */
#ifndef RL_BASE_TIME_H
#define RL_BASE_TIME_H

#include <stdint.h>

#define RL_NS_PER_US INT64_C(1000)
#define RL_NS_PER_MS INT64_C(1000000)
#define RL_NS_PER_S INT64_C(1000000000)

#define RL_NEVER_NS INT64_MAX

#endif
