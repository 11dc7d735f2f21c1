/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings that can be used, and can hardly be meant: a rule for a token that does not exist, a
 * port that no client can prove itself on. For --check, the start and a reload; each is a line
 * of the log with `file:line:` in front.
 */
#ifndef REDLOCKD_LIFE_WARNINGS_H
#define REDLOCKD_LIFE_WARNINGS_H

#include "access/access.h"
#include "settings/settings.h"

/* How many were reported. `access` is what inputs_read() made of the settings. */
unsigned warnings_tell(const struct settings *settings, const struct access *access);

#endif
