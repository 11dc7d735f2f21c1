/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a held lock costs in memory, everything counted: handle, attempt, key, value, timer and
 * what the allocator adds. And that holding them over and over again costs nothing more.
 */
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>

#include "check.h"
#include "client.h"
#include "clock.h"
#include "drive/client.h"

#define LOCKS 8000
#define IN_FLIGHT 64
#define WARM_UP 1000
#define OVERHEAD 8 /* the allocator's, in every piece */
#define TTL_MS 60000
#define WAIT_MS 20000
#define BYTES_PER_LOCK 512

struct many {
    redlock *client;
    redlock_lock *lock[LOCKS];
    size_t started;
    size_t ended;
};

/* A request to a slow node keeps its attempt: until every answer is there. */
static void settle(redlock *client)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
        while (client->engine.node[i].session.pending.count > 0)
            next_event(client, 100);
}

/* Kept for the next locks: not of those that are held. */
static size_t memory_kept(const redlock *client)
{
    const struct rl_pool *pool[] = {&client->engine.attempts, &client->engine.pending_acquires,
                                    &client->kept_locks};
    size_t bytes = 0;

    for (size_t i = 0; i < sizeof pool / sizeof pool[0]; i++)
        for (struct rl_kept *at = pool[i]->first; at; at = at->next)
            bytes += malloc_usable_size(at) + OVERHEAD;
    return bytes;
}

/* How large the connections' buffers are depends on how many requests came together. */
static size_t memory_of_connections(const redlock *client)
{
    size_t bytes = 0;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_session *session = &client->engine.node[i].session;

        bytes += session->output.capacity;
        bytes += session->pending.capacity * sizeof *session->pending.entry;
    }
    return bytes;
}

/* In use, of the heap and beside it, for locks. */
static size_t memory_in_use(redlock *client)
{
    struct mallinfo2 info;

    settle(client);
    info = mallinfo2();
    return info.uordblks + info.hblkhd - memory_kept(client) - memory_of_connections(client);
}

static void count_end(struct many *m)
{
    const redlock_event *event = next_event(m->client, GIVE_UP_MS);

    CHECK(event != NULL);
    CHECK_OK(event->error);
    m->ended++;
}

static void start_one(struct many *m, uint32_t flags)
{
    char name[32];

    /* 26 bytes, as many names are. */
    snprintf(name, sizeof name, "orders/eu-west/item-%06zu", m->started);
    m->lock[m->started] =
        CLIENT_START(m->client, name, TTL_MS, .flags = flags, .wait_ms = WAIT_MS);
    m->started++;
}

static void acquire(struct many *m, size_t count, uint32_t flags)
{
    m->started = m->ended = 0;
    while (m->ended < count) {
        while (m->started < count && m->started - m->ended < IN_FLIGHT)
            start_one(m, flags);
        count_end(m);
    }
}

static void release(struct many *m, size_t count)
{
    m->started = m->ended = 0;
    while (m->ended < count) {
        for (; m->started < count && m->started - m->ended < IN_FLIGHT; m->started++)
            CHECK_OK(redlock_start_release(m->lock[m->started]));
        count_end(m);
    }
    for (size_t i = 0; i < count; i++)
        redlock_lock_free(m->lock[i]);
}

static void count_bytes(uint32_t flags)
{
    static struct many m;
    struct cluster c;
    size_t before, once;

    m.client = client_start(&c, 5, 0);
    /* What a client needs to work at all is not counted: buffers, and what is under way. */
    acquire(&m, WARM_UP, flags);
    release(&m, WARM_UP);
    acquire(&m, WARM_UP, flags);
    before = memory_in_use(m.client);
    release(&m, WARM_UP);
    acquire(&m, LOCKS, flags);
    once = memory_in_use(m.client);
    printf("# %zu bytes a lock\n", (once - before) / (LOCKS - WARM_UP));
    CHECK_BETWEEN(1, BYTES_PER_LOCK, (once - before) / (LOCKS - WARM_UP));

    for (int i = 0; i < 2; i++) {
        release(&m, LOCKS);
        acquire(&m, LOCKS, flags);
    }
    /* Two more rounds, and hardly a byte a lock more: the least leak would be 64. */
    CHECK_BETWEEN(0, once + 16 * LOCKS, memory_in_use(m.client));
    release(&m, LOCKS);
    client_close(m.client);
}

CASE_OF(renewed,
        "A renewed lock on five nodes costs 512 bytes at most, however long it is held.",
        count_bytes(REDLOCK_RENEW));

CASE_OF(fenced, "A fenced lock costs no more memory than a lock without a token.",
        count_bytes(REDLOCK_RENEW | REDLOCK_FENCED));

CASE(parts, "The structs that every held lock needs do not grow unnoticed.")
{
    printf("# core %zu, handle %zu, attempt %zu and its texts, each vote %zu\n",
           sizeof(struct rl_lock), sizeof(struct rl_handle), offsetof(struct rl_attempt, text),
           sizeof(struct rl_node_vote));
    CHECK_BETWEEN(1, 136, sizeof(struct rl_lock));
    CHECK_BETWEEN(1, 208, sizeof(struct rl_handle));
    CHECK_BETWEEN(1, 57, offsetof(struct rl_attempt, text));
    CHECK_INT(4, sizeof(struct rl_node_vote));
}
