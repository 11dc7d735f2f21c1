/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands that run for as long as a soak does, faults or not: two candidates for one office
 * (`redlock lead`, one of them through redlockd), and two that look on (`watch`, `top`). None
 * of them may end.
 */
#ifndef REDLOCK_CHAOS_STANDING_H
#define REDLOCK_CHAOS_STANDING_H

#include <sys/types.h>

struct cluster;

enum { STANDING = 4 };

struct standing {
    pid_t pid[STANDING]; /* 0: none */
    char nodes[2048];
    char service[128];
};

void standing_start(struct standing *s, const struct cluster *cluster, const char *replica);
void standing_stop(struct standing *s);

/* Fails if one has ended. */
void standing_look(struct standing *s);

#endif
