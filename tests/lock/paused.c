/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A holder that is stopped past its TTL wakes up believing it holds the lock. Its first call
 * must show it otherwise; and where it acts without a look, the fencing token must stop it.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { TTL_MS = 2000 };

/* The protected resource: remembers the largest token it has seen and refuses smaller ones. */
struct storage {
    _Atomic int64_t largest;
    _Atomic int content;
};

static bool storage_write(struct storage *s, int64_t token, int content)
{
    int64_t largest = s->largest;
    while (token > largest)
        if (atomic_compare_exchange_weak(&s->largest, &largest, token))
            break;
    if (token < s->largest)
        return false;
    s->content = content;
    return true;
}

enum first_call { BY_STATE, BY_REMAINING, BY_DEADLINE, BY_EXTEND, BY_RELEASE };

struct play {
    struct cluster cluster;
    uint32_t client_flags;
    enum first_call first;
    struct storage storage;
    _Atomic int held, go, done;
    _Atomic int64_t token;
    _Atomic int answer, wrote_before, wrote_after;
};

/* Answers 1 when the call said that the lock is over. */
static int call_first(redlock_lock *lock, enum first_call first)
{
    switch (first) {
    case BY_STATE:
        return redlock_state(lock) == REDLOCK_STATE_LOST;
    case BY_REMAINING:
        return redlock_remaining_ms(lock) == 0;
    case BY_DEADLINE: {
        int64_t deadline_ns = redlock_deadline_ns(lock);
        return deadline_ns == 0 || deadline_ns <= now_ns();
    }
    case BY_EXTEND:
        return redlock_extend(lock, TTL_MS) == REDLOCK_LOST;
    case BY_RELEASE: {
        int error = redlock_release(lock);
        return error == REDLOCK_LOST || error == REDLOCK_EXPIRED;
    }
    }
    return 0;
}

static void hold_and_sleep(void *data)
{
    struct play *p = data;
    redlock *r = client_open_warm(&p->cluster, p->client_flags);
    redlock_lock *lock = NULL;
    if (!(p->client_flags & REDLOCK_THREAD))
        CHECK(redlock_fd(r) >= 0); /* else a lock that is to be renewed is refused */
    lock = CLIENT_LOCK(r, "x", TTL_MS, .flags = REDLOCK_FENCED | REDLOCK_RENEW);
    p->token = redlock_fence(lock);
    p->wrote_before = storage_write(&p->storage, p->token, 1);
    p->held = 1;
    while (!p->go)
        continue; /* stopped in here: no call of the library comes between waking and asking */
    p->answer = call_first(lock, p->first);
    p->wrote_after = storage_write(&p->storage, p->token, 2); /* and if it did not ask */
    p->done = 1;
    for (;;)
        sleep_ms(1000);
}

struct repair {
    struct play *play;
    redlock_lock *lock;
};

/* Nodes that still have the sleeper's key cannot be repaired before it is gone: asked again. */
static bool is_on_every_node(void *data)
{
    struct repair *h = data;
    CHECK_OK(redlock_extend(h->lock, LONG_TTL_MS));
    return cluster_count_value(&h->play->cluster, "redlock:x", redlock_value(h->lock)) == 5;
}

static void stop_and_wake(uint32_t client_flags, enum first_call first)
{
    struct play *p = helper_memory(sizeof *p);
    pid_t pid;
    int status = 0;
    redlock *r;
    struct repair repair;
    redlock_lock *lock;
    cluster_start(&p->cluster, 5);
    p->client_flags = client_flags;
    p->first = first;
    pid = helper_start(hold_and_sleep, p);
    AWAIT(p->held != 0);
    kill(pid, SIGSTOP);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));

    /* The next holder gets it when the keys have expired, and with a larger token. */
    r = client_open(&p->cluster, REDLOCK_THREAD);
    lock = CLIENT_LOCK(r, "x", LONG_TTL_MS, .flags = REDLOCK_FENCED, .wait_ms = GIVE_UP_MS);
    CHECK_NEVER(redlock_fence(lock) <= p->token);
    CHECK(storage_write(&p->storage, redlock_fence(lock), 3));
    repair = (struct repair){p, lock};
    CHECK(wait_until(is_on_every_node, &repair));
    CHECK_INT(5, cluster_count_value(&p->cluster, "redlock:x", redlock_value(lock)));

    p->go = 1;
    kill(pid, SIGCONT);
    AWAIT(p->done != 0);
    CHECK_INT(1, p->wrote_before); /* while it was the holder */
    CHECK_INT(1, p->answer);
    CHECK_INT(0, p->wrote_after);
    CHECK_INT(3, p->storage.content);
    /* What the sleeper sent after waking has not touched the new holder's lock. */
    CHECK_INT(5, cluster_count_value(&p->cluster, "redlock:x", redlock_value(lock)));
    CHECK_OK(redlock_extend(lock, LONG_TTL_MS));
    CHECK(storage_write(&p->storage, redlock_fence(lock), 4));
    helper_stop(&pid);
}

CASE_OF(woken_state, "For a holder stopped past its TTL the first redlock_state() says LOST.",
        stop_and_wake(0, BY_STATE));

CASE_OF(woken_state_io_thread,
        "For a holder stopped with its I/O thread the first redlock_state() says LOST.",
        stop_and_wake(REDLOCK_THREAD, BY_STATE));

CASE_OF(woken_remaining,
        "For a holder stopped past its TTL the first redlock_remaining_ms() is 0.",
        stop_and_wake(REDLOCK_THREAD, BY_REMAINING));

CASE_OF(woken_deadline,
        "For a holder stopped past its TTL redlock_deadline_ns() is in the past.",
        stop_and_wake(REDLOCK_THREAD, BY_DEADLINE));

CASE_OF(woken_extend, "For a holder stopped past its TTL the first redlock_extend() is LOST.",
        stop_and_wake(0, BY_EXTEND));

CASE_OF(woken_extend_io_thread,
        "For a holder stopped with its I/O thread the first redlock_extend() is LOST.",
        stop_and_wake(REDLOCK_THREAD, BY_EXTEND));

CASE_OF(woken_release,
        "For a holder stopped past its TTL the first redlock_release() is LOST or EXPIRED.",
        stop_and_wake(0, BY_RELEASE));
