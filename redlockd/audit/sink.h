/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of the audit log, written by a thread of its own: write() to a disk that hangs does not return,
 * and the loop, which renews locks, waits for no disk. Lines wait in a queue of SINK_BYTES; one that finds
 * no room there, or that the file does not take, is dropped and counted.
 *
 *     the loop --line--> queue[filling] ... swapped ... queue[writing] --write()--> the thread
 *
 * Both sides hold the mutex for a copy or a swap, never for a write.
 */
#ifndef REDLOCKD_AUDIT_SINK_H
#define REDLOCKD_AUDIT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SINK_BYTES (256u << 10)

struct audit_sink;

struct audit_sink_counts {
    uint64_t dropped; /* lines */
    unsigned queued;  /* lines that are not written yet */
};

/* Owns fd from now on, also on failure. NULL: out of memory, or of threads. */
struct audit_sink *audit_sink_open(int fd);

/* A line with its newline. */
void audit_sink_put(struct audit_sink *sink, const char *line, size_t size);

void audit_sink_count(struct audit_sink *sink, struct audit_sink_counts *counts);

/*
 * Waits until all lines are written, but not for longer than limit_ms: the thread writes the rest, and
 * frees everything, if the process lives that long. NULL: nothing.
 */
void audit_sink_close(struct audit_sink *sink, int limit_ms);

#endif
