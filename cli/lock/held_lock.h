/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock of this process and its life: waiting for it, keeping it, giving it back. All of it
 * happens in the caller's thread, driven by redlock_process().
 */
#ifndef CLI_HOLD_H
#define CLI_HOLD_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock/terms.h"
#include "settings/settings.h"

#define HOLD_DETAIL_MAX 512

struct hold {
    redlock *client;
    redlock_lock *lock;
    bool pending; /* an operation is under way */
    int error;    /* enum redlock_error of the last operation that ended */
    bool lost;    /* the lock ended before it was released */
    int lost_error;
    bool jeopardy;                /* the last renewal failed */
    bool news;                    /* that has changed and nobody has been told */
    char detail[HOLD_DETAIL_MAX]; /* the library's sentence about the last failure */
    redlock_report report;        /* of the last operation that ended */
    redlock_report trouble;       /* of the first renewal of a row that failed */
};

/*
 * Acquires what the terms say as the settings say (ttl, wait), with a live line on a terminal. A
 * signal that would end the process ends the wait instead and is stored in *signal_out (0: none);
 * the lock is then not held. From here on standard error never blocks. `flags` as in redlock_request, besides those of the terms. Returns
 * REDLOCK_OK or an error.
 */
int hold_acquire(struct hold *h, const struct settings *s, const struct terms *terms,
                 uint32_t flags, int signal_fd, int *signal_out);

/*
 * Drives the client until more than `least_ms` are left of the validity: a process that was stopped
 * since the grant renews first (REDLOCK_RENEW). False: the lock ended.
 */
bool hold_freshen(struct hold *h, int64_t least_ms);

/*
 * Reports that it was not acquired and returns the exit status, `busy_status` when another holds
 * it.
 */
int hold_report_failure(struct hold *h, const struct settings *s, const struct terms *terms,
                        int error, int busy_status);

/* Releases it and waits for the outcome, which it returns. */
int hold_release(struct hold *h);

/* Frees the handle of a held lock and leaves the lock on the nodes. */
void hold_leave(struct hold *h);

/* Frees handle and client; what is still held is given up. */
void hold_close(struct hold *h);

#endif
