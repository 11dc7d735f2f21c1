/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server that hangs, for a while: stopped by a signal, and certain to be continued, because a
 * process of its own waits for the end of this one and does it, however this one ends.
 */
#ifndef BENCH_HANG_H
#define BENCH_HANG_H

#include <sys/types.h>

struct hang {
    pid_t guardian; /* continues the server when `pipe_fd` is closed */
    int pipe_fd;
};

/* 0 or -1, with a message. */
int hang_begin(struct hang *hang, pid_t server);

/* Returns when the server has been continued. */
void hang_end(struct hang *hang);

#endif
