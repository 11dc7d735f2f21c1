/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a request is refused before any handler sees it: a status, a word for programs and a
 * sentence for people. Every refusal of the parser closes the connection, since the parser no
 * longer knows where the next request begins.
 */
#ifndef REDLOCKD_HTTP_REFUSAL_H
#define REDLOCKD_HTTP_REFUSAL_H

#include <stdint.h>

/* NAME, status, code, sentence. */
#define HTTP_REFUSALS(X)                                                                       \
    X(BARE_LF, 400, "MALFORMED", "a line ends with CR LF, not with LF alone")                  \
    X(BARE_CR, 400, "MALFORMED", "CR stands only before LF")                                   \
    X(CONTROL, 400, "MALFORMED", "a control character in the head")                            \
    X(REQUEST_LINE, 400, "MALFORMED", "the first line is METHOD /path HTTP/1.1")               \
    X(TARGET_FORM, 400, "MALFORMED",                                                           \
      "the target begins with a slash: no absolute URL, no authority, no asterisk")            \
    X(TARGET_CHARACTER, 400, "MALFORMED", "a character of the target must be written as %XX")  \
    X(FOLDED, 400, "MALFORMED", "a header field is one line, without continuation")            \
    X(FIELD_NAME, 400, "MALFORMED",                                                            \
      "a header field is NAME: VALUE, without a blank before the colon")                       \
    X(HOST, 400, "MALFORMED", "exactly one Host field with a name or address is needed")       \
    X(LENGTH, 400, "MALFORMED", "Content-Length is one decimal number without leading zeros")  \
    X(LENGTH_TWICE, 400, "MALFORMED", "more than one Content-Length")                          \
    X(BODY_UNEXPECTED, 400, "MALFORMED", "GET and HEAD have no body")                          \
    X(METHOD, 405, "METHOD_NOT_ALLOWED", "the methods are GET, HEAD, PUT, POST and DELETE")    \
    X(LENGTH_MISSING, 411, "LENGTH_REQUIRED",                                                  \
      "PUT and POST need a Content-Length, 0 at least")                                        \
    X(BODY_TOO_LARGE, 413, "TOO_LARGE", "a body has at most 8192 bytes")                       \
    X(TARGET_TOO_LONG, 414, "TARGET_TOO_LONG", "a target has at most 4096 bytes")              \
    X(TYPE, 415, "JSON_EXPECTED", "a body needs one Content-Type: application/json")           \
    X(EXPECTATION, 417, "EXPECTATION", "the only expectation is 100-continue")                 \
    X(HEAD_TOO_LARGE, 431, "HEAD_TOO_LARGE",                                                   \
      "a head has at most 8192 bytes and 64 header fields")                                    \
    X(TRANSFER_ENCODING, 501, "NOT_IMPLEMENTED",                                               \
      "Transfer-Encoding is not supported: send Content-Length")                               \
    X(VERSION, 505, "VERSION", "only HTTP/1.1 and HTTP/1.0 are spoken here")

enum http_refusal_name {
    HTTP_REFUSED_NOTHING,
#define X(name, status, code, detail) HTTP_REFUSED_##name,
    HTTP_REFUSALS(X)
#undef X
        HTTP_REFUSAL_COUNT
};

struct http_refusal {
    uint16_t status;
    const char *code;   /* for programs; needs no escaping in JSON */
    const char *detail; /* for people; needs no escaping in JSON */
};

const struct http_refusal *http_refusal(enum http_refusal_name name);

#endif
