/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of elected masters; nemesis.c has the others. */
#ifndef REDLOCK_CHAOS_OVERTHROW_H
#define REDLOCK_CHAOS_OVERTHROW_H

#include <stddef.h>

struct rig;
struct fault;

/* Which member of the group it hits, or has hit; -1: there is nothing to be done. */
int overthrow_begin(struct rig *r, const struct fault *f, size_t number);
int overthrow_end(struct rig *r, const struct fault *f, size_t number);

#endif
