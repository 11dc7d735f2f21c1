/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster: three masters, each with a replica, and a third of the slots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "dev/bus.h"
#include "dev/directory.h"
#include "dev/group.h"
#include "ui/text.h"

#define SERVERS 6
#define MASTERS 3
#define SLOTS 16384
#define NODE_TIMEOUT_MS 2000
#define CONFIG_MAX 4096

/* The slots of the tags that stand for three votes of a cluster (docs/elected.md). */
static const int vote_slot[DEV_VOTES_MAX] = {2727, 8193, 13650};

/*
 * Others reach its bus through bus.c, which knows them by the address from which they connect.
 * Connections from there are foreign ones to protected-mode; the server is on loopback only.
 */
static int write_config(const struct dev_quorum *q, const struct dev_server *s)
{
    char text[CONFIG_MAX], source[DEV_SOURCE_MAX];
    dev_bus_source(s->number, source);
    snprintf(text, sizeof text,
             "cluster-enabled yes\n"
             "cluster-config-file nodes-%d.conf\n"
             "cluster-node-timeout %d\n"
             "cluster-port %d\n"
             "cluster-announce-ip 127.0.0.1\n"
             "cluster-announce-port %d\n"
             "cluster-announce-bus-port %d\n"
             "cluster-require-full-coverage no\n"
             "cluster-allow-replica-migration no\n"
             "bind-source-addr %s\n"
             "protected-mode no\n"
             "dbfilename node-%d.rdb\n"
             "rdb-del-sync-files yes\n"
             "repl-diskless-sync-delay 0\n",
             s->number, NODE_TIMEOUT_MS, s->own_bus.number, s->port.number, s->bus.number,
             source, s->number);
    return dev_directory_write_config(q, s, text);
}

/* What it would have learnt of the others within some seconds of gossip. */
static int write_nodes(const struct dev_quorum *q, const struct dev_server *self)
{
    char text[CONFIG_MAX], name[DEV_FILE_MAX];
    size_t used = 0;
    for (int i = 0; i < SERVERS; i++) {
        const struct dev_server *s = &q->server[i];
        int master = i % MASTERS;
        bool leads = i == master;
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s 127.0.0.1:%d@%d %s%s %s 0 0 %d connected",
            s->id, s->port.number, s->bus.number, s == self ? "myself," : "",
            leads ? "master" : "slave", leads ? "-" : q->server[master].id, master + 1);
        if (leads)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, " %d-%d",
                                 master * SLOTS / MASTERS, (master + 1) * SLOTS / MASTERS - 1);
        used += (size_t)snprintf(text + used, sizeof text - used, "\n");
    }
    snprintf(text + used, sizeof text - used, "vars currentEpoch %d lastVoteEpoch 0\n",
             MASTERS);
    snprintf(name, sizeof name, "nodes-%d.conf", self->number);
    return dev_directory_write_state(q, name, text);
}

static int configure(struct dev_quorum *q)
{
    int error = 0;
    for (int i = 0; i < q->count && error == 0; i++) {
        error = write_config(q, &q->server[i]);
        if (error == 0)
            error = write_nodes(q, &q->server[i]);
    }
    return error;
}

static bool is_ready(const struct dev_quorum *q, const struct dev_server *s)
{
    char reply[DEV_REPLY_MAX];
    if (!dev_server_call(s, "CLUSTER INFO", reply) || !strstr(reply, "cluster_state:ok"))
        return false;
    return s < &q->server[MASTERS] || (dev_server_call(s, "INFO replication", reply) &&
                                       strstr(reply, "master_link_status:up"));
}

/* How many nodes report what of each server, and of each vote. */
struct tally {
    int master[SERVERS], replica_of[SERVERS][SERVERS], owner[DEV_VOTES_MAX][SERVERS];
};

