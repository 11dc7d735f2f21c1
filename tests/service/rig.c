/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include "check.h"
#include "clock.h"
#include "system/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIX "unix:"
#define SETTLE_TURNS 6
#define PATIENCE_TURNS 1000 /* of 10 ms */

enum { LISTENER_TCP = 1, LISTENER_UNIX = 7 }; /* their numbers */

static void note(struct rig *rig, const char *what, struct rl_slice text)
{
    size_t used = strlen(rig->trace);

    if (used + text.size + 32 < sizeof rig->trace)
        snprintf(rig->trace + used, sizeof rig->trace - used, "%s%.*s; ", what, (int)text.size,
                 text.data);
}

static bool is(const struct http_request *request, const char *path)
{
    return rl_slice_is(request->path, path);
}

static void answer(struct http_exchange *exchange, const char *body, size_t size)
{
    http_answer(exchange,
                &(struct http_answer){
                    .status = 200, .type = "text/plain", .body = body, .body_size = size});
}

static void ended(struct http_completion *completion, enum http_ended how)
{
    struct rig_wait *wait = (struct rig_wait *)(void *)completion;
    struct rig *rig = wait->rig;
    size_t kept = 0;

    for (size_t i = 0; i < rig->waiting_count; i++)
        if (rig->waiting[i] != wait->exchange)
            rig->waiting[kept++] = rig->waiting[i];
    rig->waiting_count = kept;
    wait->exchange = NULL;
    note(rig, how == HTTP_ENDED_SENT ? "sent" : "gone", (struct rl_slice){"", 0});
}

static void keep(struct rig *rig, struct http_exchange *exchange)
{
    struct rig_wait *wait = rig->waits;

    CHECK(rig->waiting_count < RIG_WAITING_MAX);
    rig->waiting[rig->waiting_count++] = exchange;
    while (wait->exchange)
        wait++;
    *wait = (struct rig_wait){{ended}, rig, exchange};
    exchange->completion = &wait->completion;
}

static void begin(void *context, struct http_exchange *exchange,
                  const struct http_request *request)
{
    static const char big[RIG_BIG];
    static char huge[HTTP_ANSWER_MAX + 1];
    struct rig *rig = context;

    rig->begun++;
    note(rig, "begin ", request->path);
    if (is(request, "/wait")) {
        keep(rig, exchange);
    } else if (is(request, "/stream")) {
        keep(rig, exchange);
        http_stream_begin(exchange);
    } else if (is(request, "/echo")) {
        answer(exchange, request->body.data, request->body.size);
    } else if (is(request, "/big")) {
        answer(exchange, big, sizeof big);
    } else if (is(request, "/most")) {
        answer(exchange, huge, HTTP_ANSWER_MAX);
    } else if (is(request, "/huge")) {
        answer(exchange, huge, sizeof huge);
    } else {
        if (is(request, "/known"))
            exchange->is_known = true;
        answer(exchange, request->path.data, request->path.size);
    }
    /* All that the request points to lives until begin() returns, also behind an answer. */
    CHECK_INT('/', request->path.data[0]);
}

static struct rig the_rig;

struct rig *rig_begin(const struct http_options *options)
{
    struct http_handler handler = {&the_rig, begin};

    return rig_begin_with(&handler, options, NULL);
}

struct rig *rig_begin_with(const struct http_handler *handler,
                           const struct http_options *options, void (*end)(void))
{
    struct rig *rig = &the_rig;
    char why[256];
    int fd;

    rig_end();
    memset(rig, 0, sizeof *rig);
    snprintf(rig->address, sizeof rig->address, UNIX "%s/socket", check_dir());
    CHECK_INT(0, loop_init(&rig->loop));
    rig->server = http_server_new(&rig->loop, handler, options);
    CHECK(rig->server);
    rig->end = end;
    check_at_end(rig_end);
    fd = sockets_open(rig->address, 0600, NULL, why, sizeof why);
    if (fd < 0)
        FAIL("%s", why);
    CHECK_INT(0, http_server_listen(rig->server, fd, LISTENER_UNIX, NULL, false));
    return rig;
}

void rig_end(void)
{
    if (!the_rig.server)
        return;
    if (the_rig.end)
        the_rig.end();
    else
        http_server_free(the_rig.server);
    the_rig.server = NULL;
    loop_free(&the_rig.loop);
    unlink(the_rig.address + strlen(UNIX));
}

int rig_connect(struct rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    CHECK(fd >= 0);
    strcpy(address.sun_path, rig->address + strlen(UNIX));
    CHECK_INT(0, connect(fd, (struct sockaddr *)&address, sizeof address));
    rig_settle(rig);
    return fd;
}

int rig_request(struct rig *rig, const char *text)
{
    int fd = rig_connect(rig);

    rig_send(rig, fd, text);
    return fd;
}

