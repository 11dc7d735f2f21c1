/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlockd --dev: the daemon with servers of its own, for trying it out.
 *
 * The process becomes `redlock dev -- redlockd --dev ...`, which starts the servers, then this
 * program again, and ends them when either of the two processes ends, whatever ended it. Inside
 * of a `redlock dev` (REDLOCK_DEV is set) the servers are there, and are used.
 *
 * It listens on a unix socket in the runtime directory, where this user may do everything, and
 * on a loopback port. That port is open to every user of the machine and to every page in a
 * browser, so it wants a bearer token, which is made anew each time and kept in a file that
 * only this user can read.
 */
#ifndef REDLOCKD_LIFE_DEV_H
#define REDLOCKD_LIFE_DEV_H

#include "settings/settings.h"

#define DEV_PATH_MAX 4096

struct dev {
    char socket[SETTINGS_TEXT_MAX]; /* its path; empty: not chosen yet */
    char token[DEV_PATH_MAX]; /* files: the token; as a header line for curl; its digest */
    char header[DEV_PATH_MAX];
    char digests[SETTINGS_TEXT_MAX];
    bool is_listening;                       /* the socket is ours to remove */
    bool has_token, has_header, has_digests; /* the same of these files */
};

/*
 * Adds listeners, rules and the token to the settings. Outside of `redlock dev` it does not
 * return unless that cannot be run. 0, or -1 with a sentence in why; dev_end() is due either
 * way.
 */
int dev_begin(struct dev *dev, struct settings *settings, char **argv, char *why,
              size_t why_size);

/* Once it listens: prints where it listens, and lines to try; `address` is that of
 * the loopback port. */
void dev_announce(struct dev *dev, const char *address);

/* Removes the files that it has made. */
void dev_end(const struct dev *dev);

#endif
