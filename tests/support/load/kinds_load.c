/* SPDX-License-Identifier: BSD-2-Clause */
#include "kinds_load.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"
#include "kinds.h"

#include <stdio.h>

enum {
    WORKERS_MAX = 16,
    QUARANTINE_MS = LOAD_MAX_TTL_MS + 2000 + 600,
    ANY_NAMES = 6,
    PAUSE_MS = 20,
    EXTRA_MS = 20000,
};

struct worker {
    const struct load_spec *spec;
    struct load *load;
    int number;
};

static void note(struct load *l, const struct load_wish *w, redlock_lock *lock,
                 int64_t asked_ns, int64_t granted_ns)
{
    int64_t deadline_ns = redlock_deadline_ns(lock), now = now_ns();
    struct hold_record *record = holds_add(l->holds);
    if (record == NULL)
        return;
    *record = (struct hold_record){
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
    char names[LOAD_NAMES_MAX][8];
    const char *more[LOAD_NAMES_MAX];
    struct load_wish wish = {
        .names = 1, .ttl_ms = LOAD_MAX_TTL_MS, .request = REDLOCK_REQUEST()};
    size_t count = 0;
    redlock_lock *lock = NULL;
    int64_t granted_ns, asked_ns;
    int first;
    w->spec->wish(w->number, seed, &wish);
    /* In an order of its own for every process. */
    first = seed_draw(seed, 0, LOAD_NAMES_MAX - 1);
    for (int i = 0; i < LOAD_NAMES_MAX; i++) {
        int name = (first + i) % LOAD_NAMES_MAX;
        if (!(wish.names & (1u << name)))
            continue;
        snprintf(names[name], sizeof names[name], "n%d", name);
        more[count++] = names[name];
    }
    wish.request.more_names = more + 1;
    wish.request.more_name_count = count - 1;
    asked_ns = now_ns();
    if (redlock_acquire(r, more[0], wish.ttl_ms, &wish.request, &lock) != REDLOCK_OK) {
        w->load->failures++;
        return;
    }
    granted_ns = now_ns();
    sleep_ms(wish.hold_ms);
    note(w->load, &wish, lock, asked_ns, granted_ns);
    redlock_release(lock);
    redlock_lock_free(lock);
}

static void work(void *data)
{
    struct worker *w = data;
    unsigned seed = w->spec->seed * 100 + (unsigned)w->number;
    struct cluster c = w->load->c;
    redlock *r;
    for (size_t i = 0; i < c.count && w->load->relay[i].pid != 0; i++)
        if (w->spec->all_drop || w->number % 4 == 0)
            c.urls[i] = w->load->relay[i].url;
    r = CLIENT_OPEN(&c, .max_ttl_ms = LOAD_MAX_TTL_MS,
                    .node_timeout_ms = w->spec->node_timeout_ms > 0 ? w->spec->node_timeout_ms
                                       : CHECK_SANITIZED            ? 60
                                                                    : 20,
                    .flags = w->spec->flags);
    while (!w->load->holds->stop)
        hold_once(w, r, &seed);
    client_close(r);
}

void load_wish_any_names(int worker, unsigned *seed, struct load_wish *out)
{
    (void)worker;
    /* A single name every fourth time, else any of them, requested in any order. */
    out->names = seed_draw(seed, 0, 3) == 0
                     ? 1u << seed_draw(seed, 0, ANY_NAMES - 1)
                     : (unsigned)seed_draw(seed, 1, (1 << ANY_NAMES) - 1);
    out->request.wait_ms = 8000;
    out->request.flags = REDLOCK_FENCED;
    out->ttl_ms = LOAD_MAX_TTL_MS;
    out->hold_ms = seed_draw(seed, 0, 3);
}

/* One node at a time, so that a majority is always there; restarts rest until let in. */
static void torment(struct load *l, const struct load_spec *spec)
{
    unsigned seed = spec->seed;
    int64_t end_ms = now_ms() + spec->run_ms, restart_ms = now_ms() + 200;
    int done[3] = {0}, pause_ms = spec->pause_ms > 0 ? spec->pause_ms : PAUSE_MS;
    /* A busy machine gets more time, for the same number of holds. */
    int64_t limit_ms = end_ms + EXTRA_MS;
    while (!l->holds->stop &&
           (now_ms() < end_ms || (l->holds->count < spec->holds_min && now_ms() < limit_ms))) {
        struct server *node = &l->c.node[seed_draw(&seed, 0, (int)spec->nodes - 1)];
        sleep_ms(seed_draw(&seed, pause_ms, 4 * pause_ms));
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
    printf("# %d restarts, %d hangs, %d cuts\n", done[0], done[1], done[2]);
}

struct load *load_run(const struct load_spec *spec)
{
    struct load *l = helper_memory(sizeof *l);
    struct worker workers[WORKERS_MAX];
    pid_t pids[WORKERS_MAX];
    CHECK(spec->workers <= WORKERS_MAX);
    l->holds = holds_new(spec->holds_max > 0 ? spec->holds_max : LOAD_RECORDS_MAX);
    cluster_start_as(&l->c, spec->nodes, &(struct cluster_form){.max_ttl_ms = "500"});
    for (size_t i = 0; i < spec->nodes && spec->drop_percent > 0; i++) {
        relay_start(&l->relay[i], l->c.node[i].port.number, spec->seed + (unsigned)i);
        l->relay[i].switches->drop_percent = spec->drop_percent;
        l->relay[i].switches->keep = spec->hidden;
    }
    for (int i = 0; i < spec->workers; i++) {
        workers[i] = (struct worker){spec, l, i};
        pids[i] = helper_start(work, &workers[i]);
    }
    (spec->torment != NULL ? spec->torment : torment)(l, spec);
    l->holds->stop = 1;
    helpers_join(pids, spec->workers);
    printf("# %d holds by %d processes on %zu nodes, %d attempts failed\n",
           holds_count(l->holds), spec->workers, spec->nodes, (int)l->failures);
    return l;
}
