/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rig does to a cluster, without clients: each fault has the effect that it is for. */
#include "group.h"

#include "check.h"
#include "clock.h"

#include <stdio.h>
#include <string.h>

enum { NODE_TIMEOUT = 1000, KEYS = 40 };

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
    begin(3);
    for (int how = FAILOVER_AGREED; how <= FAILOVER_TAKEOVER; how++) {
        struct group_term before = group_term(&group, how);
        CHECK_INT(how, before.server);
        CHECK(group_failover(&group, 0, before.server, (enum failover)how));
        await_turn(how, before);
        CHECK(wait_until(is_replica, &before.server));
    }
    struct group_term before = group_term(&group, 0);
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
    begin(1);
    struct group_term before = group_term(&group, 0);
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
