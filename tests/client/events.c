/* SPDX-License-Identifier: BSD-2-Clause */
/* What redlock.h promises of redlock_next() and redlock_fd(), of one thread that reads. */
#include "drive/events.h"
#include "drive/client.h"
#include "fixture.h"
#include "fleet.h"

#include <malloc.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { TTL_MS = LONG_TTL_MS, SHORT_TTL_MS = 2000, MANY = CHECK_SANITIZED ? 1000 : 10000 };

static redlock_lock *start(redlock *r, const char *name, void *data)
{
    redlock_lock *lock = CLIENT_START(r, name, TTL_MS, .data = data);
    return lock;
}

static bool is_readable(redlock *r, int limit_ms)
{
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    CHECK(p.fd >= 0);
    return poll(&p, 1, limit_ms) == 1;
}

/*
 * Not readable, once the I/O thread has taken back what was freed: a loop does not spin on it.
 */
static bool is_quiet(redlock *r)
{
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; now_ms() < end_ms;) {
        if (!is_readable(r, 200))
            return true;
        CHECK(next_event(r, 0) == NULL);
    }
    return false;
}

CASE_ON(one_turn_a_drain,
        "A drain ends though each event that is read starts a request on nodes that are down.")
{
    enum { STARTS = 64 };
    const redlock_event *event;
    int ended = 0;
    cluster_each(c, 0, 3, server_kill);
    start(r, "x", NULL);
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; ended < STARTS;) {
        int read = 0;
        CHECK(now_ms() < end_ms);
        CHECK(is_readable(r, GIVE_UP_MS)); /* also while only an outcome is due */
        while (redlock_next(r, &event, 0) == 1) {
            CHECK_ERR(REDLOCK_NOQUORUM, event->error);
            redlock_lock_free(event->lock);
            start(r, "x", NULL);
            CHECK_INT(1, ++read);
            ended++;
        }
    }
}

CASE_ON(outcome_at_once_on_dead_nodes,
        "What a drain starts on nodes that are down ends at once, not with the next reconnect.",
        .flags = REDLOCK_THREAD)
{
    enum { STARTS = 100 };
    redlock_lock *lock[STARTS];
    int64_t start_ms;
    cluster_each(c, 0, 3, server_kill);
    start_ms = now_ms();
    for (int i = 0; i < STARTS; i++) {
        lock[i] = start(r, "x", NULL);
        EXPECT(r, ACQUIRED, REDLOCK_NOQUORUM, lock[i]);
    }
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
}

CASE_ON(written_when_it_returns_0, "What was started is on its way when a drain returns 0.")
{
    redlock_lock *lock = start(r, "x", NULL);
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock);
    start(r, "y", NULL);
    CHECK(next_event(r, 0) == NULL);
    CHECK(cluster_await(c, "redlock:y", 3)); /* without a further call */
}

CASE_ON(readable_when_there_is_work,
        "The descriptor is readable while requests, data, events "
        "or a timer wait, and else quiet.",
        .node_timeout_ms = FAR_MS)
{
    redlock_lock *lock[2], *lost;
    NO_EVENT(r);
    cluster_each(c, 0, 3, server_freeze);
    for (int i = 0; i < 2; i++)
        lock[i] = start(r, i ? "y" : "x", NULL);
    CHECK(is_readable(r, 0)); /* requests to write */
    NO_EVENT(r);
    CHECK(!is_readable(r, 0));
    cluster_each(c, 0, 3, server_thaw);
    CHECK(is_readable(r, GIVE_UP_MS)); /* data */
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock[0]);
    CHECK(is_readable(r, GIVE_UP_MS)); /* the other event, or its data */
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock[1]);
    lost = client_lock(r, "z", SHORT_TTL_MS);
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; redlock_remaining_ms(lost) > 0;) {
        const redlock_event *event;
        CHECK(now_ms() < end_ms);
        CHECK(is_readable(r, GIVE_UP_MS)); /* a timer */
        event = next_event(r, 0);
        CHECK(event == NULL || event->type == REDLOCK_EVENT_LOST);
    }
}

