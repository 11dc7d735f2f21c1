/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A TCP proxy in front of a real server that can delay, swallow, trickle and cut, but never
 * reorders: what TCP promises, it keeps. Its switches may be turned at any time.
 */
#ifndef REDLOCK_TESTS_PROXY_H
#define REDLOCK_TESTS_PROXY_H

#include "servers.h"

#include <stdatomic.h>
#include <sys/types.h>

struct proxy_switches {
    _Atomic int up_delay_ms;   /* requests arrive this much later */
    _Atomic int down_delay_ms; /* replies arrive this much later */
    _Atomic int swallow;       /* replies are read and thrown away */
    _Atomic int hold;          /* replies are kept back until this is 0 again */
    _Atomic int hold_up;       /* the same for requests */
    _Atomic int trickle;       /* replies go out one byte at a time */
    _Atomic int cut_after;     /* > 0: cut each connection after this many reply bytes */
    _Atomic int cut;           /* raise it to cut every connection once */
    _Atomic int cuts_done;     /* follows `cut` */
    _Atomic int inject;        /* raise it to send "+OK" to every client once, unasked */
    _Atomic int connections;   /* accepted so far */
    _Atomic long long up_bytes;
    _Atomic long long down_bytes; /* reply bytes seen, swallowed or not */
};

struct proxy {
    struct port port;
    int target;   /* port */
    int listener; /* in the helper */
    pid_t pid;
    struct proxy_switches *switches;
    char url[64];
};

void proxy_start(struct proxy *p, int target_port);

/* In front of one node, or of the first `count` nodes: the URLs of the cluster lead there. */
void proxy_before(struct proxy *p, struct cluster *c, size_t node);
void proxies_start(struct proxy *p, struct cluster *c, size_t count);

void proxy_stop(struct proxy *p);

/* Cuts every connection and waits until that is done. */
void proxy_cut(struct proxy *p);

#endif
