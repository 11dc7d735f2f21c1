/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Order and accounting on the wire: a release never comes before its acquire on the same
 * connection, every attempt has a value of its own, and a late reply is no vote for another
 * request.
 */
#include "fake.h"
#include "fixture.h"
#include "proxy.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3 };

struct bench {
    struct fake fake[NODES];
    const char *urls[NODES];
};

static void bench_start(struct bench *b)
{
    for (int i = 0; i < NODES; i++) {
        fake_start(&b->fake[i]);
        b->urls[i] = b->fake[i].url;
    }
}

static redlock *bench_open(struct bench *b, uint32_t flags, uint32_t node_timeout_ms)
{
    redlock_options o = REDLOCK_OPTIONS(.node_timeout_ms = node_timeout_ms, .nodes = b->urls,
                                        .node_count = NODES, .flags = flags, .retry_min_ms = 2,
                                        .retry_max_ms = 10);
    return client_open_with(&o);
}

/*
 * The value of a record that acquires: "SET key value NX PX ttl", or from the queue "EVALSHA
 * sha 3 lock queue alive value ttl waiter ...". False for other records.
 */
static bool acquire_value(const struct fake_record *r, char value[64])
{
    int end = 0;
    if (strstr(r->text, " NX ") != NULL)
        return sscanf(r->text, "SET %*s %63s NX", value) == 1;
    return sscanf(r->text, "EVALSHA %*s 3 %*s %*s %*s %63s %*s w%n", value, &end) == 1 &&
           end > 0;
}

/*
 * A waiter woken in the middle of a round tries a node once more, with the value of the round.
 * The first time may have been with the text of the script, of which the fake keeps only the
 * start.
 */
static bool is_attempt_again(const struct fake_record *first, const struct fake_record *again,
                             const char *value)
{
    char words[80];
    snprintf(words, sizeof words, " %s 20000 w", value);
    return first->connection == again->connection && strncmp(again->text, "EVALSHA", 7) == 0 &&
           strncmp(first->text, "EVAL", 4) == 0 && strstr(first->text, words);
}

/*
 * On every connection: an acquire with a value comes before every other mention of that value,
 * no value is acquired twice, and each acquired value is later given back on the same
 * connection (unless `released` is false for the last).
 */
static void check_order(const struct fake *f)
{
    for (int i = 0; i < fake_count(f); i++) {
        const struct fake_record *r = &f->shared->record[i];
        char value[64];
        int first, back;
        if (!acquire_value(r, value))
            continue;
        first = fake_find_with(f, 0, value, "");
        if (first != i && is_attempt_again(&f->shared->record[first], r, value))
            continue;
        if (first != i) {
            fake_print(f);
            FAIL("record %d mentions the value that record %d acquires", first, i);
        }
        back = fake_find_with(f, i + 1, value, "");
        /* From the queue, a node that answered that it set nothing is left alone. */
        if (back < 0 && strncmp(r->text, "EVALSHA", 7) == 0)
            continue;
        if (back < 0 || f->shared->record[back].connection != r->connection) {
            fake_print(f);
            FAIL("record %d was not given back on its own connection", i);
        }
    }
}

static void *cycle(void *data)
{
    redlock *r = data;
    for (int i = 0; i < 30; i++) {
        char name[64];
        redlock_lock *lock = NULL;
        snprintf(name, sizeof name, "%lx-%d", (unsigned long)pthread_self(), i);
        lock = CLIENT_LOCK(r, i % 3 == 0 ? "shared" : name, 20000, .wait_ms = 10000);
        redlock_release(lock);
        redlock_lock_free(lock);
    }
    return NULL;
}

CASE(release_behind_acquire, "Releases and rollbacks follow their acquire on its connection.")
{
    static struct bench b;
    pthread_t threads[4];
    redlock *r;
    bench_start(&b);
    b.fake[1].shared->delay_ms = 3; /* one node lags behind what the others decide */
    r = bench_open(&b, REDLOCK_THREAD, 0);
    for (int i = 0; i < 4; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, cycle, r));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    /* Everything that was sent has been executed when a late ping is answered. */
    b.fake[1].shared->delay_ms = 0;
    client_warm(r);
    for (int i = 0; i < NODES; i++) {
        check_order(&b.fake[i]);
        /* One for requests, and a subscriber connection if a request had to wait for long. */
        CHECK_BETWEEN(1, 2, b.fake[i].shared->connections);
        CHECK(fake_count(&b.fake[i]) < FAKE_RECORDS_MAX);
    }
}

