/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rig does to a cluster: each fault has the effect that it is for, and what
 * a failover costs. */
#include "group.h"

#include "check.h"
#include "clock.h"

#include <redlock.h>
#include <stdio.h>
#include <string.h>

enum {
    NODE_TIMEOUT = 1000,
    KEYS = 40,
    TTL = 3000,
    BEFORE_MS = 1000,
    AFTER_MS = 2000,
    LOOK_EVERY = 20, /* cycles between two questions to the electors */
};

static struct network network;
static struct group group;

struct wanted {
    int vote;
    struct group_term before;
};

static bool has_turned(void *data)
{
    const struct wanted *w = data;
    struct group_term now = group_term(&group, w->vote);
    return now.server >= 0 && now.server != w->before.server && now.epoch > w->before.epoch;
}

static void await_turn(int vote, struct group_term before)
{
    struct wanted wanted = {vote, before};
    if (!wait_until(has_turned, &wanted))
        FAIL("vote %d is still with server %d", vote + 1, before.server + 1);
}

static bool is_replica(void *data)
{
    const int *server = data;
    return strstr(server_cmd(&group.member[*server], "INFO", "replication", NULL),
                  "master_link_status:up") != NULL;
}

static void begin(int votes)
{
    snprintf(network.why, sizeof network.why, "on loopback");
    group_start(&group, &network,
                (struct group_form){.votes = votes, .node_timeout_ms = NODE_TIMEOUT});
}

CASE(nodes_turn, "Every way of a failover gives a vote of a cluster another term.")
{
    struct group_term before;
    begin(3);
    for (int how = FAILOVER_AGREED; how <= FAILOVER_TAKEOVER; how++) {
        before = group_term(&group, how);
        CHECK_INT(how, before.server);
        CHECK(group_failover(&group, 0, before.server, (enum failover)how));
        await_turn(how, before);
        CHECK(wait_until(is_replica, &before.server));
    }
    before = group_term(&group, 0);
    group_kill(&group, before.server);
    await_turn(0, before);
    group_launch(&group, before.server);
    before = group_term(&group, 1);
    group_freeze(&group, before.server);
    await_turn(1, before);
    group_thaw(&group, before.server);
    CHECK(wait_until(is_replica, &before.server));
}

CASE(nodes_migrate, "A slot that is migrated has all its keys, and another term.")
{
    char key[32];
    struct group_term before;
    begin(1);
    before = group_term(&group, 0);
    CHECK_INT(1, before.server);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "{sm}%d", i);
        CHECK_STR("OK", server_cmd(&group.member[1], "SET", key, "value", "PX", "60000", NULL));
    }
    CHECK(group_migrate_begin(&group, 0, 1, 2));
    CHECK(server_int(&group.member[2], "DBSIZE", NULL) > 0);
    CHECK(group_migrate_end(&group, 0, 1, 2));
    await_turn(0, before);
    CHECK_INT(2, group_term(&group, 0).server);
    CHECK_INT(KEYS, server_int(&group.member[2], "DBSIZE", NULL));
    CHECK_INT(0, server_int(&group.member[1], "DBSIZE", NULL));
}

static void kill_master(int server)
{
    group_kill(&group, server);
}

static void stop_master(int server)
{
    group_freeze(&group, server);
}

static void depose_master(int server)
{
    CHECK(group_failover(&group, 0, server, FAILOVER_AGREED));
}

/* One lock after the other, until long after the turn. Prints the longest time without
 * a new one. */
static void measure(const char *what, bool full_coverage, void (*fault)(int server))
{
    const char *urls[] = {group.url};
    redlock_options o = REDLOCK_OPTIONS(.nodes = urls, .node_count = 1, .flags = REDLOCK_THREAD,
                                        .node_timeout_ms = 150, .max_ttl_ms = TTL);
    redlock *client = NULL;
    redlock_lock *lock = NULL;
    int64_t start_ms, last_ms, before_ms = 0, after_ms = 0, turned_ms = 0, number = 0;
    char name[32];
    struct wanted wanted;
    bool begun = false;
    snprintf(network.why, sizeof network.why, "on loopback");
    group_start(&group, &network,
                (struct group_form){.votes = 3,
                                    .node_timeout_ms = NODE_TIMEOUT,
                                    .full_coverage = full_coverage});
    CHECK_OK(group_admit(&group, TTL));
    CHECK_OK(redlock_open(&o, &client));
    wanted = (struct wanted){0, group_term(&group, 0)};
    start_ms = last_ms = now_ms();
    while (turned_ms == 0 || now_ms() < turned_ms + AFTER_MS) {
        int error;
        int64_t *longest_ms, pause_ms;
        if (!begun && now_ms() > start_ms + BEFORE_MS) {
            start_ms = now_ms();
            fault(wanted.before.server);
            begun = true;
        }
        /* Each a name of its own: a release that was refused keeps no other lock waiting. */
        snprintf(name, sizeof name, "lock-%lld", (long long)number++);
        error = redlock_acquire(client, name, TTL, NULL, &lock);
        longest_ms = begun ? &after_ms : &before_ms;
        pause_ms = now_ms() - last_ms;
        *longest_ms = pause_ms > *longest_ms ? pause_ms : *longest_ms;
        if (error == REDLOCK_OK) {
            last_ms = now_ms();
            redlock_release(lock);
        }
        redlock_lock_free(lock);
        lock = NULL;
        if (begun && turned_ms == 0 && number % LOOK_EVERY == 0 && has_turned(&wanted))
            turned_ms = now_ms();
    }
    printf("# %s, full coverage %s: no new lock for %lld ms at most (%lld before); named by a "
           "majority after %lld ms\n",
           what, full_coverage ? "yes" : "no", (long long)after_ms, (long long)before_ms,
           (long long)(turned_ms - start_ms));
    fflush(stdout);
    redlock_close(client);
    group_stop(&group);
}

CASE(nodes_pause, "Locks are taken through the failover of one master of three.")
{
    for (int full_coverage = 0; full_coverage <= 1; full_coverage++) {
        measure("killed", full_coverage, kill_master);
        measure("stopped", full_coverage, stop_master);
        measure("CLUSTER FAILOVER", full_coverage, depose_master);
    }
}
