/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/body.h"

#include <stdio_ext.h>
#include <stdlib.h>

int http_body_init(struct http_body *body)
{
    *body = (struct http_body){0};
    body->json.out = open_memstream(&body->text, &body->size);
    if (!body->json.out)
        return -1;
    /* The daemon has one thread: a lock around every character would be half of an answer's cost. */
    __fsetlocking(body->json.out, FSETLOCKING_BYCALLER);
    return 0;
}

void http_body_free(struct http_body *body)
{
    if (body->json.out)
        fclose(body->json.out);
    free(body->text);
    *body = (struct http_body){0};
}

void http_body_begin(struct http_body *body)
{
    rewind(body->json.out);
    body->json.comma = false;
    json_object(&body->json, NULL);
}

/* How many bytes were written; -1: out of memory. */
static long finish(struct http_body *body)
{
    long size = ftell(body->json.out);

    return fflush(body->json.out) == 0 ? size : -1;
}

void http_body_answer(struct http_body *body, struct http_exchange *exchange, int status,
                      const char *type, const char *extra)
{
    long size;

    json_finish(&body->json);
    size = finish(body);
    if (size < 0) {
        http_answer_problem(exchange, 500, "OUT_OF_MEMORY", "the answer could not be written",
                            NULL);
        return;
    }
    http_answer(exchange, &(struct http_answer){.status = status,
                                                .type = type,
                                                .extra = extra,
                                                .body = body->text,
                                                .body_size = (size_t)size});
}

void http_body_begin_event(struct http_body *body, const char *event)
{
    rewind(body->json.out);
    fprintf(body->json.out, "event: %s\ndata: ", event);
    body->json.comma = false;
    json_object(&body->json, NULL);
}

bool http_body_send(struct http_body *body, struct http_exchange *exchange)
{
    long size;

    json_end_object(&body->json);
    fputs("\n\n", body->json.out); /* an empty line ends an event */
    size = finish(body);
    if (size < 0)
        http_stream_cut(exchange);
    return size >= 0 && http_stream_send(exchange, body->text, (size_t)size);
}
