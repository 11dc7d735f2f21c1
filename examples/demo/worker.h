/* SPDX-License-Identifier: BSD-2-Clause */
/* One worker process: adds to the counter, with the lock or without. */
#ifndef DEMO_WORKER_H
#define DEMO_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "board.h"

struct job {
    const char *counter_path;
    struct board *board;
    bool locked;
};

/* Runs in a process of its own; returns its exit status. */
int worker_main(const struct job *job, unsigned number);

#endif
