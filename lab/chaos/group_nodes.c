/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster: three masters with a third of the slots each, and their replicas. Every node
 * is an elector. */
#include "group.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    SLOTS = 16384,
    KEYS_MAX = 64, /* moved in one go */
    GOES_MAX = 200,
    MIGRATE_MS = 500,
};

/* Of each vote (docs/elected.md). A single one is in the middle, which the second server
 * has at first. */
static int slot_of(const struct group *g, int vote)
{
    static const int slots[] = {2727, 8193, 13650};
    return slots[g->votes == 1 ? (vote + 1) % GROUP_VOTES_MAX : vote];
}

/* What it would have learnt of the others within some seconds of gossip. */
static void describe_nodes(const struct group *g, int self)
{
    char path[256], id[41], master[41];
    FILE *out;
    snprintf(path, sizeof path, "%s/nodes%d.conf", check_dir(), self);
    out = fopen(path, "we");
    CHECK(out != NULL);
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        int m = i % MASTERS;
        group_id(i, id);
        group_id(m, master);
        fprintf(out, "%s %s:%d@%d %s%s %s 0 0 %d connected", id, group_host(g, i),
                g->member[i].port.number, g->bus[i].number, i == self ? "myself," : "",
                i == m ? "master" : "slave", i == m ? "-" : master, m + 1);
        if (i == m)
            fprintf(out, " %d-%d", m * SLOTS / MASTERS, (m + 1) * SLOTS / MASTERS - 1);
        fprintf(out, "\n");
    }
    fprintf(out, "vars currentEpoch %d lastVoteEpoch 0\n", MASTERS);
    CHECK_INT(0, fclose(out));
}

static void describe(const struct group *g, int i, FILE *out)
{
    describe_nodes(g, i);
    fprintf(out,
            "cluster-enabled yes\ncluster-config-file %s/nodes%d.conf\n"
            "cluster-node-timeout %d\ncluster-port %d\ncluster-announce-ip %s\n"
            "cluster-require-full-coverage %s\ncluster-allow-replica-migration no\n"
            "cluster-replica-validity-factor 0\n"
            "repl-diskless-sync-delay 0\nrdb-del-sync-files yes\n",
            check_dir(), i, g->form.node_timeout_ms, g->bus[i].number, group_host(g, i),
            g->form.full_coverage ? "yes" : "no");
    if (g->form.persistent)
        fprintf(out, "appendonly yes\nappendfsync always\n");
}

static bool is_ready(void *data)
{
    const struct group *g = data;
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        const struct server *s = &g->member[i];
        if (strstr(server_cmd(s, "CLUSTER", "INFO", NULL), "cluster_state:ok") == NULL)
            return false;
        if (i >= MASTERS &&
            strstr(server_cmd(s, "INFO", "replication", NULL), "master_link_status:up") == NULL)
            return false;
    }
    return true;
}

struct line {
    int member; /* -1: none of ours */
    int master; /* itself, if it is one */
    int64_t epoch;
    const char *slots;
};

static int member_of(const char *id)
{
    char own[41];
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        group_id(i, own);
        if (strcmp(own, id) == 0)
            return i;
    }
    return -1;
}

/* The line at `*at`, which moves on to the next; false: there is none. */
static bool read_line(const char **at, struct line *out)
{
    char id[64], flags[64], master[64];
    long long epoch = 0;
    int used = 0;
    bool leads;
    if (sscanf(*at, "%63s %*s %63s %63s %*s %*s %lld %*s%n", id, flags, master, &epoch, &used) <
            4 ||
        used == 0)
        return false;
    leads = strstr(flags, "master") != NULL;
    *out = (struct line){member_of(id), leads ? member_of(id) : member_of(master), epoch,
                         *at + used};
    *at += used + strcspn(*at + used, "\n");
    *at += **at == '\n';
    return true;
}

static bool has_slot(const char *slots, int slot)
{
    char *end;
    for (const char *at = slots; *at == ' '; at += strcspn(at, " \r\n")) {
        long first, last;
        at++;
        first = strtol(at, &end, 10);
        last = *end == '-' ? strtol(end + 1, NULL, 10) : first;
        if (end != at && first <= slot && slot <= last)
            return true;
    }
    return false;
}

