/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule.h"

#include "names.h"
#include "random.h"

enum {
    BROKEN_MAX = 2,   /* nodes at once */
    ABSENT_MAX = 3,   /* workers at once */
    SETTLE_MS = 1500, /* connecting again, and a first look */
};

static const char *const texts[] = {
#define FAULT_TEXT(name, text, colour) text,
    FAULTS(FAULT_TEXT)
#undef FAULT_TEXT
};

static const char *const colours[] = {
#define FAULT_COLOUR(name, text, colour) colour,
    FAULTS(FAULT_COLOUR)
#undef FAULT_COLOUR
};

const char *fault_text(int kind)
{
    return kind >= 0 && kind < FAULT_COUNT ? texts[kind] : "unknown";
}

const char *fault_colour(int kind)
{
    return kind >= 0 && kind < FAULT_COUNT ? colours[kind] : "#000000";
}

bool fault_hits_client(int kind)
{
    return kind == FAULT_STOP_CLIENT || kind == FAULT_STOP_WRITER || kind == FAULT_KILL_CLIENT;
}

bool fault_hits_replica(int kind)
{
    return kind == FAULT_KILL_REPLICA || kind == FAULT_DRAIN_REPLICA ||
           kind == FAULT_STOP_REPLICA;
}

bool fault_hits_group(int kind)
{
    return kind >= FAULT_FAILOVER && kind <= FAULT_STOP_SENTINEL;
}

const char *fault_target_text(int kind)
{
    if (kind == FAULT_KILL_SENTINEL || kind == FAULT_STOP_SENTINEL)
        return "member";
    return fault_hits_client(kind) ? "worker" : fault_hits_replica(kind) ? "replica" : "node";
}

/* How often, how long, how hard. A weight of 0 in a regime: never there. */
struct manner {
    int weight, strict_weight; /* in the strict regime: the latter */
    int shortest_ms, longest_ms;
    int param_low, param_high;
    int after_ms; /* how long its node stays broken afterwards */
};

static const struct manner manners[FAULT_COUNT] = {
    [FAULT_KILL_NODE] = {4, 3, 150, 1500, 0, 0, GUARD_MS + SETTLE_MS},
    [FAULT_FREEZE_NODE] = {6, 6, 100, 2500, 0, 0, 200},
    [FAULT_FLUSH] = {0, 3, 1, 1, 0, 0, GUARD_MS + SETTLE_MS},
    [FAULT_CUT] = {3, 3, 50, 1000, 0, 0, 100},
    [FAULT_UNREACHABLE] = {5, 5, 200, 2000, 0, 0, 300},
    [FAULT_SLOW] = {6, 6, 300, 3000, 5, 150, 200},
    [FAULT_DEAF] = {4, 4, 100, 1500, 0, 0, 200},
    [FAULT_CLOCK] = {3, 3, BLIND_MS, BLIND_MS + 400, 200, 1200, GUARD_MS + SETTLE_MS},
    [FAULT_NET_LOSS] = {8, 8, 500, 3000, 5, 40, 300},
    [FAULT_NET_DOWN] = {6, 6, 200, 2500, 0, 0, 300},
    [FAULT_STOP_CLIENT] = {6, 6, 50, 3500, 0, 0, 0},
    [FAULT_STOP_WRITER] = {7, 7, 2600, 4000, 0, 0, 0},
    [FAULT_KILL_CLIENT] = {5, 5, 100, 800, 0, 0, 0},
    [FAULT_KILL_REPLICA] = {12, 12, 600, 2500, 0, 1, 300},
    [FAULT_DRAIN_REPLICA] = {6, 6, 3600, 4000, 0, 0, 300},
    [FAULT_STOP_REPLICA] = {6, 6, 100, 2500, 0, 0, 100},
};

/*
 * While drawing: until when each node and worker is taken, and until when nothing may start.
 * Everything before `now_ms` has been drawn.
 */
struct draw {
    struct schedule *out;
    uint64_t random;
    int64_t now_ms;
    int64_t node_ms[NODES];
    int64_t lost_ms[NODES]; /* when its last quarantine must have ended */
    int64_t worker_ms[WORKERS];
    int64_t replica_ms; /* one of them at a time */
};

static int weight_of(const struct schedule *s, int kind)
{
    return s->regime == REGIME_STRICT ? manners[kind].strict_weight : manners[kind].weight;
}

static bool possible(const struct schedule *s, int kind)
{
    return !fault_hits_group(kind) && (!fault_hits_replica(kind) || s->service) &&
           (kind != FAULT_NET_DOWN || s->network) && (kind != FAULT_NET_LOSS || s->netem);
}

