/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Very many waiters in one process: threads that block, and handles that do not. What they cost
 * while they wait is printed; every waiter is served, in the order of the calls for each name.
 */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    NODES = 3,
    TTL_MS = 60000,
    NODE_TIMEOUT_MS = 15000, /* so many at once keep starved servers busy for seconds */
    THREADS = CHECK_SANITIZED ? 200 : 1000,
    WAITERS = CHECK_SANITIZED ? 2000 : 10000,
    NAMES = CHECK_SANITIZED ? 200 : 1000,
    LIMIT_MS = 80000,
    IDLE_MS = 1000,
};

struct price {
    int64_t at_ms;
    double own_ms, nodes_ms; /* CPU */
    long memory_kib;
};

static double nodes_cpu_ms(const struct cluster *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->count; i++) {
        const char *text = server_cmd(&c->node[i], "INFO", "cpu", NULL);
        const char *user = strstr(text, "used_cpu_user:");
        const char *system = strstr(text, "used_cpu_sys:");
        CHECK(user != NULL && system != NULL);
        sum += strtod(strchr(user, ':') + 1, NULL) + strtod(strchr(system, ':') + 1, NULL);
    }
    return sum * 1000;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static struct price price_now(const struct cluster *c)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (struct price){
        .at_ms = now_ms(),
        .own_ms = (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6,
        .nodes_ms = nodes_cpu_ms(c),
        .memory_kib = resident_kib(),
    };
}

static void print_price(const char *what, int count, const struct price *from,
                        const struct price *to)
{
    double took_ms = (double)(to->at_ms - from->at_ms);
    printf("# %s: %.0f ms, CPU %.1f %% of a core here and %.1f %% on %d nodes together, "
           "%.0f and %.0f us each; memory %+ld KiB, %.2f KiB each\n",
           what, took_ms, 100 * (to->own_ms - from->own_ms) / took_ms,
           100 * (to->nodes_ms - from->nodes_ms) / took_ms, NODES,
           1000 * (to->own_ms - from->own_ms) / count,
           1000 * (to->nodes_ms - from->nodes_ms) / count, to->memory_kib - from->memory_kib,
           (double)(to->memory_kib - from->memory_kib) / count);
}

struct threads {
    redlock *r;
    _Atomic int calling, served, inside;
};

static void *wait_and_serve(void *data)
{
    struct threads *t = data;
    redlock_lock *lock = NULL;
    t->calling++;
    lock = CLIENT_LOCK(t->r, "x", TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
    CHECK_INT(0, atomic_exchange(&t->inside, 1));
    t->served++;
    CHECK_INT(1, atomic_exchange(&t->inside, 0));
    client_unlock(lock);
    return NULL;
}

CASE_EACH(threads, "A thousand threads that block on one lock are all served.", 0,
          REDLOCK_THREAD)
{
    static pthread_t thread[THREADS];
    struct threads t = {0};
    struct cluster c;
    pthread_attr_t attr;
    redlock *other = client_start(&c, NODES, 0);
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    struct price start, waiting, waited, end;
    t.r = client_open_warm(&c, flags);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1024 * 1024);
    start = price_now(&c);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&thread[i], &attr, wait_and_serve, &t));
    AWAIT(t.calling == THREADS);
    sleep_ms(100); /* until the last of them is inside its call */
    waiting = price_now(&c);
    sleep_ms(IDLE_MS);
    waited = price_now(&c);
    CHECK_INT(0, t.served);
    client_unlock(held);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_join(thread[i], NULL));
    end = price_now(&c);
    CHECK_INT(THREADS, t.served);
    print_price("threads, beginning", THREADS, &start, &waiting);
    print_price("threads, waiting", THREADS, &waiting, &waited);
    print_price("threads, being served", THREADS, &waited, &end);
    /* Waiters cost next to nothing, however many they are. */
    CHECK(waited.own_ms - waiting.own_ms < (CHECK_SANITIZED ? 500 : 100));
    CHECK(cluster_await_empty(&c));
    client_close(t.r);
}

struct handles {
    int served, disorders, released;
    int *last; /* served, of each name */
};

struct one {
    int name, number;
};

