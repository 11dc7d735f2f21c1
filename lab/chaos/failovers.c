/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The faults of elected masters. Most come as traps: faults that only together show what a rule
 * is for, since chance seldom finds the moment. "The master" is the server that a majority of
 * the electors names when the fault begins, in a cluster as that of a vote that is drawn;
 * nothing else of that is known when it is drawn.
 */
#include "random.h"
#include "schedule.h"

#include "names.h"

#include <stdlib.h>

enum {
    TURN_MS = 1100,  /* from SENTINEL FAILOVER until a majority says so */
    FOUND_MS = 2500, /* from the death of a master until then */
    ABSENT_MAX = 3,  /* workers at once */
};

struct draw {
    struct schedule *out;
    uint64_t random;
    int64_t now_ms;
    int64_t worker_ms[WORKERS]; /* until when it is taken */
    int64_t sentinel_ms;        /* one of them at a time */
    int64_t standby_ms;
    int vote; /* that the trap is for */
};

static int64_t quarantine_ms(const struct schedule *s)
{
    return s->max_ttl_ms + VOUCH_MS + MARGIN_MS;
}

/* From the death of a master until a majority names another one. */
static int64_t found_ms(const struct draw *d)
{
    return d->out->votes > 0 ? FOUND_MS + d->out->node_timeout_ms : FOUND_MS;
}

static int64_t between(struct draw *d, int64_t low, int64_t high)
{
    return random_between(&d->random, low, high);
}

static void add(struct draw *d, int kind, int target, int param, int64_t start_ms,
                int64_t length_ms)
{
    struct schedule *s = d->out;
    struct fault f = {start_ms, start_ms + length_ms, start_ms + length_ms, kind, target, param,
                      d->vote};
    if (f.end_ms <= s->faults_ms && s->count < FAULTS_MAX)
        s->fault[s->count++] = f;
}

/* Long enough for a rival to be admitted at the new master, or not. */
static int64_t cut_length_ms(struct draw *d)
{
    int64_t long_ms = found_ms(d) + quarantine_ms(d->out) + 4000;
    return d->out->trap == TRAP_ANY ? between(d, 4000, long_ms + 2000) : long_ms;
}

/* A deposed master that lives, with clients that reach no other server (E4). */
static int64_t isolate(struct draw *d)
{
    add(d, FAULT_CUT_MASTER, -1, CUT_OUT | CUT_IN | CUT_WITH_SIDE, d->now_ms, cut_length_ms(d));
    return d->now_ms + found_ms(d);
}

/*
 * The same, and a sentinel that goes on naming it, or half of the nodes of a cluster (E2).
 * Clients that believe in one elector believe in the first that they know: it is on the other
 * side.
 */
static int64_t split(struct draw *d)
{
    bool any = d->out->trap == TRAP_ANY;
    int sentinel = d->out->votes > 0 ? 0 : any ? (int)between(d, 0, 2) : 2;
    int side = any && between(d, 0, 1) ? 0 : CUT_WITH_SIDE; /* or clients reach all */
    add(d, FAULT_CUT_MASTER, sentinel, CUT_OUT | CUT_IN | CUT_WITH_SENTINEL | side, d->now_ms,
        cut_length_ms(d));
    /*
     * A leader names the old server with the new epoch for a moment. A client that believes in
     * the first of one elector would stay with that (E3), so the second one leads.
     */
    if (!any && d->out->votes == 0)
        add(d, FAULT_FAILOVER, 1, 0, d->now_ms + 100, 100);
    else if (!any)
        add(d, FAULT_FAILOVER, 0, FAILOVER_TAKEOVER, d->now_ms + 100, 100);
    return d->now_ms + found_ms(d);
}

/* Deaf or mute to its sentinels and replicas; its clients reach all. */
static int64_t cut_one_way(struct draw *d)
{
    /* Where electors are servers, their bus alone: clients of both sides reach all of them. */
    int only = d->out->votes > 0 ? CUT_REPLICAS_ONLY : 0;
    add(d, FAULT_CUT_MASTER, -1, only | (between(d, 0, 1) ? CUT_OUT : CUT_IN), d->now_ms,
        between(d, 3000, 10000));
    return d->now_ms + found_ms(d);
}

