/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening, closing, freeing and giving up in every order. Under LeakSanitizer each case also
 * says that nothing is leaked; the descriptor count says so everywhere.
 */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <dirent.h>
#include <stdio.h>

static int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void cycles(uint32_t flags)
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock *first = client_open(&c, flags);
    redlock_close(first);
    int before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        redlock *r = client_open(&c, flags);
        if (i % 2 == 0)
            client_unlock(client_lock(r, "x", 10000));
        redlock_close(r);
    }
    CHECK_INT(before, open_descriptors());
    CHECK(cluster_await_empty(&c, 1000));
}

CASE(open_close_cycles, "Opening and closing, used or not, leaks no memory or descriptor.")
{
    cycles(0);
}

CASE(open_close_cycles_io_thread,
     "Opening and closing with the I/O thread joins it and leaks nothing.")
{
    cycles(REDLOCK_THREAD);
}

CASE(close_at_once, "A client can be closed while it connects, also to dead nodes.")
{
    struct cluster c;
    cluster_start(&c, 3);
    server_kill(&c.node[1]);
    c.urls[2] = "redis://no-such-host.invalid";
    for (int i = 0; i < 10; i++) {
        redlock *r = client_open(&c, i % 2 == 0 ? REDLOCK_THREAD : 0);
        int64_t start_ms = now_ms();
        redlock_close(r);
        CHECK_BETWEEN(0, 100 + SLACK_MS, now_ms() - start_ms);
    }
}

CASE(close_null, "Closing and freeing NULL does nothing.")
{
    redlock_close(NULL);
    redlock_lock_free(NULL);
}

CASE(many_clients, "Thirty clients work at once in one process.")
{
    struct cluster c;
    redlock *r[30];
    char name[16];
    cluster_start(&c, 3);
    for (int i = 0; i < 30; i++)
        r[i] = client_open(&c, i % 3 == 0 ? REDLOCK_THREAD : 0);
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "n%d", i);
        client_unlock(client_lock(r[i], name, 10000));
    }
    for (int i = 0; i < 30; i++)
        redlock_close(r[i]);
}

static void free_held(uint32_t flags)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *lock = client_lock_on(r, &c, 3, "x", 30000);
    redlock_lock_free(lock);
    if (flags == 0)
        redlock_process(r, 0); /* nobody else sends it */
    CHECK(cluster_await(&c, "redlock:x", 0, 1000));
    CHECK_OK(client_try(r, "x", 10000));
    redlock_close(r);
}

CASE(free_while_held, "Freeing the handle of a held lock releases it on every node.")
{
    free_held(0);
}

CASE(free_while_held_io_thread,
     "With the I/O thread, freeing a held lock releases it on every node.")
{
    free_held(REDLOCK_THREAD);
}

static void close_held(uint32_t flags, bool free_first)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *lock = client_lock_on(r, &c, 3, "x", 30000);
    if (free_first)
        redlock_lock_free(lock);
    redlock_close(r);
    CHECK(cluster_await(&c, "redlock:x", 0, 1000));
    if (!free_first) {
        CHECK_INT(0, redlock_remaining_ms(lock));
        redlock_lock_free(lock);
    }
}

CASE(close_while_held,
     "Closing a client releases its locks; the handle can be freed afterwards.")
{
    close_held(0, false);
}

CASE(close_while_held_io_thread, "With the I/O thread, closing a client releases its locks.")
{
    close_held(REDLOCK_THREAD, false);
}

CASE(free_then_close, "A lock freed right before the close is released on every node.")
{
    close_held(0, true);
}

CASE(close_with_hung_nodes, "Closing with held locks and hung nodes takes one node timeout.")
{
    struct cluster c;
    redlock *r = client_start_hasty(&c, 3, 0, STEADY_MS);
    redlock_lock *lock = client_lock(r, "x", 30000);
    cluster_each(&c, 0, 3, server_freeze);
    int64_t start_ms = now_ms();
    redlock_close(r);
    CHECK_BETWEEN(0, STEADY_MS + SLACK_MS, now_ms() - start_ms);
    redlock_lock_free(lock);
}

