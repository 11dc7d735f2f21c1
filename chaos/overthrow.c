/* SPDX-License-Identifier: BSD-2-Clause */
/* How each fault of a Sentinel group is done and undone. */
#include "rig.h"

#include "overthrow.h"

#include "check.h"

/* The server that a fault has hit and the links that it has cut, to be undone later. */
static struct hit {
    int member; /* -1: nothing was done */
    unsigned int here, there;
} hits[FAULTS_MAX];

static int find_master(const struct group *g)
{
    int server = group_term(g).server;
    return server >= 0 && g->member[server].pid != 0 && !g->stopped[server] ? server : -1;
}

/* A server that runs and is not the one that the sentinels name. */
static int find_standby(const struct group *g)
{
    int master = group_term(g).server;
    for (int i = 0; i < GROUP_SERVERS && master >= 0; i++)
        if (i != master && g->member[i].pid != 0 && !g->stopped[i])
            return i;
    return -1;
}

static int find_member(const struct rig *r, const struct fault *f)
{
    const struct group *g = &r->group;
    int sentinel = GROUP_SERVERS + f->target;
    switch (f->kind) {
    case FAULT_KILL_SENTINEL:
    case FAULT_STOP_SENTINEL:
        return g->member[sentinel].pid != 0 && !g->stopped[sentinel] ? sentinel : -1;
    case FAULT_KILL_STANDBY:
        return find_standby(g);
    case FAULT_FAILOVER:
        return r->term.server; /* also where a majority of the sentinels cannot say */
    default:
        return find_master(g);
    }
}

static struct hit cut_of(const struct fault *f, int master)
{
    unsigned int all = (1u << GROUP_PLACES) - 1, sides = GROUP_SIDE(0) | GROUP_SIDE(1);
    struct hit hit = {.member = master, .here = 1u << master};
    if (f->kind == FAULT_CUT_SIDE) {
        hit.here = GROUP_SIDE(f->target);
        hit.there = f->param & CUT_FROM_MASTER ? 1u << master : GROUP_ALL_SENTINELS;
        return hit;
    }
    if (f->param & CUT_WITH_SIDE)
        hit.here |= GROUP_SIDE(0);
    if (f->param & CUT_WITH_SENTINEL)
        hit.here |= 1u << (GROUP_SERVERS + f->target);
    hit.there = f->param & CUT_REPLICAS_ONLY ? GROUP_ALL_SERVERS : all;
    /* Clients that are on no side reach everybody. */
    if (!(f->param & CUT_WITH_SIDE))
        hit.there &= ~sides;
    hit.there &= ~hit.here;
    return hit;
}

static void cut(struct network *n, const struct fault *f, const struct hit *hit,
                void (*change)(struct network *, unsigned int, unsigned int))
{
    int ways = f->kind == FAULT_CUT_SIDE ? CUT_OUT | CUT_IN : f->param;
    if (ways & CUT_OUT)
        change(n, hit->here, hit->there);
    if (ways & CUT_IN)
        change(n, hit->there, hit->here);
}

int overthrow_begin(struct rig *r, const struct fault *f, size_t number)
{
    struct group *g = &r->group;
    struct hit *hit = &hits[number];
    int member = find_member(r, f);
    *hit = (struct hit){.member = member};
    if (member < 0)
        return -1;
    switch (f->kind) {
    case FAULT_FAILOVER:
        if (!group_failover(g, f->target))
            hit->member = -1;
        break;
    case FAULT_KILL_MASTER:
    case FAULT_KILL_SENTINEL:
    case FAULT_KILL_STANDBY:
        group_kill(g, member);
        break;
    case FAULT_STOP_MASTER:
    case FAULT_STOP_SENTINEL:
        group_freeze(g, member);
        break;
    case FAULT_CUT_MASTER:
    case FAULT_CUT_SIDE:
        *hit = cut_of(f, member);
        cut(g->network, f, hit, network_block);
        break;
    }
    return hit->member;
}

int overthrow_end(struct rig *r, const struct fault *f, size_t number)
{
    struct group *g = &r->group;
    const struct hit *hit = &hits[number];
    if (hit->member < 0)
        return -1;
    switch (f->kind) {
    case FAULT_KILL_MASTER:
    case FAULT_KILL_SENTINEL:
    case FAULT_KILL_STANDBY:
        group_launch(g, hit->member);
        break;
    case FAULT_STOP_MASTER:
    case FAULT_STOP_SENTINEL:
        group_thaw(g, hit->member);
        break;
    case FAULT_CUT_MASTER:
    case FAULT_CUT_SIDE:
        cut(g->network, f, hit, network_unblock);
        break;
    }
    return hit->member;
}
