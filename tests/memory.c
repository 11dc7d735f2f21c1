/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a held lock costs in memory, everything counted: handle, claim, key, value, timer and what
 * the allocator adds. And that holding them over and over again costs nothing more.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "client.h"
#include "clock.h"

#define LOCKS 8000
#define IN_FLIGHT 64
#define WARM_UP 1000
#define TTL_MS 60000
#define WAIT_MS 20000
#define BYTES_PER_LOCK 576

struct many {
    redlock *client;
    redlock_lock *lock[LOCKS];
    size_t started;
    size_t ended;
};

/* In use, of the heap and beside it. */
static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    struct many *m = data;

    (void)lock;
    CHECK_OK(error);
    m->ended++;
}

static void start_one(struct many *m, uint32_t flags)
{
    redlock_request q = {
        .size = sizeof q, .flags = flags, .wait_ms = WAIT_MS, .done = on_done, .data = m};
    char name[32];

    /* 26 bytes, as many names are. */
    snprintf(name, sizeof name, "orders/eu-west/item-%06zu", m->started);
    CHECK_OK(redlock_start(m->client, name, TTL_MS, &q, &m->lock[m->started]));
    m->started++;
}

static void acquire(struct many *m, size_t count, uint32_t flags)
{
    m->started = m->ended = 0;
    while (m->ended < count) {
        while (m->started < count && m->started - m->ended < IN_FLIGHT)
            start_one(m, flags);
        CHECK(redlock_process(m->client, 1000) >= 0);
    }
}

static void release(struct many *m, size_t count)
{
    m->started = m->ended = 0;
    while (m->ended < count) {
        for (; m->started < count && m->started - m->ended < IN_FLIGHT; m->started++)
            CHECK_OK(redlock_start_release(m->lock[m->started], on_done, m));
        CHECK(redlock_process(m->client, 1000) >= 0);
    }
    for (size_t i = 0; i < count; i++)
        redlock_lock_free(m->lock[i]);
}

static void count_bytes(uint32_t flags)
{
    static struct many m;
    struct cluster c;
    size_t before;
    size_t once;

    cluster_start(&c, 5);
    m.client = client_open_warm(&c, 0);
    /* What a client needs to work at all is not counted: buffers, and what is under way. */
    acquire(&m, WARM_UP, flags);
    release(&m, WARM_UP);
    acquire(&m, WARM_UP, flags);
    before = memory_in_use();
    release(&m, WARM_UP);
    acquire(&m, LOCKS, flags);
    once = memory_in_use();
    printf("# %zu bytes a lock\n", (once - before) / (LOCKS - WARM_UP));
    CHECK_BETWEEN(1, BYTES_PER_LOCK, (once - before) / (LOCKS - WARM_UP));

    for (int i = 0; i < 3; i++) {
        release(&m, LOCKS);
        acquire(&m, LOCKS, flags);
    }
    /* Not a byte a lock more: what was freed is used again. */
    CHECK_BETWEEN(0, once + LOCKS, memory_in_use());
    release(&m, LOCKS);
    redlock_close(m.client);
}

CASE(renewed, "A renewed lock on five nodes costs little, and the same ever after.")
{
    count_bytes(REDLOCK_RENEW);
}

CASE(fenced, "A lock with a token costs no more.")
{
    count_bytes(REDLOCK_RENEW | REDLOCK_FENCED);
}
