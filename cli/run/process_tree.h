/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that a command has started, whatever process group or session it went to. A process
 * whose parent ends is given to the nearest ancestor that asked for orphans: this one. So all
 * that a command leaves behind becomes a child of ours, where it can be found.
 */
#ifndef CLI_FAMILY_H
#define CLI_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

/* Asks for the orphans. Children that were started before are covered, too. */
void family_begin(void);

/*
 * Sends KILL to every child of this process. Their children are orphans then and found by the
 * next call: to be repeated until family_gone(). Nobody else can be hit, because the number of a
 * child is not given to another process before it has been waited for.
 */
void family_kill(void);

/* Forgets the orphans that have ended; `except` is left to be waited for by whoever wants to. */
void family_reap(pid_t except);

/* There is no child of this process left, and so no process that one of them started. */
bool family_gone(void);

#endif
