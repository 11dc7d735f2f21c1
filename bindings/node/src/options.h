/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a client, read from an object of JavaScript with the names of lib/client.js. */
#ifndef REDLOCK_NODE_OPTIONS_H
#define REDLOCK_NODE_OPTIONS_H

#include "values.h"

#include <redlock.h>

enum { OPTION_TEXTS = 11 };

/* Owns everything that `options` points to. */
struct options {
    redlock_options options;
    char **nodes;
    char *texts[OPTION_TEXTS];
    redlock_quorum quorums[REDLOCK_QUORUMS_MAX];
};

void options_read(napi_env env, napi_value object, struct options *out);
void options_free(struct options *o);

#endif