CASE(fresh_value_per_attempt, "Every attempt of a waiting acquire uses a value of its own.")
{
    static struct bench b;
    redlock *r;
    redlock_lock *held;
    int attempts = 0;
    bench_start(&b);
    r = bench_open(&b, 0, PATIENT_MS);
    client_warm(r);
    held = client_lock(r, "x", 20000);
    /* A waiter sends a heartbeat every second. */
    CHECK_ERR(REDLOCK_TIMEOUT, CLIENT_TRY(r, "x", 20000, .wait_ms = 2300));
    client_unlock(held);
    client_warm(r);
    for (int i = 0; i < fake_count(&b.fake[0]); i++) {
        char value[64];
        if (!acquire_value(&b.fake[0].shared->record[i], value))
            continue;
        attempts++;
        CHECK_INT(40, strspn(value, "0123456789abcdef"));
        CHECK_INT(i, fake_find_with(&b.fake[0], 0, value, ""));
        for (int k = i + 1; k < fake_count(&b.fake[0]); k++) {
            char other[64];
            CHECK(!acquire_value(&b.fake[0].shared->record[k], other) ||
                  strcmp(value, other) != 0);
        }
    }
    CHECK(attempts >= 4);
    check_order(&b.fake[0]);
}

CASE(values_differ_everywhere, "Values of different clients and attempts never coincide.")
{
    static struct bench b;
    redlock *a, *c;
    char seen[100][64];
    bench_start(&b);
    a = bench_open(&b, 0, PATIENT_MS);
    c = bench_open(&b, 0, PATIENT_MS);
    for (int i = 0; i < 100; i++) {
        redlock_lock *lock = client_lock(i % 2 == 0 ? a : c, "x", 20000);
        snprintf(seen[i], sizeof seen[i], "%s", redlock_value(lock));
        for (int k = 0; k < i; k++)
            CHECK(strcmp(seen[i], seen[k]) != 0);
        client_unlock(lock);
    }
}

CASE(all_at_once, "All nodes get the request at once: slow nodes do not delay the others.")
{
    static struct bench b;
    redlock *r;
    int64_t start_ns, asked_ns[NODES];
    redlock_lock *lock;
    bench_start(&b);
    r = bench_open(&b, 0, FAR_MS);
    client_warm(r);
    b.fake[0].shared->delay_ms = FAR_MS;
    start_ns = now_ns();
    lock = client_lock(r, "x", LONG_TTL_MS);
    CHECK_BETWEEN(0, SOON_MS, (now_ns() - start_ns) / RL_NS_PER_MS);
    for (int i = 0; i < NODES; i++) {
        int record = fake_await(&b.fake[i], 0, "SET redlock:x");
        CHECK(record >= 0);
        asked_ns[i] = b.fake[i].shared->record[record].time_ns;
    }
    CHECK_BETWEEN(-SOON_MS, SOON_MS, (asked_ns[2] - asked_ns[0]) / RL_NS_PER_MS);
    client_unlock(lock);
    fake_stop(&b.fake[0]); /* the close does not wait for it */
}

/*
 * Node 0 answers 30 ms late through the proxy, so its replies arrive while the client is busy
 * with other names. Its grants for names that are free there must not count for a name that is
 * held on it, nor the other way round.
 */
CASE_NODES(late_replies_find_their_request, "A late reply counts for its own request alone.")
{
    struct proxy p[2];
    proxies_start(p, c, 2);
    r = client_open_warm(c, 0);
    p[0].switches->down_delay_ms = 30;
    for (int i = 0; i < 20; i++) {
        char free_name[32], taken_name[32], taken_key[48];
        redlock_lock *lock;
        snprintf(free_name, sizeof free_name, "free%d", i);
        snprintf(taken_name, sizeof taken_name, "taken%d", i);
        snprintf(taken_key, sizeof taken_key, "redlock:%s", taken_name);
        /* Held by another on nodes 0 and 2: only a wrong vote could make a majority. */
        cluster_set(c, 0, 1, taken_key, "another", 20000);
        cluster_set(c, 2, 1, taken_key, "another", 20000);
        lock = client_lock(r, free_name, 20000); /* won without node 0 */
        CHECK_ERR(REDLOCK_BUSY, client_try(r, taken_name, 20000));
        client_unlock(lock);
    }
    p[0].switches->down_delay_ms = 0;
    client_warm(r);
    for (int i = 0; i < 20; i++) {
        char key[48];
        snprintf(key, sizeof key, "redlock:free%d", i);
        CHECK(cluster_await(c, key, 0));
        snprintf(key, sizeof key, "redlock:taken%d", i);
        CHECK(cluster_await(c, key, 2));
    }
}

