/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders for the I/O thread.
 *
 * With many threads on one client the mutex is the bottleneck: the I/O thread holds it while it
 * works off a batch of replies, and everybody whose call was answered comes back for it. So the
 * calls of the hot path do not take it. They put an order on a list, without a lock, and sleep
 * until the I/O thread, which has the mutex anyway, has carried it out.
 */
#include "client/client.h"
#include "client/frame.h"
#include "io/clock.h"

/* Not from the I/O thread itself, nor from a callback: there nobody may block. */
bool rl_inbox_takes(const redlock *client)
{
    return client->threaded && !rl_client_is_forked(client) &&
           !pthread_equal(client->thread, pthread_self()) &&
           !(client->spread && rl_frame_is_of(client->spread));
}

void rl_inbox_put(redlock *client, struct rl_order *order)
{
    struct rl_order *first = atomic_load_explicit(&client->inbox, memory_order_relaxed);

    do
        order->next = first;
    while (!atomic_compare_exchange_weak(&client->inbox, &first, order));
}

static struct rl_order *reversed(struct rl_order *order)
{
    struct rl_order *first = NULL;

    while (order) {
        struct rl_order *next = order->next;

        order->next = first;
        first = order;
        order = next;
    }
    return first;
}

/* In the order in which they came. */
void rl_inbox_serve(redlock *client)
{
    struct rl_order *order = atomic_load_explicit(&client->inbox, memory_order_relaxed);

    if (!order)
        return;
    order = reversed(atomic_exchange(&client->inbox, NULL));
    while (order) {
        struct rl_order *next = order->next;

        order->carry_out(client, order);
        order = next;
    }
}

bool rl_inbox_is_empty(redlock *client)
{
    return atomic_load(&client->inbox) == NULL;
}

/* The I/O thread waits for the sockets: what it would be woken for only to send is sent here. */
static bool carry_out_beside(redlock *client, struct rl_order *order)
{
    if (!client->sleeping)
        return false;
    rl_inbox_serve(client);
    order->carry_out(client, order);
    rl_send_now(client);
    return true;
}

static int await_order(redlock *client, struct rl_order *order, struct rl_blocked *blocked,
                       bool is_carried_out)
{
    if (!is_carried_out) {
        rl_inbox_put(client, order);
        rl_wake(client);
    }
    return rl_blocked_await(blocked);
}

/*
 * One caller alone gains nothing from a batch: if the I/O thread rests, it drives by itself until
 * its call is finished. Else it saves a wake-up where it can; the answers wake the thread.
 */
static int call_alone(redlock *client, struct rl_order *order, struct rl_blocked *blocked)
{
    bool is_carried_out = false;

    if (pthread_mutex_trylock(&client->mutex) == 0) {
        if (rl_seat_take(client, blocked)) {
            rl_inbox_serve(client);
            order->carry_out(client, order);
            return rl_seat_drive(client, blocked);
        }
        blocked->alone_ns = rl_now_ns();
        is_carried_out = carry_out_beside(client, order);
        pthread_mutex_unlock(&client->mutex);
    } else {
        blocked->alone_ns = rl_now_ns();
    }
    return await_order(client, order, blocked, is_carried_out);
}

int rl_inbox_call(redlock *client, struct rl_order *order, struct rl_blocked *blocked)
{
    bool alone = atomic_fetch_add(&client->in_calls, 1) == 0;
    int cancel_state;
    int result;

    /* What others look at lies on this stack: a thread that is cancelled gets its outcome first. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    result =
        alone ? call_alone(client, order, blocked) : await_order(client, order, blocked, false);
    pthread_setcancelstate(cancel_state, &cancel_state);
    atomic_fetch_sub(&client->in_calls, 1);
    return result;
}
