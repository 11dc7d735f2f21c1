/* SPDX-License-Identifier: BSD-2-Clause */
/* Which media types a client takes: all its Accept fields are one list (RFC 9110, 12.5.1). */
#ifndef REDLOCKD_HTTP_ACCEPT_H
#define REDLOCKD_HTTP_ACCEPT_H

#include "http/parse.h"

/*
 * True if the list names `type` (in lower case) itself, in any case of letters, and not with
 * q=0. Ranges (*, text/) do not count: what is asked for here changes what a request means, and
 * is asked for by name.
 */
bool http_accepts(const struct http_parser *parser, const char *bytes, const char *type);

#endif
