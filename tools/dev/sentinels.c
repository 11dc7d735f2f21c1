/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/sentinels.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "dev/directory.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/text.h"

#define CONFIG_MAX 4096
#define ID_BYTES 20
#define READY_LIMIT_MS 25000
#define FAILOVER_LIMIT_MS 20000 /* less than the process that asks for it waits */

#define DOWN_AFTER_MS 2000
/* Also half of the time for which the sentinels leave a group alone after a failover. */
#define FAILOVER_TIMEOUT_MS 5000

typedef char id_text[2 * ID_BYTES + 1];

static int server_count(const struct dev_quorum *q)
{
    return q->count - q->sentinels;
}

/* ---- configuration ----------------------------------------------------------------------- */

/* Sentinels that have to find each other take seconds. These have their ids beforehand. */
static int make_ids(const struct dev_quorum *q, id_text *ids)
{
    for (int i = 0; i < q->sentinels; i++) {
        unsigned char bytes[ID_BYTES];
        if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
            return errno;
        for (int k = 0; k < ID_BYTES; k++)
            snprintf(ids[i] + 2 * k, 3, "%02x", bytes[k]);
    }
    return 0;
}

/*
 * A server that a sentinel has made a replica, or a master, rewrites this, and is one after a restart.
 * What it got from its master must not be found in a file then: it has no persistence.
 */
static void describe_server(const struct dev_quorum *q, const struct dev_server *s, char *out)
{
    size_t used = (size_t)snprintf(out, CONFIG_MAX,
                                   "dbfilename node-%d.rdb\n"
                                   "rdb-del-sync-files yes\n"
                                   "repl-diskless-sync-delay 0\n",
                                   s->number);
    if (s != &q->server[0])
        snprintf(out + used, CONFIG_MAX - used, "replicaof 127.0.0.1 %d\n", q->server[0].port);
}

static void describe_sentinel(const struct dev_quorum *q, int self, id_text *ids, char *out)
{
    const struct dev_server *sentinels = q->server + server_count(q);
    size_t used = (size_t)snprintf(out, CONFIG_MAX,
                                   "sentinel myid %s\n"
                                   "sentinel monitor " DEV_GROUP " 127.0.0.1 %d %d\n"
                                   "sentinel down-after-milliseconds " DEV_GROUP " %d\n"
                                   "sentinel failover-timeout " DEV_GROUP " %d\n"
                                   "sentinel parallel-syncs " DEV_GROUP " %d\n",
                                   ids[self], q->server[0].port, q->sentinels / 2 + 1,
                                   DOWN_AFTER_MS, FAILOVER_TIMEOUT_MS, server_count(q));
    for (int i = 1; i < server_count(q); i++)
        used += (size_t)snprintf(out + used, CONFIG_MAX - used,
                                 "sentinel known-replica " DEV_GROUP " 127.0.0.1 %d\n",
                                 q->server[i].port);
    for (int i = 0; i < q->sentinels; i++) {
        if (i != self)
            used += (size_t)snprintf(out + used, CONFIG_MAX - used,
                                     "sentinel known-sentinel " DEV_GROUP " 127.0.0.1 %d %s\n",
                                     sentinels[i].port, ids[i]);
    }
}

int dev_sentinels_configure(struct dev_quorum *q, char *problem)
{
    id_text ids[DEV_SENTINELS];
    char text[CONFIG_MAX];
    int error = make_ids(q, ids);
    for (int i = 0; i < q->count && error == 0; i++) {
        struct dev_server *s = &q->server[i];
        if (s->is_sentinel)
            describe_sentinel(q, s->number - 1, ids, text);
        else
            describe_server(q, s, text);
        error = dev_directory_write_config(q, s, text);
    }
    if (error == 0)
        return 0;
    snprintf(problem, DEV_PROBLEM_MAX, "cannot write the configuration of the servers: %s",
             strerror(error));
    return EXIT_CONFIG;
}

/* ---- what they say ----------------------------------------------------------------------- */

