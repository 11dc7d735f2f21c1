/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/call.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/percent.h"
#include "base/quote.h"
#include "base/wipe.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define ANSWER_MAX (2u << 20) /* bytes of head and body: twice what the service sends */
#define READ_CHUNK 4096

/* The first line of the file; it goes into a header, so it is one word. */
static int read_token(struct service *s, const char *path)
{
    char shown[RL_QUOTE_PATH_MAX];
    FILE *file = fopen(path, "re");
    bool read = file && fgets(s->token, sizeof s->token, file);
    rl_quote_path(shown, path);
    if (file)
        fclose(file);
    if (!read)
        return message_fail(EXIT_CONFIG, "token-file: cannot read %s", shown);
    s->token[strcspn(s->token, "\r\n")] = '\0';
    for (const char *at = s->token; *at; at++)
        if (*at <= ' ' || *at >= 127)
            return message_fail(EXIT_CONFIG, "token-file: the first line of %s is no token",
                                shown);
    return s->token[0] ? 0 : message_fail(EXIT_CONFIG, "token-file: %s is empty", shown);
}

int service_open(struct service *s, const struct settings *settings)
{
    char *const *text = settings->config.text;
    char shown[RL_QUOTE_MAX];
    const char *problem;

    *s = (struct service){.tls = {.ca = text[RL_SETTING_TLS_CA],
                                  .cert = text[RL_SETTING_TLS_CERT],
                                  .key = text[RL_SETTING_TLS_KEY],
                                  .name = text[RL_SETTING_TLS_NAME]},
                          .insecure = settings->config.insecure};
    problem = service_url_read(&s->url, settings->service);
    if (problem) {
        rl_quote(shown, settings->service);
        return message_fail(EXIT_CONFIG, "the service '%s' %s", shown, problem);
    }
    return text[RL_SETTING_TOKEN_FILE] ? read_token(s, text[RL_SETTING_TOKEN_FILE]) : 0;
}

void service_close(struct service *s)
{
    explicit_bzero(s->token, sizeof s->token);
}

void service_path(char out[SERVICE_PATH_MAX], const char *collection, const char *name)
{
    rl_percent_encode(stpcpy(out, collection), name, "._-/");
}

/*
 * HTTP/1.0: the answer ends with its connection or its length, and no proxy on the way may cut
 * it into chunks. 0: it does not fit.
 */
static size_t write_request(const struct service *s, const struct service_request *q,
                            char out[SERVICE_REQUEST_MAX])
{
    const char *body = q->body ? q->body : "";
    bool has_body = q->body || strcmp(q->method, "GET") != 0;
    char length[64] = "", host[URL_HOST_MAX + URL_PORT_MAX + 4] = "localhost";
    bool is_bare = strchr(s->url.host, ':');
    int size;

    if (!s->url.path[0])
        snprintf(host, sizeof host, "%s%s%s:%s", is_bare ? "[" : "", s->url.host,
                 is_bare ? "]" : "", s->url.port);
    if (has_body)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
    size = snprintf(out, SERVICE_REQUEST_MAX,
                    "%s %s HTTP/1.0\r\nHost: %s\r\n%s%s%s%s%s%s%s%s%s%s%s%s\r\n%s", q->method,
                    q->path, host, s->token[0] ? "Authorization: Bearer " : "", s->token,
                    s->token[0] ? "\r\n" : "", q->lease ? "Lease-Id: " : "",
                    q->lease ? q->lease : "", q->lease ? "\r\n" : "", q->grant ? "Grant: " : "",
                    q->grant ? q->grant : "", q->grant ? "\r\n" : "",
                    q->is_stream ? "Accept: text/event-stream\r\n" : "",
                    q->body ? "Content-Type: application/json\r\n" : "", length, body);
    return size > 0 && size < SERVICE_REQUEST_MAX ? (size_t)size : 0;
}

void service_call_begin(struct service_call *call, const struct service *s,
                        struct rl_reactor *reactor, const struct service_request *q)
{
    bool is_secret = !s->insecure && (s->token[0] || q->lease);

    *call = (struct service_call){.is_open = true, .limit_ns = TIMER_NEVER};
    call->request_size = write_request(s, q, call->request);
    if (call->request_size > 0)
        channel_begin(&call->channel, reactor, &s->url, &s->tls, is_secret);
    else
        call->channel = (struct channel){.failure = CHANNEL_HOPELESS, .problem = "too long"};
}

void service_call_close(struct service_call *call)
{
    channel_close(&call->channel);
    rl_buffer_free(&call->in);
    rl_wipe(call->request, call->request_size);
    call->request_size = 0;
    call->is_open = call->is_busy = false;
}

static enum service_outcome give_up(struct service_call *call, struct service_answer *a,
                                    const char *why)
{
    enum channel_failure failure = call->channel.failure;
    bool is_sent = call->sent_ns > 0, is_exposed = failure == CHANNEL_EXPOSED;

    if (call->channel.problem[0])
        why = call->channel.problem;
    a->outcome = is_sent ? SERVICE_UNKNOWN : SERVICE_UNREACHABLE;
    a->error = is_exposed                    ? REDLOCK_INVAL
               : failure == CHANNEL_HOPELESS ? REDLOCK_PROTO
                                             : REDLOCK_NOQUORUM;
    snprintf(a->detail, sizeof a->detail, "the service %s: %s",
             is_sent      ? "does not answer"
             : is_exposed ? "gets no request"
                          : "cannot be reached",
             why);
    service_call_close(call);
    return a->outcome;
}

