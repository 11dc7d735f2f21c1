/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/percent.h"
#include "base/quote.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define HEAD_MAX 4096
#define ANSWER_MAX (2u << 20) /* bytes of head and body: twice what the service sends */

/* ---- the service ---- */

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
    *s = (struct service){.tls = {.ca = text[RL_SETTING_TLS_CA],
                                  .cert = text[RL_SETTING_TLS_CERT],
                                  .key = text[RL_SETTING_TLS_KEY],
                                  .name = text[RL_SETTING_TLS_NAME]},
                          .insecure = settings->config.insecure};
    const char *problem = service_url_read(&s->url, settings->service);
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

/* ---- the question ---- */

/*
 * HTTP/1.0: the answer ends with its connection or its length, and no proxy on the way may cut
 * it into chunks. 0: it does not fit.
 */
static size_t write_request(const struct service *s, const struct service_question *q,
                            char out[HEAD_MAX])
{
    const char *body = q->body ? q->body : "";
    bool has_body = q->body || strcmp(q->method, "GET") != 0;
    char length[64] = "", host[URL_HOST_MAX + URL_PORT_MAX + 4] = "localhost";
    bool is_bare = strchr(s->url.host, ':');
    if (!s->url.path[0])
        snprintf(host, sizeof host, "%s%s%s:%s", is_bare ? "[" : "", s->url.host,
                 is_bare ? "]" : "", s->url.port);
    if (has_body)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
    int size =
        snprintf(out, HEAD_MAX, "%s %s HTTP/1.0\r\nHost: %s\r\n%s%s%s%s%s%s%s%s%s%s%s\r\n%s",
                 q->method, q->path, host, s->token[0] ? "Authorization: Bearer " : "",
                 s->token, s->token[0] ? "\r\n" : "", q->lease ? "Lease-Id: " : "",
                 q->lease ? q->lease : "", q->lease ? "\r\n" : "", q->grant ? "Grant: " : "",
                 q->grant ? q->grant : "", q->grant ? "\r\n" : "",
                 q->body ? "Content-Type: application/json\r\n" : "", length, body);
    return size > 0 && size < HEAD_MAX ? (size_t)size : 0;
}

/* ---- the answer ---- */

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

/* 1: all of it is there; 0: not yet; -1: it is no answer of HTTP. */
static int look_at(const char *text, size_t size, bool ended, const char **body)
{
    const char *end = strstr(text, "\r\n\r\n");
    if (!end)
        return ended || size > HEAD_MAX * 4 ? -1 : 0;
    *body = end + 4;
    const char *length = header(text, "Content-Length");
    if (strncmp(text, "HTTP/1.", 7) != 0 || strlen(text) < 12)
        return -1;
    if (!length)
        return ended || strncmp(text + 9, "204", 3) == 0;
    size_t wanted = strtoul(length, NULL, 10);
    size_t have = size - (size_t)(*body - text);
    return have >= wanted ? 1 : ended ? -1 : 0;
}

/* The whole answer into a->text. 0, or errno. */
static int read_answer(struct channel *c, struct service_answer *a, const char **body)
{
    size_t size = 0, room = 0;
    for (;;) {
        if (room - size < 2) {
            room = room ? 2 * room : 4096;
            char *more = room > ANSWER_MAX ? NULL : realloc(a->text, room);
            if (!more)
                return ENOMEM;
            a->text = more;
        }
        ssize_t got = channel_read(c, a->text + size, room - size - 1);
        if (got < 0)
            return errno;
        size += (size_t)got;
        a->text[size] = '\0';
        int done = look_at(a->text, size, got == 0, body);
        if (done < 0)
            return EPROTO;
        if (done > 0)
            return 0;
    }
}

/* The library's error with this name; what it has no name for is told by the status. */
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

static void understand(struct service_answer *a, const char *body)
{
    const char *retry = header(a->text, "Retry-After");
    a->status = atoi(a->text + 9);
    a->retry_ms = retry ? strtol(retry, NULL, 10) * 1000 : 0;
    a->body = json_read(body, strlen(body));
    json_text(json_member(a->body, "code"), a->code, sizeof a->code);
    if (a->status >= 200 && a->status < 300 && (a->body.at || a->status == 204)) {
        a->outcome = SERVICE_ANSWERED;
        return;
    }
    if (!a->code[0]) {
        service_answer_is_foreign(a);
        return;
    }
    a->outcome = SERVICE_ANSWERED;
    a->error = error_of(a);
    json_text(json_member(a->body, "detail"), a->detail, sizeof a->detail);
}

static void give_up(struct service_answer *a, struct channel *c, int error, bool sent)
{
    a->outcome = error == ECANCELED ? SERVICE_CANCELED
                 : sent             ? SERVICE_UNKNOWN
                                    : SERVICE_UNREACHABLE;
    a->error = error == ENOMEM            ? REDLOCK_NOMEM
               : error == CHANNEL_EXPOSED ? REDLOCK_INVAL
               : c->is_hopeless           ? REDLOCK_PROTO
                                          : REDLOCK_NOQUORUM;
    snprintf(a->detail, sizeof a->detail, "the service %s: %s",
             sent                       ? "does not answer"
             : error == CHANNEL_EXPOSED ? "is not asked"
                                        : "cannot be reached",
             c->problem[0] ? c->problem : strerror(error));
}

void service_ask(const struct service *s, const struct service_question *q,
                 struct service_answer *a)
{
    char request[HEAD_MAX];
    const char *body = NULL;
    size_t size = write_request(s, q, request);
    *a = (struct service_answer){.began_ns = timer_now_ns()};
    struct channel c = {.limit_ns = a->began_ns + q->limit_ms * RL_NS_PER_MS,
                        .cancel_fd = q->cancel_fd,
                        .is_secret = !s->insecure && (s->token[0] || q->lease)};
    int error = size ? channel_open(&c, &s->url, &s->tls) : E2BIG;
    if (error) {
        give_up(a, &c, error, false);
        return;
    }
    /* A request that is refused early may have its answer already. */
    channel_write(&c, request, size);
    error = read_answer(&c, a, &body);
    if (error)
        give_up(a, &c, error, true);
    else
        understand(a, body);
    channel_close(&c);
    explicit_bzero(request, sizeof request);
}

void service_answer_free(struct service_answer *a)
{
    free(a->text);
    a->text = NULL;
}
