/* SPDX-License-Identifier: BSD-2-Clause */
/* A question to the operator before something that cannot be taken back. */
#ifndef CLI_QUESTION_H
#define CLI_QUESTION_H

/*
 * Asks on standard error and reads a line from standard input. Returns 0 for y or yes, else an
 * exit status after saying that nothing was changed.
 */
int question_confirm(const char *question);

#endif
