/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock_next() and redlock_fd(), of one client or of several quorums.
 *
 * Without an I/O thread the caller drives: a turn adds events, the drain that follows returns
 * them one by one, and its end writes what was started meanwhile. With I/O threads it waits for
 * the bell, which they ring. redlock_fd() is the bell, and without threads an epoll set of the
 * bell and of what a turn waits for: one set would not do, as a thread that is blocked in a
 * call and drives would be woken by events which are not for it.
 */
#ifndef RL_DRIVE_NEXT_H
#define RL_DRIVE_NEXT_H

#include "drive/client.h"

/* NULL with errno. */
struct rl_reader *rl_reader_new(void);
void rl_reader_free(struct rl_reader *reader);
/* Events wait. */
void rl_reader_ring(struct rl_reader *reader);

/*
 * What a thread starts while it drains. With more events to read it is written later, with the
 * rest; with the last one the thread writes all of it itself. Else a driver is woken.
 */
enum rl_drain { RL_NO_DRAIN, RL_DRAIN_GOES_ON, RL_DRAIN_ENDS };
enum rl_drain rl_reader_drain(const struct rl_reader *reader);

/* The clients that one redlock_next() reads, and how it waits for them. */
struct rl_source {
    struct rl_reader *reader;
    redlock *const *client;
    size_t count;
    int driven_fd; /* what a turn waits for; -1: I/O threads drive */
    /* A turn of each client that has something to do, within the time; false after a signal. */
    bool (*turn)(const struct rl_source *source, int timeout_ms);
};

int rl_source_next(const struct rl_source *source, const redlock_event **event, int timeout_ms);
int rl_source_fd(const struct rl_source *source);

/* redlock_fd() and redlock_next() of one client. */
int rl_client_fd(redlock *client);
int rl_client_next(redlock *client, const redlock_event **event, int timeout_ms);

#endif