/* ---- requests that wait -------------------------------------------------------------------- */

static redlock_lock *start_waiting(redlock *r, struct result *w)
{
    redlock_request q = {
        .size = sizeof q, .wait_ms = REDLOCK_WAIT_FOREVER, .done = result_note, .data = w};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_start(r, "x", 10000, &q, &lock));
    return lock;
}

static void process_for(redlock *r, int64_t ms)
{
    int64_t end_ms = now_ms() + ms;
    while (now_ms() < end_ms)
        CHECK(redlock_process(r, 5) >= 0);
}

static void held_elsewhere(struct cluster *c)
{
    cluster_start(c, 3);
    cluster_set(c, 0, 3, "redlock:x", "another", 60000);
}

CASE(cancel_waiting,
     "A canceled wait ends with CANCELED, once, and leaves nothing on the nodes.")
{
    struct cluster c;
    held_elsewhere(&c);
    redlock *r = client_open(&c, 0);
    for (int i = 0; i < 20; i++) {
        struct result w = {0};
        redlock_lock *lock = start_waiting(r, &w);
        process_for(r, i % 5 * 5);
        CHECK_OK(redlock_cancel(lock));
        process_for(r, 20);
        CHECK_INT(1, w.calls);
        CHECK_ERR(REDLOCK_CANCELED, w.error);
        CHECK_OK(redlock_cancel(lock)); /* no effect any more */
        redlock_lock_free(lock);
    }
    cluster_del(&c, 0, 3, "redlock:x");
    CHECK(cluster_await_empty(&c, 1000));
    redlock_close(r);
}

CASE(cancel_waiting_io_thread,
     "A wait of the I/O thread is canceled from another thread, once.")
{
    struct cluster c;
    held_elsewhere(&c);
    redlock *r = client_open(&c, REDLOCK_THREAD);
    for (int i = 0; i < 20; i++) {
        struct result w = {0};
        redlock_lock *lock = start_waiting(r, &w);
        sleep_ms(i % 5);
        CHECK_OK(redlock_cancel(lock));
        CHECK(wait_until(result_is_told, &w, 2000));
        CHECK_ERR(REDLOCK_CANCELED, w.error);
        redlock_lock_free(lock);
        CHECK_INT(1, w.calls);
    }
    redlock_close(r);
}

static void free_waiting(uint32_t flags)
{
    struct cluster c;
    held_elsewhere(&c);
    redlock *r = client_open(&c, flags);
    struct result w = {0};
    for (int i = 0; i < 20; i++) {
        redlock_lock *lock = start_waiting(r, &w);
        if (flags == 0)
            process_for(r, i % 5 * 4);
        else
            sleep_ms(i % 5);
        redlock_lock_free(lock);
    }
    if (flags == 0)
        process_for(r, 30);
    cluster_del(&c, 0, 3, "redlock:x");
    sleep_ms(50); /* a waiter left behind would take it now */
    CHECK_INT(0, w.calls);
    CHECK(cluster_await_empty(&c, 1000));
    redlock_close(r);
    CHECK_INT(0, w.calls);
}

CASE(free_while_waiting,
     "Freeing the handle of a waiter cancels the wait without calling done.")
{
    free_waiting(0);
}

CASE(free_while_waiting_io_thread,
     "With the I/O thread, freeing a waiter's handle cancels it without calling done.")
{
    free_waiting(REDLOCK_THREAD);
}

static bool has_keys(void *server)
{
    return server_keys(server) > 0;
}

static void leave_acquiring(uint32_t flags)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    struct result w = {0};
    cluster_each(&c, 1, 2, server_freeze);
    redlock_lock *lock = start_waiting(r, &w);
    if (flags == 0)
        process_for(r, 1);
    CHECK(wait_until(has_keys, &c.node[0], 2000));
    redlock_lock_leave(lock);
    cluster_each(&c, 1, 2, server_thaw);
    if (flags == 0)
        process_for(r, 30);
    CHECK(cluster_await_empty(&c, 5000));
    CHECK_INT(0, w.calls);
    redlock_close(r);
}

