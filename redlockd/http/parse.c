/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/parse.h"

#include <string.h>

#include "base/control.h"

#define METHOD_MAX 16
/* More digits than any length that is allowed: the number itself no longer matters. */
#define LENGTH_DIGITS_MAX 18

/* ---- what a byte may be (RFC 9110, RFC 3986) ------------------------------------------- */

#define HTTP_TOKEN 0x1u  /* tchar: methods and names of fields */
#define HTTP_TARGET 0x2u /* in a target: unreserved, sub-delims, and : @ / ? % */
#define HTTP_HOST 0x4u   /* in Host */

#define ALNUM(c)                                                                               \
    (((c) >= '0' && (c) <= '9') || ((c) >= 'A' && (c) <= 'Z') || ((c) >= 'a' && (c) <= 'z'))

#define PLAIN(c) (ALNUM(c) || (c) == '-' || (c) == '.' || (c) == '_')

/* Both in tokens and in targets. */
#define SHARED(c)                                                                              \
    (PLAIN(c) || (c) == '!' || (c) == '$' || (c) == '%' || (c) == '&' || (c) == '\'' ||        \
     (c) == '*' || (c) == '+' || (c) == '~')

#define IN_TOKEN(c) (SHARED(c) || (c) == '#' || (c) == '^' || (c) == '`' || (c) == '|')

#define IN_TARGET(c)                                                                           \
    (SHARED(c) || (c) == '(' || (c) == ')' || (c) == ',' || (c) == ';' || (c) == '=' ||        \
     (c) == ':' || (c) == '@' || (c) == '/' || (c) == '?')

#define IN_HOST(c) (PLAIN(c) || (c) == ':' || (c) == '[' || (c) == ']')

#define CLASS(c)                                                                               \
    ((IN_TOKEN(c) ? HTTP_TOKEN : 0) | (IN_TARGET(c) ? HTTP_TARGET : 0) |                       \
     (IN_HOST(c) ? HTTP_HOST : 0))

#define FOUR(c) CLASS(c), CLASS((c) + 1), CLASS((c) + 2), CLASS((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)

/* Bytes from 0x80 on are in none: values may have them, and no value that
 * is interpreted does. */
static const uint8_t characters[256] = {
    SIXTEEN(0x00), SIXTEEN(0x10), SIXTEEN(0x20), SIXTEEN(0x30),
    SIXTEEN(0x40), SIXTEEN(0x50), SIXTEEN(0x60), SIXTEEN(0x70),
};

static bool is(char c, unsigned what)
{
    return (characters[(unsigned char)c] & what) != 0;
}

/* ---- words ------------------------------------------------------------------------------- */

/* -1, which is what the readers below return when they refuse. */
static int refuse(struct http_parser *parser, enum http_refusal_name why)
{
    parser->refusal = why;
    return -1;
}

static bool only(struct rl_slice text, unsigned what)
{
    unsigned all = what;

    /* Without a branch per character: a text that is refused is the exception. */
    for (size_t i = 0; i < text.size; i++)
        all &= characters[(unsigned char)text.data[i]];
    return all == what && text.size > 0;
}

/* The start of *text up to the first `stop`; *text keeps the rest, the stop included. */
static struct rl_slice until(struct rl_slice *text, char stop)
{
    const char *found = text->size > 0 ? memchr(text->data, stop, text->size) : NULL;
    struct rl_slice head = {text->data, found ? (size_t)(found - text->data) : text->size};

    rl_slice_skip(text, head.size);
    return head;
}

/* In any case. `word` has small letters and characters that stay what they are with bit 0x20;
 * of what becomes one of those by that bit, only capitals can stand in a head. */
static bool is_word(struct rl_slice text, const char *word, size_t length)
{
    if (text.size != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((text.data[i] | 0x20) != word[i])
            return false;
    return true;
}

#define IS(text, literal) is_word(text, literal, sizeof(literal) - 1)

/* ---- the first line ------------------------------------------------------------------ */

static int read_method(struct http_parser *parser, struct rl_slice word)
{
    static const struct {
        const char *name;
        size_t length;
    } methods[] = {
        [HTTP_GET] = {"GET", 3},   [HTTP_HEAD] = {"HEAD", 4},     [HTTP_PUT] = {"PUT", 3},
        [HTTP_POST] = {"POST", 4}, [HTTP_DELETE] = {"DELETE", 6},
    };

    if (word.size > METHOD_MAX || !only(word, HTTP_TOKEN))
        return refuse(parser, HTTP_REFUSED_REQUEST_LINE);
    for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (word.size == methods[i].length &&
            memcmp(word.data, methods[i].name, word.size) == 0) {
            parser->method = (enum http_method)i;
            return 0;
        }
    }
    return refuse(parser, HTTP_REFUSED_METHOD);
}

