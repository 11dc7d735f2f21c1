/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a client of one quorum. */
#ifndef RL_CLIENT_OPEN_H
#define RL_CLIENT_OPEN_H

#include "drive/client.h"

/* What a client is among the quorums of a group; an only one has no name. */
struct rl_membership {
    const void *group;
    struct rl_reader *reader; /* of the group; NULL: one of its own */
    uint32_t index;
    const char *name;
    uint64_t set; /* fingerprint of all the names */
};

/* The options have been read. */
int rl_client_open(const redlock_options *o, const struct rl_membership *membership,
                   redlock **out);
bool rl_same_place(const struct rl_url *a, const struct rl_url *b);

#endif
