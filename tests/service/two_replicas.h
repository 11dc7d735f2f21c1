/* SPDX-License-Identifier: BSD-2-Clause */
/* Three nodes, one or two replicas, and leases of the lock "job". */
#ifndef REDLOCK_TESTS_TWO_REPLICAS_H
#define REDLOCK_TESTS_TWO_REPLICAS_H

#include "lease_rig.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY "redlock:job"
#define SOON_MS 30000 /* bounds waits for what takes milliseconds */

extern struct cluster cluster;
extern struct replica one, two;

void begin_one(void);
void begin_two(void);
void end_one(void);
void end_two(void);

/* Until the key is on so many nodes, while the loop turns. */
void await_nodes(struct replica *replica, int wanted);

/* The grant of this id for 30 s. */
const char *take_lease(struct replica *replica, const char *id);

/* A client that has sent a PUT which waits. */
int wait_for_lease(struct replica *replica, const char *id);

#endif
