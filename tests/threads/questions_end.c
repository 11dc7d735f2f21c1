/* SPDX-License-Identifier: BSD-2-Clause */
/* How questions that do not wait end: closed, forgotten, beside blocked callers, refused. */
#include "asked.h"
#include "check.h"
#include "client.h"
#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- ends ---- */

static _Atomic int canceled_count;

static void note_canceled(int error, const redlock_answer *answer, void *data)
{
    (void)answer;
    CHECK_ERR(REDLOCK_CANCELED, error);
    CHECK(redlock_detail()[0] != '\0');
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(data, "x", note_canceled, data));
    canceled_count++;
}

static void no_check(const redlock_check *check, void *data)
{
    (void)data;
    FAIL("a check of an audit that ended early: %s", check->name);
}

static void close_amid(uint32_t flags)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    canceled_count = 0;
    cluster_each(&c, 0, 3, server_freeze);
    for (int i = 0; i < 100; i++)
        CHECK_OK(redlock_start_query(r, "x", note_canceled, r));
    for (int i = 0; i < 10; i++)
        CHECK_OK(redlock_start_list(r, note_canceled, r));
    CHECK_OK(redlock_start_ping(r, note_canceled, r));
    CHECK_OK(redlock_start_admit(r, note_canceled, r));
    CHECK_OK(redlock_start_audit(r, 10000, no_check, note_canceled, r));
    if (!flags)
        CHECK(redlock_process(r, 10) >= 0);
    redlock_close(r);
    CHECK_INT(113, canceled_count);
}

CASE(close_in_flight, "Closing ends every question with CANCELED before it returns.")
{
    close_amid(0);
}

CASE(close_in_flight_io_thread,
     "Closing a client with an I/O thread ends its questions as well.")
{
    close_amid(REDLOCK_THREAD);
}

static void forget_some(uint32_t flags)
{
    struct cluster c;
    struct told forgotten = {0};
    struct told kept = {0};
    redlock *r = client_start(&c, 3, flags);
    cluster_each(&c, 0, 3, server_freeze);
    for (int i = 0; i < 100; i++)
        CHECK_OK(redlock_start_query(r, "x", told_note, &forgotten));
    for (int i = 0; i < 10; i++)
        CHECK_OK(redlock_start_list(r, told_note, &forgotten));
    CHECK_OK(redlock_start_audit(r, 10000, no_check, told_note, &forgotten));
    CHECK_OK(redlock_start_query(r, "x", told_note, &kept));
    if (!flags)
        CHECK(redlock_process(r, 10) >= 0);
    CHECK_INT(111, redlock_forget(r, &forgotten));
    CHECK_INT(0, redlock_forget(r, &forgotten));
    cluster_each(&c, 0, 3, server_thaw);
    await_told(r, flags, is_told, &kept);
    CHECK_OK(kept.error);
    redlock_close(r);
    CHECK_INT(0, forgotten.calls);
}

CASE(forget, "No callback runs for questions that were forgotten, and others go on.")
{
    forget_some(0);
}

CASE(forget_io_thread, "Forgetting works beside an I/O thread that has sent the questions.")
{
    forget_some(REDLOCK_THREAD);
}

static void forget_rest(int error, const redlock_answer *answer, void *data)
{
    struct told *t = data;

    (void)answer;
    CHECK_OK(error);
    t->calls++;
    CHECK_INT(49, redlock_forget(t->client, t)); /* not the one that is told now */
    CHECK_INT(0, redlock_forget(t->client, t));
}

CASE(forget_from_callback,
     "A callback forgets the rest of its page without waiting for itself.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    struct told t = {.client = r};
    for (int i = 0; i < 50; i++)
        CHECK_OK(redlock_start_query(r, "x", forget_rest, &t));
    await_told(r, 0, is_told, &t);
    for (int i = 0; i < 10; i++)
        CHECK(redlock_process(r, 10) >= 0);
    CHECK_INT(1, t.calls);
    redlock_close(r);
}

struct slow {
    _Atomic bool entered, may_end, ended;
};

static void be_slow(int error, const redlock_answer *answer, void *data)
{
    struct slow *s = data;

    (void)answer;
    CHECK_OK(error);
    s->entered = true;
    while (!s->may_end)
        sleep_ms(1);
    s->ended = true;
}

static bool has_entered(void *data)
{
    return ((struct slow *)data)->entered;
}

