/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that runs out: at the first allocation, at the second, and so on until a walk needs no
 * more of them; once for that one allocation and once for good. No crash, no leak, no grant that
 * the servers do not know of, and an error that says so.
 */
#include "check.h"
#include "inject_walk.h"

enum { ALLOCATIONS_MAX = 500 };

static void run_out(uint32_t flags, bool lasting)
{
    struct walk w;
    int n = 1;

    walk_begin(&w, flags);
    while (walk_with(&w, INJECT_MEMORY, n, 12 /* ENOMEM */, lasting))
        CHECK(n++ < ALLOCATIONS_MAX);
    CHECK(n > 10);
    walk_end(&w);
}

CASE(once, "Any single allocation may fail without a crash, a leak or a wrong grant.")
{
    run_out(0, false);
}

CASE(for_good,
     "All allocations may fail from any one on without a crash, a leak or a wrong grant.")
{
    run_out(0, true);
}

CASE(once_threaded, "Any single allocation of the I/O thread may fail without harm.")
{
    run_out(REDLOCK_THREAD, false);
}

CASE(for_good_threaded,
     "All allocations of the I/O thread may fail from any one on without harm.")
{
    run_out(REDLOCK_THREAD, true);
}

CASE(once_strict,
     "In strict mode, with scripts only, any single allocation may fail without harm.")
{
    run_out(REDLOCK_STRICT | REDLOCK_NO_NATIVE, false);
}
