/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of streams share: streams that hold the lock "job". */
#ifndef REDLOCK_TESTS_STREAM_RIG_H
#define REDLOCK_TESTS_STREAM_RIG_H

#include "leases/carry.h"
#include "two_replicas.h"

/* What SIOCOUTQ says, instead of the kernel; -1: what the kernel says. */
extern int unacknowledged;

/* The first stream of the replica; NULL: there is none. */
struct lease_request *first_stream(const struct replica *replica);

/* The first stream of the replica is renewed now, if its client is seen to live. */
void renew_now(struct replica *replica);

/* A stream on the unix socket of the first replica that holds the lock for 30 s at a time. */
int hold(const char *id);
/* The same through TCP; grant is what it was told. */
int hold_tcp(const char *id, char grant[LEASE_GRANT_MAX + 1]);

/* A stream that comes back to the replica; what it was told with `granted`. */
const char *come_back(struct replica *replica, const char *id, const char *grant, int *fd);

#endif
