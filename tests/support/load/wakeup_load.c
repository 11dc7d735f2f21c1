/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "client.h"
#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    NODES = 5,
    CLIENTS = 3,
    TURNS = 4, /* of each client in a round */
    TTL_MS = 20000,
    SIGN_MS = 1000, /* so often does a waiter look by itself */
};

struct round {
    const struct cluster *c;
    uint32_t flags;
    pthread_barrier_t ready;
    _Atomic int slow;
};

static void *take_turns(void *data)
{
    struct round *round = data;
    redlock *r = client_open_warm(round->c, 0);
    pthread_barrier_wait(&round->ready);
    for (int i = 0; i < TURNS; i++) {
        redlock_lock *lock = NULL;
        int64_t start_ms = now_ms();
        lock = CLIENT_LOCK(r, "x", TTL_MS, .flags = round->flags, .wait_ms = 20000);
        /* Two others hold it for no time at all. */
        round->slow += now_ms() - start_ms > SIGN_MS - 100;
        client_unlock(lock);
    }
    client_close(r);
    return NULL;
}

int wakeup_lost(uint32_t flags, int rounds_max, int enough)
{
    struct cluster c;
    int slow = 0;
    int64_t start_ms;
    int rounds = 0;
    cluster_start(&c, NODES);
    start_ms = now_ms();
    for (; rounds < rounds_max && slow < enough; rounds++) {
        struct round round = {.c = &c, .flags = flags};
        pthread_t thread[CLIENTS];
        pthread_barrier_init(&round.ready, NULL, CLIENTS);
        for (int k = 0; k < CLIENTS; k++)
            CHECK_INT(0, pthread_create(&thread[k], NULL, take_turns, &round));
        for (int k = 0; k < CLIENTS; k++)
            pthread_join(thread[k], NULL);
        pthread_barrier_destroy(&round.ready);
        slow += round.slow > 0;
    }
    printf("# %d of %d rounds with a wait that a timer ended, in %lld ms\n", slow, rounds,
           (long long)(now_ms() - start_ms));
    return slow;
}
