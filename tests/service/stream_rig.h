/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of streams share: three nodes, one or two replicas, and streams that hold the lock "job". */
#ifndef REDLOCK_TESTS_STREAM_RIG_H
#define REDLOCK_TESTS_STREAM_RIG_H

#include "lease_rig.h"
#include "leases/stream.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY "redlock:job"
#define SOON_MS 10000 /* bounds waits for what takes milliseconds */

extern struct cluster cluster;
extern struct replica one, two;

/* What SIOCOUTQ says, instead of the kernel; -1: what the kernel says. */
extern int unacknowledged;

void begin_one(void);
void begin_two(void);
void end_one(void);
void end_two(void);

/* Until the key is on so many nodes, while the loop turns. */
void await_nodes(struct replica *replica, int wanted);

/* The first stream of the replica is renewed now, if its client is seen to live. */
void renew_now(struct replica *replica);

/* A stream on the unix socket of the first replica that holds the lock for 30 s at a time. */
int hold(const char *id);
/* The same through TCP; grant is what it was told. */
int hold_tcp(const char *id, char grant[LEASE_GRANT_MAX + 1]);

/* A stream that comes back to the replica; what it was told with `granted`. */
const char *come_back(struct replica *replica, const char *id, const char *grant, int *fd);

#endif
