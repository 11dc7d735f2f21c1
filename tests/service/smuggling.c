/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests on which two parsers could disagree, compared with another parser: what both take,
 * they read alike; what this one takes, the other one takes; and where only this one refuses,
 * the table says why that is right.
 */
#include "check.h"
#include "http_oracle.h"
#include "parse_trace.h"

#include <stdio.h>
#include <string.h>

#define H "Host: h\r\n"
#define JSON "Content-Type: application/json\r\n"
#define NEXT "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"

struct attempt {
    const char *bytes;
    size_t size;      /* 0: strlen(bytes) */
    const char *ours; /* how the trace of parse_trace() begins */
    const char
        *why; /* NULL: the other parser says the same; else why it is refused all the same */
};

static const struct attempt attempts[] = {
    /* Both lengths. */
    {"POST / HTTP/1.1\r\n" H
     "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
     0, "501", NULL},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT, 0, "501",
     "chunks are not needed for 8 KiB, and are where parsers differ most"},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\nabcd", 0,
     "501", NULL},
    {"GET / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", 0, "501", NULL},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 0, "400",
     "a blank before the colon hides a field from some"},
    {"POST / HTTP/1.1\r\n" H "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n", 0, "501",
     "chunks are not needed"},
    {"POST / HTTP/1.1\r\n" H "X: 1\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
     0, "400", "a folded line is a field to some and a value to others"},
    /* Lengths that can be read in two ways. */
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", 0,
     "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", 0,
     "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 4, 4\r\n\r\nabcd", 0, "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: +4\r\n\r\nabcd", 0, "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 0x4\r\n\r\nabcd", 0, "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 004\r\n\r\nabcd", 0, "400",
     "a leading zero is octal to some"},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 4 4\r\n\r\nabcd", 0, "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: -1\r\n\r\n", 0, "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 4\t\r\n\r\nabcd", 0, "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 4 \t\r\n\r\nabcd", 0, "400", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length:\t4 \r\n\r\nabcd", 0,
     "POST / fields=3 body=[abcd]", NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 18446744073709551616\r\n\r\n", 0, "413",
     NULL},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length : 4\r\n\r\nabcd", 0, "400",
     "a blank before the colon hides a field from some"},
    {"POST / HTTP/1.1\r\n" H JSON "Content-Length: 4\r\n\r\nabcd" NEXT, 0,
     "POST / fields=3 body=[abcd]", NULL},
    {"GET / HTTP/1.1\r\n" H JSON "Content-Length: 4\r\n\r\nabcd" NEXT, 0, "400",
     "many servers take the body of a GET for the next request"},
    {"PUT / HTTP/1.1\r\n" H "\r\n" NEXT, 0, "411", "a PUT without a length means a mistake"},
    /* Line ends. */
    {"GET / HTTP/1.1\n" H "\r\n", 0, "400", "a bare LF ends a line for some only"},
    {"GET / HTTP/1.1\r\nHost: h\nX: 1\r\n\r\n", 0, "400",
     "a bare LF ends a line for some only"},
    {"GET / HTTP/1.1\r\n" H "\n", 0, "400", "a bare LF ends the head for some only"},
    {"GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n", 0, "400", NULL},
    {"GET / HTTP/1.1\r\n" H "\r\rGET /", 0, "400", "a bare CR ends the head for some only"},
    {"\r\nGET / HTTP/1.1\r\n" H "\r\n", 0, "400",
     "an empty line before a request belongs to nothing"},
    {"GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n", 34, "400", NULL},
    {"GET /\0 HTTP/1.1\r\n" H "\r\n", 28, "400", NULL},
    {"GET / HTTP/1.1\r\n" H "X: a\vb\r\n\r\n", 0, "400", NULL},
    /* Folding. */
    {"GET / HTTP/1.1\r\n" H "X: 1\r\n folded\r\n\r\n", 0, "400",
     "RFC 9112 allows a server to refuse folding"},
    {"GET / HTTP/1.1\r\n X: 1\r\n" H "\r\n", 0, "400",
     "a field that begins with a blank is ignored by some"},
    /* First lines. */
    {"GET  / HTTP/1.1\r\n" H "\r\n", 0, "400", "one blank separates, two are a guess"},
    {"GET / HTTP/1.1 \r\n" H "\r\n", 0, "400", NULL},
    {"GET / HTTP/1.1\r\n\r\n" NEXT, 0, "400", "HTTP/1.1 needs a Host"},
    {"GET /\r\n\r\n", 0, "400", "HTTP/0.9 has no fields and no status"},
    {"GET / HTTP/2.0\r\n" H "\r\n", 0, "505", "the bytes behind it may be frames"},
    {"GET / HTTP/1.9\r\n" H "\r\n", 0, "505", "its rules are unknown"},
    {"GET http://other/ HTTP/1.1\r\n" H "\r\n", 0, "400",
     "two hosts in one request: a proxy and a server may choose differently"},
    {"OPTIONS * HTTP/1.1\r\n" H "\r\n", 0, "405", "not a method of this service"},
    {"CONNECT h:80 HTTP/1.1\r\n" H "\r\n", 0, "405", "not a method of this service"},
    {"GET /a\\b HTTP/1.1\r\n" H "\r\n", 0, "400", "a backslash is a slash to some"},
    {"GET /a#b HTTP/1.1\r\n" H "\r\n", 0, "400", "a fragment is never sent"},
    {"GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n", 0, "400",
     "raw bytes of another script are encoded anew by some proxies"},
    {"get / HTTP/1.1\r\n" H "\r\n", 0, "405", NULL},
    /* Fields. */
    {"GET / HTTP/1.1\r\n" H H "\r\n", 0, "400", "two hosts: a proxy may choose the other"},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 0, "400", "not a host"},
    {"GET / HTTP/1.1\r\nHost: h\r\nX y: 1\r\n\r\n", 0, "400", "a blank in the name of a field"},
    {"GET / HTTP/1.1\r\n" H ": 1\r\n\r\n", 0, "400", NULL},
    {"GET / HTTP/1.1\r\n" H "nothing\r\n\r\n", 0, "400", NULL},
    /* What both take. */
    {"GET /a?b=c HTTP/1.1\r\n" H "X: \xc3\xa9\r\n\r\n" NEXT, 0, "GET /a?b=c fields=2", NULL},
    {"DELETE /v1/locks/x HTTP/1.1\r\n" H "Connection: close\r\n\r\n", 0,
     "DELETE /v1/locks/x fields=2 last", NULL},
    {"GET / HTTP/1.0\r\n\r\n", 0, "GET / fields=0 last", NULL},
    {"PUT /x HTTP/1.1\r\n" H JSON "Content-Length: 2\r\n\r\n{}", 0, "PUT /x fields=3 body=[{}]",
     NULL},
    {"PUT /x HTTP/1.1\r\n" H JSON "Content-Length: 3\r\n\r\n{}", 0, "more", NULL},
};

