/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client's trace in a file (redlock_options.trace_file). Lines are gathered in memory and
 * appended with one write, so that several clients may use one file. What the file does not
 * take, because the disk or a pipe is full, is kept for the next write; lines for which there
 * is no room then are dropped and counted. No lock waits for them.
 */
#ifndef RL_DRIVE_TRACE_H
#define RL_DRIVE_TRACE_H

#include "core/trace.h"
#include "redlock.h"

/* For this client. OK, with client->engine.trace; or INVAL, NOMEM with rl_detail(). */
int rl_trace_open(redlock *client, const char *path);

/* Appends what has been gathered. */
void rl_trace_flush(struct rl_trace *trace);

/* The same, and the end; in a child of the process only the end. NULL is fine. */
void rl_trace_close(struct rl_trace *trace);

#endif