CASE_ON(readable_of_several_quorums,
        "Of several quorums it stays readable for a loop that reads one event a time.",
        .quorums = 2, .nodes = 1, .flags = REDLOCK_NO_GUARD)
{
    enum { ROUNDS = 300 };
    const redlock_event *event;
    for (int i = 0; i < ROUNDS; i++) {
        redlock_lock *lock[2];
        for (int k = 0; k < 2; k++)
            lock[k] = start(r, fleet_name(fleet, (size_t)k, i), NULL);
        for (int read = 0; read < 2;) {
            CHECK(is_readable(r, GIVE_UP_MS));
            read += redlock_next(r, &event, 0);
        }
        for (int k = 0; k < 2; k++)
            redlock_lock_free(lock[k]);
    }
}

CASE_ON(readable_while_events_wait,
        "With the I/O thread it is readable exactly while events wait.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *first, *second;
    CHECK(is_quiet(r));
    first = start(r, "x", NULL);
    second = start(r, "y", NULL);
    client_unlock(client_lock(r, "later", TTL_MS)); /* both are granted */
    CHECK(is_readable(r, 0));
    EXPECT(r, ACQUIRED, REDLOCK_OK, first);
    CHECK(is_readable(r, 0)); /* also for a loop that reads one event a time */
    EXPECT(r, ACQUIRED, REDLOCK_OK, second);
    CHECK(next_event(r, 0) == NULL);
    CHECK(is_quiet(r));
    redlock_lock_free(first);
    redlock_lock_free(second);
    CHECK(is_quiet(r));
}

CASE_ON(purged_is_not_readable,
        "Events that a free or cancel takes back leave no loop spinning.",
        .flags = REDLOCK_THREAD)
{
    for (int i = 0; i < 2; i++) {
        redlock_lock *lock = start(r, "x", NULL);
        client_unlock(client_lock(r, "later", TTL_MS));
        CHECK(is_readable(r, 0));
        if (i)
            CHECK_OK(redlock_cancel(lock));
        else
            redlock_lock_free(lock);
        CHECK(next_event(r, 0) == NULL);
        CHECK(is_quiet(r));
        if (i)
            redlock_lock_free(lock);
        CHECK(cluster_await(c, "redlock:x", 0));
    }
}

CASE_ON(idle_is_quiet, "The descriptor of an idle client does not wake its loop.")
{
    int wakes = 0;
    client_unlock(client_lock(r, "x", 10000));
    for (int64_t end_ms = now_ms() + 500; now_ms() < end_ms;) {
        wakes += is_readable(r, (int)(end_ms - now_ms()));
        NO_EVENT(r);
    }
    CHECK_BETWEEN(0, 20, wakes);
}

static _Atomic int64_t notified_ns;
static _Atomic int notified_state;
static redlock_lock *_Atomic watched;

static void note_trouble(void *data)
{
    redlock_lock *lock = watched;
    if (data != &watched || !lock)
        return;
    notified_state = redlock_state(lock);
    CHECK(notified_state != REDLOCK_STATE_LOST || redlock_remaining_ms(lock) == 0);
    notified_ns = now_ns();
}

static bool are_granted(void *client)
{
    redlock_counters counters = REDLOCK_COUNTERS();
    CHECK_OK(redlock_stats(client, &counters));
    return counters.acquired >= MANY;
}

