/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that a command has started, whatever process group or session it went to. A
 * process whose parent ends is given to the nearest ancestor that adopts orphans: this one. So
 * all that a command leaves behind becomes a child of ours, where it can be found.
 */
#ifndef CLI_PROCESS_TREE_H
#define CLI_PROCESS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Adopts orphans from now on. Children that were started before are covered, too. */
void process_tree_adopt_orphans(void);

/*
 * Sends KILL to every child of this process. Their children are orphans then and found by the
 * next call: to be repeated until process_tree_is_gone(). No other process can be hit, because
 * the number of a child is not given to another process before it has been waited for.
 */
void process_tree_kill(void);

/* Forgets the orphans that have ended; `except` is left for child_check() to wait for. */
void process_tree_reap(pid_t except);

/* There is no child of this process left, and so no process that one of them started. */
bool process_tree_is_gone(void);

#endif
