/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that waits for this one to die. The kernel kills a child whose parent has been
 * killed, but not the child's children: they would go on without a lock. So another
 * process, which no signal to our group reaches, holds one end of a pipe; when the other end
 * closes without a word, it kills the group of the command.
 */
#ifndef CLI_REAPER_H
#define CLI_REAPER_H

/* Starts it, before process_tree_adopt_orphans(). Returns the descriptor to write to it, or
 * -1: go without. */
int reaper_start(void);

/* In the child, before it executes anything: this group is to go with the parent. */
void reaper_add_group(int fd);

/* The command has ended, and its process group may be gone: it must not be killed any more. */
void reaper_dismiss(int fd);

#endif