CASE_ON(loss_behind_ten_thousand,
        "A loss is notified in time and read first, though ten thousand events are unread.",
        .flags = REDLOCK_THREAD, .notify = note_trouble)
{
    redlock_lock **lock = calloc(MANY, sizeof *lock), *lost = NULL;
    char name[32];
    redlock_request q;
    int64_t deadline_ns;
    CHECK(lock != NULL);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i);
        lock[i] = start(r, name, NULL);
    }
    CHECK(wait_until(are_granted, r));
    q = (redlock_request)REDLOCK_REQUEST(.data = &watched);
    CHECK_OK(redlock_acquire(r, "lost", SHORT_TTL_MS, &q, &lost));
    deadline_ns = redlock_deadline_ns(lost);
    watched = lost;
    AWAIT(notified_ns != 0);
    printf("# notified %lld us before the end\n",
           (long long)(deadline_ns - notified_ns) / 1000);
    CHECK_BETWEEN(0, (int64_t)SOON_MS * RL_NS_PER_MS,
                  deadline_ns - notified_ns + SOON_MS * 500000LL);
    CHECK_INT(REDLOCK_STATE_LOST, notified_state);
    EXPECT(r, LOST, REDLOCK_LOST, lost);
    for (int i = 0; i < MANY; i++)
        EXPECT(r, ACQUIRED, REDLOCK_OK, lock[i]); /* as they were granted */
    NO_EVENT(r);
    for (int i = 0; i < MANY; i++)
        redlock_lock_free(lock[i]);
    redlock_lock_free(lost);
    client_close(r);
    free(lock);
}

CASE_ON(jeopardy_overtakes, "Jeopardy is notified, and read before the events of other locks.",
        .flags = REDLOCK_THREAD, .node_timeout_ms = STEADY_MS, .notify = note_trouble)
{
    redlock_lock *lock = NULL, *second;
    redlock_request q;
    q = (redlock_request)REDLOCK_REQUEST(.data = &watched);
    CHECK_OK(redlock_acquire(r, "x", TTL_MS, &q, &lock));
    watched = lock;
    second = start(r, "y", NULL);
    client_unlock(client_lock(r, "later", TTL_MS)); /* its event waits */
    cluster_each(c, 0, 2, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_extend(lock, TTL_MS));
    AWAIT(notified_ns != 0);
    CHECK_INT(REDLOCK_STATE_JEOPARDY, notified_state);
    EXPECT(r, JEOPARDY, REDLOCK_NOQUORUM, lock);
    EXPECT(r, ACQUIRED, REDLOCK_OK, second);
    cluster_each(c, 0, 2, server_thaw);
}

CASE_ON(loss_in_another_quorum,
        "The loss in one quorum is read before the events of the others.", .quorums = 2,
        .nodes = 1, .flags = REDLOCK_THREAD)
{
    redlock_lock *lock[20], *lost;
    for (int i = 0; i < 20; i++)
        lock[i] = start(r, fleet_name(fleet, 0, i), NULL);
    lost = client_lock(r, fleet_name(fleet, 1, 0), SHORT_TTL_MS);
    while (redlock_state(lost) != REDLOCK_STATE_LOST)
        sleep_ms(10);
    client_unlock(client_lock(r, fleet_name(fleet, 1, 1), TTL_MS)); /* its driver knows, too */
    EXPECT(r, LOST, REDLOCK_LOST, lost);
    for (int i = 0; i < 20; i++)
        EXPECT(r, ACQUIRED, REDLOCK_OK, lock[i]);
}

CASE_ON(taken_back_at_once,
        "A grant that is read too late is deleted on the nodes, also if nothing more is read.",
        .flags = REDLOCK_THREAD | REDLOCK_NO_GUARD)
{
    enum { WAIT_MS = 2000 };
    redlock_lock *lock = CLIENT_START(r, "x", TTL_MS, .wait_ms = WAIT_MS);
    CHECK(cluster_await(c, "redlock:x", 3));
    sleep_ms(WAIT_MS);
    EXPECT(r, ACQUIRED, REDLOCK_TIMEOUT, lock);
    CHECK(cluster_await(c, "redlock:x", 0));
}

