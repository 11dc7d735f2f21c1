/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replicas of the daemon in one process and one thread, on real servers: a test sends requests,
 * lets the loop of a replica turn, and can stop between any two steps of it. Two replicas share
 * nothing but the servers.
 */
#ifndef REDLOCK_TESTS_LEASE_RIG_H
#define REDLOCK_TESTS_LEASE_RIG_H

#include "rig.h"

#include "leases/leases.h"
#include "life/library.h"
#include "life/routes.h"
#include "servers.h"

#define RIG_LISTENER_TCP 1 /* the number of the loopback port */

struct replica {
    struct rig rig;
    struct leases leases;
    struct access access;
    struct audit audit; /* writes nothing */
    struct classes classes;
    struct journal journal;
    struct routes routes;
    struct library library;
    int port; /* loopback; 0 until stream_open_tcp() */
};

/* `name` is that of its socket. Its connections to the nodes are up. */
void replica_open(struct replica *replica, const char *name, const struct cluster *cluster);
void replica_close(struct replica *replica);

/* The bytes of a request for the lock "job"; grant and body may be NULL. Valid for 8 calls. */
const char *lease_request(const char *method, const char *id, const char *grant,
                          const char *body);

/* The same for a stream: PUT with Accept: text/event-stream. */
const char *lease_stream_request(const char *id, const char *grant, const char *body);

/* A connection that has sent it, through the unix socket or through TCP. */
int stream_open(struct replica *replica, const char *request);
int stream_open_tcp(struct replica *replica, const char *request);

/* The last event of this name among what came, from its name on; fails if there is none. */
const char *stream_event(const char *text, const char *name);

/* Sends it on a connection of its own, waits for the answer, and closes. Valid
 * until the next. */
const char *lease_ask(struct replica *replica, const char *request);

/* The text of a member of an answer; valid for 8 calls. Empty: it has none. */
const char *lease_member(const char *answer, const char *key);
long long lease_number(const char *answer, const char *key);

/* The loop of a replica turns for so long. */
void replica_run(struct replica *replica, int64_t ms);

#endif
