/* SPDX-License-Identifier: BSD-2-Clause */
/* The head of an answer as bytes. Pure, like the parser. */
#ifndef REDLOCKD_HTTP_ANSWER_H
#define REDLOCKD_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_TYPE_MAX 80 /* bytes of a Content-Type */
#define HTTP_DATE_SIZE 29
/* What http_head_write() may need besides the additional fields. */
#define HTTP_HEAD_ROOM 384

struct http_head {
    int status;
    const char *date;  /* HTTP_DATE_SIZE bytes, as in RFC 9110 */
    const char *type;  /* NULL: none */
    const char *extra; /* NULL, or whole lines */
    size_t body_size;
    bool has_length; /* a stream has none: it ends with the connection */
    bool is_last;    /* the connection ends after it */
};

/* The number of bytes written to out, which has HTTP_HEAD_ROOM and the size of `extra`. */
size_t http_head_write(char *out, const struct http_head *head);

#endif