/*
 * Comes back deposed, with requests in its buffers, or in time. Or it comes back when its
 * successor gives locks, for clients that no term of a successor reaches yet (E4).
 */
static int64_t stop(struct draw *d)
{
    bool brief = between(d, 0, 3) == 0;
    int64_t length_ms = brief ? between(d, 200, 900) : between(d, 3000, 13000);
    if (!brief && d->out->network && between(d, 0, 1)) {
        length_ms = found_ms(d) + quarantine_ms(d->out) + 1000;
        add(d, FAULT_CUT_SIDE, 0, CUT_FROM_SENTINELS, d->now_ms, length_ms + 6000);
        d->now_ms += 50; /* a master that is stopped is found no more */
    }
    add(d, FAULT_STOP_MASTER, -1, 0, d->now_ms, length_ms);
    return d->now_ms + (brief ? 0 : found_ms(d));
}

/* What it granted last has not reached a replica; it comes back within its term, or deposed. */
static int64_t lose_writes(struct draw *d)
{
    int64_t cut_ms = d->out->network && between(d, 0, 1) ? between(d, 200, 1200) : 0;
    bool within = between(d, 0, 2) == 0;
    if (cut_ms > 0)
        add(d, FAULT_CUT_MASTER, -1, CUT_OUT | CUT_IN | CUT_REPLICAS_ONLY, d->now_ms,
            cut_ms + 50);
    add(d, FAULT_KILL_MASTER, -1, 0, d->now_ms + cut_ms,
        within ? between(d, 50, 400) : between(d, 3000, 9000));
    return d->now_ms + cut_ms + (within ? 0 : found_ms(d));
}

static int64_t command(struct draw *d)
{
    int how = d->out->votes > 0 ? (int)between(d, FAILOVER_AGREED, FAILOVER_TAKEOVER) : 0;
    add(d, FAULT_FAILOVER, 0, how, d->now_ms, 100);
    return d->now_ms + TURN_MS;
}

/*
 * Clients of a side that is cut off, with the old master, just before the electors turn: they
 * have the longest belief that there is, and the others the shortest wait (E6).
 */
static int64_t turn_late(struct draw *d)
{
    add(d, FAULT_FAILOVER, 0, 0, d->now_ms, 100);
    add(d, FAULT_CUT_MASTER, -1, CUT_OUT | CUT_IN | CUT_WITH_SIDE,
        d->now_ms + between(d, 600, TURN_MS), between(d, 7000, 10000));
    return d->now_ms + TURN_MS;
}

/*
 * Holders of one side cannot renew, and are about to run out when the new term reaches them;
 * waiters of the other still count on the old master when that happens (E9).
 */
static int64_t succeed_late(struct draw *d)
{
    int64_t left_ms = d->out->max_ttl_ms - MARGIN_MS; /* before the electors turn */
    int64_t begin_ms = d->now_ms + between(d, 0, 600);
    if (left_ms < 0)
        left_ms = 0;
    add(d, FAULT_CUT_SIDE, 0, CUT_FROM_MASTER, begin_ms, left_ms + TURN_MS + 1500);
    add(d, FAULT_FAILOVER, 0, 0, begin_ms + left_ms - between(d, 200, 600), 100);
    add(d, FAULT_CUT_SIDE, 1, CUT_FROM_SENTINELS, begin_ms + left_ms + between(d, 200, 700),
        VOUCH_MS);
    return begin_ms + left_ms + TURN_MS;
}

/*
 * The sentinel that leads a failover dies in it, before or after the others know: it
 * comes back with a new epoch of the old master, or the others begin another one.
 */
