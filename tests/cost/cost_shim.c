/* SPDX-License-Identifier: BSD-2-Clause */
#include "cost_shim.h"

#include "base/time.h"
#include "check.h"
#include "cost_own.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

enum {
    SOCKETS_MAX = 64,
    CALLERS_MAX = 128,
    LOOK_EVERY_US = 50,
    REPLIES_MS = 5000, /* a node that is silent for so long fails the test anyway */
    /*
     * A library that blocks its callers on something else than a futex of its own would not be
     * seen: it is then counted as it batches by itself.
     */
    CALLERS_MS = 10000,
    EVENTS_US = 20000,
    READABLE_MS = 20,
    FROZEN_MS = 1000,
};

#define READING_NS 1000 /* how far a reading carries the time that stands still */

#define WRAP(type, name, arguments)                                                            \
    type __real_##name arguments;                                                              \
    type __wrap_##name arguments;                                                              \
    type __wrap_##name arguments

static struct shim_counts *_Atomic counting;

void shim_count(struct shim_counts *counts)
{
    counting = counts;
}

extern char __executable_start[];

static void note_allocation(char *caller)
{
    struct shim_counts *counts = counting;
    long nth;
    if (counts == NULL)
        return;
    nth = counts->allocations++;
    if (nth < SHIM_PLACES_MAX)
        counts->place[nth] = (void *)(caller - __executable_start);
}

WRAP(void *, malloc, (size_t size))
{
    note_allocation(__builtin_return_address(0));
    return __real_malloc(size);
}

WRAP(void *, calloc, (size_t count, size_t size))
{
    note_allocation(__builtin_return_address(0));
    return __real_calloc(count, size);
}

WRAP(void *, realloc, (void *memory, size_t size))
{
    note_allocation(__builtin_return_address(0));
    return __real_realloc(memory, size);
}

WRAP(char *, strdup, (const char *text))
{
    note_allocation(__builtin_return_address(0));
    return __real_strdup(text);
}

WRAP(void, free, (void *memory))
{
    struct shim_counts *counts = counting;
    if (counts != NULL && memory != NULL)
        counts->frees++;
    __real_free(memory);
}

static _Atomic int64_t frozen_ns; /* what the library takes for now; 0: the real time */

WRAP(int, clock_gettime, (clockid_t clock, struct timespec *out))
{
    struct shim_counts *counts = counting;
    int64_t ns;
    if (counts != NULL)
        counts->clocks++;
    if (clock != CLOCK_BOOTTIME || frozen_ns == 0)
        return __real_clock_gettime(clock, out);
    ns = frozen_ns += READING_NS;
    *out = (struct timespec){ns / RL_NS_PER_S, ns % RL_NS_PER_S};
    return 0;
}

/* The test's own readings do not count. */
static int64_t real_ns(void)
{
    struct timespec t;
    __real_clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * RL_NS_PER_S + t.tv_nsec;
}

static int64_t real_ms(void)
{
    return real_ns() / RL_NS_PER_MS;
}

void shim_freeze_time(void)
{
    frozen_ns = real_ns();
}

void shim_thaw_time(void)
{
    frozen_ns = 0;
}

struct itimerspec shim_own_timer;

/* What the last timer was set for. */
static int timer_fd = -1;
static int64_t timer_due_ns;

WRAP(int, timerfd_settime,
     (int fd, int flags, const struct itimerspec *value, struct itimerspec *old))
{
    struct itimerspec real = *value;
    int64_t ns = value->it_value.tv_sec * RL_NS_PER_S + value->it_value.tv_nsec;
    timer_fd = fd;
    timer_due_ns = ns;
    /* The kernel does not know of it: what is not due and cannot become due need
     * not wake us. */
    if (frozen_ns != 0 && (flags & TFD_TIMER_ABSTIME) && ns > frozen_ns) {
        ns = real_ns() + (ns - frozen_ns > RL_NS_PER_S ? ns - frozen_ns : RL_NS_PER_S);
        real.it_value = (struct timespec){ns / RL_NS_PER_S, ns % RL_NS_PER_S};
    }
    return __real_timerfd_settime(fd, flags, &real, old);
}

void shim_pass_time(void)
{
    struct itimerspec now = {.it_value.tv_nsec = 1};
    if (timer_due_ns > frozen_ns)
        frozen_ns = timer_due_ns;
    CHECK_INT(0, __real_timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &now, &shim_own_timer));
}

static _Atomic bool lockstep;

/* A caller may send while the I/O thread waits: guarded by `lists`, which takes no call. */
static struct pollfd owed[SOCKETS_MAX];
static struct pollfd known[SOCKETS_MAX];
static unsigned owed_count, known_count;
static atomic_flag lists = ATOMIC_FLAG_INIT;

static void enter_lists(void)
{
    while (atomic_flag_test_and_set(&lists))
        continue;
}

static void leave_lists(void)
{
    atomic_flag_clear(&lists);
}

