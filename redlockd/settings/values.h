/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of settings, one function per form. Each: 0, or -1 with a sentence in why that
 * names the key. */
#ifndef REDLOCKD_SETTINGS_VALUES_H
#define REDLOCKD_SETTINGS_VALUES_H

#include "settings/settings.h"

int value_complain(char *why, size_t why_size, const char *key, const char *what);
int value_text(char *out, const char *key, const char *value, char *why, size_t why_size);
int value_yes(bool *out, const char *key, const char *value, char *why, size_t why_size);
/* From least to most. */
int value_number(unsigned *out, const char *key, const char *value, unsigned least,
                 unsigned most, char *why, size_t why_size);
/* ADDRESS [mode=OCTAL] [group=NAME] [peer=proxy] [cert=optional] */
int value_listener(struct settings_listener *out, const char *value, char *why,
                   size_t why_size);

#endif