static void *let_end(void *data)
{
    sleep_ms(50);
    ((struct slow *)data)->may_end = true;
    return NULL;
}

CASE(forget_waits,
     "Forgetting waits for a callback that runs on the I/O thread at that moment.")
{
    struct cluster c;
    struct slow s = {0};
    pthread_t thread;
    redlock *r = client_start(&c, 3, REDLOCK_THREAD);
    CHECK_OK(redlock_start_ping(r, be_slow, &s));
    CHECK(wait_until(has_entered, &s, LONG_MS));
    CHECK_INT(0, pthread_create(&thread, NULL, let_end, &s));
    CHECK_INT(0, redlock_forget(r, &s));
    CHECK(s.ended);
    pthread_join(thread, NULL);
    redlock_close(r);
}

/* ---- together with blocking calls ---- */

CASE(beside_blocked_caller,
     "A caller blocked in a query runs the callbacks of other questions.")
{
    struct cluster c;
    struct told t = {0};
    redlock_info info = {.size = sizeof info};
    redlock *r = client_start(&c, 3, 0);
    CHECK_OK(redlock_start_query(r, "x", told_note, &t));
    for (int i = 0; i < 10 && !t.calls; i++)
        CHECK_OK(redlock_query(r, "y", &info, NULL));
    CHECK_INT(1, t.calls);
    CHECK_OK(t.error);
    redlock_close(r);
}

enum { THREADS = 4, ROUNDS = 50 };

struct asker {
    redlock *client;
    struct told told[ROUNDS];
};

static void *ask_much(void *data)
{
    struct asker *a = data;
    redlock_info info = {.size = sizeof info};
    int forgotten = 0;

    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(redlock_start_query(a->client, "x", told_note, &a->told[i]));
        if (i % 3 == 0)
            forgotten += redlock_forget(a->client, &a->told[i]);
        if (i % 5 == 0)
            CHECK_OK(redlock_query(a->client, "x", &info, NULL));
    }
    for (int i = 0; i < ROUNDS; i++)
        if (i % 3 != 0)
            CHECK(wait_until(is_told, &a->told[i], LONG_MS));
        else
            forgotten += a->told[i].calls;
    CHECK_INT((ROUNDS + 2) / 3, forgotten); /* told or forgotten, never both */
    return NULL;
}

CASE(threads, "Threads that ask, wait and forget on one client get each answer at most once.")
{
    static struct asker asker[THREADS];
    struct cluster c;
    pthread_t thread[THREADS];
    redlock *r = client_start(&c, 3, REDLOCK_THREAD);
    for (int i = 0; i < THREADS; i++) {
        asker[i].client = r;
        CHECK_INT(0, pthread_create(&thread[i], NULL, ask_much, &asker[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    redlock_close(r);
}

/* ---- refusals ---- */

CASE(bad_input, "What makes no sense is refused at once, and nothing is started.")
{
    struct cluster c;
    struct told t = {0};
    redlock *r = client_start(&c, 1, 0);
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(NULL, "x", told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(r, NULL, told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(r, "", told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(r, "x", NULL, &t));
    CHECK_HAS("done", redlock_detail());
    CHECK_ERR(REDLOCK_INVAL, redlock_start_break(r, "x", "no mark", told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_break(r, "x", NULL, told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_list(NULL, told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_list(r, NULL, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_ping(r, NULL, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_admit(r, NULL, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_audit(r, 1, told_check, told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_audit(r, 10000, NULL, told_note, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_audit(r, 10000, told_check, NULL, &t));
    CHECK_ERR(REDLOCK_INVAL, redlock_forget(NULL, &t));
    CHECK_INT(0, redlock_forget(r, &t));
    redlock_close(r);
    CHECK_INT(0, t.calls);
}

CASE(forked, "A child frees the parent's questions without a callback, and may ask none.")
{
    struct cluster c;
    struct told t = {0};
    int status = 0;
    redlock *r = client_start(&c, 3, 0);
    CHECK_OK(redlock_start_query(r, "x", told_note, &t));
    CHECK_OK(redlock_start_list(r, told_note, &t));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        int ok = redlock_start_query(r, "x", told_note, &t) == REDLOCK_FORKED &&
                 redlock_forget(r, &t) == REDLOCK_FORKED;
        redlock_close(r);
        _exit(ok && t.calls == 0 ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
    await_told(r, 0, is_told, &t);
    CHECK_OK(t.error);
    redlock_close(r);
    CHECK_INT(2, t.calls);
}
