/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEAD_MAX 16384
#define TEXT_EVENT_STREAM "text/event-stream"

/* The value of a header line in the head, which ends with an empty line; NULL:
 * there is none. */
static const char *header(const char *head, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = strstr(head, "\r\n"); line && line[2] != '\r';
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':')
            return line + 2 + length + 1 + strspn(line + 2 + length + 1, " \t");
    }
    return NULL;
}

static int status_of(const char *head)
{
    return atoi(head + strlen("HTTP/1.1 "));
}

enum service_extent service_answer_extent(const char *text, size_t size, bool ended,
                                          size_t *body_at)
{
    const char *end = strstr(text, "\r\n\r\n"), *length, *type;
    size_t wanted, at;

    if (!end)
        return ended || size > HEAD_MAX ? SERVICE_ALIEN : SERVICE_PART;
    if (strncmp(text, "HTTP/1.", 7) != 0 || end - text < 12)
        return SERVICE_ALIEN;
    at = (size_t)(end + 4 - text);
    *body_at = at;
    type = header(text, "Content-Type");
    if (status_of(text) == 200 && type &&
        strncasecmp(type, TEXT_EVENT_STREAM, strlen(TEXT_EVENT_STREAM)) == 0)
        return SERVICE_STREAM;
    length = header(text, "Content-Length");
    if (!length)
        return ended || status_of(text) == 204 ? SERVICE_WHOLE : SERVICE_PART;
    wanted = strtoul(length, NULL, 10);
    return size - at >= wanted ? SERVICE_WHOLE : ended ? SERVICE_ALIEN : SERVICE_PART;
}

/* The library's error with this name; without such a name the status decides. */
static int error_of(const struct service_answer *a)
{
#define SAME_NAME(name, number, text)                                                          \
    if (strcmp(a->code, #name) == 0)                                                           \
        return REDLOCK_##name;
    REDLOCK_ERRORS(SAME_NAME)
#undef SAME_NAME
    switch (a->status) {
    case 401:
    case 403:
        return REDLOCK_AUTH;
    case 409:
        return REDLOCK_YOURS;
    case 410:
    case 412:
        return REDLOCK_EXPIRED;
    case 423:
        return REDLOCK_BUSY;
    case 408:
    case 429:
    case 503:
        return REDLOCK_NOQUORUM;
    case 502:
        return REDLOCK_PROTO;
    default:
        return REDLOCK_INVAL;
    }
}

void service_answer_is_foreign(struct service_answer *a)
{
    a->outcome = SERVICE_UNKNOWN;
    a->error = REDLOCK_NOQUORUM;
    snprintf(a->detail, sizeof a->detail, "no answer of a redlockd, but HTTP status %d",
             a->status);
}

static void read_body(struct service_answer *a, const char *body, size_t size)
{
    a->body = rl_json_whole((struct rl_slice){body, size});
    rl_json_text(rl_json_member(a->body, "code"), a->code, sizeof a->code);
    if (!a->code[0])
        return;
    a->error = error_of(a);
    rl_json_text(rl_json_member(a->body, "detail"), a->detail, sizeof a->detail);
}

void service_answer_read(struct service_answer *a, const char *text, const char *body)
{
    const char *retry = header(text, "Retry-After");
    bool is_success;

    a->status = status_of(text);
    a->retry_ms = retry ? strtol(retry, NULL, 10) * 1000 : 0;
    a->outcome = SERVICE_ANSWERED;
    is_success = a->status >= 200 && a->status < 300;
    read_body(a, body, strlen(body));
    if (is_success)
        a->error = REDLOCK_OK;
    if (is_success ? a->body.type == RL_JSON_ABSENT && a->status != 204 : !a->code[0])
        service_answer_is_foreign(a);
}

/* A line of an event with this field; NULL: it has none. */
static const char *field(const char *event, const char *end, const char *name, size_t *length)
{
    size_t size = strlen(name);
    const char *next;

    for (const char *line = event; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next)
            next = end;
        if ((size_t)(next - line) >= size && memcmp(line, name, size) == 0) {
            *length = (size_t)(next - line) - size;
            return line + size;
        }
    }
    return NULL;
}

size_t service_answer_read_event(struct service_answer *a, const char *text, size_t size)
{
    const char *end = memmem(text, size, "\n\n", 2), *event, *data;
    size_t length = 0;

    if (!end)
        return 0;
    event = field(text, end, "event: ", &length);
    if (event) {
        snprintf(a->event, sizeof a->event, "%.*s", (int)length, event);
        a->outcome = SERVICE_EVENT;
        a->status = 200;
        data = field(text, end, "data: ", &length);
        if (data)
            read_body(a, data, length);
    }
    if (event && strcmp(a->event, "lost") == 0) {
        a->outcome = SERVICE_ANSWERED;
        a->status = (int)rl_json_number(rl_json_member(a->body, "status"), 0);
        a->error = error_of(a);
    }
    return (size_t)(end + 2 - text);
}

void service_answer_free(struct service_answer *a)
{
    free(a->text);
    a->text = NULL;
}
