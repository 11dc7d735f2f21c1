/* SPDX-License-Identifier: BSD-2-Clause */
#include "worker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counter.h"
#include "redlock.h"

#define LOCK_NAME "demo-counter"
#define TTL_MS 5000
#define WAIT_MS 15000
#define THINK_MS 20         /* between reading and writing: room for others to interfere */
#define REST_MS 12          /* between two additions, so that the others get their turn */
#define WRITE_MARGIN_MS 100 /* validity that must be left to begin a write */
#define RETRY_MAX_MS 40     /* a short hold is worth asking for often */

struct worker {
    const struct job *job;
    struct board_worker *entry;
    redlock *client; /* NULL without the lock */
};

static int fail(struct worker *worker, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(worker->entry->why, sizeof worker->entry->why, format, arguments);
    va_end(arguments);
    atomic_store(&worker->entry->state, WORKER_FAILED);
    return -1;
}

static int fail_lock(struct worker *worker, const char *call, int error)
{
    return fail(worker, "%s: %s: %s", call, redlock_strerror(error), redlock_detail());
}

static void enter(struct worker *worker)
{
    struct board *board = worker->job->board;
    unsigned inside = atomic_fetch_add(&board->inside, 1) + 1;
    unsigned most = atomic_load(&board->most_inside);
    while (inside > most && !atomic_compare_exchange_weak(&board->most_inside, &most, inside))
        ;
    atomic_store(&worker->entry->state, WORKER_INSIDE);
}

static void leave(struct worker *worker)
{
    atomic_fetch_sub(&worker->job->board->inside, 1);
    atomic_store(&worker->entry->state, WORKER_WAITING);
}

static void pause_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

/*
 * The read-modify-write itself. Without the lock, `lock` is NULL. A holder whose validity is
 * running out must not write any more: then 1 is returned and nothing has changed.
 */
static int add_one(struct worker *worker, const redlock_lock *lock)
{
    const char *path = worker->job->counter_path;
    unsigned value;
    if (counter_read(path, &value) != 0)
        return fail(worker, "reading the counter: %s", strerror(errno));
    pause_ms(THINK_MS);
    if (lock && redlock_remaining_ms(lock) < WRITE_MARGIN_MS)
        return 1;
    if (counter_write(path, value + 1) != 0)
        return fail(worker, "writing the counter: %s", strerror(errno));
    atomic_store(&worker->job->board->last_count, value + 1);
    atomic_fetch_add(&worker->entry->done, 1);
    return 0;
}

static int update(struct worker *worker)
{
    redlock_request request = REDLOCK_REQUEST(.wait_ms = WAIT_MS);
    redlock_lock *lock = NULL;
    if (worker->client) {
        int error = redlock_acquire(worker->client, LOCK_NAME, TTL_MS, &request, &lock);
        if (error != REDLOCK_OK)
            return fail_lock(worker, "redlock_acquire", error);
    }
    enter(worker);
    int result = add_one(worker, lock);
    leave(worker);
    if (lock) {
        /* Whatever the nodes say to this, the addition was made while the lock was valid. */
        redlock_release(lock);
        redlock_lock_free(lock);
    }
    return result < 0 ? -1 : 0;
}

static int open_client(struct worker *worker)
{
    redlock_options options =
        REDLOCK_OPTIONS(.retry_max_ms = RETRY_MAX_MS, .client_name = "redlock-demo");
    int error = redlock_open(&options, &worker->client);
    return error == REDLOCK_OK ? 0 : fail_lock(worker, "redlock_open", error);
}

int worker_main(const struct job *job, unsigned number)
{
    struct worker worker = {.job = job, .entry = &job->board->worker[number]};
    int result = job->locked ? open_client(&worker) : 0;
    if (result == 0)
        atomic_store(&worker.entry->state, WORKER_WAITING);
    while (result == 0 && atomic_load(&worker.entry->done) < UPDATES_EACH) {
        result = update(&worker);
        pause_ms(REST_MS);
    }
    redlock_close(worker.client);
    if (result == 0)
        atomic_store(&worker.entry->state, WORKER_FINISHED);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
