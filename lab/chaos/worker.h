/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker: locks, renews, waits and writes through the public header alone, and notes it. */
#ifndef REDLOCK_CHAOS_WORKER_H
#define REDLOCK_CHAOS_WORKER_H

struct rig;
struct schedule;

struct worker_job {
    struct rig *rig;
    int index;
};

/* "library", "service" or "command": how this one asks. */
const char *worker_words(const struct schedule *s, int index);

/* In a process of its own, for helper_start(). Returns when the quiet phase is done. */
void worker_run(void *job);

#endif
