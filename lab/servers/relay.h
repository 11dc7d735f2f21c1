/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A relay in front of a real server that understands requests: one at a time per connection,
 * each answered by the server or, where it was not passed on, by an error of the relay's own.
 * It can lose acquires or the answers of scripts, and it can hide from its clients that the
 * server went away and came back, as some proxies do.
 */
#ifndef REDLOCK_TESTS_RELAY_H
#define REDLOCK_TESTS_RELAY_H

#include "ports.h"

#include <stdatomic.h>
#include <sys/types.h>

struct relay_switches {
    _Atomic int drop_percent; /* of SET ... NX and of acquire scripts: never reach the server */
    _Atomic int
        lose_percent; /* of scripts: executed, but the connection ends before the answer */
    _Atomic int keep; /* client connections outlive the server's */
    _Atomic int cut;  /* raise it: each connection ends at its next request */
    _Atomic int dropped, lost;
    _Atomic int hidden; /* connections to the server that were replaced unseen */
};

struct relay {
    struct port port;
    int target;        /* port */
    unsigned int seed; /* of the drops */
    int listener;      /* in the helper */
    pid_t pid;
    struct relay_switches *switches;
    char url[64];
};

void relay_start(struct relay *r, int target_port, unsigned int seed);
void relay_stop(struct relay *r);

#endif
