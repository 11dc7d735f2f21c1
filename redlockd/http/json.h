/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON that came with a request, read by jansson: one object, no name twice, no NUL inside
 * strings.
 *
 * What jansson allocates while it reads comes from one piece of memory that is there from the
 * start and is used again for the next request. So a request allocates nothing, and a body that
 * would need more than any honest one (8 KiB of empty objects in objects) fails like one that
 * is malformed.
 */
#ifndef REDLOCKD_HTTP_JSON_H
#define REDLOCKD_HTTP_JSON_H

#include <jansson.h>

#include "base/slice.h"

#define HTTP_JSON_MEMORY (256u << 10)

/* Once, before any other use of jansson in the process, which must have one thread. */
void http_json_init(void);

/*
 * The object in `text`; an empty text is an empty object. NULL with a sentence in *why, which
 * needs no escaping. Valid until the next call: there is nothing to free.
 */
json_t *http_json_read(struct rl_slice text, const char **why);

#endif
