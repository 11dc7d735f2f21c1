/* SPDX-License-Identifier: BSD-2-Clause */
/* What a byte may be in a request (RFC 9110, RFC 3986), as one table; and the
 * walk over many. */
#ifndef REDLOCKD_HTTP_CHARACTERS_H
#define REDLOCKD_HTTP_CHARACTERS_H

#include <stddef.h>
#include <stdint.h>

#define HTTP_TOKEN 0x1u   /* tchar: methods and names of fields */
#define HTTP_TARGET 0x2u  /* in a target: unreserved, sub-delims, and : @ / ? % */
#define HTTP_HOST 0x4u    /* in Host */
#define HTTP_CONTROL 0x8u /* ends the quick walk over a line: controls but HTAB */

extern const uint8_t http_characters[256];

static inline int http_is(char c, unsigned what)
{
    return (http_characters[(unsigned char)c] & what) != 0;
}

/* The first byte from `at` on that is HTTP_CONTROL, or `end`. Eight bytes at a time. */
size_t http_find_control(const char *bytes, size_t at, size_t end);

#endif
