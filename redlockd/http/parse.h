/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes in, one HTTP request out: no allocation, no system call, no copy, and a bound on
 * everything.
 *
 * The caller keeps the bytes of a request in one piece, which begins with its first byte, and
 * calls http_parse() again whenever more have come. Every byte of the head is looked at once,
 * however the bytes were cut: what the parser remembers are offsets, so the piece may move
 * between calls. What is behind the request in the piece (the next one, pipelined) is not
 * looked at.
 *
 * It refuses rather than guesses. Two programs that read the same bytes differently (a proxy
 * and this one) are what request smuggling is made of, so wherever the standard has "may be
 * lenient", this parser is not:
 *     - lines end with CR LF; CR, LF, NUL and other controls stand nowhere else (HTAB in
 *       values), and no empty line stands before a request;
 *     - the target is in origin form and has only the characters of RFC 3986;
 *     - no blank before the colon, no folded field;
 *     - exactly one Host (HTTP/1.0: at most one), which looks like a name or an address;
 *     - at most one Content-Length, one number; PUT and POST need it, GET and HEAD must not
 *       have a body; any Transfer-Encoding at all is refused;
 *     - a body is application/json. A page of another origin can make a browser post a form or
 *       text without a preflight, but not that.
 *
 * HTTP/1.0 is understood, and the connection ends after it, whatever its Connection field is.
 * `Expect: 100-continue` is honoured: see http_expects_continue(). Other fields of HTTP that
 * would change what a request means (Upgrade, Range, TE) may be ignored by a server, and are.
 */
#ifndef REDLOCKD_HTTP_PARSE_H
#define REDLOCKD_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"
#include "http/refusal.h"

#define HTTP_HEAD_MAX 8192 /* bytes up to and with the empty line */
#define HTTP_BODY_MAX 8192
#define HTTP_FIELDS_MAX 64
#define HTTP_TARGET_MAX 4096
#define HTTP_REQUEST_MAX (HTTP_HEAD_MAX + HTTP_BODY_MAX)

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_DELETE };

enum http_progress {
    HTTP_MORE,    /* the request is not complete */
    HTTP_DONE,    /* it is: http_size() bytes of the piece are its */
    HTTP_REFUSED, /* it will never be: parser->refusal is why */
};

enum http_stage { HTTP_STAGE_LINE, HTTP_STAGE_FIELDS, HTTP_STAGE_BODY };

/* One header field: offsets into the piece. */
struct http_field {
    uint16_t name_at;
    uint16_t name_size;
    uint16_t value_at;
    uint16_t value_size; /* without blanks around it */
};

/* Fields that handlers read. */
enum http_known {
    HTTP_FIELD_AUTHORIZATION,
    HTTP_FIELD_GRANT,
    HTTP_FIELD_HOST,
    HTTP_FIELD_LEASE_ID,
    HTTP_FIELD_COUNT,
};

/* What is known of a request so far. All offsets count from its first byte. */
struct http_parser {
    enum http_stage stage;
    enum http_refusal_name refusal; /* HTTP_REFUSED_NOTHING until then */
    enum http_method method;
    uint16_t scanned; /* bytes of the head that need no second look */
    uint16_t line_at; /* where the line begins that is being read */
    uint16_t target_at;
    uint16_t target_size;
    uint16_t head_size; /* 0 until the head is complete */
    uint16_t body_size;
    uint8_t field_count;
    uint8_t type_count;
    bool is_http10;
    bool type_is_json;
    bool has_length;
    bool says_close; /* Connection: close */
    bool says_continue;
    bool accepts_events; /* text/event-stream, by name, and not with q=0 */
    bool is_forwarded;   /* Via, Forwarded, X-Forwarded-...: by a proxy */
    struct {
        uint8_t count; /* how often it stands there */
        uint8_t field; /* the first one */
    } known[HTTP_FIELD_COUNT];
    struct http_field field[HTTP_FIELDS_MAX];
};

/* For the next request. Leaves field[] as it is: field_count is how much of it counts. */
static inline void http_parser_reset(struct http_parser *parser)
{
    memset(parser, 0, offsetof(struct http_parser, field));
}

/* `bytes`: all of the request that has come, from its first byte on. */
enum http_progress http_parse(struct http_parser *parser, const char *bytes, size_t size);

/* Of a complete request: bytes of head and body. */
static inline size_t http_size(const struct http_parser *parser)
{
    return (size_t)parser->head_size + parser->body_size;
}

/* True if the client sends the body only after "100 Continue": its head is complete and
 * expects that, and of `size` bytes that have come none is of the body. */
bool http_expects_continue(const struct http_parser *parser, size_t size);

/* The connection must end after the answer. */
static inline bool http_is_last(const struct http_parser *parser)
{
    return parser->says_close || parser->is_http10;
}

/*
 * How often a field stands in a complete head of `bytes`; *value is the first, untouched at 0.
 * A field that must be single is refused by its user at 2.
 */
static inline int http_field(const struct http_parser *parser, const char *bytes,
                             enum http_known name, struct rl_slice *value)
{
    const struct http_field *field = &parser->field[parser->known[name].field];

    if (parser->known[name].count > 0)
        *value = (struct rl_slice){bytes + field->value_at, field->value_size};
    return parser->known[name].count;
}

#endif
