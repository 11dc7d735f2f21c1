/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of requests by traces: bytes, and what becomes of them. */
#include "http/parse.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_SIZE 512
#define CUTS_MAX 600 /* a cut at every place is tried below this size */

static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};

static void describe(const struct http_parser *parser, enum http_progress progress,
                     const char *bytes, char *out)
{
    int length;

    if (progress == HTTP_MORE) {
        snprintf(out, TRACE_SIZE, "more");
        return;
    }
    if (progress == HTTP_REFUSED) {
        const struct http_refusal *refusal = http_refusal(parser->refusal);

        snprintf(out, TRACE_SIZE, "%d %s", refusal->status, refusal->detail);
        return;
    }
    length = snprintf(out, TRACE_SIZE, "%s %.*s fields=%d", methods[parser->method],
                      parser->target_size > 200 ? 200 : parser->target_size,
                      bytes + parser->target_at, parser->field_count);
    if (parser->body_size > 0)
        length += snprintf(out + length, (size_t)(TRACE_SIZE - length), " body=[%.*s]",
                           parser->body_size > 100 ? 100 : parser->body_size,
                           bytes + parser->head_size);
    if (http_is_last(parser))
        snprintf(out + length, (size_t)(TRACE_SIZE - length), " last");
}

/* The bytes in exact copies, so that a sanitizer sees a look beyond them: `step`
 * more each time. */
static void parse_in_steps(const char *bytes, size_t size, size_t first, size_t step, char *out)
{
    struct http_parser parser;
    enum http_progress progress = HTTP_MORE;

    http_parser_reset(&parser);
    snprintf(out, TRACE_SIZE, "more");
    for (size_t known = first; progress == HTTP_MORE; known += step) {
        char *copy;

        if (known > size)
            known = size;
        copy = malloc(known + (known == 0));
        memcpy(copy, bytes, known);
        progress = http_parse(&parser, copy, known);
        describe(&parser, progress, copy, out);
        if (progress == HTTP_DONE)
            CHECK(http_size(&parser) <= known);
        free(copy);
        if (known == size)
            break;
    }
}

/*
 * "GET /path fields=2", "PUT /path fields=4 body=[{}] last", "400 a sentence" or "more": the
 * same for all bytes at once, for one byte at a time, and for two pieces cut anywhere.
 */
static void parse_trace(const char *bytes, size_t size, char *out)
{
    char other[TRACE_SIZE];

    parse_in_steps(bytes, size, size, 1, out);
    parse_in_steps(bytes, size, 1, 1, other);
    CHECK_STR(out, other);
    for (size_t cut = 1; cut < size && cut < CUTS_MAX; cut++) {
        parse_in_steps(bytes, size, cut, size, other);
        CHECK_STR(out, other);
    }
}

static void expect_bytes(const char *bytes, size_t size, const char *expected)
{
    char trace[TRACE_SIZE];

    parse_trace(bytes, size, trace);
    CHECK_STR(expected, trace);
}

static void expect(const char *text, const char *expected)
{
    expect_bytes(text, strlen(text), expected);
}

/* A GET with one more line in its head. */
static void expect_field(const char *line, const char *expected)
{
    char text[256];

    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n\r\n", line);
    expect(text, expected);
}

#define JSON "Content-Type: application/json\r\n"

CASE(requests, "Complete requests of every method are understood.")
{
    expect("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / fields=1");
    expect("HEAD /livez HTTP/1.1\r\nhost:h\r\n\r\n", "HEAD /livez fields=1");
    expect("DELETE /v1/locks/a%2Fb?break=x HTTP/1.1\r\nHost: h:80\r\n\r\n",
           "DELETE /v1/locks/a%2Fb?break=x fields=1");
    expect("PUT /x HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 0\r\n\r\n", "PUT /x fields=2");
    expect("POST /x HTTP/1.1\r\nHost: h\r\n" JSON "Content-Length: 2\r\n\r\n{}",
           "POST /x fields=3 body=[{}]");
    expect("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Type:application/json; charset=UTF-8\r\n"
           "Content-Length:2\r\n\r\n{}",
           "PUT /x fields=3 body=[{}]");
    expect("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, CLOSE\r\n\r\n",
           "GET / fields=2 last");
    expect("GET / HTTP/1.0\r\n\r\n", "GET / fields=0 last");
    expect("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / fields=1 last");
    expect("GET / HTTP/1.1\r\nHost: h\r\nX: \t a \xc3\xa9 b\t \r\nY:\r\n\r\n",
           "GET / fields=3");
}

CASE(unfinished, "A request that is not complete needs more.")
{
    expect("", "more");
    expect("GET / HT", "more");
    expect("GET / HTTP/1.1\r\nHost: h\r\n\r", "more");
    expect("PUT /x HTTP/1.1\r\nHost: h\r\n" JSON "Content-Length: 3\r\n\r\n{}", "more");
}

