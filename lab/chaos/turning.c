/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rig does to a cluster: each fault has the effect that it is for. And what a client
 * costs the electors. */
#include "group.h"

#include "check.h"
#include "clock.h"

#include <redlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODE_TIMEOUT = 1000,
    KEYS = 40,
    TTL = 3000,
    LOCKS = 20,
    COUNT_MS = 8000,
    LOOK_MS = 10,
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

/* Requests to each sentinel per second while locks are taken and given back, or none are. */
static double rate_of_requests(redlock *client)
{
    int64_t start_ms = now_ms(), took_ms;
    long long sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        while (pass == 1 && now_ms() - start_ms < COUNT_MS) {
            redlock_lock *lock = NULL;
            if (client != NULL && redlock_acquire(client, "brief", TTL, NULL, &lock) == 0)
                redlock_release(lock);
            redlock_lock_free(lock);
            sleep_ms(LOOK_MS);
        }
        for (int i = group.kind->servers; i < GROUP_MEMBERS; i++) {
            const char *stats = server_cmd(&group.member[i], "INFO", "stats", NULL);
            const char *at = strstr(stats, "total_commands_processed:");
            CHECK(at != NULL);
            sum += (pass == 0 ? -1 : 1) * atoll(at + strlen("total_commands_processed:"));
        }
    }
    took_ms = now_ms() - start_ms;
    return (double)sum * 1000 / (GROUP_MEMBERS - group.kind->servers) / (double)took_ms;
}

CASE(sentinels_asked, "Sentinels are asked once a second while there are locks, however many.")
{
    const char *urls[] = {group.url};
    redlock_options o = REDLOCK_OPTIONS(.nodes = urls, .node_count = 1, .flags = REDLOCK_THREAD,
                                        .node_timeout_ms = 150, .max_ttl_ms = TTL);
    redlock_request renewed = REDLOCK_REQUEST(.flags = REDLOCK_RENEW);
    redlock *client = NULL;
    redlock_lock *lock = NULL;
    char name[32];
    double quiet, busy;
    begin(0);
    CHECK_OK(group_admit(&group, TTL));
    quiet = rate_of_requests(NULL);
    CHECK_OK(redlock_open(&o, &client));
    for (int i = 0; i < LOCKS; i++) {
        snprintf(name, sizeof name, "held-%d", i);
        CHECK_OK(redlock_acquire(client, name, TTL, &renewed, &lock));
    }
    busy = rate_of_requests(client);
    printf("# requests to each sentinel per second: %.2f with %d locks (%.2f without)\n",
           busy - quiet, LOCKS + 1, quiet);
    CHECK(busy - quiet < 1.5);
    redlock_close(client);
}
