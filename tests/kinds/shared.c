/* SPDX-License-Identifier: BSD-2-Clause */
/* Readers beside each other, never beside a writer, and no writer left outside for ever. */
#include "fixture.h"
#include "helper.h"
#include "kinds.h"
#include "kinds_load.h"
#include "loads.h"

#include <pthread.h>
#include <stdio.h>

enum { TTL_MS = LONG_TTL_MS, READERS = 8 };

CASE_ON(many_readers,
        "Readers hold the lock together; a writer of any kind waits for the last of them.",
        .flags = REDLOCK_THREAD, .clients = 2)
{
    redlock_lock *lock[READERS];
    for (int i = 0; i < READERS; i++) {
        lock[i] = client_lock_as(i % 2 ? r : other, "x", TTL_MS, reader_request());
        CHECK_INT(0, redlock_fence(lock[i]));
    }
    CHECK(kind_await_holds(c, "x", redlock_value(lock[READERS - 1]), 3));
    for (int i = 0; i < READERS; i++) {
        CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
        CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "x", TTL_MS, owner_request("o")));
        CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "x", TTL_MS, slots_request(100)));
        client_unlock(lock[i]);
    }
    CHECK(cluster_await_empty(c));
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK(cluster_await_empty(c));
}

CASE_ON(writer_keeps_readers_out,
        "No reader holds the lock beside a writer, and readers hold it afterwards.",
        .clients = 2)
{
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "x", TTL_MS, reader_request()));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(r, "x", TTL_MS, reader_request())); /* no downgrade */
    client_unlock(lock);
    client_lock_as(other, "x", TTL_MS, reader_request());
    CHECK_ERR(REDLOCK_BUSY, client_try(other, "x", TTL_MS)); /* no upgrade */
}

CASE_ON(own_expiry, "A dead reader's hold expires by itself, and a living reader's stays.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *alive = client_lock_as(r, "x", TTL_MS, reader_request());
    redlock_lock_leave(client_lock_as(r, "x", 2000, reader_request()));
    sleep_ms(2010);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(alive));
    client_unlock(alive); /* the last reader that has not expired */
    CHECK_OK(client_try(r, "x", TTL_MS));
    redlock_lock_leave(client_lock_as(r, "x", RENEWED_TTL_MS, reader_request()));
    alive = client_lock_as(r, "x", TTL_MS, reader_request());
    client_unlock(alive);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS)); /* the left one still counts */
    client_unlock(
        CLIENT_LOCK(r, "x", TTL_MS, .wait_ms = GIVE_UP_MS)); /* its end needs no message */
}

CASE_ON(repaired, "A node that lost one reader gets it back beside the readers it has.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *reader = client_lock_as(r, "x", TTL_MS, reader_request());
    redlock_lock *second = client_lock_as(r, "x", TTL_MS, reader_request());
    CHECK(kind_await_holds(c, "x", redlock_value(second), 3));
    CHECK(kind_await_holds(c, "x", redlock_value(reader), 3));
    CHECK_INT(1, server_int(&c->node[1], "ZREM", "redlock:x", redlock_value(reader), NULL));
    CHECK_OK(redlock_extend(reader, TTL_MS));
    CHECK(kind_await_holds(c, "x", redlock_value(reader), 3));
    CHECK_INT(2, server_int(&c->node[1], "ZCARD", "redlock:x", NULL));
    client_unlock(reader);
    client_unlock(second);
    CHECK(cluster_await_empty(c));
}

struct waiting_reader {
    pthread_t thread;
    redlock *client;
    redlock_lock *lock;
};

static void *wait_to_read(void *data)
{
    struct waiting_reader *w = data;
    redlock_request q = reader_request();
    q.wait_ms = GIVE_UP_MS;
    w->lock = client_lock_as(w->client, "x", TTL_MS, q);
    return NULL;
}

static bool all_wait(void *data)
{
    const struct cluster *c = data;
    for (int i = 0; i < 3; i++)
        if (server_int(&c->node[i], "ZCARD", "redlock.queue:x", NULL) < READERS)
            return false;
    return true;
}