static int read_version(struct http_parser *parser, struct rl_slice word)
{
    if (word.size != 8 || memcmp(word.data, "HTTP/", 5) != 0 || !rl_is_digit(word.data[5]) ||
        word.data[6] != '.' || !rl_is_digit(word.data[7]))
        return refuse(parser, HTTP_REFUSED_REQUEST_LINE);
    if (word.data[5] != '1' || word.data[7] > '1')
        return refuse(parser, HTTP_REFUSED_VERSION);
    parser->is_http10 = word.data[7] == '0';
    return 0;
}

static int read_target(struct http_parser *parser, struct rl_slice word)
{
    if (word.size > HTTP_TARGET_MAX)
        return refuse(parser, HTTP_REFUSED_TARGET_TOO_LONG);
    if (word.size == 0 || word.data[0] != '/')
        return refuse(parser, HTTP_REFUSED_TARGET_FORM);
    if (!only(word, HTTP_TARGET))
        return refuse(parser, HTTP_REFUSED_TARGET_CHARACTER);
    parser->target_size = (uint16_t)word.size;
    return 0;
}

/* METHOD SP target SP version: exactly two blanks. */
static int read_request_line(struct http_parser *parser, struct rl_slice line)
{
    struct rl_slice rest = line;
    struct rl_slice method = until(&rest, ' ');
    struct rl_slice target;

    if (rest.size == 0)
        return refuse(parser, HTTP_REFUSED_REQUEST_LINE);
    rl_slice_skip(&rest, 1);
    target = until(&rest, ' ');
    if (rest.size == 0)
        return refuse(parser, HTTP_REFUSED_REQUEST_LINE);
    rl_slice_skip(&rest, 1);
    parser->target_at = (uint16_t)(parser->line_at + (target.data - line.data));
    /* The version first: it decides how the rest would have to be read. */
    if (read_version(parser, rest) < 0 || read_method(parser, method) < 0 ||
        read_target(parser, target) < 0)
        return -1;
    parser->stage = HTTP_STAGE_FIELDS;
    return 0;
}

/* ---- fields -------------------------------------------------------------------------- */

static int read_length(struct http_parser *parser, struct rl_slice value)
{
    uint64_t length = 0;

    if (parser->has_length)
        return refuse(parser, HTTP_REFUSED_LENGTH_TWICE);
    parser->has_length = true;
    if (value.size == 0 || (value.data[0] == '0' && value.size > 1))
        return refuse(parser, HTTP_REFUSED_LENGTH);
    for (size_t i = 0; i < value.size; i++)
        if (!rl_is_digit(value.data[i]))
            return refuse(parser, HTTP_REFUSED_LENGTH);
    /* Blanks may follow, up to the CR; a tab, which is one, is none to some. */
    for (const char *at = value.data + value.size; *at != '\r'; at++)
        if (*at == '\t')
            return refuse(parser, HTTP_REFUSED_LENGTH);
    if (value.size > LENGTH_DIGITS_MAX)
        return refuse(parser, HTTP_REFUSED_BODY_TOO_LARGE);
    for (size_t i = 0; i < value.size; i++)
        length = length * 10 + (uint64_t)(value.data[i] - '0');
    if (length > HTTP_BODY_MAX)
        return refuse(parser, HTTP_REFUSED_BODY_TOO_LARGE);
    parser->body_size = (uint16_t)length;
    return 0;
}

