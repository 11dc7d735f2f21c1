/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/answer.h"

#include <string.h>

/* "Not Found"; "Unknown" for what is not in the table. */
static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {423, "Locked"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

static char *put(char *out, const char *text, size_t size)
{
    memcpy(out, text, size);
    return out + size;
}

#define PUT(out, literal) put(out, literal, sizeof(literal) - 1)

static char *put_number(char *out, size_t number)
{
    char digits[20];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count > 0)
        *out++ = digits[--count];
    return out;
}

size_t http_head_write(char *out, const struct http_head *head)
{
    const char *reason = reason_of(head->status);
    char *at = PUT(out, "HTTP/1.1 ");

    at = put_number(at, (size_t)head->status);
    *at++ = ' ';
    at = put(at, reason, strlen(reason));
    at = PUT(at, "\r\nDate: ");
    at = put(at, head->date, HTTP_DATE_SIZE);
    /* Every answer is about a moment: none may come from a cache. */
    at = PUT(at, "\r\nCache-Control: no-store\r\n");
    if (head->type) {
        at = PUT(at, "Content-Type: ");
        at = put(at, head->type, strlen(head->type));
        at = PUT(at, "\r\nX-Content-Type-Options: nosniff\r\n");
    }
    if (head->has_length) {
        at = PUT(at, "Content-Length: ");
        at = put_number(at, head->body_size);
        at = PUT(at, "\r\n");
    }
    if (head->is_last)
        at = PUT(at, "Connection: close\r\n");
    if (head->extra)
        at = put(at, head->extra, strlen(head->extra));
    at = PUT(at, "\r\n");
    return (size_t)(at - out);
}
