/* SPDX-License-Identifier: BSD-2-Clause */
/* A Sentinel group: a master, its replicas, and the sentinels that appoint another master. */
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "dev/directory.h"
#include "dev/group.h"
#include "ui/text.h"

#define GROUP "redlock"
#define CONFIG_MAX 4096

#define DOWN_AFTER_MS 2000
/* Also half of the time for which the sentinels leave a group alone after a failover. */
#define FAILOVER_TIMEOUT_MS 5000

static int server_count(const struct dev_quorum *q)
{
    return q->group->servers;
}

/*
 * A server that a sentinel has made a replica, or a master, rewrites this, and is one after a
 * restart. What it got from its master must not be found in a file then: it has no persistence.
 */
static void describe_server(const struct dev_quorum *q, const struct dev_server *s, char *out)
{
    size_t used = (size_t)snprintf(out, CONFIG_MAX,
                                   "dbfilename node-%d.rdb\n"
                                   "rdb-del-sync-files yes\n"
                                   "repl-diskless-sync-delay 0\n",
                                   s->number);
    if (s != &q->server[0])
        snprintf(out + used, CONFIG_MAX - used, "replicaof 127.0.0.1 %d\n",
                 q->server[0].port.number);
}

static void describe_sentinel(const struct dev_quorum *q, int self, char *out)
{
    const struct dev_server *sentinels = q->server + server_count(q);
    size_t used = (size_t)snprintf(out, CONFIG_MAX,
                                   "sentinel myid %s\n"
                                   "sentinel monitor " GROUP " 127.0.0.1 %d %d\n"
                                   "sentinel down-after-milliseconds " GROUP " %d\n"
                                   "sentinel failover-timeout " GROUP " %d\n"
                                   "sentinel parallel-syncs " GROUP " %d\n",
                                   sentinels[self].id, q->server[0].port.number,
                                   q->group->sentinels / 2 + 1, DOWN_AFTER_MS,
                                   FAILOVER_TIMEOUT_MS, server_count(q));
    for (int i = 1; i < server_count(q); i++)
        used += (size_t)snprintf(out + used, CONFIG_MAX - used,
                                 "sentinel known-replica " GROUP " 127.0.0.1 %d\n",
                                 q->server[i].port.number);
    for (int i = 0; i < q->group->sentinels; i++) {
        if (i != self)
            used += (size_t)snprintf(out + used, CONFIG_MAX - used,
                                     "sentinel known-sentinel " GROUP " 127.0.0.1 %d %s\n",
                                     sentinels[i].port.number, sentinels[i].id);
    }
}

static int configure(struct dev_quorum *q)
{
    char text[CONFIG_MAX];
    int error = 0;
    for (int i = 0; i < q->count && error == 0; i++) {
        struct dev_server *s = &q->server[i];
        if (s->is_sentinel)
            describe_sentinel(q, s->number - 1, text);
        else
            describe_server(q, s, text);
        error = dev_directory_write_config(q, s, text);
    }
    return error;
}

/* Whether a list of instances has so many, all of them connected, and nothing
 * unknown of them. */
static bool list_is(const struct dev_server *sentinel, const char *request, int wanted,
                    const char *unknown)
{
    char reply[DEV_REPLY_MAX];
    if (!dev_server_call(sentinel, request, reply) || strstr(reply, "disconnected") ||
        strstr(reply, "s_down") || (unknown && strstr(reply, unknown)))
        return false;
    for (const char *at = reply; (at = strstr(at, "\r\nname\r\n")); at++)
        wanted--;
    return wanted == 0;
}

static bool is_ready(const struct dev_quorum *q, const struct dev_server *s)
{
    char reply[DEV_REPLY_MAX];
    if (s == &q->server[0])
        return true;
    if (!s->is_sentinel)
        return dev_server_call(s, "INFO replication", reply) &&
               strstr(reply, "master_link_status:up");
    /* A replica whose INFO has not come yet is not promoted. Its master is called
     * "?" until then. */
    return list_is(s, "SENTINEL REPLICAS " GROUP, server_count(q) - 1, "\r\n?\r\n") &&
           list_is(s, "SENTINEL SENTINELS " GROUP, q->group->sentinels - 1, NULL);
}

static int find_master(const struct dev_quorum *q)
{
    char reply[DEV_REPLY_MAX], port[16];
    int votes[DEV_SERVERS_MAX] = {0};
    for (int i = server_count(q); i < q->count; i++) {
        if (!dev_group_can_answer(&q->server[i]) ||
            !dev_server_call(&q->server[i], "SENTINEL GET-MASTER-ADDR-BY-NAME " GROUP, reply))
            continue;
        for (int k = 0; k < server_count(q); k++) {
            snprintf(port, sizeof port, "\r\n%d\r\n", q->server[k].port.number);
            votes[k] += strstr(reply, port) != NULL;
        }
    }
    for (int k = 0; k < server_count(q); k++) {
        if (votes[k] > q->group->sentinels / 2)
            return k;
    }
    return -1;
}

static void look(const struct dev_quorum *q, struct dev_view *out)
{
    int master = out->owner[0] = find_master(q);
    for (int i = 0; i < q->count; i++) {
        out->role[i] = q->server[i].is_sentinel ? "sentinel"
                       : master < 0             ? "unknown"
                       : i == master            ? "master"
                                                : "replica";
        out->master_of[i] = master;
    }
}

static bool depose(const struct dev_quorum *q, const struct dev_view *view, int master,
                   char words[DEV_PROBLEM_MAX / 2])
{
    char reply[DEV_REPLY_MAX] = "-it does not answer";
    int i = server_count(q);
    (void)view;
    (void)master;
    while (i < q->count - 1 && !dev_group_can_answer(&q->server[i]))
        i++;
    if (dev_server_call(&q->server[i], "SENTINEL FAILOVER " GROUP, reply) && reply[0] == '+')
        return true;
    reply[strcspn(reply, "\r")] = '\0';
    rl_quote_safe(words, DEV_PROBLEM_MAX / 2, reply + 1);
    return false;
}

static void write_url(const struct dev_quorum *q, char out[DEV_NODES_MAX])
{
    dev_group_url(q, "sentinel", server_count(q), "/" GROUP, out);
}

const struct dev_group dev_sentinels = {
    .servers = 3,
    .sentinels = 3,
    .votes = 1,
    .option = "--sentinel",
    .electorate = "the sentinels",
    .configure = configure,
    .is_ready = is_ready,
    .look = look,
    .depose = depose,
    .write_url = write_url,
};