/* With two of three nodes late beyond the deadline, an attempt fails; its grants come in while
 * the next attempt runs, and are not that one's. */
CASE_NODES(late_grants_are_not_the_next_attempts,
           "Late grants of a failed attempt count for no later attempt.")
{
    struct proxy p[2];
    proxies_start(p, c, 2);
    r = client_open_hasty(c, 0, 200);
    client_warm(r);
    for (int i = 0; i < 2; i++)
        p[i].switches->down_delay_ms = 800;
    for (int i = 0; i < 10; i++) {
        redlock_lock *lock = NULL;
        int error = redlock_acquire(r, "x", 20000, NULL, &lock);
        if (error == REDLOCK_OK)
            FAIL("won although two of three nodes answer after the deadline");
        CHECK_ERR(REDLOCK_NOQUORUM, error);
    }
    for (int i = 0; i < 2; i++)
        p[i].switches->down_delay_ms = 0;
    client_warm(r);
    CHECK(cluster_await_empty(c));
}

/* The connection breaks with an acquire on its way: its rollback goes on the next one. */
CASE_NODES(rollback_after_reconnect,
           "Keys set over a broken connection are rolled back over the next.")
{
    struct proxy p[3];
    redlock_lock *lock = NULL;
    proxies_start(p, c, 3);
    r = client_open_warm(c, REDLOCK_THREAD);
    for (int i = 0; i < 3; i++)
        p[i].switches->hold = 1; /* set, but the replies never arrive */
    CHECK_OK(redlock_start_acquire(r, "x", 60000, NULL, &lock));
    CHECK(cluster_await(c, "redlock:x", 3));
    NO_EVENT(r); /* nothing is decided and nothing rolled back yet */
    for (int i = 0; i < 3; i++) {
        proxy_cut(&p[i]);
        p[i].switches->hold = 0;
    }
    CHECK(cluster_await_empty(c)); /* far below the TTL of a minute */
    EXPECT(r, ACQUIRED, REDLOCK_NOQUORUM, lock);
}

/* An attempt that ends by our own will while its keys are already set. */
static void end_an_attempt(struct cluster *c, bool cancel)
{
    struct proxy p[3];
    redlock *r;
    redlock_lock *lock = NULL;
    proxies_start(p, c, 3);
    r = client_open_warm(c, REDLOCK_THREAD);
    for (int i = 0; i < 3; i++)
        p[i].switches->hold = 1;
    CHECK_OK(redlock_start_acquire(r, "x", 60000, NULL, &lock));
    CHECK(cluster_await(c, "redlock:x", 3));
    if (cancel)
        CHECK_OK(redlock_cancel(lock));
    else
        redlock_lock_free(lock);
    CHECK(cluster_await_empty(c));
    for (int i = 0; i < 3; i++)
        p[i].switches->hold = 0;
    client_warm(r);
    NO_EVENT(r);
    if (cancel)
        redlock_lock_free(lock);
}

CASE_OF_ON(canceled_attempt_is_rolled_back, "A canceled attempt is rolled back at once.",
           end_an_attempt(c, true), .clients = NO_CLIENT);

CASE_OF_ON(freed_attempt_is_rolled_back, "An attempt whose handle is freed is rolled back.",
           end_an_attempt(c, false), .clients = NO_CLIENT);

/* A held lock's release when its connections broke in between. */
CASE_NODES(release_after_reconnect, "A lock is released over new connections, on every node.")
{
    struct proxy p[3];
    redlock_lock *lock;
    proxies_start(p, c, 3);
    r = client_open_warm(c, REDLOCK_THREAD);
    lock = client_lock_on(r, c, 3, "x", 60000);
    for (int i = 0; i < 3; i++)
        proxy_cut(&p[i]);
    client_warm(r);
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
    CHECK(cluster_await_empty(c));
}

/* The release goes out at the moment the connections break: best effort, with a true result. */
CASE_NODES(release_into_a_broken_connection,
           "A release whose connection breaks is repeated or reported; no key stays.")
{
    struct proxy p[3];
    proxies_start(p, c, 3);
    r = client_open_warm(c, REDLOCK_THREAD);
    for (int i = 0; i < 5; i++) {
        redlock_lock *lock = client_lock_on(r, c, 3, "x", 60000);
        int error;
        for (int n = 0; n < 3; n++)
            proxy_cut(&p[n]);
        error = redlock_release(lock); /* the client may not have noticed yet */
        CHECK(error == REDLOCK_OK || error == REDLOCK_NOQUORUM);
        redlock_lock_free(lock);
        CHECK(cluster_await_empty(c));
        client_warm(r);
    }
}
