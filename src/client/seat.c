/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's seat: one caller beside an I/O thread.
 *
 * When the answers to a call wake the I/O thread and that wakes the caller, two threads change
 * places twice in every cycle, which costs more than everything else. So after some calls in a row
 * that were alone and answered quickly, the I/O thread *rests*: it waits for the timer and for
 * wake-ups, but not for the sockets, and the next call that is alone drives the client by itself
 * until it has its outcome.
 *
 * The I/O thread remains the one who is responsible.
 *  - Whoever wants something from it wakes it as ever (`dozing` is true while it rests, and a
 *    driver never touches it): a second caller, something that is started or cancelled, close.
 *  - It is woken by the timer, too. A driver that sees the same timer first does what is due.
 *  - Awake, it takes the seat away without asking. It can: a driver gives the mutex up only while
 *    it waits for the sockets, and looks whether the seat is still its own before it does anything.
 *    So nothing depends on when the driver's thread runs again. Until then it may have the news of
 *    a timer or a wake-up, which are told once: the I/O thread looks by itself every PATIENCE_MS.
 *  - Every REST_MS it looks whether the seat was taken anew, without the mutex. If not, because
 *    nobody calls any more or a call takes long, it goes back to the sockets. Until then what
 *    comes from the sockets while nobody drives is unread, for 2 * REST_MS at most; timers are
 *    never late.
 *  - Callbacks are its own. A driver that finds news for one leaves the seat and wakes it.
 *
 * While anything else is under way it does not rest: nobody else's answers wait for it.
 */
#include "client/client.h"

#include "io/clock.h"

#define REST_MS 1
/* A driver comes back this often to see whether it still is one. */
#define PATIENCE_MS 1
/* Nodes that need longer are so far away that changing threads does not matter. */
#define QUICK_NS RL_MS_NS
/* So many lone calls in a row are hardly the accident of several callers. */
#define LONE_MIN 8

/* ---- the caller's side ---- */

bool rl_seat_take(redlock *client, struct rl_blocked *blocked)
{
    struct rl_seat *seat = &client->seat;

    if (!seat->open || seat->driver || client->pursued > 0)
        return false;
    seat->driver = blocked;
    blocked->drove = true;
    seat->visitors++;
    atomic_fetch_add_explicit(&seat->uses, 1, memory_order_relaxed);
    /* It does not sleep: its outcome needs no wake-up. */
    atomic_store_explicit(&blocked->word, RL_AWAKE, memory_order_relaxed);
    return true;
}

/*
 * Events that came to one who does not drive any more. Sockets are ready until they are read, so
 * whoever drives sees them again. The timer tells of its end only once, and a wake-up comes only
 * once: whoever meant it for the I/O thread has cleared `dozing`, and would be the last to wake it.
 */
static void pass_on(redlock *client, const struct epoll_event *events, int count)
{
    if (count == 0)
        return;
    for (int i = 0; i < count; i++)
        if (events[i].data.u32 == RL_REACTOR_TIMER)
            rl_reactor_fired(&client->reactor);
    rl_arm(client);
    rl_reactor_wake(&client->reactor);
}

static void leave(redlock *client)
{
    client->seat.driver = NULL;
    rl_send_now(client);
}

/* As rl_turn(), without what is the I/O thread's: orders and callbacks. */
static void drive_once(redlock *client, const struct rl_blocked *blocked)
{
    struct epoll_event events[RL_REACTOR_EVENTS_MAX];
    int timeout_ms;
    int count;

    rl_send_all(client);
    timeout_ms = rl_engine_has_ready(&client->engine) ? 0 : PATIENCE_MS;
    pthread_mutex_unlock(&client->mutex);
    count = rl_reactor_wait(&client->reactor, events, timeout_ms);
    pthread_mutex_lock(&client->mutex);
    if (client->seat.driver != blocked) {
        pass_on(client, events, count);
        return;
    }
    rl_serve_events(client, events, count);
    rl_tick(client, rl_now_ns());
    if (!rl_deliver_quietly(client)) {
        leave(client);
        rl_wake(client);
    }
}

