/* SPDX-License-Identifier: BSD-2-Clause */
#include "inject_walk.h"

#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "client.h"
#include "clock.h"

enum {
    TTL_MS = 5000,
    WAIT_MS = 3000, /* for one failure: long enough to get over it */
    NODE_TIMEOUT_MS = 300,
};

static void walk(struct walk *w)
{
    static const char long_name[] =
        "fenced-and-so-long-that-it-does-not-fit-into-the-space-that-short-names-have-inside-a-"
        "handle-and-an-attempt";
    redlock_options o = client_options(&w->cluster);
    redlock *r = NULL;
    int error;

    o.flags = w->flags;
    o.node_timeout_ms = NODE_TIMEOUT_MS;
    error = redlock_open(&o, &r);
    station_check_error(w, "open", error);
    CHECK((error == REDLOCK_OK) == (r != NULL));
    if (error)
        return;
    lock_blocking(w, r, "plain", REDLOCK_BOUND);
    lock_blocking(w, r, long_name, REDLOCK_FENCED);
    lock_asynchronously(w, r);
    hold_lease(w, r);
    wait_and_cancel(w, r);
    look_around(w, r);
    start_jobs(w, r);
    await_all_up(w, r);
    client_close(r);
}

static bool has_closed_all(void *data)
{
    return count_descriptors() == ((const struct walk *)data)->descriptors;
}

/* Not at once: a thread that looks up a name may be reading a file. */
static void check_descriptors(struct walk *w)
{
    if (!wait_until(has_closed_all, w))
        FAIL("walk %d: %d descriptors are open, %d were before", w->number, count_descriptors(),
             w->descriptors);
}

/* A machine without /etc/hosts would ask the network, for seconds. */
static bool knows_localhost(void)
{
    return access("/etc/hosts", R_OK) == 0;
}

void walk_begin(struct walk *w, uint32_t flags)
{
    *w = (struct walk){.flags = flags, .ttl_ms = TTL_MS, .wait_ms = WAIT_MS};
    cluster_start(&w->cluster, NODES);
    /* One of them by name, so that there is something to look up. */
    if (knows_localhost())
        snprintf(w->cluster.url[0], sizeof w->cluster.url[0], "redis://localhost:%d",
                 w->cluster.node[0].port.number);
    cluster_set(&w->cluster, 0, NODES, "redlock:occupied", "somebody", 600000);
    /* What is made once and kept: the thread's token of bound locks. */
    walk(w);
    w->descriptors = count_descriptors();
    w->number++;
    CHECK(!walk_with(w, INJECT_MEMORY, 1 << 30, 1, false));
}

bool walk_with(struct walk *w, enum inject_call call, int nth, int error, bool lasting)
{
    bool fired;

    w->wait_ms = lasting ? WAIT_IN_VAIN_MS : WAIT_MS;
    inject_arm(call, nth, error, lasting);
    walk(w);
    fired = inject_fired();
    inject_disarm();
    check_descriptors(w);
    w->number++;
    w->walks_with_failure += fired;
    return fired;
}

static void let_renew(redlock *r)
{
    const redlock_event *event;

    if (redlock_next(r, &event, 5) == 1)
        CHECK(event->type != REDLOCK_EVENT_LOST);
}

void walk_renewing(struct walk *w, enum inject_call call, int nth, int error)
{
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_RENEW, .wait_ms = WAIT_MS);
    redlock *r = client_open_hasty(&w->cluster, w->flags, PATIENT_MS);
    redlock_lock *lock = NULL;
    char name[REDLOCK_NAME_MAX + 1];
    int64_t end_ms = now_ms() + DONE_WITHIN_MS;
    int64_t lasts_until_ms;

    w->ttl_ms = RENEWED_TTL_MS;
    client_warm(r);
    station_name_of(w, "renewed", name);
    if (!(w->flags & REDLOCK_THREAD))
        CHECK(redlock_fd(r) >= 0); /* driven by let_renew() */
    CHECK_OK(redlock_acquire(r, name, RENEWED_TTL_MS, &q, &lock));
    inject_arm(call, nth, error, false);
    while (!inject_fired() && now_ms() < end_ms)
        let_renew(r);
    if (!inject_fired())
        FAIL("call %d, number %d was never made", (int)call, nth);
    /* One failed call is no reason to lose it: the next renewal lets it last longer. */
    lasts_until_ms = now_ms() + redlock_remaining_ms(lock);
    while (now_ms() + redlock_remaining_ms(lock) < lasts_until_ms + RENEWED_TTL_MS / 8 &&
           now_ms() < end_ms) {
        let_renew(r);
        station_check_grant(w, lock);
    }
    CHECK(redlock_remaining_ms(lock) > 0);
    CHECK(now_ms() < end_ms);
    inject_disarm();
    redlock_lock_free(lock);
    client_close(r);
    check_descriptors(w);
}

static bool is_clean(void *data)
{
    const struct walk *w = data;

    for (size_t i = 0; i < w->cluster.count; i++)
        if (server_int(&w->cluster.node[i], "EVAL", "return #redis.call('keys', ARGV[1])", "0",
                       "redlock:*", NULL) != 1) /* the occupied one */
            return false;
    return true;
}

void walk_end(struct walk *w)
{
    CHECK(wait_until(is_clean, w));
    printf("%d walks, %d with a failure\n", w->number, w->walks_with_failure);
}