static void compare(const struct attempt *attempt, size_t number)
{
    static struct oracle theirs;
    size_t size = attempt->size ? attempt->size : strlen(attempt->bytes);
    char trace[TRACE_SIZE], expected[TRACE_SIZE];
    bool refused;

    parse_trace(attempt->bytes, size, trace);
    if (strncmp(trace, attempt->ours, strlen(attempt->ours)) != 0)
        FAIL("attempt %zu: expected \"%s\", got \"%s\"", number, attempt->ours, trace);
    refused = trace[0] >= '4' && trace[0] <= '5';
    oracle_parse(attempt->bytes, size, &theirs);
    if (refused) {
        bool alone = theirs.progress != ORACLE_REFUSED;

        if (alone != (attempt->why != NULL))
            FAIL("attempt %zu (%s): the other parser %s, and the table %s", number, trace,
                 alone ? "takes it" : theirs.error,
                 attempt->why ? "says that it takes it" : "does not say why it is refused");
        return;
    }
    if (theirs.progress == ORACLE_REFUSED)
        FAIL("attempt %zu: taken here, refused there: %s", number, theirs.error);
    if (theirs.progress == ORACLE_MORE) {
        CHECK_STR("more", trace);
        return;
    }
    snprintf(expected, sizeof expected, "%s %.*s fields=%u", theirs.method,
             (int)theirs.target_size, theirs.target, theirs.fields);
    CHECK_HAS(expected, trace);
    if (theirs.body_size > 0) {
        snprintf(expected, sizeof expected, " body=[%.*s]", (int)theirs.body_size, theirs.body);
        CHECK_HAS(expected, trace);
    } else {
        CHECK_LACKS("body", trace);
    }
}

CASE(agrees_with_http_parser,
     "Smuggling attempts are refused, and the rest is read as http-parser does.")
{
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        compare(&attempts[i], i);
}
