/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything at once, at random: threads that lock, extend, release, free and cancel while
 * nodes hang, answer late and lose their connections. Nodes never lose keys here, so there is
 * one rule without exception: a new holder finds every earlier holder's validity over or given
 * up. REDLOCK_TEST_SEED repeats a run's choices.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "kinds.h"
#include "proxy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { NODES = 5, NAMES = 3, BLOCKING = 4, IN_FLIGHT = 12, RUN_MS = 2500 };

static const char *const names[NAMES] = {"red", "green", "blue"};

/* Until when a thread certainly holds the name; 0: no thread says so. */
static _Atomic int64_t held_until_ns[NAMES];

static _Atomic bool over;
static _Atomic int wins;

/* Attempts may fail here: what is won in spite of it is judged. */
enum { NODE_TIMEOUT_MS = DEFAULT_MS };

static int64_t draw_ttl_ms(unsigned *seed)
{
    return seed_draw(seed, 50, 900);
}

/*
 * Called by a winner while its lock is held. The exchange is what makes two holders visible:
 * each would find the other's time still running.
 */
static void enter(int name, redlock_lock *lock)
{
    int64_t until_ns = redlock_deadline_ns(lock);
    int64_t before_ns = atomic_exchange(&held_until_ns[name], until_ns);
    int64_t moment_ns = now_ns();
    if (until_ns > moment_ns && before_ns > moment_ns)
        FAIL("%s won while another held it for %lld us more", names[name],
             (long long)(before_ns - moment_ns) / 1000);
    wins++;
}

/* Before the release, and only what this holder said itself. */
static void leave(int name, int64_t until_ns)
{
    atomic_compare_exchange_strong(&held_until_ns[name], &until_ns, 0);
}

struct blocking {
    pthread_t thread;
    redlock *client;
    unsigned seed;
};

static void *lock_at_random(void *data)
{
    struct blocking *b = data;
    while (!over) {
        int name = seed_draw(&b->seed, 0, NAMES - 1);
        redlock_request q = REDLOCK_REQUEST(.wait_ms = seed_draw(&b->seed, 0, 150));
        redlock_lock *lock = NULL;
        int error = redlock_acquire(b->client, names[name], draw_ttl_ms(&b->seed), &q, &lock);
        int64_t until_ns;
        CHECK((error == REDLOCK_OK) == (lock != NULL));
        if (error != REDLOCK_OK) {
            CHECK(error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT ||
                  error == REDLOCK_NOQUORUM);
            continue;
        }
        enter(name, lock);
        until_ns = redlock_deadline_ns(lock);
        sleep_ms(seed_draw(&b->seed, 0, 8));
        if (seed_draw(&b->seed, 0, 2) == 0)
            redlock_extend(
                lock,
                draw_ttl_ms(&b->seed)); /* may move the deadline: this one stays what it was */
        leave(name, until_ns);
        if (seed_draw(&b->seed, 0, 3) > 0)
            redlock_release(lock);
        redlock_lock_free(lock);
    }
    return NULL;
}

/* Every operation that was started has one event, and none once its handle was freed. */
struct flight {
    redlock *client;
    redlock_lock *lock;
    unsigned *seed;
    int name;
    int awaited; /* the type of the event that has to come */
};

static void free_flight(struct flight *f)
{
    redlock_lock_free(f->lock);
    f->lock = NULL;
}

static void start_flight(struct flight *f)
{
    redlock_request q;
    f->name = seed_draw(f->seed, 0, NAMES - 1);
    f->awaited = REDLOCK_EVENT_ACQUIRED;
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = seed_draw(f->seed, -1, 100), .data = f);
    CHECK_OK(
        redlock_start_acquire(f->client, names[f->name], draw_ttl_ms(f->seed), &q, &f->lock));
}

