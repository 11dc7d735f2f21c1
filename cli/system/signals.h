/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals as events. A subcommand that has something to clean up takes all signals: they are
 * blocked and read from a descriptor. What was there before is given back to children.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

/* A reader that goes away must not kill a process that holds a lock. Called once,
 * at the start. */
void signals_ignore_pipe(void);

/* Takes all signals, before any thread exists. Returns the descriptor to watch, or -1 after
 * printing why. */
int signals_take(void);

/* The next signal that has come, or 0. Those that this process sent itself are left out. */
int signals_next(void);

/* The next that would end this process, or 0. Stops it meanwhile for those that
 * need that. */
int signals_next_fatal(void);

/* In a child, before exec: mask and dispositions as this process found them. */
void signals_give_back(void);

/* Stops this process as `signal` (SIGTSTP, SIGTTIN, SIGTTOU) does by default. Returns when it
 * goes on, or at once in an orphaned process group, which no shell would continue. */
void signals_stop_self(int signal);

/* Ends this process by the signal. */
void signals_die(int signal);

/*
 * Called with the exit status when all is done. A process that Ctrl-C ended has to end by that
 * signal, or the shell script around it would go on; any other status is returned.
 */
int signals_finish(int status);

/* The child had the terminal and Ctrl-C ended it: our own group has not got the signal yet. */
void signals_child_interrupted(void);

/* Would this signal, left alone, end or stop the process? */
bool signals_is_fatal(int signal);
bool signals_is_stop(int signal);

#endif
