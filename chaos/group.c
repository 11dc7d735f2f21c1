/* SPDX-License-Identifier: BSD-2-Clause */
#include "group.h"

#include "check.h"
#include "clock.h"
#include "nodeclock.h"

#include <redlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "redlock"

enum {
    DOWN_AFTER_MS = 700,        /* sentinels ask every second, or as often as this */
    FAILOVER_TIMEOUT_MS = 2000, /* after which another may begin */
    ADMIT_TIMEOUT_MS = 2000,
    TEXT_MAX = 4096,
};

static const char *host_of(const struct group *g, int place)
{
    return g->network->ready ? g->network->address[place] : "127.0.0.1";
}

static bool can_answer(const struct group *g, int member)
{
    return g->member[member].pid != 0 && !g->stopped[member];
}

/* ---- configuration ------------------------------------------------------------------------- */

static void id_of(int member, char out[41])
{
    snprintf(out, 41, "%040x", 0xabc000 + member);
}

/* A replica that was made a master, or a master that was made a replica, stays that when it restarts. */
static void describe_server(const struct group *g, int i, FILE *out)
{
    fprintf(out, "repl-diskless-sync-delay 0\nrdb-del-sync-files yes\n");
    if (g->persistent)
        fprintf(out, "appendonly yes\nappendfsync always\n");
    if (i > 0)
        fprintf(out, "replicaof %s %d\n", host_of(g, 0), g->member[0].port.number);
}

/* They know each other from the start: finding each other takes seconds. */
static void describe_sentinel(const struct group *g, int self, FILE *out)
{
    char id[41];
    id_of(self, id);
    fprintf(out,
            "sentinel myid %s\nsentinel monitor " NAME " %s %d %d\n"
            "sentinel down-after-milliseconds " NAME " %d\n"
            "sentinel failover-timeout " NAME " %d\nsentinel parallel-syncs " NAME " %d\n",
            id, host_of(g, 0), g->member[0].port.number, GROUP_SENTINELS / 2 + 1, DOWN_AFTER_MS,
            FAILOVER_TIMEOUT_MS, GROUP_SERVERS);
    for (int i = 1; i < GROUP_SERVERS; i++)
        fprintf(out, "sentinel known-replica " NAME " %s %d\n", host_of(g, i),
                g->member[i].port.number);
    for (int i = GROUP_SERVERS; i < GROUP_MEMBERS; i++) {
        id_of(i, id);
        if (i != self)
            fprintf(out, "sentinel known-sentinel " NAME " %s %d %s\n", host_of(g, i),
                    g->member[i].port.number, id);
    }
}

static void configure(struct group *g, int i)
{
    struct server *s = &g->member[i];
    snprintf(g->config[i], sizeof g->config[i], "%s/member%d.conf", check_dir(), i);
    FILE *out = fopen(g->config[i], "we");
    CHECK(out != NULL);
    (i < GROUP_SERVERS ? describe_server : describe_sentinel)(g, i, out);
    CHECK_INT(0, fclose(out));
    s->config = g->config[i];
}

/* ---- what the sentinels say ---------------------------------------------------------------- */

/* The line behind the line `name`; empty: there is none. */
static void field(const char *lines, const char *name, char out[64])
{
    char head[64];
    snprintf(head, sizeof head, "\n%s\n", name);
    const char *at = strstr(lines, head);
    out[0] = '\0';
    if (at != NULL)
        sscanf(at + strlen(head), "%63[^\n]", out);
}

struct group_term group_said(const struct group *g, int sentinel)
{
    struct group_term term = {-1, 0};
    int member = GROUP_SERVERS + sentinel;
    char ip[64], port[64], epoch[64];
    if (!can_answer(g, member))
        return term;
    const char *said = server_cmd(&g->member[member], "SENTINEL", "MASTER", NAME, NULL);
    field(said, "ip", ip);
    field(said, "port", port);
    field(said, "config-epoch", epoch);
    term.epoch = atoll(epoch);
    for (int i = 0; i < GROUP_SERVERS; i++)
        if (strcmp(ip, host_of(g, i)) == 0 && atoi(port) == g->member[i].port.number)
            term.server = i;
    return term;
}

struct group_term group_term(const struct group *g)
{
    struct group_term said[GROUP_SENTINELS];
    for (int i = 0; i < GROUP_SENTINELS; i++)
        said[i] = group_said(g, i);
    for (int i = 0; i < GROUP_SENTINELS; i++) {
        int count = 0;
        for (int k = 0; k < GROUP_SENTINELS; k++)
            count += said[i].server == said[k].server && said[i].epoch == said[k].epoch;
        if (said[i].server >= 0 && count > GROUP_SENTINELS / 2)
            return said[i];
    }
    return (struct group_term){-1, 0};
}

