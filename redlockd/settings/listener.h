/* SPDX-License-Identifier: BSD-2-Clause */
/* The value of `listen`. */
#ifndef REDLOCKD_SETTINGS_LISTENER_H
#define REDLOCKD_SETTINGS_LISTENER_H

#include "settings/settings.h"

/* ADDRESS [mode=OCTAL] [group=NAME] [peer=proxy] [cert=optional], of less than
 * SETTINGS_TEXT_MAX bytes. 0, or -1 with a sentence in why. */
int settings_listener_read(struct settings_listener *out, const char *value, char *why,
                           size_t why_size);

#endif