static void add(struct pollfd *list, unsigned *count, int fd)
{
    for (unsigned i = 0; i < *count; i++)
        if (list[i].fd == fd)
            return;
    if (*count < SOCKETS_MAX)
        list[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void pay(int fd)
{
    for (unsigned i = 0; i < owed_count; i++)
        if (owed[i].fd == fd)
            owed[i--] = owed[--owed_count];
}

void shim_lockstep(void)
{
    lockstep = true;
}

bool shim_is_owed(void)
{
    return owed_count > 0;
}

WRAP(ssize_t, send, (int fd, const void *bytes, size_t size, int flags))
{
    ssize_t sent = __real_send(fd, bytes, size, flags);
    if (sent > 0 && lockstep) {
        enter_lists();
        add(owed, &owed_count, fd);
        add(known, &known_count, fd);
        leave_lists();
    }
    return sent;
}

/* What is read without waiting for the others is not owed any more. */
WRAP(ssize_t, recv, (int fd, void *bytes, size_t size, int flags))
{
    enter_lists();
    pay(fd);
    leave_lists();
    return __real_recv(fd, bytes, size, flags);
}

/* A server reads all that was sent in one piece and answers it in one piece. */
void shim_await_replies(void)
{
    for (int64_t end_ms = real_ms() + REPLIES_MS; owed_count > 0 && real_ms() < end_ms;) {
        struct pollfd waiting[SOCKETS_MAX];
        unsigned count;
        enter_lists();
        count = owed_count;
        memcpy(waiting, owed, count * sizeof owed[0]);
        leave_lists();
        own_call(OWN_WAIT, waiting, count, REPLIES_MS * 1000L);
        enter_lists();
        for (unsigned i = 0; i < count; i++)
            if (waiting[i].revents != 0)
                pay(waiting[i].fd);
        leave_lists();
    }
}

void shim_await_readable(int count)
{
    for (int64_t end_ms = real_ms() + READABLE_MS; real_ms() < end_ms;) {
        int ready = own_call(OWN_WAIT, known, known_count, 0);
        if (ready >= count)
            return;
        own_call(OWN_WAIT, NULL, 0, LOOK_EVERY_US);
    }
}

/* What each thread is blocked on. A signal takes it away at once, before the thread has run. */
static void *_Atomic blocked_on[CALLERS_MAX];
static _Atomic int blocked, expected, place_count;
static _Atomic bool unseen;  /* they are given up: see CALLERS_MS */
static _Atomic bool awaited; /* the I/O thread has nothing to do but to wait for them */
static _Thread_local int own_place = -1;

void shim_expect_callers(int count)
{
    expected += count;
}

static void block(void *on)
{
    if (own_place < 0)
        own_place = place_count++;
    if (own_place >= CALLERS_MAX)
        FAIL("more than %d threads", CALLERS_MAX);
    blocked_on[own_place] = on;
    blocked++;
}

static void unblock(int place, void *on)
{
    if (atomic_compare_exchange_strong(&blocked_on[place], &on, NULL))
        blocked--;
}

static void unblock_all(void *on)
{
    int count = place_count < CALLERS_MAX ? place_count : CALLERS_MAX;
    for (int i = 0; i < count; i++)
        unblock(i, on);
}

/*
 * A caller goes on when the I/O thread waits. Before that, its next order would be found in the
 * turn that woke it or in a later one, by which of the two threads runs first. So it is woken
 * then; a caller that was not asleep yet when it should have been woken looks for it.
 */
static struct {
    long word, operation, count;
} wake_ups[CALLERS_MAX]; /* of the I/O thread alone */
static int wake_up_count;

static bool defers_wake_ups(void)
{
    return lockstep && expected > 0 && !unseen && wake_up_count < CALLERS_MAX;
}

static void await_io_thread(void)
{
    while (lockstep && expected > 0 && !awaited && !unseen)
        own_call(OWN_WAIT, NULL, 0, LOOK_EVERY_US);
}

/* Blocked calls of the library sleep on a word of their own. */
WRAP(long, syscall, (long number, long a, long b, long c, long d, long e, long f))
{
    void *word = (void *)a;
    bool sleeps = number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT;
    bool wakes = number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAKE;
    long result;
    if (sleeps)
        block(word);
    if (wakes)
        unblock_all(word);
    if (wakes && defers_wake_ups()) {
        wake_ups[wake_up_count].word = a;
        wake_ups[wake_up_count].operation = b;
        wake_ups[wake_up_count++].count = c;
        return 1;
    }
    result = __real_syscall(number, a, b, c, d, e, f);
    if (sleeps) {
        unblock(own_place, word);
        await_io_thread();
    }
    return result;
}

/*
 * Until there is something to do and all callers are blocked. The one who waits is never inside
 * the real call meanwhile: the first of the callers would let it go on alone.
 */
static void await_callers(int epoll)
{
    struct pollfd events = {.fd = epoll, .events = POLLIN};
    int64_t stuck_ms = 0;
    awaited = true;
    for (; wake_up_count > 0; wake_up_count--)
        __real_syscall(SYS_futex, wake_ups[wake_up_count - 1].word,
                       wake_ups[wake_up_count - 1].operation, wake_ups[wake_up_count - 1].count,
                       0, 0, 0);
    for (int last = -1;;) {
        if (own_call(OWN_WAIT, &events, 1, EVENTS_US) <= 0)
            continue;
        if (blocked >= expected || unseen)
            return;
        if (blocked != last)
            stuck_ms = real_ms();
        last = blocked;
        unseen = real_ms() - stuck_ms > CALLERS_MS;
        own_call(OWN_WAIT, NULL, 0, LOOK_EVERY_US);
    }
}

WRAP(int, epoll_wait, (int epoll, struct epoll_event *events, int most, int timeout_ms))
{
    /* Where time stands still, no wait runs out either. */
    if (frozen_ns != 0 && timeout_ms > 0)
        timeout_ms = FROZEN_MS;
    if (lockstep && timeout_ms < 0) {
        await_callers(epoll);
        awaited = false;
    }
    if (lockstep && timeout_ms != 0)
        shim_await_replies();
    return __real_epoll_wait(epoll, events, most, timeout_ms);
}