/* 0: it is not connected yet; 1: the request was sent; -1: it cannot be. */
static int send_request(struct service_call *call)
{
    enum channel_state state = channel_turn(&call->channel);

    if (state != CHANNEL_OPEN || call->sent_ns > 0)
        return state == CHANNEL_CLOSED ? -1 : state == CHANNEL_OPEN;
    /* Not earlier: what connecting took would be missing from the deadline of the lock. */
    call->sent_ns = timer_now_ns();
    channel_write(&call->channel, call->request, call->request_size);
    rl_wipe(call->request, call->request_size);
    call->request_size = 0;
    return call->channel.state == CHANNEL_CLOSED ? -1 : 1;
}

/* What the text that has come so far means. `ended`: no more will come. */
static enum service_outcome understand(struct service_call *call, struct service_answer *a,
                                       bool ended)
{
    const char *text = call->in.bytes + call->in.start;
    size_t body_at = 0;

    if (call->in.size == 0)
        return SERVICE_UNDER_WAY;
    if (!call->is_stream) {
        switch (service_answer_extent(text, call->in.size, ended, &body_at)) {
        case SERVICE_PART:
            return SERVICE_UNDER_WAY;
        case SERVICE_ALIEN:
            return give_up(call, a, "it does not answer in HTTP");
        case SERVICE_WHOLE:
            service_answer_read(a, text, text + body_at);
            call->is_open = false;
            return a->outcome;
        case SERVICE_STREAM:
            call->is_stream = true;
            call->reported = body_at;
        }
    }
    while (a->outcome == SERVICE_UNDER_WAY) {
        size_t size =
            service_answer_read_event(a, text + call->reported, call->in.size - call->reported);

        if (size == 0)
            break;
        call->reported += size;
    }
    call->is_open = a->outcome != SERVICE_ANSWERED;
    return a->outcome;
}

/* As channel_read(), into the text. */
static ssize_t read_some(struct service_call *call)
{
    char *room =
        call->in.size < ANSWER_MAX ? rl_buffer_reserve(&call->in, READ_CHUNK + 1) : NULL;
    ssize_t got = room ? channel_read(&call->channel, room, READ_CHUNK) : -1;

    if (got > 0) {
        call->in.size += (size_t)got;
        call->read_ns = timer_now_ns();
        room[got] = '\0';
    }
    return got;
}

void service_drain(struct rl_reactor *reactor)
{
    struct epoll_event woken[RL_REACTOR_EVENTS_MAX];
    int count = rl_reactor_wait(reactor, woken, 0);

    for (int i = 0; i < count; i++) {
        if (woken[i].data.u32 == RL_REACTOR_TIMER)
            reactor->armed_ns = TIMER_NEVER;
    }
}

enum service_outcome service_call_turn(struct service_call *call, struct service_answer *a)
{
    int sent;
    bool is_over;

    *a = (struct service_answer){.outcome = SERVICE_UNDER_WAY};
    rl_buffer_take(&call->in, call->reported);
    call->reported = 0;
    call->is_busy = false;
    sent = send_request(call);
    is_over = sent < 0;
    a->sent_ns = call->sent_ns;
    if (understand(call, a, is_over) == SERVICE_UNDER_WAY && sent > 0) {
        ssize_t got = read_some(call);

        call->is_busy = got > 0;
        is_over = got < 0;
        understand(call, a, is_over);
    }
    if (a->outcome == SERVICE_UNDER_WAY && is_over)
        give_up(call, a, "it has closed the connection");
    else if (a->outcome == SERVICE_UNDER_WAY && timer_now_ns() >= call->limit_ns)
        give_up(call, a, strerror(ETIMEDOUT));
    return a->outcome;
}

void service_fetch(const struct service *s, const struct service_request *q,
                   struct service_answer *a)
{
    struct service_call call;
    struct rl_reactor reactor;
    struct pollfd watched[2] = {{.events = POLLIN}, {.fd = q->cancel_fd, .events = POLLIN}};

    *a = (struct service_answer){.outcome = SERVICE_UNREACHABLE, .error = REDLOCK_SYSTEM};
    if (rl_reactor_init(&reactor) < 0) {
        snprintf(a->detail, sizeof a->detail, "no request to the service is possible: %s",
                 strerror(errno));
        return;
    }
    watched[0].fd = reactor.epoll_fd;
    service_call_begin(&call, s, &reactor, q);
    call.limit_ns = timer_now_ns() + q->limit_ms * RL_NS_PER_MS;
    rl_reactor_arm(&reactor, call.limit_ns);
    while (service_call_turn(&call, a) == SERVICE_UNDER_WAY && !watched[1].revents) {
        poll(watched, 2, call.is_busy ? 0 : -1);
        service_drain(&reactor);
    }
    if (a->outcome == SERVICE_UNDER_WAY)
        give_up(&call, a, strerror(ECANCELED));
    /* The body is in it. */
    a->text = call.in.bytes;
    call.in = (struct rl_buffer){0};
    service_call_close(&call);
    rl_reactor_free(&reactor);
}
