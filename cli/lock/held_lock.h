/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock of this process and its life: waiting for it, keeping it, giving it back. All of it
 * happens in the caller's thread, which drives the client.
 */
#ifndef CLI_HELD_LOCK_H
#define CLI_HELD_LOCK_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock/terms.h"
#include "service/hold.h"
#include "settings/settings.h"

#define HELD_LOCK_DETAIL_MAX 512

/* What may end a wait besides a signal; checked again whenever the process wakes up. */
struct held_lock_watch {
    int fd; /* becomes readable when it should be checked */
    bool (*is_over)(void *data);
    void *data;
};

/* Of the nodes (client and lock), or of a service (hold): the other is NULL. held_lock_open()
 * begins it, and the settings must outlive it. */
struct held_lock {
    redlock *client;
    redlock_lock *lock;
    struct service service;
    struct service_terms served; /* what the hold is for */
    struct service_hold *hold;
    const struct settings *settings;
    int state;                           /* enum redlock_state, as held_lock_process() saw it */
    int lost_error;                      /* LOST: why, enum redlock_error */
    char detail[HELD_LOCK_DETAIL_MAX];   /* the library's sentence about the last failure */
    redlock_report report;               /* of the last operation that ended */
    redlock_report failed_renewal;       /* of the first renewal of a row that failed */
    const struct held_lock_watch *watch; /* NULL: none; a wait that it ends is CANCELED */
};

/*
 * Acquires what the terms name as the settings set it (ttl, wait), with a live line on a
 * terminal. A signal that would end the process ends the wait instead and is stored in
 * *signal_out (0: none); the lock is then not held. From here on standard error never blocks.
 * `flags` as in redlock_request, besides those of the terms. Returns REDLOCK_OK or an error.
 */
int held_lock_acquire(struct held_lock *h, const struct settings *s, const struct terms *terms,
                      uint32_t flags, int signal_fd, int *signal_out);

/* Before held_lock_acquire(): the nodes or the service, by the settings. 0, or an exit
 * status after printing why. */
int held_lock_open(struct held_lock *h, struct settings *s);

/*
 * Until when it is held, as timer_now_ns(); 0: it is not. Also: its token, its slot, 0 if it
 * has none.
 */
int64_t held_lock_deadline_ns(const struct held_lock *h);
int64_t held_lock_fence(const struct held_lock *h);
int64_t held_lock_slot(const struct held_lock *h);

/* Readable when held_lock_process() has something to do. */
int held_lock_fd(const struct held_lock *h);

/*
 * Does what is due, after waiting for at most `timeout_ms`, and returns the state: HELD,
 * JEOPARDY or LOST, also when it cannot be kept any more.
 */
int held_lock_process(struct held_lock *h, int timeout_ms);

/*
 * Drives the client until more than `least_ms` are left of the validity: a process that was
 * stopped since the grant renews first (REDLOCK_RENEW). False: the lock ended.
 */
bool held_lock_freshen(struct held_lock *h, int64_t least_ms);

/*
 * Reports that it was not acquired and returns the exit status, `busy_status` when another
 * holds it.
 */
int held_lock_report_failure(struct held_lock *h, const struct settings *s,
                             const struct terms *terms, int error, int busy_status);

/* After a loss: nodes that only reported our key gone may have that of a successor by now.
 * Puts it into the report. Only an exclusive lock has one. */
void held_lock_find_successor(struct held_lock *h, const struct terms *terms);

/* Releases it and waits for the outcome, which it returns; for that of a service at most
 * SERVICE_END_MS. */
int held_lock_release(struct held_lock *h);

/* After a release whose outcome is unknown: a warning of `before` and the reason. */
void held_lock_warn_unreleased(const struct held_lock *h, const char *before);

/* Its members of an object: names, kind, value, token, slot, TTL and what is left of it. */
struct rl_json;
void held_lock_json(const struct held_lock *h, const struct terms *terms, struct rl_json *j);

/* Frees the handle of a held lock and leaves the lock on the nodes. */
void held_lock_leave(struct held_lock *h);

/* Frees handle and client; what is still held is given up. */
void held_lock_close(struct held_lock *h);

#endif