static int64_t lose_leader(struct draw *d)
{
    add(d, FAULT_FAILOVER, 0, 0, d->now_ms, 100);
    add(d, FAULT_KILL_SENTINEL, 0, 0, d->now_ms + between(d, 600, 1900), between(d, 200, 4000));
    return d->now_ms + found_ms(d);
}

/* One sentinel promotes another server by command; the others are stopped, and name the
 * old one later. */
static int64_t lag(struct draw *d)
{
    for (int sentinel = 1; sentinel <= 2; sentinel++)
        add(d, FAULT_STOP_SENTINEL, sentinel, 0, d->now_ms, between(d, 800, 1900));
    add(d, FAULT_FAILOVER, 0, 0, d->now_ms + 50, 100);
    return d->now_ms + found_ms(d);
}

/*
 * A replica takes over without a vote, while the old master with the clients of a side
 * is cut off: it goes on for as long as cluster-node-timeout.
 */
static int64_t take_over(struct draw *d)
{
    int64_t turn_ms = d->now_ms + between(d, 50, 600), length_ms = cut_length_ms(d);
    add(d, FAULT_CUT_MASTER, -1, CUT_OUT | CUT_IN | CUT_WITH_SIDE, d->now_ms, length_ms);
    add(d, FAULT_FAILOVER, 0, FAILOVER_TAKEOVER, turn_ms, 100);
    return turn_ms;
}

/* The same with the masters of two votes, a majority, and their side. */
static int64_t take_two(struct draw *d)
{
    int64_t turn_ms = d->now_ms + between(d, 50, 600), length_ms = cut_length_ms(d);
    add(d, FAULT_CUT_MASTER, -1, CUT_OUT | CUT_IN | CUT_WITH_SIDE | CUT_WITH_OTHER, d->now_ms,
        length_ms);
    for (int i = 0; i < 2; i++) {
        add(d, FAULT_FAILOVER, 0, FAILOVER_TAKEOVER, turn_ms, 100);
        d->vote = (d->vote + 1) % 3;
    }
    return turn_ms;
}

/* All keys are moved to another master before anything else happens. */
static int64_t migrate(struct draw *d)
{
    int64_t length_ms = between(d, 300, 3000);
    add(d, FAULT_MIGRATE, -1, 0, d->now_ms, length_ms);
    return d->now_ms + length_ms;
}

static int64_t (*const traps[])(struct draw *) = {
    [TRAP_ISOLATED] = isolate,    [TRAP_SPLIT] = split,
    [TRAP_ONE_WAY] = cut_one_way, [TRAP_STOPPED] = stop,
    [TRAP_LOST] = lose_writes,    [TRAP_COMMAND] = command,
    [TRAP_LATE_TURN] = turn_late, [TRAP_LATE_HEIR] = succeed_late,
    [TRAP_LEADER] = lose_leader,  [TRAP_LAGGARDS] = lag,
    [TRAP_TAKEOVER] = take_over,  [TRAP_TWO] = take_two,
    [TRAP_MIGRATION] = migrate,
};

const char *trap_text(int trap)
{
    static const char *const texts[TRAP_COUNT] = {
        "any",       "isolated",  "split",  "one-way",  "stopped",  "lost", "command",
        "late-turn", "late-heir", "leader", "laggards", "takeover", "two",  "migration"};
    return texts[trap];
}

bool trap_needs_network(int trap)
{
    return trap != TRAP_ANY && trap != TRAP_STOPPED && trap != TRAP_LOST &&
           trap != TRAP_COMMAND && trap != TRAP_LEADER && trap != TRAP_LAGGARDS &&
           trap != TRAP_MIGRATION;
}

bool trap_fits(int trap, int votes)
{
    bool of_sentinels = trap == TRAP_LEADER || trap == TRAP_LAGGARDS || trap == TRAP_LATE_TURN;
    if (trap == TRAP_TAKEOVER || trap == TRAP_MIGRATION)
        return votes > 0;
    if (trap == TRAP_TWO)
        return votes > 1;
    return votes == 0 || !of_sentinels;
}