/* Real links have no proxy that could dawdle or swallow; the others are no real links. */
static bool fits(const struct schedule *s, int kind, int node)
{
    bool real = s->network && node < NETWORKED;
    if (kind == FAULT_NET_DOWN || kind == FAULT_NET_LOSS)
        return real;
    return !real || (kind != FAULT_SLOW && kind != FAULT_DEAF && kind != FAULT_UNREACHABLE);
}

static int draw_kind(struct draw *d)
{
    int total = 0;
    int64_t at;
    for (int i = 0; i < FAULT_COUNT; i++)
        total += possible(d->out, i) ? weight_of(d->out, i) : 0;
    at = random_between(&d->random, 0, total - 1);
    for (int i = 0; i < FAULT_COUNT; i++) {
        at -= possible(d->out, i) ? weight_of(d->out, i) : 0;
        if (at < 0)
            return i;
    }
    return FAULT_KILL_NODE;
}

/*
 * In a mixed run one worker of each way and one replica are never killed, so that what they
 * keep shows: they are stopped and cut off like the others.
 */
static bool is_spared(const struct schedule *s, int kind, int target)
{
    if (!s->mixed)
        return false;
    if (kind == FAULT_KILL_CLIENT)
        return target == 0 || target == WORKERS / 2 || target == WORKERS * 3 / 4;
    return (kind == FAULT_KILL_REPLICA || kind == FAULT_DRAIN_REPLICA) && target == 0;
}

/* One that is whole, if fewer than `max` are not; -1: none. */
static int draw_target(struct draw *d, int kind)
{
    bool client = fault_hits_client(kind);
    const int64_t *until_ms = client ? d->worker_ms : d->node_ms;
    int count = client ? WORKERS : NODES, max = client ? ABSENT_MAX : BROKEN_MAX;
    int free[WORKERS], free_count = 0, broken = 0;
    for (int i = 0; i < count; i++) {
        broken += until_ms[i] > d->now_ms;
        if (until_ms[i] <= d->now_ms && (client || fits(d->out, kind, i)) &&
            !is_spared(d->out, kind, i))
            free[free_count++] = i;
    }
    if (broken >= max || free_count == 0)
        return -1;
    return free[random_between(&d->random, 0, free_count - 1)];
}

static void add(struct draw *d, struct fault f)
{
    if (d->out->count < FAULTS_MAX)
        d->out->fault[d->out->count++] = f;
}

/* When the last fault so far is over; not before now. */
static int64_t all_ended_ms(const struct draw *d)
{
    int64_t most = d->now_ms;
    for (size_t i = 0; i < d->out->count; i++)
        if (d->out->fault[i].end_ms + 300 > most)
            most = d->out->fault[i].end_ms + 300;
    return most;
}

/*
 * A clock is set alone: what the guard needs about a second to see is only promised to be seen
 * by processes that run and connections that work. Never soon after a restart: servers
 * calculate their uptime from the clock that is being set, which would end a quarantine early.
 */
static void wait_for_all(struct draw *d, int node)
{
    d->now_ms = all_ended_ms(d);
    d->now_ms = d->lost_ms[node] > d->now_ms ? d->lost_ms[node] : d->now_ms;
}

static void draw_client_fault(struct draw *d, struct fault f)
{
    f.target = draw_target(d, f.kind);
    if (f.target < 0 || f.end_ms > d->out->faults_ms)
        return;
    f.whole_ms = f.end_ms + 100;
    d->worker_ms[f.target] = f.whole_ms;
    add(d, f);
}

static void draw_replica_fault(struct draw *d, struct fault f)
{
    if (d->replica_ms > d->now_ms || f.end_ms > d->out->faults_ms)
        return;
    f.target = (int)random_between(&d->random, 0, REPLICAS - 1);
    if (is_spared(d->out, f.kind, f.target))
        return;
    f.whole_ms = f.end_ms + manners[f.kind].after_ms;
    d->replica_ms = f.whole_ms;
    add(d, f);
}

static void draw_node_fault(struct draw *d, struct fault f)
{
    const struct manner *m = &manners[f.kind];
    int64_t length_ms;
    f.target = draw_target(d, f.kind);
    if (f.target < 0)
        return;
    length_ms = f.end_ms - f.start_ms;
    if (f.kind == FAULT_CLOCK) {
        wait_for_all(d, f.target);
        f.start_ms = d->now_ms;
        f.end_ms = d->now_ms + length_ms;
        f.param *= random_next(&d->random) % 2 ? 1 : -1;
    }
    if (f.end_ms > d->out->faults_ms)
        return;
    f.whole_ms = f.end_ms + m->after_ms;
    d->node_ms[f.target] = f.whole_ms;
    if (m->after_ms >= GUARD_MS)
        d->lost_ms[f.target] = f.whole_ms;
    if (f.kind == FAULT_CLOCK)
        d->now_ms = f.end_ms + BLIND_MS;
    add(d, f);
}

