/* SPDX-License-Identifier: BSD-2-Clause */
/* The words before "://" in a node's URL, and help for mistyped ones. */
#ifndef RL_PROTOCOL_SCHEME_H
#define RL_PROTOCOL_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/span.h"

struct rl_scheme {
    const char *name;
    bool tls;
    bool is_unix;
};

/* NULL when there is no such scheme. Case does not matter. */
const struct rl_scheme *rl_scheme_find(struct rl_span name);

/* Writes a sentence about a name that was not found, with the nearest one if any is near. */
void rl_scheme_explain(struct rl_span name, char *why, size_t why_size);

#endif
