/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "client.h"
#include "kinds.h"

#include <stdio.h>

static uint32_t slots_wanted;

static void wish(int worker, unsigned *seed, struct load_wish *out)
{
    (void)worker;
    out->request = slots_request(slots_wanted);
    out->request.wait_ms = seed_draw(seed, 0, 2) ? 300 : 0;
    out->ttl_ms = seed_draw(seed, 300, LOAD_MAX_TTL_MS);
    out->hold_ms = seed_draw(seed, 0, 12);
}

struct load *semaphore_load(uint32_t slots, size_t nodes, int64_t run_ms, unsigned faults,
                            unsigned seed)
{
    slots_wanted = slots;
    return load_run(&(struct load_spec){
        .nodes = nodes,
        .workers = (int)slots + 4,
        .run_ms = run_ms,
        .holds_min = 60,
        .faults = faults,
        .seed = seed,
        .wish = wish,
    });
}

int semaphore_partitioned(void)
{
    struct cluster c;
    struct port closed = port_reserve();
    char url[64];
    redlock *r[3];
    redlock_lock *lock[3] = {NULL};
    int held = 0;
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", closed.number);
    cluster_start(&c, 3);
    for (int i = 0; i < 3; i++) {
        struct cluster part = c;
        redlock_request q;
        for (int n = 0; n < 3; n++)
            part.urls[n] = n == i ? url : c.url[n];
        r[i] = client_open(&part, 0);
        client_warm_nodes(r[i], 2);
        q = slots_request(2);
        q.wait_ms = 1000;
        redlock_acquire(r[i], "x", 20000, &q, &lock[i]);
    }
    for (int i = 0; i < 3; i++)
        held += lock[i] != NULL && redlock_remaining_ms(lock[i]) > 0;
    for (int i = 0; i < 3; i++) {
        redlock_lock_free(lock[i]);
        client_close(r[i]);
    }
    port_release(&closed);
    return held;
}