static void read_event(const redlock_event *event)
{
    struct flight *f = event->data;
    if (event->type == REDLOCK_EVENT_LOST)
        return;
    CHECK(f->lock == event->lock);
    CHECK_INT(f->awaited, event->type);
    if (event->type == REDLOCK_EVENT_ACQUIRED && event->error == REDLOCK_OK) {
        enter(f->name, f->lock);
        leave(f->name, redlock_deadline_ns(f->lock));
        if (seed_draw(f->seed, 0, 1) == 0) {
            f->awaited = REDLOCK_EVENT_RELEASED;
            CHECK_OK(redlock_start_release(f->lock));
            return;
        }
    }
    free_flight(f);
}

static void fly_at_random(redlock *r, unsigned *seed)
{
    struct flight flights[IN_FLIGHT] = {0};
    const redlock_event *event;
    for (int i = 0; i < IN_FLIGHT; i++)
        flights[i] = (struct flight){.client = r, .seed = seed};
    while (!over) {
        struct flight *f = &flights[seed_draw(seed, 0, IN_FLIGHT - 1)];
        if (f->lock == NULL) {
            start_flight(f);
        } else if (seed_draw(seed, 0, 9) == 0) {
            redlock_cancel(f->lock); /* no effect on one that is not waiting */
            free_flight(f);
        }
        if ((event = next_event(r, seed_draw(seed, 0, 2))))
            read_event(event);
    }
    for (int i = 0; i < IN_FLIGHT; i++)
        while (flights[i].lock != NULL) {
            CHECK((event = next_event(r, GIVE_UP_MS)) != NULL);
            read_event(event);
        }
    NO_EVENT(r);
}

static void *fly(void *data)
{
    struct blocking *b = data;
    fly_at_random(b->client, &b->seed);
    return NULL;
}

static void make_weather(struct cluster *c, struct proxy *p, unsigned *seed)
{
    for (int64_t end_ms = now_ms() + RUN_MS; now_ms() < end_ms;) {
        int node = seed_draw(seed, 0, NODES - 1);
        switch (seed_draw(seed, 0, 4)) {
        case 0:
            server_freeze(&c->node[node]);
            sleep_ms(seed_draw(seed, 1, 90));
            server_thaw(&c->node[node]);
            break;
        case 1:
            proxy_cut(&p[node]);
            break;
        case 2:
            p[node].switches->down_delay_ms = seed_draw(seed, 0, 70);
            break;
        case 3:
            p[node].switches->up_delay_ms = seed_draw(seed, 0, 30);
            break;
        default:
            p[node].switches->down_delay_ms = p[node].switches->up_delay_ms = 0;
            sleep_ms(seed_draw(seed, 5, 40));
            break;
        }
    }
}

CASE(nobody_overlaps_in_any_weather,
     "No two threads hold a lock at once while nodes and connections fail.")
{
    struct cluster c;
    struct proxy p[NODES];
    struct blocking b[BLOCKING + 1];
    unsigned seed = seed_choose();
    redlock *shared, *plain, *loop;
    cluster_start(&c, NODES);
    proxies_start(p, &c, NODES);
    shared = client_open_hasty(&c, REDLOCK_THREAD, NODE_TIMEOUT_MS);
    plain = client_open_hasty(&c, 0, NODE_TIMEOUT_MS);
    loop = client_open_hasty(&c, 0, NODE_TIMEOUT_MS);
    client_warm(shared);
    for (int i = 0; i <= BLOCKING; i++) {
        b[i] = (struct blocking){.client = i % 2 == 0 ? shared : plain,
                                 .seed = seed + 1u + (unsigned)i};
        if (i == BLOCKING)
            b[i].client = loop;
        CHECK_INT(
            0, pthread_create(&b[i].thread, NULL, i == BLOCKING ? fly : lock_at_random, &b[i]));
    }
    make_weather(&c, p, &seed);
    for (int i = 0; i < NODES; i++)
        p[i].switches->down_delay_ms = p[i].switches->up_delay_ms = 0;
    over = true;
    for (int i = 0; i <= BLOCKING; i++)
        pthread_join(b[i].thread, NULL);
    printf("# %d locks won\n", wins);
    CHECK(wins >= 10);
}
