/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that decide which servers are asked, or that hold a secret: what other users may do. */
#ifndef RL_CONFIG_TRUST_H
#define RL_CONFIG_TRUST_H

#include "config/config.h"

/*
 * Judges the open file `path` by its owner and mode; `what` is what it is to us ("the
 * configuration file"). INVAL if a user other than root and this one can write to it. Only regular
 * files are judged: a pipe or a terminal has no mode that would mean anything.
 */
int rl_trust_check(const char *what, const char *path, int fd);

/*
 * Warns if other users can read the file, in which `secret` stands ("a password"). A file of
 * root that its group can read is the usual way to hand a secret to a service.
 */
void rl_trust_warn(const struct rl_config *c, const char *secret, const char *path, int fd);

#endif
