/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/body.h"

#include <stdlib.h>
#include <string.h>

int http_body_init(struct http_body *body)
{
    *body = (struct http_body){0};
    rl_json_raw(&body->json, "", 1); /* takes the memory of the first answers */
    return body->json.failed ? -1 : 0;
}

void http_body_free(struct http_body *body)
{
    free(body->json.text);
    *body = (struct http_body){0};
}

void http_body_begin_event(struct http_body *body, const char *event)
{
    rl_json_restart(&body->json);
    rl_json_raw(&body->json, "event: ", 7);
    rl_json_raw(&body->json, event, strlen(event));
    rl_json_raw(&body->json, "\ndata: ", 7);
    rl_json_object(&body->json, NULL);
}

void http_body_end_event(struct http_body *body)
{
    rl_json_end_object(&body->json);
    rl_json_raw(&body->json, "\n\n", 2); /* an empty line ends an event */
}

bool http_body_send(struct http_body *body, struct http_exchange *exchange)
{
    http_body_end_event(body);
    if (body->json.failed)
        http_stream_cut(exchange);
    return !body->json.failed && http_stream_send(exchange, body->json.text, body->json.size);
}
