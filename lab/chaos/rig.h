/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rig: servers, the links to them, the register process and the workers, as one process
 * (the nemesis) starts, breaks and ends them. What workers must know while they run is in
 * `board`, memory that all share; everything else was there before they were forked.
 */
#ifndef REDLOCK_CHAOS_RIG_H
#define REDLOCK_CHAOS_RIG_H

#include "group.h"
#include "names.h"
#include "network.h"
#include "proxy.h"
#include "replicas.h"
#include "schedule.h"
#include "servers.h"
#include "standing.h"

#include <stdatomic.h>
#include <stddef.h>

struct board {
    _Atomic int phase;                /* enum phase */
    _Atomic uint32_t holds;           /* acquisitions numbered so far */
    _Atomic int stop_writer[WORKERS]; /* 1: stop yourself between looking and writing */
    _Atomic int round;                /* of a soak; other runs have one */
    _Atomic int last_round;           /* 1: workers end after this one */
    _Atomic int done[WORKERS];        /* rounds that the worker is through with */
};

struct worker {
    pid_t pid; /* 0: none */
    int life;
};

struct rig {
    struct schedule *schedule;
    struct cluster cluster;
    struct proxy proxy[NODES];               /* workers connect through these, */
    struct network network;                  /* or over real links */
    struct group group;                      /* or there is one node, of electors, */
    struct group_term term[GROUP_VOTES_MAX]; /* and this is what they said last */
    int64_t term_asked_ns;
    int64_t set_asked_ns;
    bool set_missed;         /* the master of a vote knows no set */
    int64_t vote_changed_ns; /* when a vote last had a new term, or missed its set */
    pid_t initialiser;       /* makes a new one; 0: none */
    pid_t registers;
    char register_path[96];
    int history;              /* descriptor, append only */
    struct replicas replicas; /* of the service; none in other runs */
    struct board *board;
    struct standing standing; /* commands that never end; none in other runs */
    struct worker worker[WORKERS];
    bool frozen[NODES];
    int64_t start_ns;
    int64_t late_ms; /* the worst that the machine made the nemesis oversleep */
};

void rig_start(struct rig *r, const char *history_path);

/* Carries the schedule out, then the quiet phase, until every worker has ended
 * or is through. */
void rig_run(struct rig *r);
void rig_stop(struct rig *r);

/* The next round of a soak: an empty history, another schedule, new registers,
 * the same processes. */
void rig_next_round(struct rig *r);

/* For the nemesis. */
bool rig_is_networked(const struct rig *r, int node);
void rig_launch(struct rig *r, int node); /* its server */
void rig_start_worker(struct rig *r, int index);
void rig_reap_worker(struct rig *r, int index);
void fault_begin(struct rig *r, const struct fault *f, size_t number);
void fault_go_on(struct rig *r, const struct fault *f); /* every turn in between */
void fault_end(struct rig *r, const struct fault *f, size_t number);

/* Of elected masters: which member of the group it hits, or has hit; -1: nothing to be done. */
int overthrow_begin(struct rig *r, const struct fault *f, size_t number);
int overthrow_end(struct rig *r, const struct fault *f, size_t number);

/* A worker: locks, renews, waits and writes through the public header alone, and notes it. */
struct worker_job {
    struct rig *rig;
    int index;
};

/* In a process of its own, for helper_start(). Returns when the quiet phase is done. */
void worker_run(void *job);

#endif
