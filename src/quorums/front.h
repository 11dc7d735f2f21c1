/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several quorums behind one client. What the caller has is a *front*: it owns an ordinary
 * client per quorum, its *members*, and nothing else. A call about one lock goes straight to
 * the member where that lives (core/rendezvous.h), without a mutex of the front: members share
 * nothing, which is why they scale. Handles belong to their member, and know no front.
 *
 * With REDLOCK_THREAD each member has its thread. Without, the front has an epoll set with the
 * members' descriptors in it. All that is written here stays as it is between open and close,
 * so it needs no lock. Members share the reader of the front (drive/events.h).
 */
#ifndef RL_QUORUMS_FRONT_H
#define RL_QUORUMS_FRONT_H

#include "client/ask.h"
#include "drive/client.h"

struct rl_front {
    redlock *client; /* what the caller has: only prefix, stamp, reader and front are used */
    int epoll_fd;    /* of the members' descriptors; -1: they have threads */
    size_t count;
    redlock *member[REDLOCK_QUORUMS_MAX];
    uint64_t seed[REDLOCK_QUORUMS_MAX]; /* rl_rendezvous_quorum() of its name */
};

/* front_open.c */
int rl_front_check(const redlock_options *o);
uint64_t rl_front_fingerprint(const redlock_options *o);
int rl_front_open(const redlock_options *o, redlock **out);

/* front.c: what a public call does for a front */
void rl_front_close(redlock *client);
int rl_front_fd(redlock *client);
int rl_front_next(redlock *client, const redlock_event **event, int timeout_ms);

/*
 * front_wait.c: one turn of a member; is_read: by redlock_next(). False: another thread drives
 * it, or it is being closed
 */
bool rl_front_serve(redlock *member, bool is_read);
/*
 * One of every member without a driver, so that nothing is asked of a connection that has
 * ended.
 */
void rl_front_catch_up(const struct rl_front *front);
/* redlock.wait of a member: the others are served meanwhile */
int rl_front_wait(redlock *member, struct epoll_event *events, int timeout_ms);

/* home.c: the member where a key lives */
size_t rl_front_home(const struct rl_front *front, const char *name, size_t name_size);
/* Turn a front into the member that a request, or a question, is for. A member by itself takes no
 * request; an ordinary client answers questions itself. */
int rl_front_route(redlock **client, const char *name, const redlock_request *request);
int rl_front_route_question(redlock **client, const char *name);
int rl_front_quorum_of(redlock *client, const char *name);
redlock *rl_front_member(redlock *client, size_t index);
int rl_front_node(redlock *client, size_t index, redlock_node_info *out);

#endif
