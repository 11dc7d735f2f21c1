/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void refill(struct rl_entropy *entropy)
{
    size_t have = 0;

    while (have < sizeof entropy->pool) {
        ssize_t got = getrandom(entropy->pool + have, sizeof entropy->pool - have, 0);

        if (got > 0)
            have += (size_t)got;
        else if (errno != EINTR)
            /* No kernel this runs on lacks getrandom; a guessable value is no lock at all. */
            abort();
    }
    entropy->left = have;
}

void rl_entropy_draw(void *data, void *bytes, size_t size)
{
    struct rl_entropy *entropy = data;
    uint8_t *at;

    if (entropy->left < size)
        refill(entropy);
    entropy->left -= size;
    at = entropy->pool + entropy->left;
    memcpy(bytes, at, size);
    explicit_bzero(at, size);
}