void rig_disconnect(struct rig *rig, int fd)
{
    close(fd);
    rig_settle(rig);
}

int rig_listen_tcp(struct rig *rig, struct http_tls_context *tls)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    char why[256];
    int fd = sockets_open("127.0.0.1:0", 0600, NULL, why, sizeof why);

    CHECK(fd >= 0);
    CHECK_INT(0, getsockname(fd, (struct sockaddr *)&address, &size));
    CHECK_INT(0, http_server_listen(rig->server, fd, LISTENER_TCP, tls, false));
    return ntohs(address.sin_port);
}

int rig_connect_tcp(int port, const char *from)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    CHECK(fd >= 0);
    CHECK_INT(1, inet_pton(AF_INET, from, &address.sin_addr));
    CHECK_INT(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)port);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ||
          errno == EINPROGRESS);
    return fd;
}

void rig_settle(struct rig *rig)
{
    for (int i = 0; i < SETTLE_TURNS; i++)
        loop_turn(&rig->loop, 0);
}

void rig_await_connections(struct rig *rig, unsigned most)
{
    for (int i = 0; i < PATIENCE_TURNS && rig_counts(rig).connections > most; i++)
        loop_turn(&rig->loop, 10);
    CHECK(rig_counts(rig).connections <= most);
}

void rig_send(struct rig *rig, int fd, const char *text)
{
    size_t left = strlen(text);

    for (int i = 0; left > 0 && i < PATIENCE_TURNS; i++) {
        ssize_t sent = send(fd, text, left, MSG_NOSIGNAL);

        if (sent > 0) {
            text += sent;
            left -= (size_t)sent;
        } else if (errno != EAGAIN) {
            break; /* closed: the test looks at what was said before */
        }
        if (left > 0)
            loop_turn(&rig->loop, 10);
    }
    rig_settle(rig);
}

/* Appends to text; true at the end of the connection. */
static bool collect(const struct rig *rig, int fd, char *text, size_t size)
{
    size_t used = strlen(text);

    for (;;) {
        char bytes[4096];
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);

        /* A reset could overtake what was sent before it: only a server in need
         * may send one. */
        if (got < 0 && errno != EAGAIN && !rig->may_break)
            FAIL("the connection broke: %s", strerror(errno));
        if (got <= 0)
            return got == 0 || errno != EAGAIN;
        for (ssize_t i = 0; i < got && used + 1 < size; i++)
            text[used++] = bytes[i] ? bytes[i] : '.';
        text[used] = '\0';
    }
}

const char *rig_read(struct rig *rig, int fd, bool *is_end)
{
    static char text[16 * RIG_TEXT_MAX];
    bool end;

    rig_settle(rig);
    text[0] = '\0';
    end = collect(rig, fd, text, sizeof text);
    if (is_end)
        *is_end = end;
    return text;
}

const char *rig_exchange(struct rig *rig, int fd, const char *text)
{
    rig_send(rig, fd, text);
    return rig_read(rig, fd, NULL);
}

const char *rig_read_until(struct rig *rig, int fd, const char *needle)
{
    static char text[16 * RIG_TEXT_MAX];

    text[0] = '\0';
    for (int i = 0; i < PATIENCE_TURNS; i++) {
        bool end = collect(rig, fd, text, sizeof text);

        if (strstr(text, needle))
            return text;
        if (end && rig->may_break)
            return NULL;
        if (end)
            FAIL("the connection ended before \"%s\": %s", needle, text);
        loop_turn(&rig->loop, 10);
    }
    FAIL("no \"%s\" came: %s", needle, text);
}

void rig_read_end(struct rig *rig, int fd)
{
    for (int i = 0; i < PATIENCE_TURNS; i++) {
        char text[RIG_TEXT_MAX] = "";

        if (collect(rig, fd, text, sizeof text))
            return;
        loop_turn(&rig->loop, 10);
    }
    FAIL("the server did not close the connection");
}

void rig_answer(struct rig *rig, const char *body)
{
    CHECK(rig->waiting_count > 0);
    answer(rig->waiting[0], body, strlen(body));
}

bool rig_event(struct rig *rig, const char *text)
{
    CHECK(rig->waiting_count > 0);
    return http_stream_send(rig->waiting[0], text, strlen(text));
}

const char *rig_trace(struct rig *rig)
{
    static char copy[RIG_TEXT_MAX];

    strcpy(copy, rig->trace);
    rig->trace[0] = '\0';
    return copy;
}

struct http_counts rig_counts(const struct rig *rig)
{
    struct http_counts counts;

    http_server_counts(rig->server, &counts);
    return counts;
}

const char *rig_get(const char *path)
{
    static char texts[8][256];
    static unsigned next;
    char *text = texts[next++ % 8];

    snprintf(text, sizeof texts[0], "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    return text;
}
