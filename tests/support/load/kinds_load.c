/* SPDX-License-Identifier: BSD-2-Clause */
#include "kinds_load.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"
#include "kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKERS_MAX = 16,
    QUARANTINE_MS = LOAD_MAX_TTL_MS + 2000 + 600,
    PRINTED_MAX = 3,
    EXTRA_MS = 20000,
};

static const char *const names[LOAD_NAMES_MAX] = {"n0", "n1", "n2", "n3", "n4", "n5"};

struct worker {
    const struct load_spec *spec;
    struct load *load;
    int number;
};

/* ---- the processes ---------------------------------------------------------------------- */

static void note(struct load *l, const struct load_wish *w, redlock_lock *lock,
                 int64_t asked_ns, int64_t granted_ns)
{
    int64_t deadline_ns = redlock_deadline_ns(lock), now = now_ns();
    int place = l->count++;
    if (place >= LOAD_RECORDS_MAX) {
        l->stop = 1;
        return;
    }
    l->record[place] = (struct load_record){
        .names = w->names,
        .kind = w->request.kind,
        .slot = redlock_slot(lock),
        .owner = w->owner,
        .asked_ns = asked_ns,
        .granted_ns = granted_ns,
        .ended_ns = deadline_ns < now ? deadline_ns : now,
        .token = redlock_fence(lock),
    };
}

static void hold_once(struct worker *w, redlock *r, unsigned *seed)
{
    const char *more[LOAD_NAMES_MAX];
    struct load_wish wish = {
        .names = 1, .ttl_ms = LOAD_MAX_TTL_MS, .request = REDLOCK_REQUEST()};
    size_t count = 0;
    redlock_lock *lock = NULL;
    w->spec->wish(w->number, seed, &wish);
    /* In an order of its own for every process. */
    int first = seed_draw(seed, 0, LOAD_NAMES_MAX - 1);
    for (int i = 0; i < LOAD_NAMES_MAX; i++) {
        int name = (first + i) % LOAD_NAMES_MAX;
        if (wish.names & (1u << name))
            more[count++] = names[name];
    }
    wish.request.more_names = more + 1;
    wish.request.more_name_count = count - 1;
    int64_t asked_ns = now_ns();
    if (redlock_acquire(r, more[0], wish.ttl_ms, &wish.request, &lock) != REDLOCK_OK) {
        w->load->failures++;
        return;
    }
    int64_t granted_ns = now_ns();
    sleep_ms(wish.hold_ms);
    note(w->load, &wish, lock, asked_ns, granted_ns);
    redlock_release(lock);
    redlock_lock_free(lock);
}

static void work(void *data)
{
    struct worker *w = data;
    unsigned seed = w->spec->seed * 100 + (unsigned)w->number;
    redlock_options o = client_options(&w->load->c);
    o.max_ttl_ms = LOAD_MAX_TTL_MS;
    o.node_timeout_ms = CHECK_SANITIZED ? 60 : 20;
    o.flags = w->spec->flags;
    redlock *r = client_open_with(&o);
    while (!w->load->stop)
        hold_once(w, r, &seed);
    client_close(r);
}

void load_wish_any_names(int worker, unsigned *seed, struct load_wish *out)
{
    (void)worker;
    /* A single name every fourth time, else any of them, asked for in any order. */
    out->names = seed_draw(seed, 0, 3) == 0 ? 1u << seed_draw(seed, 0, LOAD_NAMES_MAX - 1)
                                            : (unsigned)seed_draw(seed, 1, 63);
    out->request.wait_ms = 8000;
    out->request.flags = REDLOCK_FENCED;
    out->ttl_ms = LOAD_MAX_TTL_MS;
    out->hold_ms = seed_draw(seed, 0, 3);
}

/* ---- the faults ------------------------------------------------------------------------- */

/* One node at a time, so that a majority is always there; restarts rest until let in. */
static void torment(struct load *l, const struct load_spec *spec)
{
    unsigned seed = spec->seed;
    int64_t end_ms = now_ms() + spec->run_ms, restart_ms = now_ms() + 200;
    int done[3] = {0};
    /* A busy machine gets more time, for the same number of holds. */
    int64_t limit_ms = end_ms + EXTRA_MS;
    while (!l->stop &&
           (now_ms() < end_ms || (l->count < spec->holds_min && now_ms() < limit_ms))) {
        struct server *node = &l->c.node[seed_draw(&seed, 0, (int)spec->nodes - 1)];
        sleep_ms(seed_draw(&seed, 20, 80));
        if ((spec->faults & LOAD_RESTARTS) && now_ms() >= restart_ms) {
            server_restart(node); /* kill -9, everything forgotten, no marker */
            restart_ms = now_ms() + QUARANTINE_MS;
            done[0]++;
        } else if ((spec->faults & LOAD_HANGS) && seed_draw(&seed, 0, 1) == 0) {
            server_freeze(node);
            sleep_ms(seed_draw(&seed, 20, 80));
            server_thaw(node);
            done[1]++;
        } else if (spec->faults & LOAD_CUTS) {
            server_cmd(node, "CLIENT", "KILL", "TYPE", "normal", NULL);
            done[2]++;
        }
    }
    l->stop = 1;
    printf("# %d restarts, %d hangs, %d cuts\n", done[0], done[1], done[2]);
}

