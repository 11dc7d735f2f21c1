/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/quorums.h"

#include <string.h>

void quorums_name(redlock *client, size_t index, char out[REDLOCK_QUORUM_MAX + 1])
{
    redlock_node_info info = {.size = sizeof info};
    out[0] = '\0';
    if (redlock_node(redlock_member(client, index), 0, &info) == REDLOCK_OK)
        memcpy(out, info.quorum_name, sizeof info.quorum_name);
}
