/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cases that elected votes were made for, one by one: a deposed master that lives, with a
 * client that knows nothing of its successor, and a rival that does. Both want one lock all the
 * time. Both get it, one after the other, and never believe in it at the same time.
 */
#include "group.h"
#include "names.h"

#include "check.h"
#include "clock.h"

#include <redlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TTL = 3000,
    QUARANTINE_MS = MAX_TTL + VOUCH_MS + MARGIN_MS,
    NODE_TIMEOUT = 150,
    LOOK = 10,
    PATIENCE_MS = 60000,
    FIRST_SENTINEL = 3,
    ALL_SENTINELS = 0x38,
    AFTER_MS = 13000, /* sentinels make a deposed master a replica after about ten seconds */
};

static struct network network;
static struct group group;

struct rival {
    redlock *client;
    redlock_lock *lock;
    int takes;
    int64_t first_ms; /* when it first held the lock; 0: never */
};

static struct rival rivals[GROUP_SIDES];

static void open_rival(int side)
{
    const char *urls[] = {group.url};
    redlock_options o = REDLOCK_OPTIONS(.nodes = urls, .node_count = 1, .flags = REDLOCK_THREAD,
                                        .node_timeout_ms = NODE_TIMEOUT, .max_ttl_ms = MAX_TTL);
    group_enter_side(&group, side);
    CHECK_OK(redlock_open(&o, &rivals[side].client));
    group_leave_side(&group);
}

static void start(void)
{
    network_open(&network, GROUP_PLACES);
    if (!network.ready)
        check_skip("no network namespaces: %s", network.why);
    group_start(&group, &network, (struct group_form){0});
    CHECK_OK(group_admit(&group, MAX_TTL));
    for (int side = 0; side < GROUP_SIDES; side++)
        open_rival(side);
}

/* Takes the lock if it can, and lets go of one that is over. */
static void want(struct rival *r)
{
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_RENEW | REDLOCK_FENCED);
    if (r->lock != NULL && redlock_remaining_ms(r->lock) > 0)
        return;
    redlock_lock_free(r->lock);
    r->lock = NULL;
    if (redlock_acquire(r->client, "bone", MAX_TTL, &q, &r->lock) != REDLOCK_OK)
        return;
    r->takes++;
    if (r->first_ms == 0)
        r->first_ms = now_ms();
}

static int64_t belief_ns(const struct rival *r)
{
    return r->lock != NULL ? redlock_deadline_ns(r->lock) : 0;
}

/* Both want it for so long, or until the second holds it. */
static bool compete(int64_t for_ms, bool until_second)
{
    int64_t end_ms = now_ms() + for_ms;
    while (now_ms() < end_ms && !(until_second && rivals[1].takes > 0)) {
        int64_t a_ns, b_ns, at_ns;
        for (int side = 0; side < GROUP_SIDES; side++)
            want(&rivals[side]);
        a_ns = belief_ns(&rivals[0]);
        b_ns = belief_ns(&rivals[1]);
        at_ns = now_ns();
        if (a_ns > at_ns && b_ns > at_ns)
            check_never(__FILE__, __LINE__, "milliseconds that both believe in",
                        ((a_ns < b_ns ? a_ns : b_ns) - at_ns) / 1000000 + 1);
        sleep_ms(LOOK);
    }
    return rivals[1].takes > 0;
}

static bool has_turned(void *data)
{
    struct group_term term = group_term(&group, 0);
    return term.server >= 0 && term.server != *(int *)data;
}

static int64_t await_turn(int old)
{
    int64_t start_ms = now_ms();
    while (!has_turned(&old)) {
        compete(2 * LOOK, false);
        CHECK(now_ms() - start_ms < PATIENCE_MS);
    }
    return now_ms();
}

static void hold_first(void)
{
    while (rivals[0].takes == 0) {
        want(&rivals[0]);
        sleep_ms(LOOK);
    }
    compete(1500, false); /* renewed once or more */
    CHECK_INT(0, rivals[1].takes);
}

static void print(const char *what, int64_t begun_ms, int64_t turned_ms)
{
    printf("# %s: electors turned after %lld ms; ", what, (long long)(turned_ms - begun_ms));
    if (rivals[1].takes > 0)
        printf("the rival held %lld ms later", (long long)(rivals[1].first_ms - turned_ms));
    else
        printf(rivals[0].takes > 1 ? "the first one took it again"
                                   : "the holder went on at the new master");
    printf("; takes %d and %d\n", rivals[0].takes, rivals[1].takes);
}

/* Stopped and resumed; `cut`: its client cannot ask the sentinels meanwhile. */
static void stop_and_resume(bool cut)
{
    int64_t turned_ms, begun_ms;
    start();
    hold_first();
    begun_ms = now_ms();
    if (cut) {
        network_block(&network, GROUP_SIDE(0), ALL_SENTINELS | 0x6);
        network_block(&network, ALL_SENTINELS | 0x6, GROUP_SIDE(0));
    }
    group_freeze(&group, 0);
    turned_ms = await_turn(0);
    CHECK(compete(cut ? PATIENCE_MS : QUARANTINE_MS, cut) || !cut);
    if (!cut)
        compete(1500, false);
    /* What was sent to the old one is executed now, and it takes writes for ten seconds. */
    group_thaw(&group, 0);
    compete(AFTER_MS, false);
    print("stopped and resumed", begun_ms, turned_ms);
    CHECK(rivals[0].takes + rivals[1].takes > 1);
}

