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
