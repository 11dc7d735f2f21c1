/* SPDX-License-Identifier: BSD-2-Clause */
/* What the exit status of the command means; redlock(1) documents every number. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum exit_status {
    EXIT_NOT_HELD = 1,     /* status --held: some name is free */
    EXIT_UNHEALTHY = 1,    /* doctor: a check failed */
    EXIT_DECLINED = 1,     /* init, break: the user said no, or there was nothing to break */
    EXIT_USAGE = 64,       /* the command line is wrong */
    EXIT_UNAVAILABLE = 69, /* too few nodes could vote */
    EXIT_INTERNAL = 70,    /* memory, a system call, an output that cannot be written */
    EXIT_IN_USE = 73,      /* init: locks are held on the nodes */
    EXIT_BUSY = 75,        /* held by another; -E changes it */
    EXIT_LOST = 76,        /* the lock was not ours, or no longer ours */
    EXIT_AUTH = 77,        /* the nodes refused the credentials */
    EXIT_CONFIG = 78,      /* nodes, files or settings are wrong */
    EXIT_CANNOT_RUN = 126, /* the command exists and cannot be executed */
    EXIT_NOT_FOUND = 127,  /* there is no such command */
    EXIT_SIGNAL = 128,     /* plus the number of the signal */
};

/* The status for an enum redlock_error of a lock operation. */
int exit_status_of(int error);

/* The word that --json gives for a status when no enum redlock_error stands behind it. */
const char *exit_status_word(int status);

#endif
