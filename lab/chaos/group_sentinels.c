/* SPDX-License-Identifier: BSD-2-Clause */
/* A master, two replicas, and the three sentinels that appoint another master. */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#define NAME "redlock"

enum {
    SERVERS = 3,
    SENTINELS = GROUP_MEMBERS - SERVERS,
    DOWN_AFTER_MS = 700,        /* sentinels ask every second, or as often as this */
    FAILOVER_TIMEOUT_MS = 2000, /* after which another may begin */
};

/* A replica that was made a master, or a master that was made a replica, stays that
 * when it restarts. */
static void describe_server(const struct group *g, int i, FILE *out)
{
    fprintf(out, "repl-diskless-sync-delay 0\nrdb-del-sync-files yes\n");
    if (g->form.persistent)
        fprintf(out, "appendonly yes\nappendfsync always\n");
    if (i > 0)
        fprintf(out, "replicaof %s %d\n", group_host(g, 0), g->member[0].port.number);
}

/* They know each other from the start: finding each other takes seconds. */
static void describe_sentinel(const struct group *g, int self, FILE *out)
{
    char id[41];
    group_id(self, id);
    fprintf(out,
            "sentinel myid %s\nsentinel monitor " NAME " %s %d %d\n"
            "sentinel down-after-milliseconds " NAME " %d\n"
            "sentinel failover-timeout " NAME " %d\nsentinel parallel-syncs " NAME " %d\n",
            id, group_host(g, 0), g->member[0].port.number, SENTINELS / 2 + 1, DOWN_AFTER_MS,
            FAILOVER_TIMEOUT_MS, SERVERS);
    for (int i = 1; i < SERVERS; i++)
        fprintf(out, "sentinel known-replica " NAME " %s %d\n", group_host(g, i),
                g->member[i].port.number);
    for (int i = SERVERS; i < GROUP_MEMBERS; i++) {
        group_id(i, id);
        if (i != self)
            fprintf(out, "sentinel known-sentinel " NAME " %s %d %s\n", group_host(g, i),
                    g->member[i].port.number, id);
    }
}

static void describe(const struct group *g, int i, FILE *out)
{
    (i < SERVERS ? describe_server : describe_sentinel)(g, i, out);
}

/* The line behind the line `name`; empty: there is none. */
static void field(const char *lines, const char *name, char out[64])
{
    char head[64];
    const char *at;
    snprintf(head, sizeof head, "\n%s\n", name);
    at = strstr(lines, head);
    out[0] = '\0';
    if (at != NULL)
        sscanf(at + strlen(head), "%63[^\n]", out);
}

static void read_terms(const struct group *g, int elector, struct group_term *out)
{
    char ip[64], port[64], epoch[64];
    const char *said = server_cmd(&g->member[elector], "SENTINEL", "MASTER", NAME, NULL);
    field(said, "ip", ip);
    field(said, "port", port);
    field(said, "config-epoch", epoch);
    out->epoch = atoll(epoch);
    for (int i = 0; i < SERVERS; i++)
        if (strcmp(ip, group_host(g, i)) == 0 && atoi(port) == g->member[i].port.number)
            out->server = i;
}

static int times(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

/* A replica whose INFO has not come yet is not promoted: its master is called
 * "?" until then. */
static bool knows_all(const struct server *sentinel)
{
    const char *replicas = server_cmd(sentinel, "SENTINEL", "REPLICAS", NAME, NULL);
    const char *others = server_cmd(sentinel, "SENTINEL", "SENTINELS", NAME, NULL);
    return strstr(replicas, "\n?\n") == NULL && strstr(replicas, "disconnected") == NULL &&
           times(replicas, "\nmaster-link-status\nok") == SERVERS - 1 &&
           times(others, "\nrunid\n") == SENTINELS - 1 &&
           strstr(others, "disconnected") == NULL;
}

static bool is_ready(void *data)
{
    const struct group *g = data;
    for (int i = SERVERS; i < GROUP_MEMBERS; i++)
        if (!knows_all(&g->member[i]))
            return false;
    return true;
}

static bool fail_over(const struct group *g, int elector, int master, enum failover how)
{
    (void)master;
    (void)how;
    return strcmp("OK", server_cmd(&g->member[elector], "SENTINEL", "FAILOVER", NAME, NULL)) ==
           0;
}

const struct group_kind group_of_sentinels = {
    .servers = SERVERS,
    .electors = 0x38,
    .describe = describe,
    .is_ready = is_ready,
    .read_terms = read_terms,
    .fail_over = fail_over,
    .scheme = "sentinel",
    .tail = "/" NAME,
};