int rl_seat_patience_ms(const redlock *client, int timeout_ms)
{
    if (client->seat.visitors > 0 && (timeout_ms < 0 || timeout_ms > PATIENCE_MS))
        return PATIENCE_MS;
    return timeout_ms;
}

int rl_seat_drive(redlock *client, struct rl_blocked *blocked)
{
    struct rl_seat *seat = &client->seat;
    bool finished;

    while (seat->driver == blocked && atomic_load(&blocked->word) != RL_FINISHED)
        drive_once(client, blocked);
    if (seat->driver == blocked)
        leave(client);
    finished = atomic_load(&blocked->word) == RL_FINISHED;
    if (!finished)
        atomic_store(&blocked->word, RL_ASLEEP);
    /* Whoever closes the client waits until nobody looks at its descriptors any more. */
    if (--seat->visitors == 0 && client->stopping)
        pthread_cond_broadcast(&client->turn_cond);
    pthread_mutex_unlock(&client->mutex);
    return finished ? blocked->result : rl_blocked_await(blocked);
}

/* ---- when it is worth while ---- */

bool rl_seat_keeps(redlock *client, struct rl_blocked *blocked)
{
    struct rl_seat *seat = &client->seat;

    if (blocked == seat->driver)
        return false;
    /* Who lost the seat to a timer was alone, and is not to blame. */
    if (!blocked->drove &&
        (!blocked->alone_ns || client->turned_ns - blocked->alone_ns >= QUICK_NS)) {
        seat->lone_count = 0;
        return false;
    }
    if (seat->lone_count < LONE_MIN) {
        seat->lone_count++;
        return false;
    }
    /*
     * Told right away, it might call again before the seat is free, and so for ever. Only the I/O
     * thread can keep it; once that has been told to stop, others make turns.
     */
    if (!client->turning || client->stopping || seat->leaver)
        return false;
    seat->leaver = blocked;
    return true;
}

void rl_seat_tell(redlock *client)
{
    struct rl_blocked *leaver = client->seat.leaver;

    client->seat.leaver = NULL;
    if (leaver)
        rl_blocked_finish(leaver, leaver->result);
}

/* ---- the I/O thread's side ---- */

/* Nothing is left to do but to wait. If so, whoever wants something from now on wakes us. */
static bool may_rest(redlock *client)
{
    if (client->pursued > 0 || client->stopping || rl_engine_has_ready(&client->engine) ||
        !rl_reactor_may_rest(&client->reactor))
        return false;
    /* As before every sleep: an order that is not seen here was put after this store. */
    atomic_store(&client->dozing, true);
    return rl_inbox_is_empty(client);
}

static enum rl_rest rest(redlock *client)
{
    struct rl_seat *seat = &client->seat;
    enum rl_rest end;
    unsigned seen;

    do {
        seen = atomic_load_explicit(&seat->uses, memory_order_relaxed);
        end = rl_reactor_rest(&client->reactor, REST_MS);
    } while (end == RL_REST_OVER &&
             atomic_load_explicit(&seat->uses, memory_order_relaxed) != seen);
    return end;
}

void rl_seat_lend(redlock *client)
{
    struct rl_seat *seat = &client->seat;
    struct rl_blocked *leaver = seat->leaver;
    enum rl_rest end;

    if (!leaver)
        return;
    if (!may_rest(client)) {
        rl_seat_tell(client);
        return;
    }
    seat->leaver = NULL;
    seat->open = true;
    pthread_mutex_unlock(&client->mutex);
    rl_blocked_finish(leaver, leaver->result);
    end = rest(client);
    atomic_store_explicit(&client->dozing, false, memory_order_relaxed);
    pthread_mutex_lock(&client->mutex);
    seat->open = false;
    if (end == RL_REST_TIMER)
        rl_reactor_fired(&client->reactor); /* the driver may not come to say so */
    /* There were others, or a call took long. */
    if (end == RL_REST_WOKEN || (end == RL_REST_OVER && seat->driver))
        seat->lone_count = 0;
    seat->driver = NULL;
}

void rl_seat_clear(redlock *client)
{
    while (client->seat.visitors > 0)
        pthread_cond_wait(&client->turn_cond, &client->mutex);
}