/* All nodes at once, and nothing else for as long: only liveness may suffer. */
static void draw_outage(struct draw *d, int kind)
{
    int64_t start_ms = all_ended_ms(d);
    int64_t end_ms = start_ms + random_between(&d->random, 500, 2500);
    int64_t whole_ms;
    if (end_ms > d->out->faults_ms)
        return;
    whole_ms = end_ms + (kind == FAULT_OUTAGE_KILL ? GUARD_MS + SETTLE_MS : 200);
    for (int i = 0; i < NODES; i++) {
        if (d->node_ms[i] < whole_ms)
            d->node_ms[i] = whole_ms;
        d->lost_ms[i] = kind == FAULT_OUTAGE_KILL ? whole_ms : d->lost_ms[i];
        add(d, (struct fault){start_ms, end_ms, whole_ms, kind, i, 0, 0});
    }
    d->now_ms = start_ms;
}

/*
 * What a guard is for: two nodes miss a grant, come back, and soon a third forgets it. Then a
 * majority knows nothing of the holder, though never more than two were broken at a time.
 */
static void draw_trap(struct draw *d)
{
    int64_t start_ms = all_ended_ms(d);
    int64_t back_ms = start_ms + random_between(&d->random, 700, 1600);
    int64_t lapse_ms = back_ms + random_between(&d->random, 200, 700);
    int64_t end_ms = lapse_ms + random_between(&d->random, 100, 250);
    bool flush = d->out->regime == REGIME_STRICT && random_next(&d->random) % 2;
    int first = NETWORKED + (int)random_between(&d->random, 0, NODES - NETWORKED - 1);
    int second = first + 1 < NODES ? first + 1 : NETWORKED;
    int third = (int)random_between(&d->random, 0, NETWORKED - 1);
    bool guarded = d->out->regime != REGIME_BROKEN_GUARD;
    for (int i = 0; i < NODES && guarded; i++)
        if (d->lost_ms[i] > start_ms)
            return; /* one in quarantine, and two would be too many */
    if (end_ms > d->out->faults_ms)
        return;
    add(d, (struct fault){start_ms, back_ms, back_ms, FAULT_UNREACHABLE, first, 0, 0});
    add(d, (struct fault){start_ms, back_ms, back_ms, FAULT_UNREACHABLE, second, 0, 0});
    d->now_ms = end_ms;
    d->node_ms[third] = d->lost_ms[third] = end_ms + GUARD_MS + SETTLE_MS;
    add(d, (struct fault){lapse_ms, end_ms, d->node_ms[third],
                          flush ? FAULT_FLUSH : FAULT_KILL_NODE, third, 0, 0});
}

/* One fault of any kind, from now on. */
static void draw_fault(struct draw *d)
{
    int kind = draw_kind(d);
    const struct manner *m = &manners[kind];
    struct fault f = {.start_ms = d->now_ms, .kind = kind};
    f.end_ms = d->now_ms + random_between(&d->random, m->shortest_ms, m->longest_ms);
    f.param = (int)random_between(&d->random, m->param_low, m->param_high);
    if (fault_hits_client(kind))
        draw_client_fault(d, f);
    else if (fault_hits_replica(kind))
        draw_replica_fault(d, f);
    else
        draw_node_fault(d, f);
}

void schedule_draw(struct schedule *s)
{
    struct draw d;
    bool outages;
    int64_t freeze_ms, kill_ms;
    if (s->elected) {
        failovers_draw(s);
        return;
    }
    d = (struct draw){.out = s, .random = s->seed, .now_ms = 300};
    /* Too long for the short runs. */
    outages = s->faults_ms >= 40000 && !s->service;
    freeze_ms = s->faults_ms * 3 / 10;
    kill_ms = s->faults_ms * 6 / 10;
    s->count = 0;
    while (d.now_ms < s->faults_ms) {
        int64_t before_ms = d.now_ms;
        if (random_between(&d.random, 0, 4) == 0 || s->regime == REGIME_BROKEN_GUARD)
            draw_trap(&d);
        else
            draw_fault(&d);
        d.now_ms += random_between(&d.random, 50, 650);
        if (outages && before_ms < freeze_ms && d.now_ms >= freeze_ms)
            draw_outage(&d, FAULT_OUTAGE_FREEZE);
        if (outages && before_ms < kill_ms && d.now_ms >= kill_ms)
            draw_outage(&d, FAULT_OUTAGE_KILL);
    }
}