static void woken_together(redlock_request writer)
{
    struct cluster c;
    struct waiting_reader w[READERS];
    redlock *a = client_start(&c, 3, 0);
    redlock_lock *lock = client_lock_as(a, "x", TTL_MS, writer);
    for (int i = 0; i < READERS; i++) {
        w[i].client = client_open_warm(&c, 0);
        CHECK(pthread_create(&w[i].thread, NULL, wait_to_read, &w[i]) == 0);
    }
    CHECK(wait_until(all_wait, &c));
    client_unlock(lock);
    for (int i = 0; i < READERS; i++)
        CHECK(pthread_join(w[i].thread, NULL) == 0);
    for (int i = 0; i < READERS; i++)
        CHECK_INT(REDLOCK_STATE_HELD, redlock_state(w[i].lock)); /* all of them, together */
    for (int i = 0; i < READERS; i++) {
        client_unlock(w[i].lock);
        client_close(w[i].client);
    }
    CHECK(cluster_await_empty(&c));
}

CASE_OF(readers_woken_together,
        "All waiting readers are granted together when the writer releases.",
        woken_together((redlock_request)REDLOCK_REQUEST()));

CASE_OF(readers_woken_by_an_owner,
        "All waiting readers are granted together when a re-entrant owner releases.",
        woken_together(owner_request("o")));

CASE(writer_not_starved, "A writer gets the lock although new readers never stop coming.")
{
    struct shared_outcome o = shared_stream(GIVE_UP_MS);
    CHECK_ERR(REDLOCK_OK, o.error);
    CHECK_BETWEEN(0, 20, o.readers); /* broken.no_intent: more, where readers overtake */
}

static void wait_to_write(void *data)
{
    redlock *r = client_open_warm(data, 0);
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 60000);
    redlock_lock *lock = NULL;
    redlock_acquire(r, "x", TTL_MS, &q, &lock);
}

CASE_ON(dead_writer,
        "A writer killed while it waits keeps readers out no longer than its heartbeat lasts.",
        .flags = REDLOCK_THREAD)
{
    pid_t pid;
    redlock_request q;
    client_lock_as(r, "x", TTL_MS, reader_request());
    pid = helper_start(wait_to_write, c);
    CHECK(cluster_await(c, "redlock.queue:x", 3));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(r, "x", TTL_MS, reader_request()));
    helper_stop(&pid); /* kill -9 */
    q = reader_request();
    q.wait_ms = GIVE_UP_MS;
    client_lock_as(r, "x", TTL_MS, q);
}

CASE(majority_matters, "A reader that asks one node alone does overlap with a writer.")
{
    struct cluster c, one;
    redlock *reader, *writer;
    redlock_lock *read, *write;
    cluster_start(&c, 3);
    one = c;
    one.urls[0] = c.url[0];
    one.count = 1;
    reader = client_open_warm(&one, 0);
    writer = client_open_warm(&c, 0);
    read = client_lock_as(reader, "x", TTL_MS, reader_request());
    write = client_lock(writer, "x", TTL_MS);
    CHECK(redlock_remaining_ms(read) > 0 && redlock_remaining_ms(write) > 0);
}

static void read_or_write(int worker, unsigned *seed, struct load_wish *out)
{
    if (worker > 1 || seed_draw(seed, 0, 3) == 0)
        out->request = reader_request();
    if (worker == 0 && seed_draw(seed, 0, 1))
        out->request = owner_request("writer too");
    out->request.wait_ms = seed_draw(seed, 0, 2) ? 300 : 0;
    out->ttl_ms = seed_draw(seed, 300, LOAD_MAX_TTL_MS);
    out->hold_ms = seed_draw(seed, 0, 8);
}

CASE(never_with_a_writer,
     "Readers and writers never overlap while nodes hang, are cut off and restart.")
{
    struct load *l = load_run(&(struct load_spec){
        .nodes = 5,
        .workers = 6,
        .run_ms = check_setting("REDLOCK_STRESS_MS", CHECK_SANITIZED ? 3500 : 3000),
        .holds_min = 150,
        .faults = LOAD_HANGS | LOAD_CUTS | LOAD_RESTARTS,
        .seed = seed_choose(),
        .wish = read_or_write,
    });
    int writers = 0;
    for (int i = 0; i < holds_count(l->holds); i++)
        writers += l->holds->record[i].kind != REDLOCK_SHARED;
    printf("# %d of them writers, at most %d readers at once\n", writers,
           holds_peak(l->holds, REDLOCK_SHARED));
    CHECK_NEVER(holds_doubles(l->holds));
    CHECK(writers > 10);
    CHECK(holds_peak(l->holds, REDLOCK_SHARED) > 1);
}
