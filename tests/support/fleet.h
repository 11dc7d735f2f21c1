/* SPDX-License-Identifier: BSD-2-Clause */
/* Several quorums of real servers, and a client of all of them. */
#ifndef REDLOCK_TESTS_FLEET_H
#define REDLOCK_TESTS_FLEET_H

#include "servers.h"

enum { FLEET_MAX = 3 };

struct fleet {
    size_t count;
    struct cluster cluster[FLEET_MAX];
    redlock_quorum quorum[FLEET_MAX]; /* a, b, c */
};

void fleet_start(struct fleet *f, size_t count, size_t nodes);

/* Patient, as client_options(). */
redlock_options fleet_options(const struct fleet *f);
redlock *fleet_open(const struct fleet *f, uint32_t flags);

/* Every node of every quorum is connected. */
redlock *fleet_open_warm(const struct fleet *f, uint32_t flags);

/* All nodes of all quorums. */
void fleet_each(struct fleet *f, void (*what)(struct server *));

/*
 * A name that lives in the quorum, by a computation of its own; the `number`-th of them, from
 * 0. Valid for 8 calls.
 */
const char *fleet_name(const struct fleet *f, size_t quorum, int number);

/*
 * On how many nodes of which quorum `key` is: fails unless on `wanted` of `quorum`, and on no
 * other.
 */
void fleet_check_only(const struct fleet *f, size_t quorum, const char *key, int wanted);

#endif