static inline struct rl_slice trim(struct rl_slice text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        rl_slice_skip(&text, 1);
    while (text.size > 0 &&
           (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* The next part of *list, without blanks around it; false at its end. */
static bool next_part(struct rl_slice *list, char separator, struct rl_slice *part)
{
    if (list->size == 0)
        return false;
    *part = trim(until(list, separator));
    if (list->size > 0)
        rl_slice_skip(list, 1);
    return true;
}

/* A list of words with commas; only `close` means something here. */
static void read_connection(struct http_parser *parser, struct rl_slice value)
{
    struct rl_slice word;

    while (next_part(&value, ',', &word))
        parser->says_close |= IS(word, "close");
}

/* q=0, q=0. or q=0.000: not this one. */
static bool is_refusal(struct rl_slice parameter)
{
    if (parameter.size < 3 || rl_lower(parameter.data[0]) != 'q' || parameter.data[1] != '=')
        return false;
    for (size_t i = 2; i < parameter.size; i++)
        if (parameter.data[i] != '0' && parameter.data[i] != '.')
            return false;
    return true;
}

static bool names_events(struct rl_slice member)
{
    struct rl_slice part;

    if (!next_part(&member, ';', &part) || !IS(part, "text/event-stream"))
        return false;
    while (next_part(&member, ';', &part))
        if (is_refusal(part))
            return false;
    return true;
}

/* All Accept fields are one list (RFC 9110, 12.5.1). Ranges (*, text/) do not count: what is
 * accepted here changes what a request means, and is accepted by name. */
static void read_accept(struct http_parser *parser, struct rl_slice value)
{
    struct rl_slice member;

    while (next_part(&value, ',', &member))
        parser->accepts_events |= names_events(member);
}

static bool is_json(struct rl_slice value)
{
    struct rl_slice type;

    if (IS(value, "application/json"))
        return true;
    type = trim(until(&value, ';'));
    if (!IS(type, "application/json"))
        return false;
    if (value.size == 0)
        return false;
    rl_slice_skip(&value, 1);
    value = trim(value);
    return IS(value, "charset=utf-8") || IS(value, "charset=\"utf-8\"");
}

static int read_expect(struct http_parser *parser, struct rl_slice value)
{
    if (!IS(value, "100-continue"))
        return refuse(parser, HTTP_REFUSED_EXPECTATION);
    parser->says_continue = true;
    return 0;
}

/* The field that was read last is one that handlers use. */
static void know(struct http_parser *parser, enum http_known name)
{
    if (parser->known[name].count++ == 0)
        parser->known[name].field = (uint8_t)(parser->field_count - 1);
}

static int read_host(struct http_parser *parser, struct rl_slice value)
{
    know(parser, HTTP_FIELD_HOST);
    if (parser->known[HTTP_FIELD_HOST].count > 1 || !only(value, HTTP_HOST))
        return refuse(parser, HTTP_REFUSED_HOST);
    return 0;
}

static bool is_forwarded(struct rl_slice name)
{
    static const char prefix[] = "x-forwarded-";

    return IS(name, "via") || IS(name, "forwarded") ||
           (name.size >= sizeof prefix - 1 &&
            is_word((struct rl_slice){name.data, sizeof prefix - 1}, prefix,
                    sizeof prefix - 1));
}

/* The length spares nearly all fields the comparison. */
static int interpret(struct http_parser *parser, struct rl_slice name, struct rl_slice value)
{
    if (IS(name, "host"))
        return read_host(parser, value);
    if (IS(name, "content-length"))
        return read_length(parser, value);
    if (IS(name, "transfer-encoding"))
        return refuse(parser, HTTP_REFUSED_TRANSFER_ENCODING);
    if (IS(name, "expect"))
        return read_expect(parser, value);
    if (IS(name, "content-type")) {
        parser->type_count++;
        parser->type_is_json = is_json(value);
    }
    if (IS(name, "connection"))
        read_connection(parser, value);
    if (IS(name, "accept"))
        read_accept(parser, value);
    if (IS(name, "authorization"))
        know(parser, HTTP_FIELD_AUTHORIZATION);
    if (IS(name, "lease-id"))
        know(parser, HTTP_FIELD_LEASE_ID);
    if (IS(name, "grant"))
        know(parser, HTTP_FIELD_GRANT);
    parser->is_forwarded |= is_forwarded(name);
    return 0;
}

static int read_field(struct http_parser *parser, struct rl_slice line)
{
    struct rl_slice name = {line.data, 0};
    struct rl_slice value;
    struct http_field *field;

    if (line.data[0] == ' ' || line.data[0] == '\t')
        return refuse(parser, HTTP_REFUSED_FOLDED);
    while (name.size < line.size && is(line.data[name.size], HTTP_TOKEN))
        name.size++;
    if (name.size == 0 || name.size == line.size || line.data[name.size] != ':')
        return refuse(parser, HTTP_REFUSED_FIELD_NAME);
    if (parser->field_count == HTTP_FIELDS_MAX)
        return refuse(parser, HTTP_REFUSED_HEAD_TOO_LARGE);
    rl_slice_skip(&line, name.size + 1);
    value = trim(line);
    field = &parser->field[parser->field_count++];
    field->name_at = parser->line_at;
    field->name_size = (uint16_t)name.size;
    field->value_at = (uint16_t)(parser->line_at + (value.data - name.data));
    field->value_size = (uint16_t)value.size;
    return interpret(parser, name, value);
}

/* The empty line: what only the whole head shows. */
static int finish_head(struct http_parser *parser)
{
    bool may_have_body = parser->method == HTTP_PUT || parser->method == HTTP_POST;

    if (parser->known[HTTP_FIELD_HOST].count == 0 && !parser->is_http10)
        return refuse(parser, HTTP_REFUSED_HOST);
    if (may_have_body && !parser->has_length)
        return refuse(parser, HTTP_REFUSED_LENGTH_MISSING);
    if (parser->body_size > 0 && (parser->method == HTTP_GET || parser->method == HTTP_HEAD))
        return refuse(parser, HTTP_REFUSED_BODY_UNEXPECTED);
    if (parser->body_size > 0 && (parser->type_count != 1 || !parser->type_is_json))
        return refuse(parser, HTTP_REFUSED_TYPE);
    parser->stage = HTTP_STAGE_BODY;
    parser->head_size = parser->scanned;
    return 0;
}

/* ---- lines --------------------------------------------------------------------------- */

static int read_line(struct http_parser *parser, struct rl_slice line)
{
    if (parser->stage == HTTP_STAGE_LINE)
        return read_request_line(parser, line);
    if (line.size == 0)
        return finish_head(parser);
    return read_field(parser, line);
}

/* No more bytes, or so many that the head has no end. */
static enum http_progress wait_for_more(struct http_parser *parser, size_t known)
{
    if (known < HTTP_HEAD_MAX)
        return HTTP_MORE;
    refuse(parser, parser->stage == HTTP_STAGE_LINE ? HTTP_REFUSED_TARGET_TOO_LONG
                                                    : HTTP_REFUSED_HEAD_TOO_LARGE);
    return HTTP_REFUSED;
}

/* Line by line until the head is complete. Sees the first HTTP_HEAD_MAX bytes only, so that the
 * result does not depend on how many came at once. */
static enum http_progress parse_head(struct http_parser *parser, const char *bytes, size_t size)
{
    size_t known = size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX;

    while (parser->stage != HTTP_STAGE_BODY) {
        size_t at = rl_find_control(bytes, parser->scanned, known);

        parser->scanned = (uint16_t)at;
        if (at == known)
            return wait_for_more(parser, known);
        if (bytes[at] != '\r') {
            refuse(parser, bytes[at] == '\n' ? HTTP_REFUSED_BARE_LF : HTTP_REFUSED_CONTROL);
            return HTTP_REFUSED;
        }
        if (at + 1 == known)
            return wait_for_more(parser, known);
        if (bytes[at + 1] != '\n') {
            refuse(parser, HTTP_REFUSED_BARE_CR);
            return HTTP_REFUSED;
        }
        parser->scanned = (uint16_t)(at + 2);
        if (read_line(parser,
                      (struct rl_slice){bytes + parser->line_at, at - parser->line_at}) < 0)
            return HTTP_REFUSED;
        parser->line_at = parser->scanned;
    }
    return HTTP_DONE;
}

enum http_progress http_parse(struct http_parser *parser, const char *bytes, size_t size)
{
    if (parser->refusal != HTTP_REFUSED_NOTHING)
        return HTTP_REFUSED;
    if (parser->stage != HTTP_STAGE_BODY) {
        enum http_progress progress = parse_head(parser, bytes, size);

        if (progress != HTTP_DONE)
            return progress;
    }
    return size >= http_size(parser) ? HTTP_DONE : HTTP_MORE;
}

/* ---- a complete head ------------------------------------------------------------------- */

bool http_expects_continue(const struct http_parser *parser, size_t size)
{
    return parser->stage == HTTP_STAGE_BODY && parser->says_continue && !parser->is_http10 &&
           parser->body_size > 0 && size == parser->head_size;
}
