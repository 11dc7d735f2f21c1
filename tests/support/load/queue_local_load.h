/* SPDX-License-Identifier: BSD-2-Clause */
/* Many waiters of one client for one name: the places they take and the order of service. */
#ifndef REDLOCK_TESTS_QUEUE_LOCAL_LOAD_H
#define REDLOCK_TESTS_QUEUE_LOCAL_LOAD_H

struct local_queue {
    int longest;   /* queue that was seen on any node */
    int served;    /* waiters */
    int disorders; /* waiters that were served before one that had called earlier */
};

struct local_queue local_queue_run(int waiters);

#endif
