/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/entropy.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

int rl_entropy_draw(void *data, void *bytes, size_t size)
{
    struct rl_entropy *entropy = data;
    uint8_t *at;

    assert(size <= sizeof entropy->pool);
    if (entropy->left < size) {
        /* As much as the batch before still needed from here on; a larger one doubles
         * what it has. */
        size_t wanted = entropy->expected > entropy->drawn ? entropy->expected - entropy->drawn
                                                           : entropy->drawn;
        size_t have = 0;

        if (wanted < size)
            wanted = size;
        if (wanted > sizeof entropy->pool)
            wanted = sizeof entropy->pool;
        entropy->left = 0;
        while (have < wanted) {
            ssize_t got = getrandom(entropy->pool + have, wanted - have, 0);

            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return -1;
            have += (size_t)got;
        }
        entropy->left = wanted;
    }
    entropy->drawn += size;
    entropy->left -= size;
    at = entropy->pool + entropy->left;
    memcpy(bytes, at, size);
    explicit_bzero(at, size);
    return 0;
}

void rl_entropy_forget(struct rl_entropy *entropy)
{
    if (entropy->drawn == 0)
        return;
    explicit_bzero(entropy->pool, entropy->left);
    entropy->left = 0;
    entropy->expected = entropy->drawn;
    entropy->drawn = 0;
}

int rl_entropy_init(struct rl_entropy *entropy)
{
    entropy->drawn = entropy->expected = entropy->left = 0;
    if (rl_entropy_draw(entropy, &entropy->jitter, sizeof entropy->jitter) < 0)
        return -1;
    entropy->drawn = 0;
    return 0;
}

/* splitmix64: any state is a good one. */
uint32_t rl_entropy_jitter(void *data)
{
    struct rl_entropy *entropy = data;
    uint64_t z = entropy->jitter += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z ^ (z >> 31));
}
