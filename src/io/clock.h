/* SPDX-License-Identifier: BSD-2-Clause */
/* The only source of time: CLOCK_BOOTTIME, which cannot be set and goes on in suspend. */
#ifndef RL_IO_CLOCK_H
#define RL_IO_CLOCK_H

#include <stdint.h>

int64_t rl_now_ns(void);

#endif
