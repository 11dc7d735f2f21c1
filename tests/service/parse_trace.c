/* SPDX-License-Identifier: BSD-2-Clause */
#include "parse_trace.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cut at every place is tried below this size. */
#define CUTS_MAX 600

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

void parse_trace(const char *bytes, size_t size, char *out)
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