static int find_id(const struct dev_quorum *q, const char *id)
{
    for (int i = 0; i < SERVERS; i++) {
        if (strncmp(q->server[i].id, id, DEV_ID_LENGTH) == 0)
            return i;
    }
    return -1;
}

/* "0-5460", "7", or what is under way: "[7->-...]". */
static void count_slots(struct tally *t, int server, const char *word)
{
    char *end;
    long first = strtol(word, &end, 10), last = *end == '-' ? strtol(end + 1, NULL, 10) : first;
    for (int vote = 0; vote < DEV_VOTES_MAX && *word != '['; vote++)
        t->owner[vote][server] += first <= vote_slot[vote] && vote_slot[vote] <= last;
}

/* ID ADDRESS FLAGS MASTER PING PONG EPOCH LINK SLOT... */
static void count_line(const struct dev_quorum *q, struct tally *t, char *line)
{
    enum { ID, FLAGS = 2, MASTER, SLOT = 8 };
    char *rest = NULL, *word = strtok_r(line, " ", &rest);
    int server = word ? find_id(q, word) : -1, master;
    bool leads = false;
    for (int i = 0; word && server >= 0; word = strtok_r(NULL, " ", &rest), i++) {
        if (i == FLAGS)
            leads = strstr(word, "master");
        else if (i == MASTER && leads)
            t->master[server]++;
        else if (i == MASTER && (master = find_id(q, word)) >= 0)
            t->replica_of[server][master]++;
        else if (i >= SLOT)
            count_slots(t, server, word);
    }
}

static void look(const struct dev_quorum *q, struct dev_view *out)
{
    char reply[DEV_REPLY_MAX];
    struct tally t = {0};
    for (int i = 0; i < SERVERS; i++) {
        char *rest = NULL;
        if (!dev_group_can_answer(&q->server[i]) ||
            !dev_server_call(&q->server[i], "CLUSTER NODES", reply))
            continue;
        for (char *line = strtok_r(reply, "\r\n", &rest); line;
             line = strtok_r(NULL, "\r\n", &rest))
            count_line(q, &t, line);
    }
    for (int i = 0; i < SERVERS; i++) {
        bool leads = t.master[i] > SERVERS / 2;
        out->role[i] = leads ? "master" : "unknown";
        out->master_of[i] = leads ? i : -1;
        for (int k = 0; k < SERVERS; k++) {
            if (t.replica_of[i][k] > SERVERS / 2) {
                out->role[i] = "replica";
                out->master_of[i] = k;
            }
        }
    }
    for (int vote = 0; vote < DEV_VOTES_MAX; vote++) {
        out->owner[vote] = -1;
        for (int i = 0; i < SERVERS; i++)
            out->owner[vote] = t.owner[vote][i] > SERVERS / 2 ? i : out->owner[vote];
    }
}

static bool depose(const struct dev_quorum *q, const struct dev_view *view, int master,
                   char words[DEV_PROBLEM_MAX / 2])
{
    char reply[DEV_REPLY_MAX] = "-its replica does not answer";
    for (int i = 0; i < SERVERS; i++) {
        if (i == master || view->master_of[i] != master || !dev_group_can_answer(&q->server[i]))
            continue;
        if (dev_server_call(&q->server[i], "CLUSTER FAILOVER", reply) && reply[0] == '+')
            return true;
    }
    reply[strcspn(reply, "\r")] = '\0';
    rl_quote_safe(words, DEV_PROBLEM_MAX / 2, reply + 1);
    return false;
}

static void write_url(const struct dev_quorum *q, char out[DEV_NODES_MAX])
{
    dev_group_url(q, "cluster", 0, "", out);
}

const struct dev_group dev_cluster = {
    .servers = SERVERS,
    .votes = DEV_VOTES_MAX,
    .has_bus = true,
    .option = "--cluster",
    .electorate = "the nodes",
    .configure = configure,
    .is_ready = is_ready,
    .look = look,
    .depose = depose,
    .write_url = write_url,
};
