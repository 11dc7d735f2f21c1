/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions does a lock pass through? Opens a client without a thread, makes some cycles of
 * blocking acquire and release until every node is connected, then some more, and prints the
 * addresses of the functions entered by those, in the order of their first call. walk.sh builds
 * it with a library in which every function reports its entry.
 */
#include <redlock.h>
#include <stdio.h>

#define FUNCTIONS_MAX 4096
#define WARM_UP_CYCLES 100
#define CYCLES 100
#define TTL_MS 10000
#define WAIT_MS 5000

static void *entered[FUNCTIONS_MAX];
static int entered_count;
static int is_recording;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (!is_recording)
        return;
    for (int i = 0; i < entered_count; i++)
        if (entered[i] == function)
            return;
    if (entered_count < FUNCTIONS_MAX)
        entered[entered_count++] = function;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
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
    is_recording = 1;
    for (int i = 0; !error && i < CYCLES; i++)
        error = cycle(client);
    is_recording = 0;
    if (error) {
        fprintf(stderr, "walk: %s\n", redlock_detail());
        return 1;
    }
    for (int i = 0; i < entered_count; i++)
        printf("%p\n", entered[i]);
    redlock_close(client);
    return 0;
}