CASE(rival_of_stopped,
     "A master that was stopped and comes back deposed gives no second holder.")
{
    stop_and_resume(false);
}

CASE(rival_of_stopped_and_cut,
     "A client cut off from the sentinels does not count on a master that comes back.")
{
    stop_and_resume(true);
}

/* The places of `with` stay on the old master's side, with the first client. */
static void isolate(unsigned int with)
{
    int64_t turned_ms, begun_ms;
    unsigned int here, there;
    start();
    hold_first();
    here = 1u | GROUP_SIDE(0) | with;
    there = 0xffu & ~here;
    begun_ms = now_ms();
    network_block(&network, here, there);
    network_block(&network, there, here);
    turned_ms = await_turn(0);
    CHECK(compete(PATIENCE_MS, true));
    compete(5000, false);
    network_unblock(&network, here, there);
    network_unblock(&network, there, here);
    compete(AFTER_MS, false);
    print("cut off", begun_ms, turned_ms);
}

CASE(rival_of_isolated, "A master cut off with one client gives no second holder.")
{
    isolate(0);
}

CASE(rival_of_split, "A master cut off with a client and a sentinel gives no second holder.")
{
    isolate(1u << FIRST_SENTINEL);
}

/* What `from` sends to `to` is lost, and nothing else. */
static void one_way(unsigned int from, unsigned int to)
{
    int64_t turned_ms, begun_ms;
    start();
    hold_first();
    begun_ms = now_ms();
    network_block(&network, from, to);
    turned_ms = await_turn(0);
    /* The first one reaches all of them, and may have succeeded to the new term (E9). */
    compete(2 * QUARANTINE_MS, true);
    CHECK(rivals[1].takes > 0 || belief_ns(&rivals[0]) > now_ns());
    compete(2000, false);
    network_unblock(&network, from, to);
    compete(AFTER_MS, false);
    print("cut off one way", begun_ms, turned_ms);
}

CASE(rival_of_mute, "A master whose answers do not reach the sentinels gives no second holder.")
{
    one_way(1u, ALL_SENTINELS | 0x6u);
}

CASE(rival_of_deaf, "A master that the sentinels cannot ask gives no second holder.")
{
    one_way(ALL_SENTINELS | 0x6u, 1u);
}

enum { COUNT_MS = 8000, MANY = 20 };

/* Commands that the sentinels have executed so far, all together. */
static long long commands(void)
{
    long long sum = 0;
    for (int i = FIRST_SENTINEL; i < GROUP_MEMBERS; i++) {
        const char *text = server_cmd(&group.member[i], "INFO", "stats", NULL);
        const char *at = strstr(text, "total_commands_processed:");
        CHECK(at != NULL);
        sum += atoll(at + strlen("total_commands_processed:"));
    }
    return sum;
}

/* Per sentinel and second. */
static double rate(void (*meanwhile)(void))
{
    int64_t start_ms = now_ms();
    long long before = commands();
    double seconds;
    while (now_ms() - start_ms < COUNT_MS)
        if (meanwhile != NULL)
            meanwhile();
        else
            sleep_ms(LOOK);
    seconds = (double)(now_ms() - start_ms) / 1000;
    return (double)(commands() - before) / (GROUP_MEMBERS - FIRST_SENTINEL) / seconds;
}

static void take_and_give(void)
{
    redlock_lock *lock = NULL;
    if (redlock_acquire(rivals[0].client, "brief", MAX_TTL, NULL, &lock) == REDLOCK_OK)
        redlock_release(lock);
    redlock_lock_free(lock);
}

CASE(electors_asked, "Electors are asked once a second while there are locks, however many.")
{
    redlock_request renewed = REDLOCK_REQUEST(.flags = REDLOCK_RENEW);
    redlock_lock *lock[MANY] = {NULL};
    char name[32];
    double held, busy, idle, quiet;
    snprintf(network.why, sizeof network.why, "on loopback");
    group_start(&group, &network, (struct group_form){0});
    CHECK_OK(group_admit(&group, MAX_TTL));
    quiet = rate(NULL);
    open_rival(0);
    idle = rate(NULL) - quiet;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "held-%d", i);
        CHECK_OK(redlock_acquire(rivals[0].client, name, MAX_TTL, &renewed, &lock[i]));
    }
    held = rate(NULL) - quiet;
    busy = rate(take_and_give) - quiet;
    printf(
        "# requests to each elector per second: %.2f idle, %.2f with %d locks, %.2f with these "
        "and one taken and given back all the time (%.2f among themselves)\n",
        idle, held, MANY, busy, quiet);
    for (int i = 0; i < MANY; i++)
        redlock_lock_free(lock[i]);
    CHECK(held < 1.5 && busy < 1.5);
}
