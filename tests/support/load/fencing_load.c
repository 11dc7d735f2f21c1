/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "kinds.h"
#include "kinds_load.h"

enum { DEFAULT_ACQUISITIONS = CHECK_SANITIZED ? 2000 : 12000 };

static void wish(int worker, unsigned *seed, struct load_wish *out)
{
    (void)worker;
    out->names = 1u << seed_draw(seed, 0, LOAD_NAMES_MAX - 1);
    out->request.flags = REDLOCK_FENCED;
}

int fencing_disorders(int acquisitions, int64_t limit_ms)
{
    struct load *l = load_run(&(struct load_spec){
        .nodes = 5,
        .workers = 8,
        .run_ms = limit_ms,
        .holds_max = acquisitions,
        .pause_ms = 75,
        .drop_percent = 20,
        .faults = LOAD_HANGS | LOAD_CUTS | LOAD_RESTARTS,
        .seed = seed_choose(),
        .wish = wish,
    });
    CHECK_INT(acquisitions, holds_count(l->holds)); /* else it took too long */
    return holds_disorders(l->holds);
}

int fencing_acquisitions(void)
{
    return (int)check_setting("REDLOCK_STRESS_ACQUISITIONS", DEFAULT_ACQUISITIONS);
}
