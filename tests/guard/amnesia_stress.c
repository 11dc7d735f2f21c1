/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes lose their memory under load while part of the acquires gets lost on the way, so that
 * holds stand on few nodes: with the guard no two clients ever hold a lock at once. With the
 * guard off, or against its documented limits, the same run must find double holds: a stress
 * that cannot fail proves nothing.
 *
 * REDLOCK_STRESS_SECONDS and REDLOCK_STRESS_SEEDS make it longer.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "kinds_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES = 5,
    WORKERS = 16,
    NAMES = 16,
    QUARANTINE_MS = LOAD_MAX_TTL_MS + 2000 + 600, /* with the time to reconnect, re-admit */
    DROP_PERCENT = 30,
};

enum fault { RESTART, FLUSH, SWAP, PROMOTE, FAULTS };

/* What happens to the nodes of a run. */
static struct {
    const enum fault *faults;
    size_t fault_count;
    int done;
    struct server outside; /* whose replica a node is for a moment */
} plan;

static void wish(int worker, unsigned *seed, struct load_wish *out)
{
    int kind = seed_draw(seed, 0, 99);
    (void)worker;
    out->names = 1u << seed_draw(seed, 0, NAMES - 1);
    out->request.flags = REDLOCK_FENCED;
    out->hold_ms = kind < 40   ? seed_draw(seed, 1, 4)
                   : kind < 95 ? seed_draw(seed, 50, 300)
                               : LOAD_MAX_TTL_MS + 100; /* it expires */
}

static void inflict(struct server *n, enum fault fault)
{
    char port[16];
    switch (fault) {
    case RESTART:
        server_restart(n);
        break;
    case FLUSH:
        CHECK_STR("OK", server_cmd(n, "FLUSHALL", NULL));
        break;
    case SWAP: /* the other database may hold what a former swap put there */
        CHECK_STR("OK", server_cmd(n, "FLUSHDB", NULL));
        CHECK_STR("OK", server_cmd(n, "SWAPDB", "0", "1", NULL));
        CHECK_STR("OK", server_cmd(n, "FLUSHDB", NULL));
        break;
    default:
        snprintf(port, sizeof port, "%d", plan.outside.port.number);
        CHECK_STR("OK", server_cmd(n, "REPLICAOF", "127.0.0.1", port, NULL));
        AWAIT(strstr(server_cmd(n, "INFO", "replication", NULL), "master_link_status:up") !=
              NULL);
        CHECK_STR("OK", server_cmd(n, "REPLICAOF", "NO", "ONE", NULL));
        break;
    }
}

/* At most two of five are amnesic or in quarantine at a time: the others carry the locks. */
static void torment_for(struct load *l, unsigned *random, int64_t ms)
{
    static int64_t free_ms[NODES];
    for (int64_t end_ms = now_ms() + ms; now_ms() < end_ms && !l->holds->stop;) {
        int node = seed_draw(random, 0, NODES - 1), out = 0;
        sleep_ms(seed_draw(random, 100, 200));
        for (int i = 0; i < NODES; i++)
            out += free_ms[i] > now_ms();
        if (out >= 2 || free_ms[node] > now_ms())
            continue;
        inflict(&l->c.node[node], plan.faults[seed_draw(random, 0, (int)plan.fault_count - 1)]);
        free_ms[node] = now_ms() + QUARANTINE_MS;
        plan.done++;
    }
}

static int count_dropped(const struct load *l)
{
    int dropped = 0;
    for (int i = 0; i < NODES; i++)
        dropped += l->relay[i].switches->dropped;
    return dropped;
}

/* Without acquisitions, faults and losses a stress shows nothing. */
static bool has_enough(const struct load *l)
{
    return l->holds->count > 100 && plan.done > 1 && count_dropped(l) > 100;
}

static void torment(struct load *l, const struct load_spec *spec)
{
    unsigned random = spec->seed;
    torment_for(l, &random, spec->run_ms);
    for (int i = 0; i < 20 && !has_enough(l); i++) /* a busy machine needs longer */
        torment_for(l, &random, 1000);
    CHECK(has_enough(l));
}

static int run(uint32_t flags, bool hidden, unsigned int seed)
{
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0", NULL};
    struct load *l;
    int doubles;
    printf("# seed %u\n", seed);
    fflush(stdout);
    server_start(&plan.outside, at_once);
    CHECK_INT(1, server_int(&plan.outside, "DEL", "redlock.admit", NULL));
    plan.done = 0;
    l = load_run(&(struct load_spec){
        .nodes = NODES,
        .workers = WORKERS,
        .run_ms = 1000 * check_setting("REDLOCK_STRESS_SECONDS", 5),
        .node_timeout_ms = LOAD_MAX_TTL_MS / 5, /* no node hangs, a busy machine is late */
        .drop_percent = DROP_PERCENT,
        .all_drop = true,
        .hidden = hidden,
        .seed = seed,
        .flags = flags,
        .wish = wish,
        .torment = torment,
    });
    for (int i = 0; i < NODES; i++) {
        relay_stop(&l->relay[i]);
        server_kill(&l->c.node[i]);
    }
    server_kill(&plan.outside);
    doubles = holds_doubles(l->holds);
    printf("# %d faults, %d requests lost: %d double holds\n", plan.done, count_dropped(l),
           doubles);
    return doubles;
}

static int run_seeds(uint32_t flags, bool hidden, const enum fault *faults, size_t fault_count,
                     bool until_found)
{
    int doubles = 0;
    long seeds = check_setting("REDLOCK_STRESS_SEEDS", until_found ? 4 : 1);
    plan.faults = faults;
    plan.fault_count = fault_count;
    for (long i = 0; i < seeds && (!until_found || doubles == 0); i++)
        doubles += run(flags, hidden, 1 + (unsigned int)i);
    return doubles;
}

static const enum fault restarts[] = {RESTART};
static const enum fault wipes[] = {FLUSH, SWAP, PROMOTE};
static const enum fault all[] = {RESTART, FLUSH, SWAP, PROMOTE};

CASE_OF(restarts_guarded, "Nodes killed under load, 30 % of the acquires lost: no double hold.",
        CHECK_NEVER(run_seeds(0, false, restarts, 1, false)));

CASE_OF(restarts_unguarded, "With the guard off, nodes killed under load make double holds.",
        CHECK(run_seeds(REDLOCK_NO_GUARD, false, restarts, 1, true) > 0));

CASE_OF(everything_strict,
        "Strict mode has no double hold with hidden restarts, FLUSHALL, SWAPDB and promotion.",
        CHECK_NEVER(run_seeds(REDLOCK_STRICT, true, all, FAULTS, false)));

CASE_OF(wipes_default_limits,
        "The default mode has double holds after FLUSHALL, SWAPDB and "
        "promotion: a known limit.",
        CHECK(run_seeds(0, false, wipes, 3, true) > 0));