static void read_late(uint32_t flags)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *first = start(r, "first", NULL), *lock = start(r, "x", NULL);
    EXPECT(r, ACQUIRED, REDLOCK_OK, first);
    sleep_ms(1500);
    CHECK_INT(REDLOCK_STATE_WAITING, redlock_state(lock));
    CHECK_INT(0, redlock_remaining_ms(lock));
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock);
    CHECK_BETWEEN(1, flags ? TTL_MS - 1400 : TTL_MS, redlock_remaining_ms(lock));
    redlock_lock_free(first);
    redlock_lock_free(lock);
    client_close(r);
}

CASE(validity_from_the_grant, "The validity counts from the grant, however late it is read.")
{
    read_late(0);
    read_late(REDLOCK_THREAD);
}

CASE_ON(renewed_before_it_is_read, "REDLOCK_RENEW renews from the grant on, read or not.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = CLIENT_START(r, "x", RENEWED_TTL_MS, .flags = REDLOCK_RENEW);
    sleep_ms(RENEWED_TTL_MS * 3 / 2);
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock);
    CHECK(redlock_remaining_ms(lock) > 0);
}

CASE_ON(warnings_ring,
        "Of warnings that are not read the latest wait, with a count of the others.",
        .nodes = 1)
{
    char text[32];
    NO_EVENT(r);
    for (int i = 0; i < REDLOCK_WARNINGS_KEPT + 4; i++) {
        snprintf(text, sizeof text, "warning %d", i);
        rl_event_warn(r, "node", REDLOCK_REASON_SKEW, text);
    }
    for (int i = 4; i < REDLOCK_WARNINGS_KEPT + 4; i++) {
        const redlock_event *event = EXPECT(r, WARNING, REDLOCK_OK, NULL);
        snprintf(text, sizeof text, "warning %d", i);
        CHECK_STR(text, event->detail);
        CHECK_STR("node", event->address);
        CHECK_INT(i == 4 ? 4 : 0, event->dropped);
    }
    CHECK(next_event(r, 0) == NULL);
}

static bool is_answered(void *data)
{
    uint32_t pending = 0;
    for (size_t i = 0; i < 3; i++)
        pending += client_node(data, i).pending;
    return pending == 0;
}

CASE_ON(never_read, "A client whose events are never read takes no more memory with them.",
        .flags = REDLOCK_THREAD)
{
    enum { ROUNDS = 300, BUFFERS_MAX = 16384 };
    size_t before = 0;
    if (CHECK_SANITIZED)
        check_skip("a sanitizer keeps what was freed");
    for (int i = 0; i < 3 * ROUNDS; i++) {
        redlock_lock *lock = start(r, "x", NULL);
        redlock_lock *later = client_lock(r, "later", TTL_MS);
        redlock_lock_free(lock); /* granted, and not read */
        client_unlock(later);
        /* What a slow node has not answered yet takes memory, too. */
        CHECK(wait_until(is_answered, r));
        if (i == ROUNDS)
            before = mallinfo2().uordblks;
    }
    CHECK_BETWEEN(0, before + BUFFERS_MAX, mallinfo2().uordblks);
    CHECK(next_event(r, 0) == NULL);
}

CASE(failure_report, "The report of a failure stays until the next one, for its thread.")
{
    struct cluster c;
    redlock *r;
    CHECK(redlock_failure_report() == NULL);
    r = client_start(&c, 3, 0);
    cluster_set(&c, 0, 3, "redlock:x", "another", TTL_MS);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
    CHECK(report_votes(redlock_failure_report(), REDLOCK_VOTE_TAKEN) >= 2);
    CHECK_STR("another", redlock_failure_report()->holder.value);
    CHECK_OK(client_try(r, "y", TTL_MS));
    CHECK(report_votes(redlock_failure_report(), REDLOCK_VOTE_TAKEN) >= 2);
    cluster_each(&c, 0, 2, server_kill);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_ping(r, NULL));
    CHECK_INT(1, report_votes(redlock_failure_report(), REDLOCK_VOTE_GRANTED));
    CHECK_ERR(REDLOCK_INVAL, redlock_query(r, "", NULL));
    CHECK(redlock_failure_report() == NULL); /* it asked no node */
}
