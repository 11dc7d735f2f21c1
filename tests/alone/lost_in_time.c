/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * With three of five nodes hung no renewal succeeds. A hundred holders must all know before
 * their validity ends, which is before their keys expire; how long before is measured.
 */
#include "fixture.h"
#include "lab/stats/series.h"
#include "pulse.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LOCKS = 100 };

struct holder {
    redlock_lock *lock;
    char name[16];
    _Atomic int64_t deadline_ns; /* as of the first failed renewal: it stands from then on */
    _Atomic int64_t notified_ns; /* of the loss */
    int64_t lost_ns;             /* when the event was read */
};

static int64_t wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / RL_NS_PER_MS;
}

static void notify(void *data)
{
    struct holder *h = data;
    if (redlock_state(h->lock) == REDLOCK_STATE_JEOPARDY)
        h->deadline_ns = redlock_deadline_ns(h->lock);
    else
        h->notified_ns = now_ns();
}

CASE_NODES(hundred_losses,
           "With three of five nodes hung, a hundred holders learn of the loss in time.",
           .nodes = 5)
{
    static struct holder h[LOCKS];
    int64_t early_us[LOCKS];
    int late = 0;
    r = CLIENT_OPEN(c, .flags = REDLOCK_THREAD, .node_timeout_ms = DEFAULT_MS,
                    .notify = notify);
    client_warm(r);
    for (int i = 0; i < LOCKS; i++) {
        snprintf(h[i].name, sizeof h[i].name, "x%d", i);
        h[i].lock =
            CLIENT_LOCK(r, h[i].name, 400 + 4 * i, .flags = REDLOCK_RENEW, .data = &h[i]);
        if (i % 4 == 0)
            sleep_ms(3); /* so that they stand at different points of their renewal */
    }
    cluster_each(c, 0, 3, server_freeze);
    for (int lost = 0; lost < LOCKS;) {
        const redlock_event *event = next_event(r, GIVE_UP_MS);
        CHECK(event != NULL);
        if (event->type != REDLOCK_EVENT_LOST)
            continue;
        ((struct holder *)event->data)->lost_ns = now_ns();
        lost++;
    }
    for (int i = 0; i < LOCKS; i++) {
        CHECK(h[i].deadline_ns != 0 && h[i].lost_ns != 0);
        late += h[i].deadline_ns - h[i].notified_ns < -RL_NS_PER_MS * pulse_late_ms();
        early_us[i] = (h[i].deadline_ns - h[i].lost_ns) / 1000;
        late += early_us[i] < -1000 * pulse_late_ms();
        CHECK_INT(REDLOCK_STATE_LOST, redlock_state(h[i].lock));
    }
    quantile_of(early_us, LOCKS, 0.5); /* sorts */
    printf("# notified before the end of the validity, us: min %" PRId64 " median %" PRId64
           " max %" PRId64 "\n",
           early_us[0], early_us[LOCKS / 2], early_us[LOCKS - 1]);
    CHECK_INT(0, late);
    cluster_each(c, 0, 3, server_thaw);
    for (int i = 0; i < LOCKS; i++)
        redlock_lock_free(h[i].lock);
}

/* What the nodes themselves say: their keys outlived the moment of the loss. */
CASE_ON(lost_before_the_keys_expire,
        "The keys still exist at the moment when the loss is reported.", .nodes = 5,
        .flags = REDLOCK_THREAD, .node_timeout_ms = DEFAULT_MS)
{
    redlock_lock *lock = client_lock(r, "x", 2000);
    int64_t expires_ms[5], stalled_ms, lost_ms;
    CHECK(cluster_await(c, "redlock:x", 5));
    stalled_ms = pulse_stalled_ms();
    for (int i = 0; i < 5; i++) {
        const char *answer = server_cmd(&c->node[i], "PEXPIRETIME", "redlock:x", NULL);
        if (answer[0] == '-')
            check_skip("this server has no PEXPIRETIME");
        expires_ms[i] = strtoll(answer, NULL, 10);
    }
    cluster_each(c, 0, 3, server_freeze);
    EXPECT(r, LOST, REDLOCK_LOST, lock);
    lost_ms = wall_ms();
    stalled_ms = pulse_stalled_ms() - stalled_ms;
    for (int i = 0; i < 5; i++)
        CHECK_BETWEEN(1 - pulse_late_ms() - stalled_ms, 2000, expires_ms[i] - lost_ms);
    cluster_each(c, 0, 3, server_thaw);
}

CASE_ON(nobody_else_before_the_deadline,
        "No other client gets the lock before the holder's deadline.", .nodes = 5,
        .flags = REDLOCK_THREAD)
{
    redlock *rival;
    int64_t least_us = INT64_MAX;
    rival = CLIENT_OPEN(c, .retry_max_ms = 2);
    client_warm(rival);
    for (int i = 0; i < 10; i++) {
        redlock_lock *lock = client_lock(r, "x", 100 + 20 * i), *next = NULL;
        int64_t deadline_ns = redlock_deadline_ns(lock);
        int64_t after_us;
        next = CLIENT_LOCK(rival, "x", 20000, .wait_ms = 5000);
        after_us = (now_ns() - deadline_ns) / 1000;
        least_us = after_us < least_us ? after_us : least_us;
        redlock_lock_free(lock);
        client_unlock(next);
    }
    printf("# the next holder came at least %" PRId64 " us after the deadline\n", least_us);
    CHECK(least_us >= 0);
}
