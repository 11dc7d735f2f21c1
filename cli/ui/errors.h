/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard error: the one file of the command that writes to it, checked by
 * tests/cli/errors.sh.
 *
 * A process that holds a lock must not wait for a reader that stops reading, so
 * held_lock_acquire() detaches the stream first: from then on text goes through a sink
 * (io/sink.h). Text for which that has no room is dropped, and a line reports it as soon as
 * there is room again.
 */
#ifndef CLI_ERRORS_H
#define CLI_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The stream of everything that is meant for standard error. Line-buffered. */
FILE *errors_stream(void);

/*
 * From now on writing to the stream waits for nothing. Returns 0 or errno.
 */
int errors_detach(void);

/*
 * Waits until everything has been written, and writes directly again. Only for a process that
 * holds no lock any more; it can be interrupted by TERM, INT, HUP and QUIT.
 */
void errors_drain(void);

/* Draws the live line of a terminal anew, cut to its width; skipped while the
 * last is unread. */
void errors_draw(const char *line);

/* Removes the live line, if there is one. */
void errors_erase(void);

bool errors_are_on_terminal(void);
/* And can a line be drawn there? Not on a dumb terminal. */
bool errors_can_draw(void);
size_t errors_columns(void);
/* Of a line: as many as it needs where there is no terminal. */
size_t errors_line_columns(void);

#endif
