/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines for the operator, on standard error: the one file of the daemon that writes to it.
 *
 * The daemon renews locks and waits for no reader: a line that standard error does not take at once is
 * dropped, and the next that is taken says how many were.
 */
#ifndef REDLOCKD_SYSTEM_LOG_H
#define REDLOCKD_SYSTEM_LOG_H

#include <stdbool.h>
#include <stddef.h>

/* One line, without its newline; cut at 1000 bytes. Text of clients never goes in here. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* Whole lines of at most 4096 bytes as they are. False: dropped, and not counted here. */
bool log_whole(const char *text, size_t size);

#endif