/* Reads an event, if there is one within limit_ms. Each that is served gives the lock back. */
static void serve(redlock *r, int64_t limit_ms, struct handles *all)
{
    const redlock_event *event = next_event(r, limit_ms);
    const struct one *one;
    if (!event)
        return;
    CHECK_OK(event->error);
    if (event->type == REDLOCK_EVENT_RELEASED) {
        all->released++;
        redlock_lock_free(event->lock);
        return;
    }
    one = event->data;
    all->disorders += one->number < all->last[one->name];
    all->last[one->name] = one->number;
    all->served++;
    CHECK_OK(redlock_start_release(event->lock));
}

static void name_of(int number, char out[16])
{
    snprintf(out, 16, "n%d", number);
}

static void take_all(redlock *r, redlock_lock **held, int names)
{
    for (int i = 0; i < names; i++) {
        char name[16];
        name_of(i, name);
        held[i] = client_lock(r, name, TTL_MS);
    }
}

static void serve_until(redlock *r, struct handles *all, int released, int64_t limit_ms)
{
    for (int64_t end_ms = now_ms() + limit_ms; all->released < released;) {
        serve(r, 20, all);
        if (now_ms() >= end_ms)
            FAIL("%d of %d within %lld ms", all->released, released, (long long)limit_ms);
    }
}

static void serve_for(redlock *r, struct handles *all, int64_t ms)
{
    for (int64_t end_ms = now_ms() + ms, left_ms; (left_ms = end_ms - now_ms()) > 0;)
        serve(r, left_ms, all);
}

static redlock *open_patient(const struct cluster *c)
{
    redlock *r = client_open_hasty(c, 0, NODE_TIMEOUT_MS);
    client_warm(r);
    return r;
}

static bool is_empty(const struct cluster *c)
{
    long long keys = 0;
    for (size_t i = 0; i < c->count; i++)
        keys += server_keys(&c->node[i]);
    return keys == 0;
}

static void crowd_of_handles(int names, int waiters)
{
    struct handles all = {.last = calloc((size_t)names, sizeof(int))};
    struct one *one = calloc((size_t)waiters, sizeof *one);
    redlock_lock **held = calloc((size_t)names, sizeof *held);
    struct cluster c;
    redlock *other, *r;
    struct price waiting, waited, end, start;
    CHECK(all.last != NULL && one != NULL && held != NULL);
    cluster_start(&c, NODES);
    other = open_patient(&c);
    take_all(other, held, names);
    r = open_patient(&c);
    start = price_now(&c);
    for (int i = 0; i < waiters; i++) {
        redlock_lock *lock;
        char name[16];
        redlock_request q;
        one[i] = (struct one){i % names, i};
        q = (redlock_request)REDLOCK_REQUEST(.wait_ms = REDLOCK_WAIT_FOREVER, .data = &one[i]);
        name_of(one[i].name, name);
        CHECK_OK(redlock_start_acquire(r, name, TTL_MS, &q, &lock));
    }
    serve_for(r, &all, 500);
    waiting = price_now(&c);
    serve_for(r, &all, IDLE_MS);
    waited = price_now(&c);
    CHECK_INT(0, all.served);
    for (int i = 0; i < names; i++) {
        CHECK_OK(redlock_start_release(held[i]));
        if (i % 64 == 0)
            serve(other, 0, &all);
    }
    serve_until(other, &all, names, LIMIT_MS);
    serve_until(r, &all, names + waiters, LIMIT_MS);
    end = price_now(&c);
    CHECK_INT(waiters, all.served);
    CHECK_INT(0, all.disorders);
    print_price("handles, beginning", waiters, &start, &waiting);
    print_price("handles, waiting", waiters, &waiting, &waited);
    print_price("handles, being served", waiters, &waited, &end);
    /* Two of three decided: what the slowest was sent may still be on its way. */
    for (int64_t end_ms = now_ms() + LIMIT_MS; !is_empty(&c); serve_for(r, &all, 10))
        CHECK(now_ms() < end_ms);
    client_close(r);
    client_close(other);
    free(all.last);
    free(one);
    free(held);
}

CASE_OF(handles_one_name, "Ten thousand waiting handles for one name are served in order.",
        crowd_of_handles(1, WAITERS));

CASE_OF(handles_many_names,
        "Ten thousand waiting handles for a thousand names are served in order.",
        crowd_of_handles((int)check_setting("REDLOCK_CROWD_NAMES", NAMES), WAITERS));
