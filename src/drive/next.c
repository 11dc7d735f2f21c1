/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/drive.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "io/clock.h"

/* ---- the reader and its bell ---- */

/* Its address is another in every thread. */
static _Thread_local char this_thread;

enum rl_drain rl_reader_drain(const struct rl_reader *reader)
{
    if (atomic_load_explicit(&reader->taker, memory_order_relaxed) != &this_thread)
        return RL_NO_DRAIN;
    return atomic_load_explicit(&reader->has_more, memory_order_relaxed) ? RL_DRAIN_GOES_ON
                                                                         : RL_DRAIN_ENDS;
}

struct rl_reader *rl_reader_new(void)
{
    struct rl_reader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return NULL;
    reader->fd = reader->driven_fd = -1;
    reader->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reader->bell_fd >= 0)
        return reader;
    free(reader);
    return NULL;
}

void rl_reader_free(struct rl_reader *reader)
{
    if (!reader)
        return;
    rl_reader_clear(reader);
    if (reader->fd >= 0 && reader->fd != reader->bell_fd)
        close(reader->fd);
    close(reader->bell_fd);
    free(reader);
}

void rl_reader_ring(struct rl_reader *reader)
{
    uint64_t one = 1;

    if (!atomic_load(&reader->is_awaited))
        return;
    if (!atomic_exchange(&reader->is_rung, true) &&
        write(reader->bell_fd, &one, sizeof one) < 0)
        atomic_store(&reader->is_rung, false);
}

/*
 * Events that are added after the read ring it again, or are found by the look that follows.
 * False: it was silent.
 */
static bool silence(struct rl_reader *reader)
{
    uint64_t count;

    if (!atomic_load(&reader->is_rung) || read(reader->bell_fd, &count, sizeof count) < 0)
        return false;
    atomic_store(&reader->is_rung, false);
    return true;
}

/*
 * From the first time on the bell is rung; then also for what waits already, if anything does.
 */
static void listen_to(struct rl_reader *reader)
{
    if (!atomic_exchange(&reader->is_awaited, true))
        rl_reader_ring(reader);
}

/* What both calls begin with. */
static int check_reading(const redlock *client)
{
    int error = rl_client_check(client);

    if (!error && client->is_member)
        error = rl_detail(REDLOCK_INVAL, "this is one quorum of several: events come from the "
                                         "client that was opened");
    return error;
}

static void note_driven(const struct rl_reader *reader)
{
    for (size_t i = 0; i < reader->count; i++)
        atomic_store(&reader->member[i]->driven, true);
}

static int make_fd(struct rl_reader *reader)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd;

    note_driven(reader);
    listen_to(reader);
    if (reader->fd >= 0)
        return reader->fd;
    if (reader->driven_fd < 0)
        return reader->fd = reader->bell_fd;
    fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, reader->bell_fd, &event) == 0 &&
        epoll_ctl(fd, EPOLL_CTL_ADD, reader->driven_fd, &event) == 0)
        return reader->fd = fd;
    if (fd >= 0)
        close(fd);
    return rl_detail_system("making a descriptor for the events", errno);
}

int redlock_fd(redlock *client)
{
    int fd = check_reading(client);

    if (!fd)
        fd = rl_client_enter(client);
    if (fd)
        return fd;
    fd = make_fd(client->reader);
    rl_client_leave(client);
    return fd;
}

/* ---- one client ---- */

/*
 * Waits until no thread drives, or events wait; false when that takes longer than timeout_ms,
 * or when the I/O thread has to drive for blocked callers.
 */
static bool await_driver(redlock *client, int timeout_ms)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * RL_NS_PER_MS;
    if (end.tv_nsec >= 1000 * RL_NS_PER_MS) {
        end.tv_sec++;
        end.tv_nsec -= 1000 * RL_NS_PER_MS;
    }
    while (client->has_driver && rl_events_waiting(client) == 0) {
        /* It stood by for this thread, which came late: no signal would end a wait for it. */
        if (client->threaded && !atomic_load(&client->relief.is_on) &&
            !rl_thread_relieve(client))
            return false;
        if (timeout_ms < 0)
            pthread_cond_wait(&client->driver_cond, &client->mutex);
        else if (pthread_cond_timedwait(&client->driver_cond, &client->mutex, &end) != 0)
            break;
    }
    return !client->has_driver;
}

/* Another thread may be driving: it does what is due for us as well. False: a signal came. */
static bool iterate_alone(redlock *client, int timeout_ms)
{
    bool is_done = true;
    bool waits;

    pthread_mutex_lock(&client->mutex);
    waits = client->has_driver;
    if ((!waits || await_driver(client, timeout_ms)) && rl_events_waiting(client) == 0) {
        client->is_read = true;
        rl_iterate(client, waits ? 0 : timeout_ms); /* a part of the time is over */
        client->is_read = false;
        is_done = !client->was_interrupted;
        rl_stop_driving(client);
        if (client->threaded)
            rl_thread_watch(client);
    }
    pthread_mutex_unlock(&client->mutex);
    return is_done;
}

