/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines for the operator, on standard error: the one file of the daemon that writes to it.
 *
 * The daemon renews locks and waits for no reader: from log_begin() on no line is waited for
 * (io/sink.h). A line that finds no room is dropped, and the next that does shows how many
 * were.
 */
#ifndef REDLOCKD_SYSTEM_LOG_H
#define REDLOCKD_SYSTEM_LOG_H

/* Until then, and after the end, lines are written by the caller. 0, or -1: out of
 * memory or descriptors. */
int log_begin(void);
/* Waits for what is not written yet, but not for a reader that takes nothing. */
void log_end(void);

/* One line, without its newline; cut at 1000 bytes. Text of clients never goes in here. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* A descriptor of standard error for lines of others, or -1. */
int log_descriptor(void);

#endif
