/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output that waits for no reader and for no disk: of a process that renews locks meanwhile.
 * Text waits in a queue for a thread, which writes it; what finds no room there is not taken.
 *
 *     the owner --text--> queue[filling] ... swapped ... queue[writing] --write()--> the thread
 *
 * Both sides hold the mutex for a copy or a swap, never for a write.
 */
#ifndef RL_IO_SINK_H
#define RL_IO_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rl_sink_kind {
    /* The thread waits for a reader as long as it takes, be it a full pipe or a terminal
     * stopped by Ctrl-S. */
    RL_SINK_TEXT,
    /* A log: a text is a line with its newline. The owner itself writes to a terminal, a pipe
     * or a socket, without waiting; only a disk, which may hang, has a thread. A line that is
     * not taken at once is dropped and counted. */
    RL_SINK_LINES,
};

struct rl_sink;

struct rl_sink_counts {
    uint64_t dropped; /* texts */
    unsigned queued;  /* texts that are not written yet */
    int error;        /* TEXT: errno of the first that could not be written; 0: all could */
    size_t written;   /* TEXT: bytes before that */
};

/*
 * With a queue of `size` bytes. Owns fd from now on, also on failure; other users of the same
 * file see no difference. NULL, with errno: out of memory, of threads or of descriptors.
 * A negative fd is such a failure, and errno has its cause.
 */
struct rl_sink *rl_sink_open(int fd, enum rl_sink_kind kind, size_t size);

/* True: all of it was taken; false: nothing. */
bool rl_sink_put(struct rl_sink *sink, const char *text, size_t size);

/* TEXT: readable as soon as some text could not be written. */
int rl_sink_failed_fd(const struct rl_sink *sink);

void rl_sink_count(struct rl_sink *sink, struct rl_sink_counts *counts);

/* Waits until all texts are written, but not for longer than this; -1: as long as it takes.
 * Were they? */
bool rl_sink_wait(struct rl_sink *sink, int limit_ms);

/* The same, and the end: the thread writes the rest, and frees everything, if the process lives
 * that long. NULL: nothing. */
void rl_sink_close(struct rl_sink *sink, int limit_ms);

/* Without a sink: writes, waiting for the reader as long as it takes. A reader that is gone
 * gets nothing. Returns how many bytes were written; if not all, errno has the cause. */
size_t rl_write_all(int fd, const char *bytes, size_t size);

#endif
