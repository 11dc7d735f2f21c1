/* SPDX-License-Identifier: BSD-2-Clause */
/* The answers of a redlockd as the command reads them: heads, bodies and events. */
#include "service/answer.h"

#include <string.h>

#include "check.h"

#define PROBLEM "HTTP/1.1 423 Locked\r\nContent-Type: application/problem+json\r\n"

static struct service_answer whole(const char *text)
{
    struct service_answer a = {.outcome = SERVICE_UNDER_WAY};
    size_t body_at = 0;

    CHECK_INT(SERVICE_WHOLE, service_answer_extent(text, strlen(text), true, &body_at));
    service_answer_read(&a, text, text + body_at);
    return a;
}

CASE(parts, "An answer is whole when its last byte has come, and not before.")
{
    static const char text[] = PROBLEM "Content-Length: 15\r\n\r\n{\"code\":\"BUSY\"}";
    char part[sizeof text];
    size_t body_at = 0;

    for (size_t size = 0; size < strlen(text); size++) {
        memcpy(part, text, size);
        part[size] = '\0';
        CHECK_INT(SERVICE_PART, service_answer_extent(part, size, false, &body_at));
        CHECK_INT(SERVICE_ALIEN, service_answer_extent(part, size, true, &body_at));
    }
    CHECK_INT(SERVICE_WHOLE, service_answer_extent(text, strlen(text), false, &body_at));
}

CASE(refusal, "A refusal has the error of its code, its words, and when to try again.")
{
    struct service_answer a = whole(PROBLEM "Retry-After: 3\r\nContent-Length: 38\r\n\r\n"
                                            "{\"code\":\"TIMEOUT\",\"detail\":\"the words\"}");

    CHECK_INT(SERVICE_ANSWERED, a.outcome);
    CHECK_INT(423, a.status);
    CHECK_INT(REDLOCK_TIMEOUT, a.error);
    CHECK_STR("the words", a.detail);
    CHECK_INT(3000, a.retry_ms);
}

CASE(slow_request,
     "A request that came too slowly was not a wait that is over: another may pass.")
{
    struct service_answer a =
        whole("HTTP/1.1 408 Request Timeout\r\n\r\n"
              "{\"code\":\"REQUEST_TIMEOUT\",\"detail\":\"not in time\"}");

    CHECK_INT(SERVICE_ANSWERED, a.outcome);
    CHECK_INT(REDLOCK_NOQUORUM, a.error);
}

CASE(foreign, "What has neither a code nor what was requested is not of a redlockd.")
{
    CHECK_INT(SERVICE_UNKNOWN, whole("HTTP/1.1 502 Bad Gateway\r\n\r\n<html>").outcome);
    CHECK_INT(SERVICE_UNKNOWN, whole("HTTP/1.1 200 OK\r\n\r\n<p>yes").outcome);
    CHECK_INT(SERVICE_ANSWERED, whole("HTTP/1.1 204 No Content\r\n\r\n").outcome);
}

CASE(stream, "Only a success of the right type is a stream.")
{
    static const char yes[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
                      no[] = "HTTP/1.1 423 Locked\r\nContent-Type: text/event-stream\r\n\r\n";
    size_t body_at = 0;

    CHECK_INT(SERVICE_STREAM, service_answer_extent(yes, strlen(yes), false, &body_at));
    CHECK_INT(strlen(yes), body_at);
    CHECK_INT(SERVICE_PART, service_answer_extent(no, strlen(no), false, &body_at));
}

/* What the first event of the text is, and how long. */
static struct service_answer event(const char *text, size_t *size)
{
    struct service_answer a = {.outcome = SERVICE_UNDER_WAY};

    *size = service_answer_read_event(&a, text, strlen(text));
    return a;
}

CASE(events, "An event is read when its empty line has come; a comment is none.")
{
    static const char text[] = "event: renewed\ndata: {\"after_ms\":7}\n\n";
    struct service_answer a;
    char part[sizeof text];
    size_t size;

    for (size_t length = 0; length < strlen(text); length++) {
        memcpy(part, text, length);
        part[length] = '\0';
        CHECK_INT(SERVICE_UNDER_WAY, event(part, &size).outcome);
        CHECK_INT(0, size);
    }
    a = event(text, &size);
    CHECK_INT(SERVICE_EVENT, a.outcome);
    CHECK_INT(strlen(text), size);
    CHECK_STR("renewed", a.event);
    CHECK_INT(REDLOCK_OK, a.error);
    CHECK_INT(7, rl_json_number(rl_json_member(a.body, "after_ms"), -1));
    CHECK_INT(SERVICE_UNDER_WAY, event(": alive\n\nevent: renewed\n\n", &size).outcome);
    CHECK_INT(strlen(": alive\n\n"), size);
}

CASE(jeopardy, "An event with a code has its error, and its stream goes on.")
{
    size_t size;
    struct service_answer a = event("event: jeopardy\ndata: {\"code\":\"NOQUORUM\","
                                    "\"detail\":\"two are silent\"}\n\n",
                                    &size);

    CHECK_INT(SERVICE_EVENT, a.outcome);
    CHECK_INT(REDLOCK_NOQUORUM, a.error);
    CHECK_STR("two are silent", a.detail);
}

CASE(lost, "The event lost is the answer that a lease would have got.")
{
    size_t size;
    struct service_answer a =
        event("event: lost\ndata: {\"status\":410,\"code\":\"ENDED\",\"detail\":\"stop\"}\n\n",
              &size);

    CHECK_INT(SERVICE_ANSWERED, a.outcome);
    CHECK_INT(410, a.status);
    CHECK_INT(REDLOCK_EXPIRED, a.error);
    CHECK_STR("stop", a.detail);
}