static void read_terms(const struct group *g, int elector, struct group_term *out)
{
    const char *at = server_cmd(&g->member[elector], "CLUSTER", "NODES", NULL);
    struct line line;
    while (read_line(&at, &line))
        for (int vote = 0; vote < GROUP_VOTES_MAX && line.member >= 0; vote++)
            if (line.master == line.member && has_slot(line.slots, slot_of(g, vote)))
                out[vote] = (struct group_term){line.member, line.epoch};
}

int group_master_of(const struct group *g, int member)
{
    const char *at = server_cmd(&g->member[member], "CLUSTER", "NODES", NULL);
    struct line line;
    while (read_line(&at, &line))
        if (line.member == member)
            return line.master;
    return -1;
}

/* Of the elector, if it is a replica of that master. */
static bool fail_over(const struct group *g, int elector, int master, enum failover how)
{
    static const char *const words[] = {NULL, "FORCE", "TAKEOVER"};
    return elector != master && group_master_of(g, elector) == master &&
           strcmp("OK", server_cmd(&g->member[elector], "CLUSTER", "FAILOVER", words[how],
                                   NULL)) == 0;
}

static bool set_slot(const struct group *g, int member, int slot, const char *state, int other)
{
    char number[16], id[41];
    snprintf(number, sizeof number, "%d", slot);
    group_id(other >= 0 ? other : 0, id);
    return group_can_answer(g, member) &&
           strcmp("OK", server_cmd(&g->member[member], "CLUSTER", "SETSLOT", number, state,
                                   other >= 0 ? id : NULL, NULL)) == 0;
}

/* A key with every call. False: that failed. `*count` is how many there were. */
static bool move_keys(const struct group *g, int slot, int from, int to, int most, int *count)
{
    char number[16], wanted[16], port[16], timeout[16], keys[16384], *rest = NULL;
    snprintf(number, sizeof number, "%d", slot);
    snprintf(wanted, sizeof wanted, "%d", most);
    snprintf(port, sizeof port, "%d", g->member[to].port.number);
    snprintf(timeout, sizeof timeout, "%d", MIGRATE_MS);
    *count = 0;
    if (!group_can_answer(g, from) || !group_can_answer(g, to))
        return false;
    snprintf(keys, sizeof keys, "%s",
             server_cmd(&g->member[from], "CLUSTER", "GETKEYSINSLOT", number, wanted, NULL));
    for (char *key = strtok_r(keys, "\n", &rest); key; key = strtok_r(NULL, "\n", &rest)) {
        const char *said = server_cmd(&g->member[from], "MIGRATE", group_host(g, to), port, key,
                                      "0", timeout, NULL);
        if (strcmp(said, "OK") != 0 && strcmp(said, "NOKEY") != 0)
            return false;
        ++*count;
    }
    return true;
}

/* What has been moved is missing at the source, so it goes back. */
static void give_up(const struct group *g, int slot, int from, int to)
{
    int count = 1;
    while (count > 0 && move_keys(g, slot, to, from, KEYS_MAX, &count))
        ;
    set_slot(g, from, slot, "STABLE", -1);
    set_slot(g, to, slot, "STABLE", -1);
}

bool group_migrate_begin(const struct group *g, int vote, int from, int to)
{
    int slot = slot_of(g, vote), count;
    if (set_slot(g, to, slot, "IMPORTING", from) && set_slot(g, from, slot, "MIGRATING", to) &&
        move_keys(g, slot, from, to, KEYS_MAX / 4, &count))
        return true;
    give_up(g, slot, from, to);
    return false;
}

bool group_migrate_end(const struct group *g, int vote, int from, int to)
{
    int slot = slot_of(g, vote), count = 1;
    bool done;
    for (int i = 0; i < GOES_MAX && count > 0; i++)
        if (!move_keys(g, slot, from, to, KEYS_MAX, &count))
            break;
    done = count == 0 && set_slot(g, to, slot, "NODE", to);
    if (!done) {
        give_up(g, slot, from, to);
        return false;
    }
    for (int i = 0; i < GROUP_MEMBERS; i++)
        if (i != to)
            set_slot(g, i, slot, "NODE", to);
    return true;
}

const struct group_kind group_of_nodes = {
    .servers = GROUP_MEMBERS,
    .electors = 0x3f,
    .describe = describe,
    .is_ready = is_ready,
    .read_terms = read_terms,
    .fail_over = fail_over,
    .scheme = "cluster",
};
