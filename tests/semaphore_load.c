/* SPDX-License-Identifier: BSD-2-Clause */
#include "semaphore_load.h"

#include "kinds.h"

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
        .faults = faults,
        .seed = seed,
        .wish = wish,
    });
}