CASE(leave_while_acquiring, "Leaving a lock that is not held yet takes back what it has set.")
{
    leave_acquiring(0);
}

CASE(leave_while_acquiring_io_thread,
     "With the I/O thread, leaving a lock that is not held yet takes it back.")
{
    leave_acquiring(REDLOCK_THREAD);
}

static void close_waiting(uint32_t flags)
{
    struct cluster c;
    held_elsewhere(&c);
    redlock *r = client_open(&c, flags);
    struct result w[5] = {0};
    redlock_lock *lock[5];
    for (int i = 0; i < 5; i++)
        lock[i] = start_waiting(r, &w[i]);
    if (flags == 0)
        process_for(r, 30);
    redlock_close(r);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(1, w[i].calls);
        CHECK_ERR(REDLOCK_CANCELED, w[i].error);
        redlock_lock_free(lock[i]);
    }
    CHECK_INT(3, cluster_count_value(&c, "redlock:x", "another"));
}

CASE(close_while_waiting, "Closing a client ends its waits with CANCELED before it returns.")
{
    close_waiting(0);
}

CASE(close_while_waiting_io_thread,
     "With the I/O thread, closing ends waits with CANCELED before it returns.")
{
    close_waiting(REDLOCK_THREAD);
}

CASE(close_before_anything_was_sent,
     "Closing ends a request that was never processed with CANCELED.")
{
    struct cluster c;
    held_elsewhere(&c);
    redlock *r = client_open(&c, 0);
    struct result w = {0};
    redlock_lock *lock = start_waiting(r, &w);
    redlock_close(r);
    CHECK_INT(1, w.calls);
    CHECK_ERR(REDLOCK_CANCELED, w.error);
    redlock_lock_free(lock);
}

/* A held lock with an operation under way, when its client or its handle ends. */
static void end_in_the_middle(uint32_t flags, bool release, bool free_first)
{
    struct cluster c;
    struct result w = {0};
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *lock = client_lock_on(r, &c, 3, "x", 30000);
    if (release)
        CHECK_OK(redlock_start_release(lock, result_note, &w));
    else
        CHECK_OK(redlock_start_extend(lock, 30000, result_note, &w));
    if (free_first)
        redlock_lock_free(lock);
    redlock_close(r);
    CHECK(cluster_await(&c, "redlock:x", 0, 1000));
    if (!free_first) {
        CHECK_INT(1, w.calls); /* exactly once, whatever it says */
        redlock_lock_free(lock);
    }
}

CASE(close_while_extending, "Closing a client in the middle of an extension releases the lock.")
{
    end_in_the_middle(0, false, false);
    end_in_the_middle(REDLOCK_THREAD, false, false);
}

CASE(close_while_releasing,
     "Closing a client in the middle of a release completes the release.")
{
    end_in_the_middle(0, true, false);
    end_in_the_middle(REDLOCK_THREAD, true, false);
}

CASE(free_while_extending, "Freeing a handle in the middle of an extension releases the lock.")
{
    end_in_the_middle(0, false, true);
    end_in_the_middle(REDLOCK_THREAD, false, true);
}

CASE(free_while_releasing, "Freeing a handle in the middle of a release completes the release.")
{
    end_in_the_middle(0, true, true);
    end_in_the_middle(REDLOCK_THREAD, true, true);
}

CASE(handles_outlive_the_client,
     "Every accessor of a handle still answers after its client was closed.")
{
    struct cluster c;
    cluster_start(&c, 1);
    redlock *r = client_open(&c, 0);
    redlock_lock *lock = client_lock(r, "x", 10000);
    redlock_close(r);
    redlock_report report = {.size = sizeof report};
    CHECK_STR("x", redlock_name(lock));
    CHECK(redlock_value(lock) != NULL);
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_INT(0, redlock_deadline_ns(lock));
    redlock_margin(lock);
    redlock_lock_report(lock, &report);
    CHECK(redlock_release(lock) < 0);
    CHECK(redlock_extend(lock, 1000) < 0);
    redlock_cancel(lock);
    redlock_lock_free(lock);
}
