/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the command holds a lock through a service, without one: the clock, and a connection on
 * which the case is the service. Times are milliseconds, and the TTL is 12 s: a renewal is due
 * after 4, overdue after 5, in jeopardy after 6, and returns are a second apart.
 */
#include "service/hold.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "system/timer.h"
#include "ui/message.h"

#define TTL_MS 12000
#define FLOOD "event: queued\ndata: {\"place\":1}\n\n"

static int64_t clock_ms;
static struct {
    int tried;            /* connections */
    int begun;            /* connections for a PUT */
    int deleted;          /* DELETEs */
    int64_t connects_ms;  /* how long that takes */
    int64_t connected_ms; /* when the last has */
    bool is_refused;      /* none can be made */
    bool floods, has_closed;
    char request[SERVICE_REQUEST_MAX]; /* the last PUT */
    char sent[4096];                   /* by the service, and not read yet */
} far;

int64_t timer_now_ns(void)
{
    return clock_ms * RL_NS_PER_MS;
}

int message_fail(int status, const char *format, ...)
{
    (void)format;
    return status;
}

void channel_begin(struct channel *c, struct rl_reactor *reactor, const struct service_url *url,
                   const struct channel_tls *files, bool is_secret)
{
    (void)reactor, (void)files, (void)is_secret;
    *c = (struct channel){.url = url, .state = CHANNEL_CONNECTING};
    far.tried++;
    far.connected_ms = clock_ms + far.connects_ms;
    far.has_closed = false;
    far.sent[0] = '\0';
}

enum channel_state channel_turn(struct channel *c)
{
    if (far.is_refused)
        c->state = CHANNEL_CLOSED;
    else if (c->state == CHANNEL_CONNECTING && clock_ms >= far.connected_ms)
        c->state = CHANNEL_OPEN;
    return c->state;
}

void channel_write(struct channel *c, const char *bytes, size_t size)
{
    (void)c;
    if (memcmp(bytes, "DELETE", 6) == 0) {
        far.deleted++;
        strcpy(far.sent, "HTTP/1.1 204 No Content\r\n\r\n");
        return;
    }
    far.begun++;
    memcpy(far.request, bytes, size);
    far.request[size] = '\0';
}

ssize_t channel_read(struct channel *c, char *bytes, size_t size)
{
    size_t length = strlen(far.sent);

    CHECK(length < size);
    memcpy(bytes, far.sent, length);
    far.sent[0] = '\0';
    if (length == 0 && far.floods) {
        length = strlen(FLOOD);
        memcpy(bytes, FLOOD, length);
    }
    if (length > 0 || !far.has_closed)
        return (ssize_t)length;
    c->state = CHANNEL_CLOSED;
    return -1;
}

void channel_close(struct channel *c)
{
    c->state = CHANNEL_CLOSED;
}

static struct service service;
static struct service_terms terms;
static struct service_hold *hold;
static const struct service_state *state;

static void turn(void)
{
    state = service_hold_turn(hold);
}

/* Time passes, a turn each 100 ms. */
static void pass(int64_t ms)
{
    for (int64_t end_ms = clock_ms + ms; clock_ms < end_ms;) {
        clock_ms += end_ms - clock_ms < 100 ? end_ms - clock_ms : 100;
        turn();
    }
}

static void end(void)
{
    service_hold_free(hold);
    hold = NULL;
}

static void begin(const char *url)
{
    end();
    check_at_end(end);
    memset(&far, 0, sizeof far);
    clock_ms = 1000000;
    CHECK(service_url_read(&service.url, url) == NULL);
    terms = (struct service_terms){.name = "job",
                                   .ttl_ms = TTL_MS,
                                   .wait_ms = REDLOCK_WAIT_FOREVER,
                                   .kind = "mutex",
                                   .label = "me"};
    hold = service_hold_start(&service, &terms);
    turn();
}

static void send_event(const char *event, const char *data)
{
    char text[512];

    snprintf(text, sizeof text, "event: %s\ndata: {%s}\n\n", event, data);
    strcat(far.sent, text);
    turn();
}

