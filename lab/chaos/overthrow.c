/* SPDX-License-Identifier: BSD-2-Clause */
/* How each fault of elected masters is done and undone. */
#include "rig.h"

/* The server that a fault has hit and the links that it has cut, to be undone later. */
static struct hit {
    int member; /* -1: nothing was done */
    unsigned int here, there;
    int other; /* where a slot goes */
} hits[FAULTS_MAX];

static bool is_well(const struct group *g, int member)
{
    return member >= 0 && g->member[member].pid != 0 && !g->stopped[member];
}

/* A server that runs and is the master of no vote, as the electors say. */
static int find_standby(const struct rig *r)
{
    const struct group *g = &r->group;
    int parts = g->form.votes > 0 ? GROUP_VOTES_MAX : 1;
    for (int i = 0; i < g->kind->servers; i++) {
        bool leads = false;
        for (int vote = 0; vote < parts; vote++)
            leads = leads || r->term[vote].server < 0 || r->term[vote].server == i;
        if (!leads && is_well(g, i))
            return i;
    }
    return -1;
}

static int find_member(const struct rig *r, const struct fault *f)
{
    const struct group *g = &r->group;
    int sentinel = g->kind->servers + f->target, master;
    switch (f->kind) {
    case FAULT_KILL_SENTINEL:
    case FAULT_STOP_SENTINEL:
        return is_well(g, sentinel) ? sentinel : -1;
    case FAULT_KILL_STANDBY:
    case FAULT_STOP_STANDBY:
        return find_standby(r);
    case FAULT_FAILOVER:
    case FAULT_MIGRATE:
        return r->term[f->vote].server; /* also where a majority of the electors cannot say */
    default:
        master = group_term(g, f->vote).server;
        return is_well(g, master) ? master : -1;
    }
}

/* The master of another vote, which is another one; -1: there is none. */
static int find_other_master(const struct rig *r, int vote)
{
    for (int i = 1; i < GROUP_VOTES_MAX; i++) {
        int other = r->term[(vote + i) % GROUP_VOTES_MAX].server;
        if (other >= 0 && other != r->term[vote].server)
            return other;
    }
    return -1;
}

/* Those of the other masters: with this one they are half of the electors, if all is
 * as it was. */
static unsigned int other_replicas(const struct group *g, int master)
{
    unsigned int mask = 0;
    for (int i = 0; i < g->kind->servers; i++) {
        int own = group_can_answer(g, i) ? group_master_of(g, i) : -1;
        if (own >= 0 && own != i && own != master)
            mask |= 1u << i;
    }
    return mask;
}

static struct hit cut_of(const struct rig *r, const struct fault *f, int master)
{
    const struct group *g = &r->group;
    unsigned int all = (1u << GROUP_PLACES) - 1, sides = GROUP_SIDE(0) | GROUP_SIDE(1);
    struct hit hit = {.member = master, .here = 1u << master};
    if (f->kind == FAULT_CUT_SIDE) {
        hit.here = GROUP_SIDE(f->target);
        hit.there = f->param & CUT_FROM_MASTER ? 1u << master : g->kind->electors;
        /* A master that is an elector can still get requests for locks. */
        if (!(f->param & CUT_FROM_MASTER))
            hit.there &= ~(1u << master);
        return hit;
    }
    if (f->param & CUT_WITH_SIDE)
        hit.here |= GROUP_SIDE(0);
    if (f->param & CUT_WITH_SENTINEL && g->form.votes > 0)
        hit.here |= other_replicas(g, master);
    else if (f->param & CUT_WITH_SENTINEL)
        hit.here |= 1u << (g->kind->servers + f->target);
    if (f->param & CUT_WITH_OTHER && find_other_master(r, f->vote) >= 0)
        hit.here |= 1u << find_other_master(r, f->vote);
    hit.there = f->param & CUT_REPLICAS_ONLY ? (1u << g->kind->servers) - 1 : all;
    /* Clients that are on no side reach all. */
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
        if (!group_failover(g, g->kind->servers % GROUP_MEMBERS + f->target, member,
                            (enum failover)f->param))
            hit->member = -1;
        break;
    case FAULT_MIGRATE:
        hit->other = find_other_master(r, f->vote);
        if (hit->other < 0 || !group_migrate_begin(g, f->vote, member, hit->other))
            hit->member = -1;
        break;
    case FAULT_KILL_MASTER:
    case FAULT_KILL_SENTINEL:
    case FAULT_KILL_STANDBY:
        group_kill(g, member);
        break;
    case FAULT_STOP_MASTER:
    case FAULT_STOP_STANDBY:
    case FAULT_STOP_SENTINEL:
        group_freeze(g, member);
        break;
    case FAULT_CUT_MASTER:
    case FAULT_CUT_SIDE:
        *hit = cut_of(r, f, member);
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
    case FAULT_STOP_STANDBY:
    case FAULT_STOP_SENTINEL:
        group_thaw(g, hit->member);
        break;
    case FAULT_MIGRATE:
        group_migrate_end(g, f->vote, hit->member, hit->other);
        break;
    case FAULT_CUT_MASTER:
    case FAULT_CUT_SIDE:
        cut(g->network, f, hit, network_unblock);
        break;
    }
    return hit->member;
}
