/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that looks at all the others of a soak every few seconds and writes a line for each
 * into a file: memory, descriptors and CPU time. It finds them as descendants of the rig, and
 * so commands of workers, too.
 */
#ifndef REDLOCK_CHAOS_SAMPLER_H
#define REDLOCK_CHAOS_SAMPLER_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { SAMPLED_MAX = 48, SAMPLED_WORDS_MAX = 32 };

/* In memory that rig and sampler share: who a process is. Words are set once for a place. */
struct sampled {
    _Atomic int pid;
    char words[SAMPLED_WORDS_MAX];
};

/* `number` 0: there is only one of them. */
void sampled_set(struct sampled *s, pid_t pid, const char *words, int number);

struct sampling {
    const struct sampled *sampled; /* SAMPLED_MAX of them */
    const char *path;
    int64_t every_ms;
    pid_t rig;
};

/*
 * Columns of the file, with a line of headings: seconds since the start, pid, words, state as
 * ps(1) has it, resident and proportional memory in KiB, descriptors, CPU time in milliseconds.
 */
pid_t sampler_start(const struct sampling *s);

#endif
