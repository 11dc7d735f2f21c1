/* SPDX-License-Identifier: BSD-2-Clause */
#include "cost_load.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "cost_own.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    TTL_MS = 30000,
    WARM_UP_CYCLES = 4, /* of each in flight: buffers have grown, scripts are known */
    WARM_UP_CYCLES_ALONE = 20,
    IN_FLIGHT_MAX = 64,
    LOOK_EVERY_US = 500,
    GATE_US = 20 * 1000 * 1000,
    SETTLED_US = 100 * 1000,
};

static void begin(const struct load *load)
{
    own_call(OWN_BEGIN, NULL, 0, 0);
    shim_count(load->counts);
}

static void end(void)
{
    shim_count(NULL);
    own_call(OWN_END, NULL, 0, 0);
    shim_thaw_time();
}

static redlock *open_client(const struct load *load)
{
    redlock *r = client_open_warm(load->cluster, load->client_flags);
    redlock_lock *spare = client_lock(r, "spare", TTL_MS);
    /* A reply that comes a cycle late keeps its attempt: there is room for one more by now. */
    client_unlock(client_lock(r, "cost", TTL_MS));
    client_unlock(spare);
    shim_lockstep();
    client_warm(r); /* an I/O thread that was waiting for events is in step from then on */
    /* Before the warm-up: by now the nodes' clocks were read, and are not due again. */
    shim_freeze_time();
    return r;
}

/* Each in flight goes round by itself; `left` is what all of them may still begin. */
struct ring {
    redlock *client;
    uint32_t flags; /* of the requests */
    int64_t wait_ms;
    int left, ended;
};

struct runner {
    struct ring *ring;
    char name[16];
};

static void begin_cycle(struct runner *runner)
{
    redlock_request q = REDLOCK_REQUEST(.flags = runner->ring->flags,
                                        .wait_ms = runner->ring->wait_ms, .data = runner);
    redlock_lock *lock;
    runner->ring->left--;
    CHECK_OK(redlock_start_acquire(runner->ring->client, runner->name, TTL_MS, &q, &lock));
}

static void step(const redlock_event *event)
{
    struct runner *runner = event->data;
    CHECK_OK(event->error);
    if (event->type == REDLOCK_EVENT_ACQUIRED)
        CHECK_OK(redlock_start_release(event->lock));
    if (event->type != REDLOCK_EVENT_RELEASED)
        return;
    redlock_lock_free(event->lock);
    runner->ring->ended++;
    if (runner->ring->left > 0)
        begin_cycle(runner);
}

static void go_round(struct ring *ring, struct runner *runners, int in_flight, int cycles)
{
    ring->left = cycles;
    ring->ended = 0;
    for (int i = 0; i < in_flight; i++)
        begin_cycle(&runners[i]);
    while (ring->ended < cycles) {
        const redlock_event *event;
        CHECK_INT(1, redlock_next(ring->client, &event, -1));
        step(event);
    }
}

void load_async(void *data)
{
    const struct load *load = data;
    struct runner runners[IN_FLIGHT_MAX];
    struct ring ring = {.client = open_client(load),
                        .flags = load->request_flags,
                        .wait_ms = load->one_name ? REDLOCK_WAIT_FOREVER : 0};
    for (int i = 0; i < load->in_flight; i++) {
        runners[i].ring = &ring;
        snprintf(runners[i].name, sizeof runners[i].name, "cost-%03d", load->one_name ? 0 : i);
    }
    go_round(&ring, runners, load->in_flight, load->in_flight * WARM_UP_CYCLES);
    begin(load);
    go_round(&ring, runners, load->in_flight, load->cycles);
    end();
    client_close(ring.client);
}

void load_drain(void *data)
{
    const struct load *load = data;
    redlock *r = open_client(load);
    redlock_lock *lock[IN_FLIGHT_MAX];
    for (int i = 0; i < load->in_flight; i++) {
        char name[16];
        snprintf(name, sizeof name, "cost-%03d", i);
        CHECK_OK(redlock_start_acquire(r, name, TTL_MS, NULL, &lock[i]));
    }
    client_unlock(client_lock(r, "later", TTL_MS)); /* the others are granted before it */
    own_call(OWN_WAIT, NULL, 0, SETTLED_US);        /* an I/O thread sleeps by now */
    begin(load);
    for (int i = 0; i < load->in_flight; i++) {
        const redlock_event *event;
        CHECK_INT(1, redlock_next(r, &event, 0));
        CHECK(event->lock == lock[i] && event->error == REDLOCK_OK);
    }
    end();
    for (int i = 0; i < load->in_flight; i++)
        redlock_lock_free(lock[i]);
    client_close(r);
}

static void cycle(redlock *r, const char *name, const redlock_request *q, int count)
{
    for (int i = 0; i < count; i++) {
        redlock_lock *lock;
        CHECK_OK(redlock_acquire(r, name, TTL_MS, q, &lock));
        CHECK_OK(redlock_release(lock));
        redlock_lock_free(lock);
    }
}

void load_blocking(void *data)
{
    const struct load *load = data;
    redlock_request q = REDLOCK_REQUEST(.flags = load->request_flags);
    redlock *r = open_client(load);
    bool threaded = load->client_flags & REDLOCK_THREAD;
    shim_expect_callers(threaded);
    cycle(r, "cost-000", &q, WARM_UP_CYCLES_ALONE);
    begin(load);
    cycle(r, "cost-000", &q, load->cycles);
    end();
    shim_expect_callers(-threaded);
    client_close(r);
}

/* A pipe on which all wait until its other end is closed: one call each, however
 * long it takes. */
struct gate {
    int ends[2];
};

