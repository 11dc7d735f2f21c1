/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Output that waits for no reader. A reader may stop reading: a full pipe, a terminal stopped
 * by Ctrl-S. A process that holds a lock must not wait for such a reader, so its text goes into
 * a pipe of this process, which holds OUTLET_BYTES, and a thread copies it to the descriptor,
 * waiting as long as it takes.
 */
#ifndef CLI_OUTLET_H
#define CLI_OUTLET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define OUTLET_BYTES 65536

/* Must live as long as the process: the thread may wait for its reader until the end. */
struct outlet {
    int fd;                 /* where the text is to go */
    int queue_fd;           /* of the pipe; never blocks */
    int reading_fd;         /* the thread's */
    int failed_fd;          /* readable as soon as some text could not be written */
    _Atomic int error;      /* errno of the first text that could not; 0: none */
    _Atomic size_t written; /* bytes before that */
    pthread_t writer;
};

/* To be called with the signals blocked that the process reads elsewhere: the thread inherits
 * the mask. Returns 0 or errno. */
int outlet_open(struct outlet *o, int fd);

/* At most PIPE_BUF bytes: all of them are taken, or none if there is no room. */
bool outlet_put(struct outlet *o, const char *bytes, size_t size);

/* Has the thread taken everything out of the pipe? */
bool outlet_is_empty(const struct outlet *o);

/* The last text was put. Waits until all of it was written, but not for longer than this;
 * false: it was not, and outlet_join() waits on. */
bool outlet_close(struct outlet *o, int limit_s);
void outlet_join(struct outlet *o);

/* Without a thread: waits for the reader as long as it takes. A reader that is gone gets
 * nothing. Returns how many bytes were written; if not all, errno has the cause. */
size_t outlet_write(int fd, const char *bytes, size_t size);

#endif