static int times(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

/* A replica whose INFO has not come yet is not promoted: its master is called "?" until then. */
static bool knows_all(const struct server *sentinel)
{
    const char *replicas = server_cmd(sentinel, "SENTINEL", "REPLICAS", NAME, NULL);
    const char *others = server_cmd(sentinel, "SENTINEL", "SENTINELS", NAME, NULL);
    return strstr(replicas, "\n?\n") == NULL && strstr(replicas, "disconnected") == NULL &&
           times(replicas, "\nmaster-link-status\nok") == GROUP_SERVERS - 1 &&
           times(others, "\nrunid\n") == GROUP_SENTINELS - 1 &&
           strstr(others, "disconnected") == NULL;
}

static bool is_ready(void *data)
{
    const struct group *g = data;
    for (int i = GROUP_SERVERS; i < GROUP_MEMBERS; i++)
        if (!knows_all(&g->member[i]))
            return false;
    return true;
}

bool group_failover(const struct group *g, int sentinel)
{
    for (int i = 0; i < GROUP_SENTINELS; i++) {
        int member = GROUP_SERVERS + (sentinel + i) % GROUP_SENTINELS;
        if (can_answer(g, member) && strcmp("OK", server_cmd(&g->member[member], "SENTINEL",
                                                             "FAILOVER", NAME, NULL)) == 0)
            return true;
    }
    return false;
}

/* ---- processes ----------------------------------------------------------------------------- */

static void enter(const struct group *g, int place)
{
    if (g->network->ready)
        network_enter(g->network, place);
}

static void leave(const struct group *g)
{
    if (g->network->ready)
        network_leave(g->network);
}

void group_launch(struct group *g, int member)
{
    enter(g, member);
    server_launch(&g->member[member]);
    leave(g);
    server_ready(&g->member[member]);
}

void group_kill(struct group *g, int member)
{
    server_kill(&g->member[member]);
    g->stopped[member] = false;
}

void group_freeze(struct group *g, int member)
{
    server_freeze(&g->member[member]);
    g->stopped[member] = true;
}

void group_thaw(struct group *g, int member)
{
    server_thaw(&g->member[member]);
    g->stopped[member] = false;
}

void group_enter_side(const struct group *g, int side)
{
    enter(g, GROUP_MEMBERS + side);
}

void group_leave_side(const struct group *g)
{
    leave(g);
}

static void write_url(struct group *g)
{
    size_t used = 0;
    for (int i = GROUP_SERVERS; i < GROUP_MEMBERS; i++)
        used += (size_t)snprintf(g->url + used, sizeof g->url - used, "%s%s:%d",
                                 used == 0 ? "sentinel://" : "+", host_of(g, i),
                                 g->member[i].port.number);
    snprintf(g->url + used, sizeof g->url - used, "/" NAME);
}

void group_start(struct group *g, struct network *network, bool persistent, int64_t skew_ms)
{
    static const char *extra[GROUP_MEMBERS][8];
    *g = (struct group){.network = network, .persistent = persistent};
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        size_t count = 0;
        if (network->ready) {
            extra[i][count++] = "--bind";
            extra[i][count++] = network->address[i];
            extra[i][count++] = "--protected-mode";
            extra[i][count++] = "no";
        }
        if (i >= GROUP_SERVERS)
            extra[i][count++] = "--sentinel";
        extra[i][count] = NULL;
        server_init(&g->member[i], extra[i], NULL);
    }
    for (int i = 1; i < GROUP_SERVERS && skew_ms != 0; i++) {
        nodeclock_attach(&g->member[i]);
        *g->member[i].clock_ms = i == 1 ? skew_ms : -skew_ms;
    }
    write_url(g);
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        configure(g, i);
        group_launch(g, i);
    }
    if (!wait_until(is_ready, g))
        FAIL("the sentinels have not found each other and the replicas");
}

void group_stop(struct group *g)
{
    for (int i = 0; i < GROUP_MEMBERS; i++)
        server_kill(&g->member[i]);
}

bool group_has_set(const struct group *g, int server)
{
    return !can_answer(g, server) ||
           strcmp("(nil)",
                  server_cmd(&g->member[server], "HGET", "redlock.admit", "set", NULL)) != 0;
}

int group_admit(const struct group *g, int64_t max_ttl_ms)
{
    const char *urls[] = {g->url};
    redlock_options o =
        REDLOCK_OPTIONS(.nodes = urls, .node_count = 1, .node_timeout_ms = ADMIT_TIMEOUT_MS,
                        .max_ttl_ms = (uint32_t)max_ttl_ms);
    redlock *client = NULL;
    CHECK_OK(redlock_open(&o, &client));
    int error = redlock_admit(client, NULL);
    redlock_close(client);
    return error;
}
