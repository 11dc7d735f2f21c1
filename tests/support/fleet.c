/* SPDX-License-Identifier: BSD-2-Clause */
#include "fleet.h"

#include "check.h"
#include "client.h"

#include <stdio.h>

void fleet_start(struct fleet *f, size_t count, size_t nodes)
{
    static const char *const names[FLEET_MAX] = {"a", "b", "c"};
    f->count = count;
    for (size_t i = 0; i < count; i++) {
        cluster_start(&f->cluster[i], nodes);
        f->quorum[i] = (redlock_quorum){
            .name = names[i], .nodes = f->cluster[i].urls, .node_count = nodes};
    }
}

redlock_options fleet_options(const struct fleet *f)
{
    redlock_options o = client_options(&f->cluster[0]);
    o.nodes = NULL;
    o.node_count = 0;
    o.quorums = f->quorum;
    o.quorum_count = f->count;
    return o;
}

redlock *fleet_open(const struct fleet *f, uint32_t flags)
{
    return CLIENT_OPEN(NULL, .quorums = f->quorum, .quorum_count = f->count, .flags = flags);
}

redlock *fleet_open_warm(const struct fleet *f, uint32_t flags)
{
    redlock *r = fleet_open(f, flags);
    client_warm(r);
    return r;
}

void fleet_each(struct fleet *f, void (*what)(struct server *))
{
    for (size_t i = 0; i < f->count; i++)
        cluster_each(&f->cluster[i], 0, f->cluster[i].count, what);
}

/* A second opinion: nothing of the library's own. */
static uint64_t weight(const char *quorum, const char *key)
{
    uint64_t sum[2] = {0xcbf29ce484222325u, 0xcbf29ce484222325u};
    const char *const text[2] = {quorum, key};
    uint64_t x;
    for (int i = 0; i < 2; i++)
        for (const char *at = text[i]; *at; at++)
            sum[i] = (sum[i] ^ (uint8_t)*at) * 0x100000001b3u;
    x = sum[0];
    for (int i = 0; i < 2; i++) {
        x ^= x >> 30;
        x *= 0xbf58476d1ce4e5b9u;
        x ^= x >> 27;
        x *= 0x94d049bb133111ebu;
        x ^= x >> 31;
        if (i == 0)
            x ^= sum[1];
    }
    return x;
}

static size_t home(const struct fleet *f, const char *key)
{
    size_t best = 0;
    for (size_t i = 1; i < f->count; i++)
        if (weight(f->quorum[i].name, key) > weight(f->quorum[best].name, key))
            best = i;
    return best;
}

const char *fleet_name(const struct fleet *f, size_t quorum, int number)
{
    static char names[8][32];
    static int next;
    char key[48];
    char *name = names[next++ % 8];
    for (int i = 0; number >= 0; i++) {
        snprintf(name, sizeof names[0], "job-%d", i);
        snprintf(key, sizeof key, "redlock:%s", name);
        number -= home(f, key) == quorum;
    }
    return name;
}

void fleet_check_only(const struct fleet *f, size_t quorum, const char *key, int wanted)
{
    /* The majority answers first; the last node may still be at it. */
    if (!cluster_await(&f->cluster[quorum], key, wanted))
        FAIL("%s is on %d nodes of quorum %s, not on %d", key,
             cluster_count(&f->cluster[quorum], key), f->quorum[quorum].name, wanted);
    for (size_t i = 0; i < f->count; i++)
        if (i != quorum)
            CHECK_INT(0, cluster_count(&f->cluster[i], key));
}
