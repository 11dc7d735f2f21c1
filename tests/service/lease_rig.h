/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A replica of the daemon in one process and one thread, on real servers: a test sends requests
 * for the lock "job", lets the loop turn, and can stop between any two steps of it, for what
 * tests of the program (daemon.py) cannot bring about.
 */
#ifndef REDLOCK_TESTS_LEASE_RIG_H
#define REDLOCK_TESTS_LEASE_RIG_H

#include "rig.h"

#include "leases/carry.h"
#include "leases/leases.h"
#include "life/library.h"
#include "life/routes.h"
#include "servers.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY "redlock:job"
#define SOON_MS 30000 /* bounds waits for what takes milliseconds */

struct replica {
    struct rig *rig;
    struct leases leases;
    struct access access;
    struct audit audit; /* writes nothing */
    struct classes classes;
    struct journal journal;
    struct routes routes;
    struct library library;
    int port; /* loopback */
};

extern struct cluster cluster; /* of three nodes */
extern struct replica one;

/* Its connections to the nodes are up. It ends with the case. */
void replica_begin(void);

/* Its loop turns for so long. */
void replica_run(int64_t ms);

/* Until the key is on so many nodes, while the loop turns. */
void await_nodes(int wanted);

/* The bytes of a request; grant and body may be NULL. Valid for 8 calls. */
const char *lease_request(const char *method, const char *id, const char *grant,
                          const char *body);
/* The same for a stream: PUT with Accept: text/event-stream. */
const char *lease_stream_request(const char *id, const char *grant, const char *body);

/* Sends it on a connection of its own, waits for the answer, and closes. Valid
 * until the next. */
const char *lease_ask(const char *request);

/* A connection through TCP that has sent it. */
int stream_open_tcp(const char *request);

/* A stream that holds the lock for 30 s at a time, through the unix socket. */
int hold(void);
/* The same through TCP; grant is what it was sent. */
int hold_tcp(char grant[LEASE_GRANT_MAX + 1]);

/* The first stream; NULL: there is none. */
struct lease_request *first_stream(void);

/* The first stream is renewed now, if its client is seen to live. */
void renew_now(void);

/* The last event of this name among what came, from its name on; fails if there is none. */
const char *stream_event(const char *text, const char *name);

/* The text of a member of an answer; valid for 8 calls. Empty: it has none. */
const char *lease_member(const char *answer, const char *key);
long long lease_number(const char *answer, const char *key);

#endif
