/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that runs out: at the first allocation, at the second, and so on until a walk needs no
 * more of them; once for that one allocation and once for good. No crash, no leak, no grant
 * that the servers do not know of, and an error that says so.
 */
#include "check.h"
#include "inject_walk.h"

#include <stdio.h>
#include <stdlib.h>

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

CASE_OF(once, "Any single allocation may fail without a crash, a leak or a wrong grant.",
        run_out(0, false));

CASE_OF(for_good,
        "All allocations may fail from any one on without a crash, a leak or a wrong grant.",
        run_out(0, true));

CASE_OF(once_threaded, "Any single allocation of the I/O thread may fail without harm.",
        run_out(REDLOCK_THREAD, false));

CASE_OF(for_good_threaded,
        "All allocations of the I/O thread may fail from any one on without harm.",
        run_out(REDLOCK_THREAD, true));

CASE_OF(once_strict,
        "In strict mode, with scripts only, any single allocation may fail without harm.",
        run_out(REDLOCK_STRICT | REDLOCK_NO_NATIVE, false));

CASE(configured, "Any allocation may fail while the configuration is read, and it is NOMEM.")
{
    char path[256];
    int n = 0;
    bool fired = true;
    FILE *file;

    snprintf(path, sizeof path, "%s/given.conf", check_dir());
    file = fopen(path, "w");
    CHECK(file && fputs("prefix = a:\nuser = b\nttl = 1s\nnodes = x\n", file) >= 0 &&
          fclose(file) == 0);
    setenv("REDLOCK_CONFIG", path, 1);
    setenv("REDLOCK_NODES", "east=127.0.0.1:1,127.0.0.1:2;west=127.0.0.1:3", 1);
    setenv("REDLOCK_PASSWORD", "secret", 1);
    while (fired) {
        redlock *r = NULL;
        int error;

        CHECK(++n < ALLOCATIONS_MAX);
        inject_arm(INJECT_MEMORY, n, 12 /* ENOMEM */, false);
        error = redlock_open(NULL, &r);
        fired = inject_fired();
        inject_disarm();
        /* What comes after the set-up may fail and be tried again: connecting does. */
        if (error)
            CHECK_ERR(REDLOCK_NOMEM, error);
        redlock_close(r);
    }
    CHECK(n > 10);
}
