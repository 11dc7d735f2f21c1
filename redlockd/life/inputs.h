/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon reads from files besides its settings: rules, tokens, certificates, the
 * nodes. At the start, for --check, and again for HUP, which is all or nothing: everything is
 * read and checked before the first thing is replaced, and what is broken changes nothing.
 */
#ifndef REDLOCKD_LIFE_INPUTS_H
#define REDLOCKD_LIFE_INPUTS_H

#include "access/access.h"
#include "http/tls.h"
#include "journal/audit.h"
#include "journal/classes.h"
#include "settings/quorum.h"
#include "settings/settings.h"

struct inputs {
    struct access access;
    struct http_tls_context *tls; /* NULL: no certificate is set */
    struct quorum_print quorum;
    struct audit audit; /* opened again, so that the file can be moved away */
    struct classes classes;
    unsigned warnings; /* of inputs_excuse() */
};

/* Addresses are allowed, rules, tokens, TLS files and redlock.conf can be used. 0, or -1 with a
 * sentence, behind the line of the settings that it is about; then nothing is left open. */
int inputs_read(struct inputs *inputs, const struct settings *settings, char *why,
                size_t why_size);
/*
 * `result` of reading something, or 0 in its place: --check runs outside of the unit, where its
 * credentials and its directory for logs may not be. It warns, and looks at the rest.
 */
int inputs_excuse(struct inputs *inputs, const struct settings *settings, int result,
                  const char *why);
/* Also of one that was not read, if it is zero. */
void inputs_free(struct inputs *inputs);

/* -1, with the sentence about plain TCP on this address. */
int inputs_refuse_open(const char *address, char *why, size_t why_size);

/* Rules, tokens and TLS files of `fresh`, which is freed. What is fixed stays. */
void inputs_replace(struct inputs *running, struct inputs *fresh);

#endif