struct load *load_run(const struct load_spec *spec)
{
    struct load *l = helper_memory(sizeof *l);
    struct worker workers[WORKERS_MAX];
    pid_t pids[WORKERS_MAX];
    CHECK(spec->workers <= WORKERS_MAX);
    cluster_start_limited(&l->c, spec->nodes, "500");
    for (int i = 0; i < spec->workers; i++) {
        workers[i] = (struct worker){spec, l, i};
        pids[i] = helper_start(work, &workers[i]);
    }
    torment(l, spec);
    helpers_join(pids, spec->workers);
    if (l->count > LOAD_RECORDS_MAX)
        l->count = LOAD_RECORDS_MAX;
    printf("# %d holds by %d processes on %zu nodes, %d attempts failed\n", (int)l->count,
           spec->workers, spec->nodes, (int)l->failures);
    return l;
}

/* ---- the verdict ------------------------------------------------------------------------ */

static int by_granted(const void *a, const void *b)
{
    const struct load_record *x = a, *y = b;
    return (x->granted_ns > y->granted_ns) - (x->granted_ns < y->granted_ns);
}

static int by_asked(const void *a, const void *b)
{
    const struct load_record *x = a, *y = b;
    return (x->asked_ns > y->asked_ns) - (x->asked_ns < y->asked_ns);
}

static struct load_record *sorted(const struct load *l,
                                  int (*order)(const void *, const void *))
{
    struct load_record *copy = calloc((size_t)l->count + 1, sizeof *copy);
    CHECK(copy != NULL);
    memcpy(copy, l->record, (size_t)l->count * sizeof *copy);
    qsort(copy, (size_t)l->count, sizeof *copy, order);
    return copy;
}

static bool exclude(const struct load_record *a, const struct load_record *b)
{
    if (!(a->names & b->names))
        return false;
    if (a->kind != b->kind || a->kind == REDLOCK_MUTEX)
        return true;
    return a->kind == REDLOCK_REENTRANT && a->owner != b->owner;
}

static bool same_slot(const struct load_record *a, const struct load_record *b)
{
    return a->kind == REDLOCK_SEMAPHORE && b->kind == REDLOCK_SEMAPHORE &&
           (a->names & b->names) && a->slot == b->slot;
}

/* No hold is longer than this, so no earlier holder can still be there. */
#define HOLD_MAX_NS ((int64_t)LOAD_MAX_TTL_MS * 1000000)

static int count_pairs(const struct load *l, const char *what,
                       bool (*bad)(const struct load_record *, const struct load_record *))
{
    struct load_record *r = sorted(l, by_granted);
    int found = 0;
    for (int i = 0; i < l->count; i++) {
        for (int j = i - 1; j >= 0 && r[j].granted_ns > r[i].granted_ns - HOLD_MAX_NS; j--) {
            if (r[j].ended_ns <= r[i].granted_ns || r[i].ended_ns <= r[i].granted_ns ||
                !bad(&r[i], &r[j]))
                continue;
            if (found++ < PRINTED_MAX)
                printf("# %s: %s and %s together for %.3f ms or more\n", what,
                       redlock_kind_text(r[j].kind), redlock_kind_text(r[i].kind),
                       (double)(r[j].ended_ns - r[i].granted_ns) / 1e6);
        }
    }
    free(r);
    return found;
}

int load_conflicts(const struct load *l)
{
    return count_pairs(l, "conflict", exclude);
}

int load_slot_doubles(const struct load *l)
{
    return count_pairs(l, "one slot", same_slot);
}

int load_peak(const struct load *l, int kind)
{
    struct load_record *r = sorted(l, by_granted);
    int peak = 0;
    for (int i = 0; i < l->count; i++) {
        int together = 1;
        if (r[i].kind != kind || r[i].ended_ns <= r[i].granted_ns)
            continue;
        for (int j = i - 1; j >= 0 && r[j].granted_ns > r[i].granted_ns - HOLD_MAX_NS; j--)
            together += r[j].kind == kind && r[j].ended_ns > r[i].granted_ns;
        if (together > peak)
            peak = together;
    }
    free(r);
    return peak;
}

int load_disorders(const struct load *l)
{
    struct load_record *asked = sorted(l, by_asked), *granted = sorted(l, by_granted);
    int64_t largest[LOAD_NAMES_MAX] = {0};
    int completed = 0, found = 0;
    for (int i = 0; i < l->count; i++) {
        for (; completed < l->count && granted[completed].granted_ns < asked[i].asked_ns;
             completed++)
            for (int n = 0; n < LOAD_NAMES_MAX; n++)
                if ((granted[completed].names & (1u << n)) &&
                    granted[completed].token > largest[n])
                    largest[n] = granted[completed].token;
        for (int n = 0; n < LOAD_NAMES_MAX; n++)
            if ((asked[i].names & (1u << n)) && asked[i].token <= largest[n] &&
                found++ < PRINTED_MAX)
                printf("# %s: token %lld after %lld had been given\n", names[n],
                       (long long)asked[i].token, (long long)largest[n]);
    }
    free(asked);
    free(granted);
    return found;
}
