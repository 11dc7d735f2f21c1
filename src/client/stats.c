/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/stats.h"

#include <string.h>

#include "drive/client.h"
#include "drive/order.h"

/* Behind `size` there are only numbers of one type. */
enum { NUMBERS = (sizeof(redlock_stats) - sizeof(size_t)) / sizeof(uint64_t) };

int rl_client_add_stats(redlock *client, redlock_stats *sum)
{
    uint64_t mine[NUMBERS];
    uint64_t all[NUMBERS];
    int error = rl_client_enter(client, false);

    if (error)
        return error;
    memcpy(mine, (char *)&client->engine.stats + sizeof(size_t), sizeof mine);
    rl_client_leave(client);
    memcpy(all, (char *)sum + sizeof(size_t), sizeof all);
    for (size_t i = 0; i < NUMBERS; i++)
        all[i] += mine[i];
    memcpy((char *)sum + sizeof(size_t), all, sizeof all);
    return REDLOCK_OK;
}