/* Whether a list of instances has so many, all of them connected, and nothing unknown of them. */
static bool list_is(const struct dev_server *sentinel, const char *question, int wanted,
                    const char *unknown)
{
    char reply[DEV_REPLY_MAX];
    if (!dev_server_ask(sentinel, question, reply) || strstr(reply, "disconnected") ||
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
        return dev_server_ask(s, "INFO replication", reply) &&
               strstr(reply, "master_link_status:up");
    /* A replica whose INFO has not come yet is not promoted. Its master is called "?" until then. */
    return list_is(s, "SENTINEL REPLICAS " DEV_GROUP, server_count(q) - 1, "\r\n?\r\n") &&
           list_is(s, "SENTINEL SENTINELS " DEV_GROUP, q->sentinels - 1, NULL);
}

int dev_sentinels_await(struct dev_quorum *q, char *problem)
{
    int64_t limit_ns = timer_now_ns() + READY_LIMIT_MS * NS_PER_MS;
    int ready = 0;
    for (;;) {
        while (ready < q->count && is_ready(q, &q->server[ready]))
            ready++;
        if (ready == q->count)
            return 0;
        if (timer_now_ns() > limit_ns)
            break;
        dev_quorum_wait(q, DEV_LOOK_AGAIN_MS);
        if (q->stop_signal)
            return EXIT_SIGNAL + q->stop_signal;
    }
    snprintf(problem, DEV_PROBLEM_MAX, "%s %s has not found the others of its group after %d s",
             dev_server_kind(&q->server[ready]), q->server[ready].name, READY_LIMIT_MS / 1000);
    return EXIT_UNAVAILABLE;
}

static bool can_answer(const struct dev_server *s)
{
    return s->is_sentinel && dev_server_is_up(s) && !s->hung;
}

struct dev_server *dev_sentinels_master(struct dev_quorum *q)
{
    char reply[DEV_REPLY_MAX], port[16];
    int votes[DEV_SERVERS_MAX] = {0};
    for (int i = 0; i < q->count; i++) {
        if (!can_answer(&q->server[i]) ||
            !dev_server_ask(&q->server[i], "SENTINEL GET-MASTER-ADDR-BY-NAME " DEV_GROUP,
                            reply))
            continue;
        for (int k = 0; k < server_count(q); k++) {
            snprintf(port, sizeof port, "\r\n%d\r\n", q->server[k].port);
            votes[k] += strstr(reply, port) != NULL;
        }
    }
    for (int k = 0; k < server_count(q); k++) {
        if (votes[k] > q->sentinels / 2)
            return &q->server[k];
    }
    return NULL;
}

/* False: it has not begun, and `words` (half of DEV_PROBLEM_MAX) say why. */
static bool begin_failover(const struct dev_quorum *q, char *words)
{
    char reply[DEV_REPLY_MAX] = "-it does not answer";
    int i = server_count(q);
    while (i < q->count - 1 && !can_answer(&q->server[i]))
        i++;
    if (dev_server_ask(&q->server[i], "SENTINEL FAILOVER " DEV_GROUP, reply) && reply[0] == '+')
        return true;
    reply[strcspn(reply, "\r")] = '\0';
    text_safe(words, DEV_PROBLEM_MAX / 2, reply + 1);
    return false;
}

/*
 * Right after another failover the sentinels refuse: that is not finished, or they do not know the
 * replicas of the new master yet. They are asked again.
 */
int dev_sentinels_failover(struct dev_quorum *q, char *problem)
{
    int64_t limit_ns = timer_now_ns() + FAILOVER_LIMIT_MS * NS_PER_MS;
    const struct dev_server *old = dev_sentinels_master(q), *now = old;
    char words[DEV_PROBLEM_MAX / 2] = "";
    bool begun = false;
    while (old && (!now || now == old) && timer_now_ns() < limit_ns) {
        begun = begun || begin_failover(q, words);
        dev_quorum_wait(q, DEV_LOOK_AGAIN_MS);
        now = dev_sentinels_master(q);
    }
    if (now && now != old)
        return 0;
    if (!old)
        snprintf(problem, DEV_PROBLEM_MAX, "no majority of the sentinels names a master");
    else if (!begun)
        snprintf(problem, DEV_PROBLEM_MAX, "the sentinels refuse: %s", words);
    else
        snprintf(problem, DEV_PROBLEM_MAX,
                 "no majority of the sentinels names another master after %d s",
                 FAILOVER_LIMIT_MS / 1000);
    return EXIT_UNAVAILABLE;
}

void dev_sentinels_url(const struct dev_quorum *q, char out[DEV_NODES_MAX])
{
    size_t used = 0;
    for (int i = server_count(q); i < q->count; i++)
        used += (size_t)snprintf(out + used, DEV_NODES_MAX - used, "%s127.0.0.1:%d",
                                 used == 0 ? "sentinel://" : "+", q->server[i].port);
    snprintf(out + used, DEV_NODES_MAX - used, "/" DEV_GROUP);
}
