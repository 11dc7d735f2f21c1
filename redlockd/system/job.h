/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the data of every job of the library begins with: what was requested, and so for whom
 * its answer is.
 */
#ifndef REDLOCKD_SYSTEM_JOB_H
#define REDLOCKD_SYSTEM_JOB_H

enum job_type {
    JOB_RELEASE,        /* struct lease_request: a release by its tag */
    JOB_LOOK,           /* struct lease_held: is it still there? */
    JOB_LOCK,           /* struct view_request: of a client about a lock */
    JOB_BREAK,          /* struct view_request */
    JOB_LIST,           /* struct view_request */
    JOB_LEADER,         /* struct leader_watch */
    JOB_ONCE,           /* struct once_run: also the data of its lock */
    JOB_OVERVIEW_NAMES, /* struct overview */
    JOB_OVERVIEW_LOCK,  /* struct overview_lock */
};

#endif
