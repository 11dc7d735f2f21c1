/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock that goes on while the machine sleeps, and a pollable alarm on it. */
#ifndef CLI_TIMER_H
#define CLI_TIMER_H

#include "base/time.h"
#include <stdint.h>

#define TIMER_NEVER INT64_MAX

int64_t timer_now_ns(void);

/* A descriptor that becomes readable at the time set; -1 with errno on failure. */
int timer_open(void);
void timer_set(int fd, int64_t at_ns); /* TIMER_NEVER: not at all */
void timer_drain(int fd);

#endif