/* With an I/O thread: may this thread drive in its place while it waits? */
static bool may_relieve(const struct rl_reader *reader, int timeout_ms)
{
    redlock *client = reader->member[0];
    bool may = false;

    if (reader->count > 1 || timeout_ms == 0)
        return false;
    pthread_mutex_lock(&client->mutex);
    if (client->threaded)
        may = rl_thread_relieve(client);
    pthread_mutex_unlock(&client->mutex);
    return may;
}

/* ---- draining ---- */

/* Of the next client that has one; the members are read in rotation. */
static bool take(struct rl_reader *reader, bool urgent)
{
    for (size_t i = 0; i < reader->count; i++) {
        size_t at = (reader->next_member + i) % reader->count;
        redlock *client = reader->member[at];
        bool taken;

        pthread_mutex_lock(&client->mutex);
        taken = rl_event_take(client, reader, urgent);
        atomic_store_explicit(&reader->has_more,
                              client->events.drain > 0 && rl_events_waiting(client) > 0,
                              memory_order_relaxed);
        pthread_mutex_unlock(&client->mutex);
        if (!taken)
            continue;
        atomic_store_explicit(&reader->taker, &this_thread, memory_order_relaxed);
        reader->next_member = (at + 1) % reader->count;
        return true;
    }
    return false;
}

/* Events that wait now are those of the drain that begins. False: there are none. */
static bool begin_drain(struct rl_reader *reader)
{
    uint64_t count = 0;

    for (size_t i = 0; i < reader->count; i++) {
        redlock *client = reader->member[i];

        pthread_mutex_lock(&client->mutex);
        client->events.drain = rl_events_waiting(client);
        count += client->events.drain;
        pthread_mutex_unlock(&client->mutex);
    }
    /* Readable as long as events wait, also for a caller that stops after the first. */
    if (count > 1)
        rl_reader_ring(reader);
    reader->is_draining = count > 0;
    return count > 0;
}

/* Writes what was started, unless an iteration follows, which begins with that. */
static void end_drain(struct rl_reader *reader, bool iteration_follows)
{
    bool some = false;

    atomic_store_explicit(&reader->taker, NULL, memory_order_relaxed);
    reader->is_draining = false;
    silence(reader);
    for (size_t i = 0; i < reader->count; i++) {
        redlock *client = reader->member[i];

        pthread_mutex_lock(&client->mutex);
        client->events.drain = 0;
        if (client->threaded || (!iteration_follows && !client->has_driver))
            rl_flush(client);
        some |= rl_events_waiting(client) > 0;
        pthread_mutex_unlock(&client->mutex);
    }
    if (some)
        rl_reader_ring(reader);
}

static int left_ms(int64_t end_ns)
{
    int64_t left_ns = end_ns - rl_now_ns();

    return left_ns > 0 ? (int)((left_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS) : 0;
}

/* No event waits. False: a signal came. */
static bool await_events(struct rl_reader *reader, int timeout_ms)
{
    struct pollfd bell = {.fd = reader->bell_fd, .events = POLLIN};
    /*
     * It was rung for what the iteration will write, or for events that were taken back since.
     */
    bool was_rung = silence(reader);

    if (reader->driven_fd >= 0 && reader->count > 1)
        return rl_members_iterate(reader, timeout_ms);
    if (reader->driven_fd >= 0 || may_relieve(reader, timeout_ms))
        return iterate_alone(reader->member[0], timeout_ms);
    listen_to(reader);
    return was_rung || poll(&bell, 1, timeout_ms) >= 0;
}

static int next(struct rl_reader *reader, const redlock_event **event, int timeout_ms)
{
    int64_t end_ns = timeout_ms > 0 ? rl_now_ns() + timeout_ms * RL_NS_PER_MS : 0;
    int wait_ms = timeout_ms;
    bool goes_on = true;

    for (;;) {
        if (reader->is_draining) {
            /* Of several quorums: what is urgent in one overtakes what waits in all. */
            if ((reader->count > 1 && take(reader, true)) || take(reader, false)) {
                *event = &reader->event;
                return 1;
            }
            end_drain(reader, timeout_ms != 0);
            if (timeout_ms == 0)
                return 0;
        }
        if (begin_drain(reader))
            continue;
        if (!goes_on)
            return 0;
        goes_on = await_events(reader, wait_ms) && timeout_ms != 0;
        if (timeout_ms > 0) {
            wait_ms = left_ms(end_ns);
            goes_on = goes_on && wait_ms > 0;
        }
    }
}

int redlock_next(redlock *client, const redlock_event **event, int timeout_ms)
{
    struct rl_reader *reader;
    int cancel_state;
    int result = check_reading(client);

    if (result)
        return result;
    reader = client->reader;
    note_driven(reader);
    if (!event)
        return rl_detail(REDLOCK_INVAL, "there is nowhere to put the event");
    if (timeout_ms < -1)
        return rl_detail(REDLOCK_INVAL, "timeout_ms is %d; -1 waits for ever", timeout_ms);
    if (atomic_flag_test_and_set(&reader->is_busy))
        return rl_detail(REDLOCK_BUSY, "another thread is in redlock_next() of this client");
    rl_reader_clear(reader);
    /* A driver that is cancelled would leave the client without one. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    result = next(reader, event, timeout_ms);
    pthread_setcancelstate(cancel_state, &cancel_state);
    atomic_flag_clear(&reader->is_busy);
    return result;
}