CASE(pipelined, "Bytes behind a request are not looked at.")
{
    expect("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HT", "GET /a fields=1");
    expect("GET /a HTTP/1.1\r\nHost: h\r\n\r\n\x01\x02\n\n", "GET /a fields=1");
    expect("PUT /x HTTP/1.1\r\nHost: h\r\n" JSON "Content-Length: 2\r\n\r\n{}\r\n\r\n",
           "PUT /x fields=3 body=[{}]");
}

#define FIRST "400 the first line is METHOD /path HTTP/1.1"

CASE(first_lines, "First lines that are not exactly two blanks and three words are refused.")
{
    expect("GET /\r\n", FIRST);
    expect("GET  / HTTP/1.1\r\n", FIRST);
    expect("GET / HTTP/1.1 \r\n", FIRST);
    expect(" GET / HTTP/1.1\r\n", FIRST);
    expect("GET\t/\tHTTP/1.1\r\n", FIRST);
    expect("GET / http/1.1\r\n", FIRST);
    expect("GET / HTTP/1.10\r\n", FIRST);
    expect("GET / HTTP/11\r\n", FIRST);
    expect("\r\nGET / HTTP/1.1\r\n", FIRST);
    expect("G(T / HTTP/1.1\r\n", FIRST);
    expect("GET / HTTP/1.2\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here");
    expect("CONNECT h:80 HTTP/1.1\r\n", "405 the methods are GET, HEAD, PUT, POST and DELETE");
    expect("PRI * HTTP/2.0\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here");
    expect("get / HTTP/1.1\r\n", "405 the methods are GET, HEAD, PUT, POST and DELETE");
    expect("OPTIONS / HTTP/1.1\r\n", "405 the methods are GET, HEAD, PUT, POST and DELETE");
    expect("AAAAAAAAAAAAAAAAA / HTTP/1.1\r\n", FIRST);
}

CASE(targets, "Targets in another form than /path, or with raw characters, are refused.")
{
    const char *form =
        "400 the target begins with a slash: no absolute URL, no authority, no asterisk";
    const char *character = "400 a character of the target must be written as %XX";

    expect("GET http://h/ HTTP/1.1\r\n", form);
    expect("GET * HTTP/1.1\r\n", form);
    expect("DELETE h:80 HTTP/1.1\r\n", form);
    expect("GET /a\\b HTTP/1.1\r\n", character);
    expect("GET /a#b HTTP/1.1\r\n", character);
    expect("GET /\"a\" HTTP/1.1\r\n", character);
    expect("GET /\xc3\xa9 HTTP/1.1\r\n", character);
    expect("GET /a{b} HTTP/1.1\r\n", character);
}

CASE(line_ends, "Bare LF, bare CR, NUL and other controls are refused at that byte.")
{
    expect("GET / HTTP/1.1\n", "400 a line ends with CR LF, not with LF alone");
    expect("GET / HTTP/1.1\r\nHost: h\n\r\n", "400 a line ends with CR LF, not with LF alone");
    expect("GET / HTTP/1.1\r\nHost: h\r\n\n", "400 a line ends with CR LF, not with LF alone");
    expect("GET / HTTP/1.1\rHost: h\r\n", "400 CR stands only before LF");
    expect("GET / HTTP/1.1\r\nHost: h\r\n\rX", "400 CR stands only before LF");
    expect("GET / HTTP/1.1\r\r\n", "400 CR stands only before LF");
    expect_bytes("GET /\0 HTTP/1.1\r\n", 17, "400 a control character in the head");
    expect_bytes("GET / HTTP/1.1\r\nX: a\0b\r\n", 23, "400 a control character in the head");
    expect("GET / HTTP/1.1\r\nX: a\vb\r\n", "400 a control character in the head");
    expect("GET / HTTP/1.1\r\nX: a\x7f", "400 a control character in the head");
    expect("GET / HTTP/1.1\r\nX: aaaaaaaaaaaa\x7f"
           "aaaaaaaaaaaaaaaaaaaa",
           "400 a control character in the head");
    expect("GET / HTTP/1.1\r\nX: aaaaaaaaaaaa\x1f"
           "aaaaaaaaaaaaaaaaaaaa",
           "400 a control character in the head");
    expect("\x16\x03\x01\x02", "400 a control character in the head");
}