static void pass(const struct gate *gate)
{
    struct pollfd end = {.fd = gate->ends[0]};
    own_call(OWN_WAIT, &end, 1, GATE_US);
    CHECK(end.revents != 0);
}

enum { WARM_UP, MEASURE, LEAVE, PHASES };

struct crew {
    redlock *client;
    int size;
    int cycles; /* of each */
    _Atomic int ended;
    struct gate gate[PHASES];
};

struct member {
    struct crew *crew;
    char name[16];
};

static void *work(void *data)
{
    struct member *member = data;
    struct crew *crew = member->crew;
    for (int i = WARM_UP; i <= MEASURE; i++) {
        pass(&crew->gate[i]);
        cycle(crew->client, member->name, NULL, i == WARM_UP ? WARM_UP_CYCLES : crew->cycles);
        shim_expect_callers(-1);
        crew->ended++;
    }
    pass(&crew->gate[LEAVE]); /* a thread that ends makes calls as well */
    return NULL;
}

static void get_ready(struct crew *crew)
{
    crew->ended = 0;
    shim_expect_callers(crew->size);
}

static void let_work(struct crew *crew, int phase)
{
    close(crew->gate[phase].ends[1]);
    while (crew->ended < crew->size)
        own_call(OWN_WAIT, NULL, 0, LOOK_EVERY_US);
}

void load_threads(void *data)
{
    const struct load *load = data;
    pthread_t threads[IN_FLIGHT_MAX];
    struct member members[IN_FLIGHT_MAX];
    struct crew crew = {.client = open_client(load),
                        .size = load->in_flight,
                        .cycles = load->cycles / load->in_flight};
    for (int i = 0; i < PHASES; i++)
        CHECK_INT(0, pipe(crew.gate[i].ends));
    for (int i = 0; i < crew.size; i++) {
        members[i].crew = &crew;
        snprintf(members[i].name, sizeof members[i].name, "cost-%03d", i);
        CHECK_INT(0, pthread_create(&threads[i], NULL, work, &members[i]));
    }
    get_ready(&crew);
    let_work(&crew, WARM_UP);
    get_ready(&crew);
    begin(load);
    let_work(&crew, MEASURE);
    end();
    close(crew.gate[LEAVE].ends[1]);
    for (int i = 0; i < crew.size; i++)
        pthread_join(threads[i], NULL);
    client_close(crew.client);
}

static void extend(redlock_lock *lock, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_OK(redlock_extend(lock, TTL_MS));
}

void load_extend(void *data)
{
    const struct load *load = data;
    redlock *r = open_client(load);
    redlock_lock *lock = client_lock(r, "cost-000", TTL_MS);
    extend(lock, WARM_UP_CYCLES);
    begin(load);
    extend(lock, load->cycles);
    end();
    client_unlock(lock);
    client_close(r);
}

static void await_renewals(redlock *r, redlock_lock *lock, int count)
{
    const redlock_event *event;
    while (count > 0) {
        int64_t before_ns = redlock_deadline_ns(lock);
        if (!shim_is_owed())
            shim_pass_time(); /* to the timer; the keys on the nodes are as young as before */
        shim_await_replies();
        CHECK_INT(0, redlock_next(r, &event, 0));
        CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
        count -= redlock_deadline_ns(lock) != before_ns;
    }
}

void load_renewed(void *data)
{
    const struct load *load = data;
    redlock *r = open_client(load);
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_RENEW);
    redlock_lock *lock;
    CHECK(redlock_fd(r) >= 0); /* driven by the loop below */
    CHECK_OK(redlock_acquire(r, "cost-000", TTL_MS, &q, &lock));
    await_renewals(r, lock, 1);
    begin(load);
    await_renewals(r, lock, load->cycles);
    end();
    client_unlock(lock);
    client_close(r);
}

struct side {
    redlock *client;
    redlock_lock *lock;
    bool done;
};

static void start_acquire(struct side *side)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = REDLOCK_WAIT_FOREVER);
    side->done = false;
    CHECK_OK(redlock_start_acquire(side->client, "cost-000", TTL_MS, &q, &side->lock));
}

static void read_event(struct side *side, int timeout_ms)
{
    const redlock_event *event;
    int found = redlock_next(side->client, &event, timeout_ms);
    CHECK(found >= 0);
    if (found == 0)
        return;
    CHECK_OK(event->error);
    side->done = true;
}

static void await_done(struct side *side)
{
    while (!side->done)
        read_event(side, -1);
}

static void await_place(struct side *side)
{
    while (redlock_position(side->lock) == 0 || shim_is_owed()) {
        shim_await_replies();
        read_event(side, 0);
    }
}

static void hand_over(struct side *from, struct side *to, size_t node_count)
{
    start_acquire(to);
    await_place(to);
    CHECK(!to->done);
    from->done = false;
    CHECK_OK(redlock_start_release(from->lock));
    await_done(from);
    redlock_lock_free(from->lock);
    shim_await_readable((int)node_count); /* the nodes' messages to the waiter */
    await_done(to);
}

static void hand_to_and_fro(struct side *side, size_t node_count, int count)
{
    for (int i = 0; i < count; i++)
        hand_over(&side[i % 2], &side[(i + 1) % 2], node_count);
}

void load_handover(void *data)
{
    const struct load *load = data;
    struct side side[2] = {{.client = open_client(load)}, {.client = open_client(load)}};
    start_acquire(&side[0]);
    await_done(&side[0]);
    hand_to_and_fro(side, load->cluster->count, WARM_UP_CYCLES);
    begin(load);
    hand_to_and_fro(side, load->cluster->count, load->cycles);
    end();
    client_close(side[0].client);
    client_close(side[1].client);
}
