/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are part of the program: /openapi.json, which describes the API, and the status
 * page at /, one file with its style and its script inside.
 *
 * The page needs no right: it has no data. Its script requests /v1/status and /v1/events, with
 * the token that the user types, if any. Its policy (CSP) allows nothing of another origin and
 * no inline code but the two blocks of this very file, by their hashes.
 */
#ifndef REDLOCKD_PAGE_H
#define REDLOCKD_PAGE_H

#include "base/slice.h"
#include "http/server.h"

/* Answers with the file at the path of the request. */
void page_answer(struct http_exchange *exchange, struct rl_slice path);

#endif
