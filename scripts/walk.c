/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `make walk` records: opens a client without a thread, makes some cycles of blocking
 * acquire and release until every node is connected, then some more, which are recorded.
 */
#include <fcntl.h>
#include <redlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WARM_UP_CYCLES 100
#define CYCLES 100
#define TTL_MS 10000
#define WAIT_MS 5000

/* The recorder's file begins with the byte that switches it on (scripts/walk_record.c). */
static void record(char is_on)
{
    int fd = open(getenv("WALK_FILE"), O_WRONLY);

    if (fd < 0 || pwrite(fd, &is_on, 1, 0) != 1)
        perror("walk: WALK_FILE");
    close(fd);
}

static int cycle(redlock *client)
{
    redlock_request request = REDLOCK_REQUEST(.wait_ms = WAIT_MS);
    redlock_lock *lock = NULL;
    int error = redlock_acquire(client, "walk", TTL_MS, &request, &lock);

    if (!error)
        error = redlock_release(lock);
    redlock_lock_free(lock);
    return error;
}

int main(void)
{
    redlock *client = NULL;
    int error = redlock_open(NULL, &client);

    for (int i = 0; !error && i < WARM_UP_CYCLES; i++)
        error = cycle(client);
    record(1);
    for (int i = 0; !error && i < CYCLES; i++)
        error = cycle(client);
    record(0);
    if (error) {
        fprintf(stderr, "walk: %s\n", redlock_detail());
        return 1;
    }
    redlock_close(client);
    return 0;
}