CASE(fields, "Malformed and folded header fields are refused.")
{
    const char *name = "400 a header field is NAME: VALUE, without a blank before the colon";

    expect_field("X : 1", name);
    expect_field("X y: 1", name);
    expect_field("X", name);
    expect_field(": 1", name);
    expect_field("X(): 1", name);
    expect_field("X\xc3\xa9: 1", name);
    expect("GET / HTTP/1.1\r\n X: 1\r\n",
           "400 a header field is one line, without continuation");
    expect_field(" X: 1", "400 a header field is one line, without continuation");
    expect_field("X: 1\r\n\tfolded", "400 a header field is one line, without continuation");
}

CASE(hosts, "Exactly one Host that looks like one is needed.")
{
    const char *host = "400 exactly one Host field with a name or address is needed";

    expect("GET / HTTP/1.1\r\n\r\n", host);
    expect_field("Host: h", host);
    expect("GET / HTTP/1.1\r\nHost: \r\n\r\n", host);
    expect("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", host);
    expect("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", host);
    expect("GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", host);
    expect("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", host);
}

static void expect_length(const char *value, const char *expected)
{
    char text[256];

    snprintf(text, sizeof text,
             "PUT / HTTP/1.1\r\nHost: h\r\n" JSON "Content-Length:%s\r\n\r\n", value);
    expect(text, expected);
}

CASE(lengths, "Only one plain decimal Content-Length within the bound is taken.")
{
    const char *wrong = "400 Content-Length is one decimal number without leading zeros";
    const char *large = "413 a body has at most 8192 bytes";

    expect_length("", wrong);
    expect_length(" +1", wrong);
    expect_length(" -1", wrong);
    expect_length(" 0x2", wrong);
    expect_length(" 2, 2", wrong);
    expect_length(" 2 2", wrong);
    expect_length(" 02", wrong);
    expect_length(" 1e1", wrong);
    expect_length(" 2\t", wrong);
    expect_length("\t2 ", "more");
    expect_length(" 8192", "more");
    expect_length(" 8193", large);
    expect_length(" 18446744073709551618", large);
    expect_length(" 2\r\nContent-Length: 2", "400 more than one Content-Length");
    expect_length(" 0\r\ncontent-length: 5", "400 more than one Content-Length");
    expect("PUT / HTTP/1.1\r\nHost: h\r\n\r\n",
           "411 PUT and POST need a Content-Length, 0 at least");
    expect("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
           "400 GET and HEAD have no body");
}

CASE(transfer_encodings, "Any Transfer-Encoding is refused, whatever else the head says.")
{
    const char *refused = "501 Transfer-Encoding is not supported: send Content-Length";

    expect_field("Transfer-Encoding: chunked", refused);
    expect_field("transfer-encoding: identity", refused);
    expect_field("Transfer-Encoding:\tchunked", refused);
    expect_field("Transfer-Encoding:", refused);
    expect_field("Content-Length: 5\r\nTransfer-Encoding: xchunked", refused);
    expect_field("TE: trailers", "GET / fields=2");
}

CASE(types, "A body that is not JSON by its Content-Type is refused.")
{
    const char *type = "415 a body needs one Content-Type: application/json";
    static const char *const wrong[] = {
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/json, text/plain\r\n",
        "Content-Type: application/json; charset=latin1\r\n",
        JSON JSON,
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];

        snprintf(text, sizeof text,
                 "PUT / HTTP/1.1\r\nHost: h\r\n%sContent-Length: 2\r\n\r\n{}", wrong[i]);
        expect(text, type);
    }
}

/* The body is not there: what the head says is all that counts. */
static bool expects_continue(const char *text)
{
    struct http_parser parser;

    http_parser_reset(&parser);
    http_parse(&parser, text, strlen(text));
    return http_expects_continue(&parser, strlen(text));
}

#define EXPECT "Expect: 100-Continue\r\n"

CASE(expectations, "100-continue is known, for a body that has not come; others are refused.")
{
    expect_field("Expect: 200-maybe", "417 the only expectation is 100-continue");
    CHECK(expects_continue("PUT / HTTP/1.1\r\nHost: h\r\n" EXPECT JSON
                           "Content-Length: 2\r\n\r\n"));
    CHECK(!expects_continue("PUT / HTTP/1.1\r\nHost: h\r\n" EXPECT JSON
                            "Content-Length: 2\r\n\r\n{"));
    CHECK(!expects_continue("PUT / HTTP/1.1\r\nHost: h\r\n" EXPECT JSON
                            "Content-Length: 0\r\n\r\n"));
    CHECK(!expects_continue("PUT / HTTP/1.0\r\nHost: h\r\n" EXPECT JSON
                            "Content-Length: 2\r\n\r\n"));
}

/* prefix, `count` times `filler`, suffix. */
static void expect_filled(const char *prefix, const char *filler, size_t count,
                          const char *suffix, const char *expected)
{
    size_t size = strlen(prefix) + count * strlen(filler) + strlen(suffix);
    char *text = malloc(size + 1);
    char *at = text + sprintf(text, "%s", prefix);
    char trace[TRACE_SIZE];

    for (size_t i = 0; i < count; i++)
        at += sprintf(at, "%s", filler);
    sprintf(at, "%s", suffix);
    parse_trace(text, size, trace);
    CHECK_HAS(expected, trace);
    free(text);
}

