/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A crowd: many processes, each with a client of its own, that want one name again and again.
 * Every acquisition is recorded in shared memory with the moment it was requested, the moment
 * it was certainly in the queue of a majority, the grant and the release, all on
 * CLOCK_BOOTTIME.
 */
#ifndef REDLOCK_TESTS_CROWD_H
#define REDLOCK_TESTS_CROWD_H

#include "servers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CROWD_MAX = 64 };

/* What is wrong with the last node of the cluster, all the time. */
enum trouble { ALL_UP, ONE_KILLED, ONE_HUNG };

const char *trouble_text(enum trouble trouble);
void trouble_begin(struct cluster *c, enum trouble trouble);
/* The nodes that answer: the cluster without a last one that is in trouble. */
struct cluster trouble_rest(const struct cluster *c, enum trouble trouble);

struct crowd_terms {
    int processes;
    int acquisitions; /* of all together */
    uint32_t flags;   /* of the request */
    enum trouble trouble;
    int64_t limit_ms; /* a process not served by then never will be */
};

struct crowd_record {
    int who;
    bool served;        /* false: still waiting when the crowd was sent home */
    int64_t asked_ns;   /* before the call */
    int64_t queued_ns;  /* seen in the queue of a majority; 0: never */
    int64_t granted_ns; /* seen as granted; or when it was sent home */
    int64_t ended_ns;   /* before the release */
};

struct crowd {
    struct crowd_terms terms;
    _Atomic int ready, go, stop;
    _Atomic int served; /* acquisitions so far */
    _Atomic int count;  /* records */
    int capacity;
    int64_t took_ms;
    long long requests; /* what clients sent to the nodes, at most */
    long long commands; /* what the nodes executed, within scripts too */
    struct crowd_record record[];
};

/* Runs them all on a cluster of five; prints the figures. */
struct crowd *crowd_run(const struct crowd_terms *terms);

/*
 * Pairs in which a process that began after another was in the queue of a majority was served
 * before it.
 */
int crowd_bypasses(const struct crowd *crowd);

/* How often the least and the most served one had their turn. */
void crowd_shares(const struct crowd *crowd, int *least, int *most);

/* The most acquisitions of others during one wait. */
int crowd_most_others(const struct crowd *crowd);

/* The longest time without a holder between two acquisitions, though processes wanted it. */
int64_t crowd_longest_idle_ms(const struct crowd *crowd);

/* The longest wait for one acquisition, those that failed included. */
int64_t crowd_longest_ms(const struct crowd *crowd);

#endif
