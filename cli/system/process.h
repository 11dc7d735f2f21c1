/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process is for the system, from its first moment on. */
#ifndef CLI_PROCESS_H
#define CLI_PROCESS_H

/*
 * To be called first, with the arguments of main(). Standard input, output and error are there
 * then, so that no connection ends up where a program expects one of them; and where the
 * command is linked statically, names are looked up without modules that have to be loaded.
 */
void process_begin(int argc, char **argv);

/*
 * What ps(1) shows: a helper must not look like a second `redlock run`. Overwrites the
 * arguments with `title`, cut to the room that they have: only for a process that does not need
 * them any more.
 */
void process_set_title(const char *title);

#endif