static void begin_stream(void)
{
    strcat(far.sent, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
}

static void grant(int fence, int64_t after_ms)
{
    char data[128];

    begin_stream();
    snprintf(data, sizeof data,
             "\"grant\":\"the-grant\",\"fence\":%d,\"after_ms\":%lld,\"remaining_ms\":%d",
             fence, (long long)after_ms, TTL_MS);
    send_event("granted", data);
}

static void refuse(int status, const char *code)
{
    snprintf(far.sent, sizeof far.sent,
             "HTTP/1.1 %d No\r\nContent-Length: %zu\r\n\r\n{\"code\":\"%s\"}", status,
             strlen(code) + 11, code);
    turn();
}

static void begin_held(void)
{
    begin("unix:/socket");
    grant(7, 0);
    CHECK_INT(SERVICE_HELD, state->phase);
    CHECK_INT(1, far.begun);
}

static int64_t left_ms(void)
{
    return state->deadline_ns / RL_NS_PER_MS - clock_ms;
}

CASE(counted_from_sending, "The deadline counts from the sending: connecting costs nothing.")
{
    begin("unix:/socket");
    end();
    far.connects_ms = 700;
    hold = service_hold_start(&service, &terms);
    turn();
    pass(700);
    pass(300);
    grant(7, 0);
    CHECK_INT(TTL_MS - 300, left_ms());
    far.connects_ms = 0;
}

CASE(late_grant, "A grant that comes too late is deleted, and requested with another id.")
{
    char first[SERVICE_REQUEST_MAX];

    begin("unix:/socket");
    memcpy(first, far.request, sizeof first);
    clock_ms += TTL_MS;
    grant(7, 0);
    CHECK_INT(SERVICE_WAITING, state->phase);
    CHECK_INT(1, far.deleted);
    CHECK_INT(2, far.begun);
    CHECK(strcmp(first, far.request) != 0);
}

CASE(reconnect, "A stream that is sent `reconnect` comes back with its grant and its fence.")
{
    begin_held();
    pass(2000);
    send_event("reconnect", "\"grant\":\"the-grant\",\"after_ms\":2000,\"remaining_ms\":12000");
    CHECK_INT(2, far.begun);
    CHECK_HAS("\r\nGrant: the-grant\r\n", far.request);
    CHECK_LACKS("wait_ms", far.request);
    CHECK_INT(TTL_MS, left_ms());
    grant(9, 0);
    CHECK_INT(7, state->fence);
    CHECK(!state->jeopardy);
}

CASE(returns, "A lock whose stream was cut is lost at its deadline, and requested until then.")
{
    begin_held();
    pass(2000);
    far.is_refused = true;
    turn();
    pass(3900);
    CHECK_INT(1 + 4, far.tried);
    CHECK(!state->jeopardy);
    pass(100);
    CHECK(state->jeopardy);
    CHECK_INT(TTL_MS - 6000, left_ms());
    pass(5900);
    CHECK_INT(SERVICE_HELD, state->phase);
    pass(100);
    CHECK_INT(SERVICE_LOST, state->phase);
    CHECK_INT(REDLOCK_NOQUORUM, state->error);
}

CASE(refused_returns, "Of refusals only 410 ends a lock before its deadline.")
{
    begin_held();
    far.has_closed = true;
    pass(1000);
    for (int i = 0; i < 5; i++) {
        static const int status[] = {401, 403, 409, 429, 503};

        CHECK_INT(2 + i, far.begun);
        refuse(status[i], "NO");
        CHECK_INT(SERVICE_HELD, state->phase);
        pass(1000);
    }
    refuse(410, "ENDED");
    CHECK_INT(SERVICE_LOST, state->phase);
    CHECK_INT(REDLOCK_EXPIRED, state->error);
}

CASE(silence, "A stream that is silent when a renewal was due is given up for another.")
{
    begin_held();
    pass(4900);
    CHECK_INT(1, far.begun);
    pass(100);
    CHECK_INT(2, far.begun);
    CHECK(!state->jeopardy);
    grant(7, 0);
    CHECK_INT(TTL_MS, left_ms());
}

CASE(jeopardy, "A service that reports a renewal that failed is left to try again.")
{
    begin_held();
    pass(4000);
    send_event("jeopardy", "\"after_ms\":4000,\"remaining_ms\":7000,\"code\":\"NOQUORUM\"");
    CHECK(state->jeopardy);
    CHECK_INT(TTL_MS - 4000, left_ms()); /* what was sent before stands */
    pass(4000);
    CHECK_INT(1, far.begun);
    send_event("recovered", "\"after_ms\":8000,\"remaining_ms\":12000");
    CHECK(!state->jeopardy);
    CHECK_INT(TTL_MS, left_ms());
}

CASE(flood, "A service that sends without an end neither keeps a turn nor the lock.")
{
    begin_held();
    far.floods = true;
    pass(TTL_MS - 100);
    CHECK_INT(SERVICE_HELD, state->phase);
    pass(100);
    CHECK_INT(SERVICE_LOST, state->phase);
    far.floods = false;
}

CASE(waiting, "A stream that waits is silent for 30 s at most, and begun anew.")
{
    begin("unix:/socket");
    begin_stream();
    pass(29000);
    strcat(far.sent, ": alive\n\n");
    turn();
    pass(29900);
    CHECK_INT(1, far.begun);
    pass(100);
    CHECK_INT(1, far.deleted);
    pass(100);
    CHECK_INT(2, far.begun);
}

CASE(spans, "A wait is of a year on a socket, and of 16 times the TTL over TCP.")
{
    begin("unix:/socket");
    CHECK_HAS("\"wait_ms\":31536000000,", far.request);
    CHECK_HAS("\"leave\":true", far.request);
    begin("http://127.0.0.1:1");
    CHECK_HAS("\"wait_ms\":192000,", far.request);
}
