/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/groups.h"

#include <linux/limits.h>
#include <sys/socket.h>

/* How many supplementary groups, in *list until the next call. */
static size_t supplementary(int fd, const gid_t **list)
{
    static gid_t all[NGROUPS_MAX];
    socklen_t size = sizeof all;

    *list = all;
    return getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, all, &size) == 0 ? size / sizeof *all : 0;
}

void access_groups_of(const struct http_peer *peer, const struct access_groups *named,
                      struct access_groups *out)
{
    const gid_t *list;
    size_t count = named->count > 0 ? supplementary(peer->fd, &list) : 0;

    out->count = 0;
    for (unsigned i = 0; i < named->count; i++) {
        bool is_in = named->list[i] == peer->gid;

        for (size_t k = 0; k < count && !is_in; k++)
            is_in = named->list[i] == list[k];
        if (is_in)
            out->list[out->count++] = named->list[i];
    }
}
