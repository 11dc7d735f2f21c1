/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests and targets: never a byte too far, the same result however the bytes were cut, and
 * what is taken another parser takes as well and reads alike. The first byte says how the rest
 * is cut; 0xfe as the second makes runs out of pairs (length, byte), so that small inputs reach
 * the bounds.
 */
#include "http/parse.h"

#include <string.h>

#include "base/slice.h"
#include "base/target.h"
#include "fuzz.h"

#ifdef HAVE_HTTP_PARSER
#include "http_oracle.h"
#endif

#define STREAM_MAX (2 * HTTP_REQUEST_MAX)
#define RUNS 0xfe
#define RUN_UNIT 64
#define REQUESTS_MAX 64
#define NAME_SIZE 513

/* One request at the start of the bytes, `step` of which come at a time. */
static enum http_progress parse(const char *bytes, size_t size, size_t step,
                                struct http_parser *parser)
{
    enum http_progress progress = HTTP_MORE;
    size_t known = 0;

    http_parser_reset(parser);
    while (progress == HTTP_MORE && known < size) {
        char *copy;

        known = known + step < size ? known + step : size;
        copy = fuzz_copy(bytes, known);
        progress = http_parse(parser, copy, known);
        /* A caller that has room for the largest request never waits in vain. */
        FUZZ_CHECK(progress != HTTP_MORE || known < HTTP_REQUEST_MAX);
        FUZZ_CHECK(progress != HTTP_DONE || http_size(parser) <= known);
        free(copy);
    }
    return progress;
}

static void check_spans(const struct http_parser *parser, const char *bytes)
{
    size_t last = 0;

    FUZZ_CHECK(parser->head_size <= HTTP_HEAD_MAX && parser->body_size <= HTTP_BODY_MAX);
    FUZZ_CHECK(parser->field_count <= HTTP_FIELDS_MAX);
    FUZZ_CHECK(parser->target_size >= 1 && parser->target_size <= HTTP_TARGET_MAX &&
               bytes[parser->target_at] == '/');
    FUZZ_CHECK(memcmp(bytes + parser->head_size - 4, "\r\n\r\n", 4) == 0);
    for (unsigned i = 0; i < parser->field_count; i++) {
        const struct http_field *field = &parser->field[i];

        FUZZ_CHECK(field->name_size > 0 && field->name_at > last);
        FUZZ_CHECK(field->value_at > field->name_at + field->name_size);
        last = field->value_at + field->value_size;
        FUZZ_CHECK(last < parser->head_size);
        FUZZ_CHECK(!field->value_size || !memchr("\r\n", bytes[field->value_at], 3));
    }
}

static void check_target(const struct http_parser *parser, const char *bytes)
{
    struct rl_slice path, query;
    char name[NAME_SIZE], again[NAME_SIZE];

    rl_target_split((struct rl_slice){bytes + parser->target_at, parser->target_size}, &path,
                    &query);
    FUZZ_CHECK(path.size + query.size <= parser->target_size);
    for (int utf8 = 0; utf8 < 2; utf8++) {
        struct rl_slice rest = {path.data + 1, path.size - 1};

        if (rl_target_name(rest, utf8, name, sizeof name) != NULL)
            continue;
        /* What was taken is fixed: it decodes to itself. */
        FUZZ_CHECK(strlen(name) > 0 && strlen(name) < NAME_SIZE);
        FUZZ_CHECK(!rl_target_name(rl_slice_of(name), utf8, again, sizeof again));
        FUZZ_CHECK(strcmp(name, again) == 0);
    }
    if (rl_target_query_get(query, "prefix", name, sizeof name) >= 0)
        FUZZ_CHECK(strlen(name) < NAME_SIZE);
}

#ifdef HAVE_HTTP_PARSER
static void compare(const struct http_parser *parser, const char *bytes)
{
    static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    static struct oracle theirs;

    oracle_parse(bytes, http_size(parser), &theirs);
    FUZZ_CHECK(theirs.progress == ORACLE_DONE);
    FUZZ_CHECK(strcmp(theirs.method, methods[parser->method]) == 0);
    FUZZ_CHECK(theirs.target_size == parser->target_size &&
               memcmp(theirs.target, bytes + parser->target_at, theirs.target_size) == 0);
    FUZZ_CHECK(theirs.fields == parser->field_count);
    FUZZ_CHECK(theirs.body_size == parser->body_size &&
               memcmp(theirs.body, bytes + parser->head_size, theirs.body_size) == 0);
}
#else
static void compare(const struct http_parser *parser, const char *bytes)
{
    (void)parser, (void)bytes;
}
#endif

static size_t make_stream(struct fuzz_input *input, char *stream)
{
    size_t size = 0;

    if (input->left > 0 && input->at[0] == RUNS) {
        fuzz_byte(input);
        while (input->left > 0) {
            size_t length = (size_t)fuzz_byte(input);
            char byte = (char)fuzz_byte(input);

            /* Below 128 as it is, above in steps: both single bytes and the bounds are near. */
            length = length < 128 ? length : (length - 127) * RUN_UNIT;
            for (size_t i = 0; i < length && size < STREAM_MAX; i++)
                stream[size++] = byte;
        }
        return size;
    }
    size = input->left < STREAM_MAX ? input->left : STREAM_MAX;
    if (size > 0)
        memcpy(stream, input->at, size);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char stream[STREAM_MAX];
    struct fuzz_input input = {bytes, size};
    size_t step = (size_t)fuzz_byte(&input) % 64 + 1;
    size_t at = 0;

    size = make_stream(&input, stream);
    for (int i = 0; i < REQUESTS_MAX && at < size; i++) {
        static struct http_parser whole, parts;
        enum http_progress progress = parse(stream + at, size - at, size - at, &whole);

        FUZZ_CHECK(parse(stream + at, size - at, step, &parts) == progress);
        FUZZ_CHECK(whole.refusal == parts.refusal);
        if (progress != HTTP_DONE)
            break;
        FUZZ_CHECK(memcmp(&whole, &parts,
                          offsetof(struct http_parser, field) +
                              whole.field_count * sizeof whole.field[0]) == 0);
        check_spans(&whole, stream + at);
        check_target(&whole, stream + at);
        compare(&whole, stream + at);
        at += http_size(&whole);
    }
    return 0;
}
