/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are part of the program: /openapi.json, which says how to talk to it. */
#ifndef REDLOCKD_PAGE_H
#define REDLOCKD_PAGE_H

#include "http/server.h"

bool page_is_at(struct rl_span path);

/* Answers with the file at this path. */
void page_answer(struct http_exchange *exchange, struct rl_span path);

#endif
