/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"
#include "kinds.h"

#include <stdatomic.h>
#include <stdio.h>

enum { READERS = 6, HOLD_MS = 60, TTL_MS = 5000 };

struct stream {
    struct cluster c;
    _Atomic int stop, holds, started;
};

/* Each reader holds longer than it takes the others to come: there is always one. */
static void read_on(void *data)
{
    struct stream *s = data;
    redlock *r = client_open_warm(&s->c, 0);
    unsigned seed = (unsigned)s->started++ + 1;
    redlock_request q = reader_request();
    while (!s->stop) {
        redlock_lock *lock = NULL;
        q.wait_ms = 100; /* short: a load, which requests again */
        if (redlock_acquire(r, "x", TTL_MS, &q, &lock) != REDLOCK_OK)
            continue;
        s->holds++;
        sleep_ms(HOLD_MS + seed_draw(&seed, 0, 20));
        client_unlock(lock);
    }
    client_close(r);
}

struct shared_outcome shared_stream(int64_t wait_ms)
{
    struct stream *s = helper_memory(sizeof *s);
    struct shared_outcome out = {0};
    pid_t pids[READERS];
    redlock_request q;
    redlock_lock *lock = NULL;
    int before;
    redlock *r;
    cluster_start(&s->c, 3);
    for (int i = 0; i < READERS; i++)
        pids[i] = helper_start(read_on, s);
    r = client_open_warm(&s->c, 0);
    AWAIT(s->holds >= 3 * READERS);
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = wait_ms);
    before = s->holds;
    out.error = redlock_acquire(r, "x", TTL_MS, &q, &lock);
    out.readers = s->holds - before;
    redlock_lock_free(lock);
    s->stop = 1;
    helpers_join(pids, READERS);
    client_close(r);
    printf("# the writer: %s, %d readers meanwhile\n", redlock_error_name(out.error),
           out.readers);
    CHECK(kind_await_clean(&s->c));
    return out;
}
