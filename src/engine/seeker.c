/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/seeker.h"

#include <stdlib.h>

struct rl_seeker *rl_seeker_new(struct rl_seekers *seekers)
{
    struct rl_seeker *seeker = seekers->free;

    if (seeker) {
        seekers->free = seeker->next_free;
        seekers->free_count--;
    } else {
        seeker = malloc(sizeof *seeker);
        if (!seeker)
            return NULL;
    }
    seeker->survey = NULL;
    seeker->line = NULL;
    seeker->line_next = seeker->line_previous = NULL;
    seeker->waiter = 0;
    seeker->turn = seeker->client_holds = seeker->follows = false;
    return seeker;
}

void rl_seeker_give_back(struct rl_seekers *seekers, struct rl_seeker *seeker)
{
    if (!seeker)
        return;
    if (seekers->free_count >= RL_SEEKERS_KEPT) {
        free(seeker);
        return;
    }
    seeker->next_free = seekers->free;
    seekers->free = seeker;
    seekers->free_count++;
}

void rl_seekers_free(struct rl_seekers *seekers)
{
    while (seekers->free) {
        struct rl_seeker *seeker = seekers->free;

        seekers->free = seeker->next_free;
        free(seeker);
    }
    seekers->free_count = 0;
}
