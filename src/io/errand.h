/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work that can block (a name, a file, a command), done off the I/O path by a detached thread:
 * however long it takes, it delays no lock. It cannot be interrupted, only abandoned.
 */
#ifndef RL_IO_ERRAND_H
#define RL_IO_ERRAND_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The first member of what the work is about. The caller and the thread each hold a reference;
 * the last one to let go frees it.
 */
struct rl_errand {
    void (*work)(struct rl_errand *errand);    /* on the thread: fills in the rest */
    void (*destroy)(struct rl_errand *errand); /* frees everything, this included */
    pid_t pid;             /* of the process whose thread works; never changed */
    pthread_mutex_t mutex; /* guards what follows */
    int references;
    int wake_fd; /* -1 once the caller has left */
    bool done;   /* the thread touches nothing of it any more */
};

/* work and destroy are set; the one reference is the caller's. 0 or an errno
 * value: not made. */
int rl_errand_init(struct rl_errand *errand);

/*
 * A thread begins to work. It ends by writing 8 bytes (uint64_t 1) to wake_fd, an eventfd of
 * the caller that must stay open until rl_errand_leave(). 0, or an errno value: there is no
 * thread.
 */
int rl_errand_start(struct rl_errand *errand, int wake_fd);

/* The work is done: what it filled in is the caller's to read. */
bool rl_errand_is_done(struct rl_errand *errand);

/*
 * Frees, or abandons work that is still under way, without waiting for it: once this has
 * returned, nothing touches wake_fd, and the thread frees what is left when it is done. NULL is
 * fine.
 */
void rl_errand_leave(struct rl_errand *errand);

#endif