CASE(bounds, "Heads, targets and fields are taken up to their bounds and refused beyond.")
{
    const char *start = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
    const char *large = "431 a head has at most 8192 bytes and 64 header fields";
    size_t around = strlen(start) + 4;

    expect_filled("GET /", "a", HTTP_TARGET_MAX - 1, " HTTP/1.1\r\nHost: h\r\n\r\n",
                  "GET /aaaa");
    expect_filled("GET /", "a", HTTP_TARGET_MAX, " HTTP/1.1\r\nHost: h\r\n\r\n", "414 ");
    expect_filled("GET /", "a", HTTP_HEAD_MAX, "", "414 ");
    expect_filled(start, "a", HTTP_HEAD_MAX - around, "\r\n\r\n", "GET / fields=2");
    expect_filled(start, "a", HTTP_HEAD_MAX - around + 1, "\r\n\r\n", large);
    expect_filled("GET / HTTP/1.1\r\nHost: h\r\n", "X: 1\r\n", HTTP_FIELDS_MAX - 1, "\r\n",
                  "GET / fields=64");
    expect_filled("GET / HTTP/1.1\r\nHost: h\r\n", "X: 1\r\n", HTTP_FIELDS_MAX, "\r\n", large);
}

/* A GET with these lines in its head, which is taken. */
static struct http_parser taken(const char *fields)
{
    struct http_parser parser;
    char text[256];

    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", fields);
    http_parser_reset(&parser);
    CHECK_INT(HTTP_DONE, http_parse(&parser, text, strlen(text)));
    return parser;
}

CASE(accepts, "All Accept fields are one list, and q=0 takes a type off it.")
{
    static const struct {
        const char *fields;
        bool is_named;
    } rows[] = {
        {"", false},
        {"Accept: text/event-stream\r\n", true},
        {"Accept: */*\r\n", false},
        {"Accept: text/*\r\n", false},
        {"Accept: Text/Event-Stream\r\n", true},
        {"Accept: application/json\r\nAccept: text/event-stream\r\n", true},
        {"Accept: text/event-stream\r\nAccept: application/json\r\n", true},
        {"Accept: application/json, text/event-stream;q=0.5\r\n", true},
        {"Accept: application/json ,\ttext/event-stream ; q=1\r\n", true},
        {"Accept: application/json, text/event-stream;q=0\r\n", false},
        {"Accept: text/event-stream; charset=utf-8; Q=0.000\r\n", false},
        {"Accept: text/event-stream;q=0.001\r\n", true},
        {"Accept: text/event-streams\r\n", false},
        {"Accept: x-text/event-stream\r\n", false},
        {"Accept: ,,;text/event-stream,\r\n", false},
        {"Accept-Language: text/event-stream\r\n", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(rows[i].is_named, taken(rows[i].fields).accepts_events);
}

CASE(lookup, "Fields are found by name in any case, and counted.")
{
    const char *text = "GET / HTTP/1.1\r\nHost: h\r\nLEASE-id:  abc \r\nX-Grant: 1\r\n"
                       "Grant: 1\r\ngrant: 2\r\n\r\n";
    struct http_parser parser;
    struct rl_slice value = {"untouched", 9};

    http_parser_reset(&parser);
    CHECK_INT(HTTP_DONE, http_parse(&parser, text, strlen(text)));
    CHECK_INT(0, http_field(&parser, text, HTTP_FIELD_AUTHORIZATION, &value));
    CHECK_INT(9, value.size);
    CHECK_INT(1, http_field(&parser, text, HTTP_FIELD_LEASE_ID, &value));
    CHECK(value.size == 3 && memcmp(value.data, "abc", 3) == 0);
    CHECK_INT(2, http_field(&parser, text, HTTP_FIELD_GRANT, &value));
    CHECK(value.size == 1 && value.data[0] == '1');
}

CASE(forwarded, "A proxy that says so is noticed, by any field that says so, and by no other.")
{
    static const struct {
        const char *fields;
        bool is_forwarded;
    } rows[] = {
        {"X-Forwarded-For: 1\r\n", true},
        {"x-FORWARDED-: 1\r\n", true},
        {"VIA: 1\r\n", true},
        {"Forwarded: 1\r\n", true},
        {"X-Forwarded: 1\r\n", false},
        {"X-Real-IP: 1\r\n", false},
        {"Forwarded-X: 1\r\n", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(rows[i].is_forwarded, taken(rows[i].fields).is_forwarded);
}
