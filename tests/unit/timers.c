/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap of timers against a twin that looks at every timer each time. */
#include "check.h"

#include "base/timers.h"

#include <stdint.h>
#include <stdlib.h>

enum { TIMERS = 200, STEPS = 200000 };

static struct rl_timer timer[TIMERS];
static int64_t due_ns[TIMERS]; /* the twin: INT64_MAX when not set */

static int64_t earliest_ns(void)
{
    int64_t earliest = INT64_MAX;
    for (int i = 0; i < TIMERS; i++)
        if (due_ns[i] < earliest)
            earliest = due_ns[i];
    return earliest;
}

/* Everything that is due comes out, nothing else does, each once. */
static void check_due(struct rl_timers *timers, int64_t now_ns)
{
    struct rl_timer *t;
    while ((t = rl_timers_due(timers, now_ns)) != NULL) {
        long i = t - timer;
        CHECK_BETWEEN(0, TIMERS - 1, i);
        CHECK_BETWEEN(0, now_ns, due_ns[i]);
        CHECK_INT(0, t->place);
        due_ns[i] = INT64_MAX;
    }
    CHECK(earliest_ns() > now_ns);
    CHECK(rl_timers_next_ns(timers) > now_ns);
}

CASE(agrees_with_the_twin,
     "The heap agrees with its twin on random sets, moves, removals and expiries.")
{
    struct rl_timers timers = {0};
    int64_t now_ns = 0;
    for (int i = 0; i < TIMERS; i++)
        due_ns[i] = INT64_MAX;
    CHECK(rl_timers_reserve(&timers, TIMERS));
    srandom(1);
    for (int step = 0; step < STEPS; step++) {
        int i = (int)(random() % TIMERS);
        switch (random() % 8) {
        case 0:
            due_ns[i] = INT64_MAX;
            rl_timers_set(&timers, &timer[i], INT64_MAX);
            break;
        case 1:
            now_ns += random() % 400;
            check_due(&timers, now_ns);
            break;
        default:
            due_ns[i] = now_ns + 1 + random() % 1000;
            rl_timers_set(&timers, &timer[i], due_ns[i]);
            break;
        }
        /* It may wake too early (a timer was moved to later), never too late. */
        CHECK(rl_timers_next_ns(&timers) <= earliest_ns());
    }
    check_due(&timers, INT64_MAX - 1);
    CHECK_INT(INT64_MAX, rl_timers_next_ns(&timers));
    CHECK_INT(0, timers.count);
    rl_timers_free(&timers);
}

CASE(equal_times_all_come_out, "Timers of equal time all come out, each once.")
{
    struct rl_timers timers = {0};
    for (int i = 0; i < TIMERS; i++) {
        CHECK(rl_timers_reserve(&timers, (size_t)i + 1));
        due_ns[i] = 42;
        rl_timers_set(&timers, &timer[i], 42);
    }
    CHECK(rl_timers_due(&timers, 41) == NULL);
    check_due(&timers, 42);
    rl_timers_free(&timers);
}

CASE(the_first_put_off, "The first timer, moved to a later time, does not fire at its old one.")
{
    struct rl_timers timers = {0};
    CHECK(rl_timers_reserve(&timers, 2));
    rl_timers_set(&timers, &timer[0], 10);
    rl_timers_set(&timers, &timer[1], 30);
    rl_timers_set(&timers, &timer[0], 50);
    CHECK_INT(30, rl_timers_next_ns(&timers));
    rl_timers_set(&timers, &timer[1], 60);
    CHECK_INT(50, rl_timers_next_ns(&timers));
    rl_timers_free(&timers);
}
