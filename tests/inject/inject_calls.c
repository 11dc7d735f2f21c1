/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that fail, one at a time, at every place where the library makes them: no crash,
 * no leak, no descriptor left open, no grant that the servers do not know of, and the client
 * goes on when the call works again.
 */
#include "fixture.h"
#include "helper.h"
#include "inject_walk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

/* More than this many calls of a kind are not tried one by one: they are all alike by then. */
enum {
    PLACES_MAX = CHECK_SANITIZED ? 5 : 9,
    RENEWALS_MAX = 2,
    PAUSES_MAX = 400,
    BROKEN_TTL_MS = 2000,
    PAUSES_STEP = CHECK_SANITIZED ? 7 : 2,
};

struct fault {
    enum inject_call call;
    int error;
};

static void fail_everywhere(uint32_t flags, const struct fault *faults, size_t count)
{
    struct walk w;

    walk_begin(&w, flags);
    for (size_t i = 0; i < count; i++) {
        int n = 1;

        while (n <= PLACES_MAX && walk_with(&w, faults[i].call, n, faults[i].error, false))
            n++;
        /* A kind of call that is never made would make this a test of nothing. */
        if (n == 1)
            FAIL("fault %zu was never met", i);
    }
    walk_end(&w);
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct fault set_up_faults[] = {
    {INJECT_EPOLL_CREATE, EMFILE}, {INJECT_TIMERFD_CREATE, EMFILE},
    {INJECT_EVENTFD, EMFILE},      {INJECT_EPOLL_CTL, ENOSPC},
    {INJECT_GETRANDOM, EINTR},     {INJECT_GETRANDOM, INJECT_SHORT},
    {INJECT_GETRANDOM, EIO},
};

static const struct fault connecting_faults[] = {
    {INJECT_SOCKET, EMFILE},
    {INJECT_CONNECT, ENETUNREACH},
    {INJECT_CONNECT, ECONNREFUSED},
    {INJECT_GETSOCKOPT, ENOBUFS},
};

static const struct fault streams_faults[] = {
    {INJECT_SEND, ECONNRESET}, {INJECT_SEND, ENOBUFS},      {INJECT_SEND, INJECT_SHORT},
    {INJECT_SEND, EAGAIN},     {INJECT_SEND, EINTR},        {INJECT_RECV, ECONNRESET},
    {INJECT_RECV, INJECT_EOF}, {INJECT_RECV, INJECT_SHORT}, {INJECT_RECV, EINTR},
};

static const struct fault waiting_faults[] = {
    {INJECT_EPOLL_WAIT, EINTR},
    {INJECT_TIMERFD_SETTIME, ECANCELED},
};

CASE_OF(set_up,
        "Any call of a client's set-up may fail once without a crash, a leak or a wrong grant.",
        fail_everywhere(0, set_up_faults, COUNT(set_up_faults)));

CASE_OF(connecting,
        "Any socket(), connect() or getsockopt() may fail once without a leak "
        "or a wrong grant.",
        fail_everywhere(0, connecting_faults, COUNT(connecting_faults)));

CASE_OF(streams,
        "Any send() or recv() may fail, be cut short or be interrupted without a wrong grant.",
        fail_everywhere(0, streams_faults, COUNT(streams_faults)));

CASE_OF(streams_threaded,
        "Any send() or recv() of the I/O thread may fail or be cut short "
        "without a wrong grant.",
        fail_everywhere(REDLOCK_THREAD, streams_faults, COUNT(streams_faults)));

CASE_OF(waiting,
        "Any epoll_wait() or timerfd_settime() may fail once without a leak or a wrong grant.",
        fail_everywhere(0, waiting_faults, COUNT(waiting_faults)));

CASE(no_thread,
     "The start of the I/O thread may fail without a crash, a leak or a wrong grant.")
{
    static const struct fault faults[] = {{INJECT_THREAD, EAGAIN}};

    fail_everywhere(REDLOCK_THREAD, faults, COUNT(faults));
}

CASE(pauses,
     "The process may stop for longer than a TTL at any clock reading without a wrong grant.")
{
    struct walk w;
    int n = 1;

    /* Only our clock goes on: with guards that would be a clock that was set. */
    walk_begin(&w, REDLOCK_NO_GUARD);
    w.paused = true;
    while (n <= PAUSES_MAX && walk_with(&w, INJECT_PAUSE, n, (int)w.ttl_ms + 100, false))
        n += PAUSES_STEP;
    CHECK(n > 50);
    walk_end(&w);
}

/* Two of three nodes hang, and break off while a renewal is on its way to them. */
static void break_renewal(struct cluster *c, redlock *r, struct tally *tally, int nth)
{
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_RENEW, .data = tally);
    redlock_lock *lock = NULL;
    const redlock_event *event;
    int64_t end_ms;

    CHECK(redlock_fd(r) >= 0); /* driven by the loop below */
    CHECK_OK(redlock_acquire(r, "broken", BROKEN_TTL_MS, &q, &lock));
    server_freeze(&c->node[0]);
    server_freeze(&c->node[1]);
    for (end_ms = now_ms() + BROKEN_TTL_MS / 3 + 20; now_ms() < end_ms;)
        drain_within(r, 5);
    server_kill(&c->node[0]);
    server_kill(&c->node[1]);
    inject_arm(INJECT_PAUSE, nth, BROKEN_TTL_MS, false);
    /* Without a look at the clock: each one counts. */
    for (int turns = 0; !tally->count[REDLOCK_EVENT_LOST] && turns < BROKEN_TTL_MS; turns++)
        if (redlock_next(r, &event, 5) == 1)
            tally_event(event);
    inject_disarm();
    redlock_lock_free(lock);
}

