/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the data of every job of the library begins with: what was requested, and so for whom
 * its answer is.
 */
#ifndef REDLOCKD_SYSTEM_ASKED_H
#define REDLOCKD_SYSTEM_ASKED_H

enum asked {
    ASKED_RELEASE,      /* struct lease_request: a release by its tag */
    ASKED_LOOK,         /* struct lease_held: is it still there? */
    ASKED_LOCK,         /* struct question: of a client about a lock */
    ASKED_BREAK,        /* struct question */
    ASKED_LIST,         /* struct question */
    ASKED_LEADER,       /* struct leader_watch */
    ASKED_ONCE,         /* struct once_run: also the data of its lock */
    ASKED_SURVEY_NAMES, /* struct survey */
    ASKED_SURVEY_LOCK,  /* struct survey_lock */
};

#endif
