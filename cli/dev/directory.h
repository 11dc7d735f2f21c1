/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a local quorum: logs, the control socket, nothing that must last. It belongs
 * to this user, no other user can write to it, and what is in it is opened from its descriptor
 * without following links.
 */
#ifndef CLI_DEV_DIRECTORY_H
#define CLI_DEV_DIRECTORY_H

#include <stdio.h>

#include "dev/quorum.h"

/* Makes it, or takes an empty one. Returns 0 or an exit status, after printing why. */
int dev_directory_make(struct dev_quorum *q, const char *directory);

/* The name of a server's log: "node-1.log". */
#define DEV_FILE_MAX 32
void dev_directory_log_name(const struct dev_server *s, char out[DEV_FILE_MAX]);

/* The log of a server, to append to: a new file, or the one that was made here before. Returns
 * -1 with errno, EEXIST if something else has its name. */
int dev_directory_open_log(const struct dev_quorum *q, const struct dev_server *s);

/* The same log, to read from its beginning; NULL if there is none. */
FILE *dev_directory_read_log(const struct dev_quorum *q, const struct dev_server *s);

/*
 * The directory in it where the servers of a group keep their configuration, which they
 * rewrite, and what else they write.
 */
void dev_directory_state_path(const struct dev_quorum *q, char out[DEV_PATH_MAX]);

/* Makes a server's configuration file there. Returns 0 or errno. */
int dev_directory_write_config(const struct dev_quorum *q, const struct dev_server *s,
                               const char *text);

/* Makes another file there. Returns as above. */
int dev_directory_write_state(const struct dev_quorum *q, const char *name, const char *text);

/* The path of that file. */
void dev_directory_config_path(const struct dev_quorum *q, const struct dev_server *s,
                               char out[DEV_PATH_MAX]);

/* Removes what this process made: all of it, or in a directory that was there,
 * its own files. */
void dev_directory_remove(struct dev_quorum *q);

#endif
