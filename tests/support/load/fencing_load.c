/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two programs of the fencing stress have in common. */
#include "fencing_load.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"
#include "holds.h"
#include "relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NODES = 5,
    WORKERS = 8,
    NAMES = 16,
    MAX_TTL_MS = 500, /* short: a load, in which attempts may fail */
    QUARANTINE_MS = MAX_TTL_MS + 2000 + 600,
    DROP_PERCENT = 20,
    DEFAULT_ACQUISITIONS = CHECK_SANITIZED ? 2000 : 12000,
};

struct stress {
    struct cluster c;
    struct relay relay[NODES]; /* every fourth process is behind them */
    struct holds *holds;
    int worker;
};

static void note(struct stress *s, redlock_lock *lock, int name, int64_t asked_ns)
{
    int64_t granted_ns = now_ns();
    struct hold_record *record = holds_add(s->holds);
    if (record == NULL)
        return;
    *record = (struct hold_record){
        .name = name,
        .asked_ns = asked_ns,
        .granted_ns = granted_ns,
        .ended_ns = granted_ns,
        .token = redlock_fence(lock),
    };
}

static void work(void *data)
{
    struct stress *s = data;
    unsigned int random = 77 + (unsigned int)s->worker;
    for (int i = 0; i < NODES && s->worker % 4 == 0; i++)
        s->c.urls[i] = s->relay[i].url;
    redlock_options o = client_options(&s->c);
    o.max_ttl_ms = MAX_TTL_MS;
    o.node_timeout_ms = 20; /* short: as MAX_TTL_MS */
    redlock *r = client_open_with(&o);
    while (!s->holds->stop) {
        char text[16];
        int name = rand_r(&random) % NAMES;
        redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_FENCED);
        redlock_lock *lock = NULL;
        snprintf(text, sizeof text, "n%d", name);
        int64_t asked_ns = now_ns();
        if (redlock_acquire(r, text, MAX_TTL_MS, &q, &lock) != REDLOCK_OK)
            continue;
        note(s, lock, name, asked_ns);
        redlock_release(lock);
        redlock_lock_free(lock);
    }
    client_close(r);
}

/* One thing at a time, so that a majority is always there; restarts rest until let in. */
static void torment(struct stress *s, int64_t limit_ms)
{
    unsigned int random = 5;
    int64_t restart_ms = now_ms() + 500;
    int faults[3] = {0};
    for (int64_t end_ms = now_ms() + limit_ms; !s->holds->stop;) {
        int node = rand_r(&random) % NODES;
        CHECK(now_ms() < end_ms);
        sleep_ms(100 + rand_r(&random) % 200);
        if (now_ms() >= restart_ms) {
            server_restart(&s->c.node[node]);
            restart_ms = now_ms() + QUARANTINE_MS;
            faults[0]++;
        } else if (rand_r(&random) % 2 == 0) {
            server_freeze(&s->c.node[node]);
            sleep_ms(20 + rand_r(&random) % 60);
            server_thaw(&s->c.node[node]);
            faults[1]++;
        } else {
            server_cmd(&s->c.node[node], "CLIENT", "KILL", "TYPE", "normal", NULL);
            faults[2]++;
        }
    }
    printf("# %d restarts, %d hangs, %d cuts\n", faults[0], faults[1], faults[2]);
}

int fencing_disorders(int acquisitions, int64_t limit_ms)
{
    static struct stress s;
    pid_t pids[WORKERS];
    int64_t start_ms = now_ms();
    s.holds = holds_new(acquisitions);
    cluster_start_limited(&s.c, NODES, "500");
    for (int i = 0; i < NODES; i++) {
        relay_start(&s.relay[i], s.c.node[i].port.number, (unsigned int)i);
        s.relay[i].switches->drop_percent = DROP_PERCENT;
    }
    for (s.worker = 0; s.worker < WORKERS; s.worker++)
        pids[s.worker] = helper_start(work, &s);
    torment(&s, limit_ms);
    helpers_join(pids, WORKERS);
    int found = holds_disorders(s.holds);
    printf("# %d acquisitions by %d processes in %lld ms: %d out of order\n", acquisitions,
           WORKERS, (long long)(now_ms() - start_ms), found);
    return found;
}

int fencing_acquisitions(void)
{
    return (int)check_setting("REDLOCK_STRESS_ACQUISITIONS", DEFAULT_ACQUISITIONS);
}
