/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes whose clock is set (G6): expiry on such a node means nothing any more. It is found
 * out, leaves the locks we hold and may not vote; and no other node is suspected.
 */
#include "fixture.h"
#include "helper.h"
#include "nodeclock.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { NODES = 5, STEPPED = 1, TTL_MS = LONG_TTL_MS };

struct watch {
    redlock *r;
    size_t node;
    redlock_node_info info;
};

static bool is_out(void *data)
{
    struct watch *w = data;
    w->info = (redlock_node_info)REDLOCK_NODE_INFO();
    CHECK_OK(redlock_node(w->r, w->node, &w->info));
    return w->info.quarantined != 0;
}

static int count_out(redlock *r)
{
    int count = 0;
    for (size_t i = 0; i < NODES; i++) {
        struct watch w = {.r = r, .node = i};
        if (is_out(&w)) {
            printf("# node %zu: %s\n", i, w.info.text);
            count++;
        }
    }
    return count;
}

static void step_one(int64_t step_ms, uint32_t flags)
{
    struct cluster c;
    redlock *r;
    struct watch w;
    redlock_lock *other, *lock;
    int64_t start_ms;
    nodeclock_cluster(&c, NODES);
    r = client_open_warm(&c, REDLOCK_THREAD | flags);
    lock = CLIENT_LOCK(r, "x", TTL_MS, .flags = REDLOCK_RENEW);
    CHECK(client_await_margin(lock, 2));
    sleep_ms(2500); /* a sample of the old time on every node */
    CHECK_INT(0, count_out(r));

    nodeclock_step(&c.node[STEPPED], step_ms);
    w = (struct watch){.r = r, .node = STEPPED};
    start_ms = now_ms();
    CHECK(wait_until(is_out, &w));
    printf("# %lld ms: found out after %lld ms: %s\n", (long long)step_ms,
           (long long)(now_ms() - start_ms), w.info.text);
    CHECK_HAS("clock was set", w.info.text);
    CHECK(client_await_margin(lock, 1));
    CHECK_INT(1, count_out(r)); /* the others are unaffected */
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
    if ((flags & REDLOCK_STRICT) != 0)
        CHECK_INT(0, server_int(&c.node[STEPPED], "EXISTS", "redlock.admit", NULL));

    /* New locks are made of the other four. */
    other = client_lock(r, "y", TTL_MS);
    CHECK(client_await_margin(other, 1));
    sleep_ms(50);
    CHECK_INT(1, redlock_margin(other));
}

CASE_OF(forward,
        "A node whose clock is set 60 s forward is noticed and leaves votes and holds.",
        step_one(60000, 0));

CASE_OF(backward, "A node whose clock is set 120 s back is noticed and leaves votes and holds.",
        step_one(-120000, 0));

CASE_OF(forward_strict,
        "In strict mode a node whose clock is set forward loses its marker as well.",
        step_one(60000, REDLOCK_STRICT));

CASE_OF(backward_strict,
        "In strict mode a node whose clock is set back loses its marker as well.",
        step_one(-120000, REDLOCK_STRICT));

CASE_ON(majority_gone, "Holds that are left without a majority by set clocks are lost.",
        .nodes = NODES, .start = nodeclock_cluster, .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    CHECK(client_await_margin(lock, 2));
    sleep_ms(2500);
    for (int i = 0; i < 3; i++)
        nodeclock_step(&c->node[i], 60000);
    AWAIT(redlock_state(lock) == REDLOCK_STATE_LOST);
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(3, count_out(r));
}

static void load(redlock *r, int64_t seconds)
{
    redlock_lock *kept = CLIENT_LOCK(r, "kept", RENEWED_TTL_MS, .flags = REDLOCK_RENEW);
    long cycles = 0;
    CHECK(client_await_margin(kept, 2));
    for (int64_t end_ms = now_ms() + seconds * 1000; now_ms() < end_ms; cycles++) {
        CHECK_OK(client_try(r, "x", TTL_MS));
        if (cycles % 1000 == 0)
            CHECK_INT(0, count_out(r));
    }
    CHECK_INT(0, count_out(r));
    CHECK(client_await_margin(kept, 2));
    printf("# %ld cycles in %lld s, no alarm\n", cycles, (long long)seconds);
}

CASE_OF_ON(no_false_alarm, "No clock is suspected during some seconds of normal load.",
           load(r, check_setting("REDLOCK_STRESS_SECONDS", 6)), .nodes = NODES,
           .flags = REDLOCK_THREAD);

/* What the paused client sends to its parent. */
struct diary {
    _Atomic int ready, out, state, margin, done;
};

struct paused {
    struct cluster *cluster;
    struct diary *diary;
};

static void be_paused(void *data)
{
    struct paused *p = data;
    redlock *r = client_open_warm(p->cluster, REDLOCK_THREAD);
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    sleep_ms(1500);
    for (int64_t last_ms = now_ms();; sleep_ms(5)) {
        int64_t gap_ms;
        p->diary->ready = 1;
        gap_ms = now_ms() - last_ms;
        last_ms += gap_ms;
        if (gap_ms > 1500)
            break; /* that was the pause */
    }
    for (int i = 0; i < 150; i++) { /* samples before, during and after it */
        CHECK_OK(client_try(r, "y", TTL_MS));
        p->diary->out += count_out(r);
        sleep_ms(20);
    }
    p->diary->state = redlock_state(lock);
    p->diary->margin = redlock_margin(lock);
    p->diary->done = 1;
}

CASE_NODES(no_alarm_after_a_pause,
           "A client that was stopped and continued suspects no node's clock.", .nodes = NODES)
{
    struct diary *d = helper_memory(sizeof *d);
    struct paused p = {c, d};
    pid_t pid = helper_start(be_paused, &p);
    AWAIT(d->ready != 0);
    kill(pid, SIGSTOP);
    sleep_ms(3000);
    kill(pid, SIGCONT);
    AWAIT(d->done != 0);
    CHECK_INT(0, d->out);
    CHECK_INT(REDLOCK_STATE_HELD, d->state);
    CHECK_INT(2, d->margin);
    helper_stop(&pid);
}
