/* SPDX-License-Identifier: BSD-2-Clause */
/* What ps(1) shows of this process: a helper must not look like a second `redlock run`. */
#ifndef CLI_TITLE_H
#define CLI_TITLE_H

/* To be called once, with the arguments of main(). */
void title_keep(int argc, char **argv);

/* Overwrites the arguments with `title`, cut to the room that they have: only for a process
 * that does not need them any more. */
void title_set(const char *title);

#endif
