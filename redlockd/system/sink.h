/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of lines: the log, and the audit log. The loop, which renews locks, waits for none of
 * them. A terminal, a pipe and a socket are written to by the loop itself, without waiting: a
 * line that is not taken is dropped and counted. A disk that hangs cannot be written to without
 * waiting. So lines for a file on a disk wait in a queue of SINK_BYTES, for a thread; one that
 * finds no room there is dropped.
 *
 *     the loop --line--> queue[filling] ... swapped ... queue[writing] --write()--> the thread
 *
 * Both sides hold the mutex for a copy or a swap, never for a write.
 */
#ifndef REDLOCKD_SYSTEM_SINK_H
#define REDLOCKD_SYSTEM_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SINK_BYTES (256u << 10)

struct sink;

struct sink_counts {
    uint64_t dropped; /* lines */
    unsigned queued;  /* lines that are not written yet */
};

/*
 * Owns fd from now on, also on failure. Other users of the same file see no difference. NULL:
 * out of memory, or of threads.
 */
struct sink *sink_open(int fd);

/* A line with its newline. */
void sink_put(struct sink *sink, const char *line, size_t size);

void sink_count(struct sink *sink, struct sink_counts *counts);

/*
 * Waits until all lines are written, but not for longer than limit_ms: the thread writes the
 * rest, and frees everything, if the process lives that long. NULL: nothing.
 */
void sink_close(struct sink *sink, int limit_ms);

#endif
