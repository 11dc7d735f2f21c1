/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which process is this? A number that differs between a process and its forked children,
 * without a system call per question. It also notices a bare clone(2) that runs no atfork
 * handlers: the number lives in a page that the kernel wipes in the child.
 */
#ifndef RL_IO_PROCESS_H
#define RL_IO_PROCESS_H

#include <stdint.h>

/* Never 0. */
uint32_t rl_process_stamp(void);

#endif
