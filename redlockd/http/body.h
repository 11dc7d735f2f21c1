/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON answers with the JSON writer of the command. All are written to one piece of memory,
 * which grows to the largest answer and is used again: an answer allocates nothing.
 */
#ifndef REDLOCKD_HTTP_BODY_H
#define REDLOCKD_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "http/server.h"

struct http_body {
    struct rl_json json; /* writes to memory */
};

/* 0, or -1: out of memory. */
int http_body_init(struct http_body *body);
void http_body_free(struct http_body *body);

/* Begins anew: an object is open. Members are written to &body->json. */
static inline void http_body_begin(struct http_body *body)
{
    rl_json_restart(&body->json);
    rl_json_object(&body->json, NULL);
}

/* Closes the object and answers with it: from 400 on it is a problem. */
static inline void http_body_answer(struct http_body *body, struct http_exchange *exchange,
                                    int status)
{
    rl_json_finish(&body->json);
    if (body->json.failed)
        http_answer_problem(exchange, 500, "NOMEM", "the answer could not be written", NULL);
    else
        http_answer(exchange,
                    &(struct http_answer){.status = status,
                                          .type = status < 400 ? HTTP_JSON : HTTP_PROBLEM,
                                          .body = body->json.text,
                                          .body_size = body->json.size});
}

/* The same for an event of a stream: begins its object, which is sent as one line of data. As
 * http_stream_send(). */
void http_body_begin_event(struct http_body *body, const char *event);
/* Without sending it: its text is body->json.text, unless body->json.failed. */
void http_body_end_event(struct http_body *body);
bool http_body_send(struct http_body *body, struct http_exchange *exchange);

#endif
