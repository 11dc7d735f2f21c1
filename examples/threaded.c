/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads, one client. REDLOCK_THREAD gives the client a thread of its own for the
 * network; the others just make blocking calls and share one connection per node.
 *
 *     redlock dev -c 3 -- ./threaded
 *
 * Each thread adds to a counter by reading it, pausing, and writing it back: without the lock
 * most of the additions would be lost. (Threads of one process have cheaper locks, of course.
 * The counter stands for something that several machines share.)
 */
#include <pthread.h>
#include <redlock.h>
#include <stdio.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 10
#define TTL_MS 10000
#define WAIT_MS 30000

/* "what: the error and its explanation" on stderr. */
static void complain(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", what, redlock_strerror(error), redlock_detail());
}

struct shared {
    redlock *client;
    int counter; /* guarded by the lock "example:threaded" */
};

static void add_one_slowly(struct shared *shared)
{
    struct timespec millisecond = {0, 1000000};
    int seen = shared->counter;
    nanosleep(&millisecond, NULL);
    shared->counter = seen + 1;
}

static void *worker(void *data)
{
    struct shared *shared = data;

    for (int i = 0; i < ROUNDS; i++) {
        redlock_request request = REDLOCK_REQUEST(.wait_ms = WAIT_MS);
        redlock_lock *lock;
        int error =
            redlock_acquire(shared->client, "example:threaded", TTL_MS, &request, &lock);
        if (error != REDLOCK_OK) {
            complain("acquire", error);
            continue; /* the count at the end will show it */
        }
        add_one_slowly(shared);
        error = redlock_release(lock);
        if (error != REDLOCK_OK) {
            complain("release", error);
        }
        redlock_lock_free(lock);
    }
    return NULL;
}

static int count_together(struct shared *shared)
{
    pthread_t threads[THREADS];
    int started = 0;

    while (started < THREADS && pthread_create(&threads[started], NULL, worker, shared) == 0) {
        started++;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d threads added %d each: expected %d, counted %d\n", started, ROUNDS,
           THREADS * ROUNDS, shared->counter);
    return shared->counter == THREADS * ROUNDS ? 0 : 1;
}

int main(void)
{
    struct shared shared = {.counter = 0};
    int status;

    /* No nodes here: they come from the environment and the configuration file. */
    redlock_options options =
        REDLOCK_OPTIONS(.flags = REDLOCK_THREAD, .retry_max_ms = 50); /* held for moments */
    int error = redlock_open(&options, &shared.client);
    if (error != REDLOCK_OK) {
        complain("open", error);
        return 1;
    }
    status = count_together(&shared);
    redlock_close(shared.client);
    return status;
}