static int draw_trap(struct draw *d)
{
    const struct schedule *s = d->out;
    int trap;
    if (s->trap != TRAP_ANY)
        return s->trap;
    do
        trap = (int)between(d, TRAP_ANY + 1, s->votes > 0 ? TRAP_COUNT - 1 : TRAP_LAGGARDS);
    while (!trap_fits(trap, s->votes) || (trap_needs_network(trap) && !s->network));
    return trap;
}

static void draw_client(struct draw *d, int64_t at_ms)
{
    static const int kinds[] = {FAULT_STOP_CLIENT, FAULT_STOP_WRITER, FAULT_KILL_CLIENT};
    int kind = kinds[between(d, 0, 2)], worker = (int)between(d, 0, WORKERS - 1), absent = 0;
    int64_t length_ms = kind == FAULT_KILL_CLIENT ? between(d, 100, 800) : between(d, 50, 4000);
    for (int i = 0; i < WORKERS; i++)
        absent += d->worker_ms[i] > at_ms;
    if (absent >= ABSENT_MAX || d->worker_ms[worker] > at_ms)
        return;
    d->worker_ms[worker] = at_ms + length_ms + 100;
    add(d, kind, worker, 0, at_ms, length_ms);
}

/* One stopped for two seconds distrusts itself for thirty: mostly it is less. */
static void draw_sentinel(struct draw *d, int64_t at_ms)
{
    bool kills = between(d, 0, 1);
    int64_t length_ms =
        kills || between(d, 0, 4) == 0 ? between(d, 200, 3000) : between(d, 100, 1500);
    if (d->sentinel_ms > at_ms)
        return;
    d->sentinel_ms = at_ms + length_ms + 1000;
    add(d, kills ? FAULT_KILL_SENTINEL : FAULT_STOP_SENTINEL, (int)between(d, 0, 2), 0, at_ms,
        length_ms);
}

static void draw_standby(struct draw *d, int64_t at_ms)
{
    int64_t length_ms = between(d, 100, 2000);
    bool stops;
    if (d->standby_ms > at_ms)
        return;
    d->standby_ms = at_ms + length_ms + 5000;
    stops = d->out->votes > 0 && between(d, 0, 1);
    add(d, stops ? FAULT_STOP_STANDBY : FAULT_KILL_STANDBY, -1, 0, at_ms, length_ms);
}

static void draw_rest(struct draw *d)
{
    for (int64_t at_ms = 500; at_ms < d->out->faults_ms; at_ms += between(d, 300, 2500))
        switch (between(d, 0, 5)) {
        case 0:
        case 1:
        case 2:
            draw_client(d, at_ms);
            break;
        case 3:
        case 4:
            if (d->out->votes == 0) {
                draw_sentinel(d, at_ms);
                break;
            }
            /* fall through */
        default:
            draw_standby(d, at_ms);
        }
}

static int by_start(const void *a, const void *b)
{
    const struct fault *x = a, *y = b;
    if (x->start_ms != y->start_ms)
        return x->start_ms < y->start_ms ? -1 : 1;
    return (x > y) - (x < y);
}

void failovers_draw(struct schedule *s)
{
    struct draw d = {.out = s, .random = s->seed, .now_ms = 1500};
    s->count = 0;
    while (d.now_ms < s->faults_ms) {
        int trap = draw_trap(&d);
        d.vote = s->votes > 1 ? (int)between(&d, 0, s->votes - 1) : 0;
        d.now_ms = traps[trap](&d);
        /* The next one in the quarantine of this one, or when locks have been taken again. */
        if (s->trap == TRAP_ANY && between(&d, 0, 2) == 0)
            d.now_ms += between(&d, 500, quarantine_ms(s));
        else
            d.now_ms += quarantine_ms(s) + between(&d, 3000, 6000);
    }
    if (s->trap == TRAP_ANY)
        draw_rest(&d);
    qsort(s->fault, s->count, sizeof *s->fault, by_start);
}
