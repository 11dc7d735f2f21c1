/* SPDX-License-Identifier: BSD-2-Clause */
#include "http_oracle.h"

#include <http_parser.h>
#include <string.h>

static int add(char *text, size_t *used, const char *bytes, size_t size)
{
    if (*used + size > ORACLE_TEXT_MAX)
        return 1;
    memcpy(text + *used, bytes, size);
    *used += size;
    return 0;
}

static int on_url(http_parser *parser, const char *bytes, size_t size)
{
    struct oracle *oracle = parser->data;

    return add(oracle->target, &oracle->target_size, bytes, size);
}

static int on_body(http_parser *parser, const char *bytes, size_t size)
{
    struct oracle *oracle = parser->data;

    return add(oracle->body, &oracle->body_size, bytes, size);
}

/* All bytes come in one call, so a field is reported once. */
static int on_header_field(http_parser *parser, const char *bytes, size_t size)
{
    struct oracle *oracle = parser->data;

    (void)bytes, (void)size;
    oracle->fields++;
    return 0;
}

static int on_message_complete(http_parser *parser)
{
    struct oracle *oracle = parser->data;

    oracle->progress = ORACLE_DONE;
    http_parser_pause(parser, 1);
    return 0;
}

void oracle_parse(const char *bytes, size_t size, struct oracle *oracle)
{
    static const http_parser_settings settings = {
        .on_url = on_url,
        .on_body = on_body,
        .on_header_field = on_header_field,
        .on_message_complete = on_message_complete,
    };
    http_parser parser;

    memset(oracle, 0, offsetof(struct oracle, target));
    oracle->progress = ORACLE_MORE;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = oracle;
    if (size > 0)
        http_parser_execute(&parser, &settings, bytes, size);
    oracle->method = http_method_str((enum http_method)parser.method);
    if (oracle->progress == ORACLE_MORE && HTTP_PARSER_ERRNO(&parser) != HPE_OK)
        oracle->progress = ORACLE_REFUSED;
}
