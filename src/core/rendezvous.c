/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/rendezvous.h"

#include <string.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct rl_slice rl_rendezvous_tag(struct rl_slice key)
{
    const char *open = memchr(key.data, '{', key.size);
    const char *close;

    if (!open)
        return key;
    open++;
    close = memchr(open, '}', key.size - (size_t)(open - key.data));
    if (!close || close == open)
        return key;
    return (struct rl_slice){open, (size_t)(close - open)};
}

uint64_t rl_rendezvous_quorum(struct rl_slice name)
{
    return mix(rl_slice_hash(name));
}

uint64_t rl_rendezvous_key(struct rl_slice key)
{
    return rl_slice_hash(rl_rendezvous_tag(key));
}

uint64_t rl_rendezvous_weight(uint64_t quorum, uint64_t key)
{
    return mix(key ^ quorum);
}