CASE(a_loss_is_no_recovery,
     "A renewal and its hold that fail in one turn are reported as a loss, not as recovery.")
{
    struct cluster c;

    cluster_start(&c, 3);
    for (int n = 1; n <= 12; n++) {
        redlock *r = client_open_hasty(&c, REDLOCK_NO_GUARD, STEADY_MS);
        struct tally tally = {0};

        client_warm(r);
        break_renewal(&c, r, &tally, n);
        CHECK_INT(1, tally.count[REDLOCK_EVENT_LOST]);
        CHECK_INT(0, tally.count[REDLOCK_EVENT_RECOVERED]);
        CHECK(tally.count[REDLOCK_EVENT_JEOPARDY] <= 1);
        client_close(r);
        server_restart(&c.node[0]);
        server_restart(&c.node[1]);
    }
}

CASE(hung_nodes_without_timer,
     "Deadlines are kept when nodes hang and the timer cannot be set.")
{
    struct cluster c;

    cluster_start(&c, 3);
    for (int n = 1; n <= 4; n++) {
        redlock *r = client_open_hasty(&c, 0, STEADY_MS);
        int64_t start_ms;

        client_warm(r);
        server_freeze(&c.node[0]);
        server_freeze(&c.node[1]);
        start_ms = now_ms();
        inject_arm(INJECT_TIMERFD_SETTIME, n, ECANCELED, true);
        CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "hung", 5000));
        inject_disarm();
        CHECK_BETWEEN(STEADY_MS - 1, SOON_MS, now_ms() - start_ms);
        server_thaw(&c.node[0]);
        server_thaw(&c.node[1]);
        client_close(r);
    }
}

struct bound {
    redlock *client;
    redlock_lock *lock;
    int nth;
    int error;
    bool fired;
};

static void *lock_and_leave(void *data)
{
    struct bound *b = data;
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_BOUND);

    inject_arm(INJECT_EPOLL_CTL, b->nth, ENOSPC, false);
    b->error = redlock_acquire(b->client, "bound", 20000, &q, &b->lock);
    b->fired = inject_fired();
    inject_disarm();
    return NULL;
}

CASE_ON(unwatched_thread, "A bound lock is refused when its thread cannot be watched.",
        .flags = REDLOCK_THREAD)
{
    bool fired = true;

    for (int n = 1; fired; n++) {
        struct bound b = {.client = r, .nth = n};
        pthread_t thread;

        CHECK_INT(0, pthread_create(&thread, NULL, lock_and_leave, &b));
        pthread_join(thread, NULL);
        CHECK(b.error == REDLOCK_OK || b.error == REDLOCK_NOMEM);
        CHECK(b.error == REDLOCK_OK || b.fired);
        if (!cluster_await(c, "redlock:bound", 0))
            FAIL("at call %d: its thread has ended, and the lock has not", n);
        redlock_lock_free(b.lock);
        fired = b.fired;
        CHECK(n < 10 && (n > 1 || fired));
    }
}

static const struct fault renewal_faults[] = {
    {INJECT_SEND, ECONNRESET},
    {INJECT_RECV, INJECT_EOF},
    {INJECT_EPOLL_WAIT, EINTR},
    {INJECT_TIMERFD_SETTIME, ECANCELED},
};

static void fail_renewal(void *data)
{
    struct walk *w = data;
    const struct fault *fault = &renewal_faults[w->number / RENEWALS_MAX];

    walk_renewing(w, fault->call, w->number % RENEWALS_MAX + 1, fault->error);
    exit(0); /* not _exit(): leaks are looked for on the way out */
}

/* All at the same time, each in a process of its own: a TTL that no machine exceeds is long. */
CASE_EACH(renewals,
          "One failed call during a renewal loses no lock: the next renewal succeeds.", 0,
          REDLOCK_THREAD)
{
    enum { PROCESSES = (int)COUNT(renewal_faults) * RENEWALS_MAX };
    struct walk w;
    pid_t pids[PROCESSES];

    walk_begin(&w, flags);
    for (w.number = 0; w.number < PROCESSES; w.number++)
        pids[w.number] = helper_start(fail_renewal, &w);
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        CHECK(waitpid(pids[i], &status, 0) == pids[i]);
        if (status != 0)
            FAIL("renewal %d failed with status %d", i, status);
        w.walks_with_failure++;
    }
    walk_end(&w);
}
