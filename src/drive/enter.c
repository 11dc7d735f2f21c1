/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/enter.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drive/client.h"
#include "drive/detail.h"

/* ---- the process ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t *marker;     /* in a page that is zero after fork; NULL: no such page */
static _Atomic uint32_t stamp_count; /* inherited by children, so their stamps are new */

static void set_up(void)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    void *page =
        mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return;
    if (madvise(page, page_size, MADV_WIPEONFORK) == 0)
        marker = page;
    else
        munmap(page, page_size);
}

uint32_t rl_process_stamp(void)
{
    uint32_t stamp;
    uint32_t fresh;

    pthread_once(&once, set_up);
    if (!marker)
        return (uint32_t)getpid();
    stamp = atomic_load_explicit(marker, memory_order_relaxed);
    if (stamp)
        return stamp;
    fresh = atomic_fetch_add(&stamp_count, 1) + 1;
    if (atomic_compare_exchange_strong(marker, &stamp, fresh))
        return fresh;
    return stamp;
}

/* ---- the client ---- */

bool rl_client_is_forked(const redlock *client)
{
    return rl_process_stamp() != client->stamp;
}

int rl_client_check(const redlock *client)
{
    if (!client)
        return rl_detail(REDLOCK_INVAL, "the client is NULL");
    if (rl_client_is_forked(client))
        return rl_detail(REDLOCK_FORKED, "this client was opened by the parent process; a "
                                         "child must open its own");
    return REDLOCK_OK;
}

int rl_client_enter(redlock *client, bool blocking)
{
    int error = rl_client_check(client);

    if (error)
        return error;
    if (blocking && rl_is_in_callback_of(client))
        return rl_detail(REDLOCK_INVAL, "a blocking call inside a callback would never return; "
                                        "use the redlock_start calls there");
    pthread_mutex_lock(&client->mutex);
    if (!client->closed && !client->closing)
        return REDLOCK_OK;
    pthread_mutex_unlock(&client->mutex);
    return rl_detail(REDLOCK_INVAL, "the client has been closed");
}

void rl_client_leave(redlock *client)
{
    bool is_last = client->references == 0;

    pthread_mutex_unlock(&client->mutex);
    if (!is_last)
        return;
    if (!rl_client_is_forked(client)) {
        pthread_cond_destroy(&client->turn_cond);
        pthread_mutex_destroy(&client->mutex);
    }
    free(client);
}

/* ---- callbacks ---- */

static _Thread_local struct rl_frame *innermost;

void rl_frame_enter(struct rl_frame *frame, const redlock *client)
{
    frame->client = client;
    frame->outer = innermost;
    innermost = frame;
}

void rl_frame_leave(const struct rl_frame *frame)
{
    innermost = frame->outer;
}

bool rl_is_in_callback_of(const redlock *client)
{
    for (const struct rl_frame *frame = innermost; frame; frame = frame->outer)
        if (frame->client == client || (client->group && frame->client->group == client->group))
            return true;
    return false;
}
