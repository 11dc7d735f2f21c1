/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several quorums behind one client. What the caller has is a *front*: it owns an ordinary client
 * per quorum, its *members*, and nothing else. Whatever is about one lock goes straight to the
 * member where that lives (core/rendezvous.h), without the front's mutex or any other: members
 * share nothing, which is why they scale. Handles belong to their member, and know no front.
 *
 * With REDLOCK_THREAD each member has its thread. Without, the front has an epoll set with the
 * members' descriptors in it, which is what redlock_fd() answers. All that is written here stays
 * as it is between open and close, so it needs no lock.
 */
#ifndef RL_CLIENT_SPREAD_H
#define RL_CLIENT_SPREAD_H

#include "client/client.h"

struct rl_spread {
    redlock *front;
    int epoll_fd; /* of the members' descriptors; -1: they have threads */
    size_t count;
    redlock *member[REDLOCK_QUORUMS_MAX];
    uint64_t seed[REDLOCK_QUORUMS_MAX]; /* rl_rendezvous_quorum() of its name */
};

/* spread_open.c */
int rl_quorums_check(const redlock_options *o);
uint64_t rl_quorums_fingerprint(const redlock_options *o);
int rl_spread_open(const redlock_options *o, redlock **out);

/* spread.c: what a public call does for a front */
void rl_spread_close(redlock *front);
void rl_spread_free(struct rl_spread *spread);
int rl_spread_fd(redlock *front);
int rl_spread_process(redlock *front, int timeout_ms);
/* spread_wait.c: a wait for one member in which the others are served */
bool rl_spread_waits_for_all(const redlock *member, int timeout_ms);
int rl_spread_wait(redlock *member, struct epoll_event *events, int timeout_ms);

/* spread_ask.c */
int rl_spread_node(redlock *front, size_t index, redlock_node_info *out);
int rl_spread_each(redlock *front, int (*ask)(redlock *, redlock_report *),
                   redlock_report *report);
int rl_spread_list(redlock *front, redlock_name_fn *each, void *data);
int rl_spread_audit(redlock *front, int64_t ttl_ms, redlock_check_fn *each, void *data);

/* home.c: the member where a key lives */
size_t rl_spread_home(const struct rl_spread *spread, const char *name, size_t name_size);
int rl_spread_route(redlock **client, const char *name, const redlock_request *request);
int rl_spread_route_question(redlock **client, const char *name);

static inline bool rl_is_front(const redlock *client)
{
    return client && client->spread && client->spread->front == client;
}

/* Turns a front into the member that a request is for; any other client stays what it is. */
static inline int rl_find_home(redlock **client, const char *name,
                               const redlock_request *request)
{
    return *client && (*client)->spread ? rl_spread_route(client, name, request) : REDLOCK_OK;
}

#endif
