/* SPDX-License-Identifier: BSD-2-Clause */
/* What one client, or many, can cost the server: time, memory, connections. */
#include "inject_shim.h"
#include "rig.h"

#include "base/time.h"
#include "http/server_internal.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

CASE_RIG(slow_head, "A head that trickles in is refused with 408 when its time is over.",
         .options = {.head_timeout_ns = 80 * RL_NS_PER_MS})
{
    int fd = rig_connect(rig);

    rig_send(rig, fd, "GET /now HTTP/1.1\r\n");
    /* Bytes that come in the meantime buy no time: the deadline is that of the first. */
    for (int i = 0; i < 400 && rig_counts(rig).timed_out == 0; i++) {
        rig_send(rig, fd, "X");
        loop_turn(&rig->loop, 5);
    }
    CHECK_INT(1, rig_counts(rig).timed_out);
    CHECK_HAS("\"code\":\"REQUEST_TIMEOUT\"", rig_read_until(rig, fd, "in time"));
    rig_read_end(rig, fd);
}

CASE_RIG(partial_heads,
         "Pipelined requests of which a part is always missing have their time each.")
{
    int fd = rig_connect(rig);
    const char *request = rig_get("/now");
    char first[16], rest[256];
    int64_t due_ns;

    snprintf(first, sizeof first, "%.10s", request);
    snprintf(rest, sizeof rest, "%s%s", request + strlen(first), first);
    rig_send(rig, fd, first);
    rig_settle(rig);
    CHECK_INT(1, rig->server->due[HTTP_DUE_HEAD].count);
    due_ns = rig->server->due[HTTP_DUE_HEAD].first->due_ns;
    rig_send(rig, fd, rest);
    rig_read_until(rig, fd, "HTTP/1.1 200 ");
    CHECK_INT(1, rig->server->due[HTTP_DUE_HEAD].count);
    CHECK(rig->server->due[HTTP_DUE_HEAD].first->due_ns > due_ns);
}

CASE_RIG(idle, "An idle connection is closed, one that waits for its answer is not.",
         .options = {.idle_timeout_ns = 30 * RL_NS_PER_MS,
                     .head_timeout_ns = 30 * RL_NS_PER_MS})
{
    int idle_fd = rig_connect(rig), waiting_fd = rig_request(rig, rig_get("/wait"));

    rig_read_end(rig, idle_fd);
    for (int i = 0; i < 10; i++)
        loop_turn(&rig->loop, 10);
    CHECK_INT(1, rig_counts(rig).suspended);
    rig_answer(rig, "waited");
    CHECK_HAS("waited", rig_read(rig, waiting_fd, NULL));
    rig_read_end(rig, waiting_fd);
}

CASE_RIG(stalled, "A client that does not take its answer is given up.",
         .options = {.stall_timeout_ns = 50 * RL_NS_PER_MS})
{
    int fd = rig_connect(rig);

    for (int i = 0; i < 5; i++)
        rig_send(rig, fd, rig_get("/big"));
    CHECK_INT(1, rig_counts(rig).connections);
    rig_await_connections(rig, 0);
}

CASE_RIG(back_pressure, "Requests of a client that does not read are not begun.")
{
    int fd = rig_connect(rig);
    char text[64 * 64] = "";
    size_t begun, got = 0;

    for (int i = 0; i < 64; i++)
        strcat(text, rig_get("/big"));
    CHECK_INT(strlen(text), send(fd, text, strlen(text), 0));
    rig_settle(rig);
    begun = rig->begun;
    /* As many as the socket takes, and one more that waits. */
    CHECK_BETWEEN(1, 8, begun);
    while (got < 64 * (size_t)RIG_BIG) {
        char bytes[65536];
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);

        if (n > 0)
            got += (size_t)n;
        else
            loop_turn(&rig->loop, 10);
    }
    rig_settle(rig);
    CHECK_INT(64, rig->begun);
}

#define UNREAD 80 /* answers of 1 MiB */

CASE_RIG(unsent_together, "Answers that many clients do not take have a bound together.")
{
    static int fds[UNREAD];
    int known = rig_connect(rig);

    CHECK_HAS("/known", rig_exchange(rig, known, rig_get("/known")));
    rig_send(rig, known, rig_get("/most"));
    for (int i = 0; i < UNREAD; i++) {
        fds[i] = rig_request(rig, rig_get("/most"));
        CHECK(rig->server->unsent <= HTTP_UNSENT_MAX);
    }
    CHECK_INT(1 + UNREAD - (long long)rig_counts(rig).evicted, rig_counts(rig).connections);
    CHECK(rig_counts(rig).evicted > 0);
    CHECK(rig_counts(rig).connections > HTTP_UNSENT_MAX / 2 / HTTP_ANSWER_MAX);
    rig_read_until(rig, known, "HTTP/1.1 200 ");
    for (int i = 0; i < UNREAD; i++)
        close(fds[i]);
    close(known);
    rig_await_connections(rig, 0);
    CHECK_INT(0, rig->server->unsent);
}

CASE_RIG(no_allocation, "Requests on connections that exist allocate nothing.")
{
    int fds[4];

    for (int i = 0; i < 4; i++)
        fds[i] = rig_connect(rig);
    for (int round = 0; round < 20; round++) {
        if (round == 5)
            inject_arm(INJECT_MEMORY, 0, 0, false);
        for (int i = 0; i < 4; i++) {
            rig_send(rig, fds[i], rig_get(i % 2 ? "/now" : "/wait"));
            /* In two pieces, as many clients send them. */
            rig_send(rig, fds[i],
                     "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                     "Content-Length: 2\r\n\r\n");
            rig_send(rig, fds[i], "{}");
        }
        while (rig->waiting_count > 0) {
            rig_answer(rig, "waited");
            rig_settle(rig);
        }
        for (int i = 0; i < 4; i++)
            CHECK_HAS("{}", rig_read(rig, fds[i], NULL));
    }
    CHECK_INT(0, inject_disarm());
}

/* A connection, a suspended request, half a request, a large answer and a stream. True if it
 * got so far that the last event arrived. */
static bool play(struct rig *rig)
{
    struct http_counts counts;
    int fd = rig_connect(rig);
    bool is_whole = false;

    rig_send(rig, fd, rig_get("/wait"));
    if (rig->waiting_count > 0)
        rig_answer(rig, "waited");
    rig_send(rig, fd,
             "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
             "Content-Length: 2\r\n\r\n");
    rig_send(rig, fd, "{}");
    rig_send(rig, fd, rig_get("/big"));
    for (int i = 0; i < 10; i++)
        rig_read(rig, fd, NULL);
    rig_send(rig, fd, rig_get("/stream"));
    if (rig->waiting_count > 0 && rig_event(rig, "data: 1\n\n"))
        is_whole = strstr(rig_read(rig, fd, NULL), "data: 1") != NULL;
    close(fd);
    rig_settle(rig);
    counts = rig_counts(rig);
    CHECK_INT(0, counts.connections);
    CHECK_INT(0, counts.suspended);
    CHECK_INT(0, counts.streams);
    CHECK_INT(0, rig->waiting_count);
    return is_whole;
}

CASE(failing_allocations, "Each allocation that fails costs one connection at most.")
{
    bool is_whole = false;

    for (int n = 1; !is_whole; n++) {
        struct rig *rig = rig_begin(&(struct http_options){0});

        CHECK(n < 100);
        rig->may_break = true;
        inject_arm(INJECT_MEMORY, n, ENOMEM, false);
        is_whole = play(rig);
        is_whole = inject_disarm() < n && is_whole;
        CHECK(play(rig));
    }
}

CASE_RIG(too_large_an_answer, "An answer beyond the bound becomes a 500.")
{
    CHECK_HAS("HTTP/1.1 500 ", rig_exchange(rig, rig_connect(rig), rig_get("/huge")));
}

CASE_RIG(no_memory_for_an_answer, "An answer for which there is no memory is a 500.")
{
    int fd = rig_connect(rig);

    CHECK_HAS("HTTP/1.1 200 ", rig_exchange(rig, fd, rig_get("/now")));
    inject_arm(INJECT_MEMORY, 1, ENOMEM, false);
    CHECK_HAS("HTTP/1.1 500 ", rig_exchange(rig, fd, rig_get("/big")));
    CHECK_INT(1, inject_disarm());
    CHECK_HAS("HTTP/1.1 200 ", rig_exchange(rig, fd, rig_get("/now")));
}

static void check_wiped(const struct rig *rig, const char *secret)
{
    static const size_t sizes[] = {RL_BLOCK_SMALL, RL_BLOCK_LARGE};

    for (int class = 0; class < 2; class ++)
        for (struct rl_block *at = rig->server->pool.free[class]; at; at = at->next)
            CHECK(!memmem(at, sizes[class], secret, strlen(secret)));
}

CASE_RIG(wiped, "What requests and answers said is in no block of memory that is free.")
{
    static const char echo[] =
        "PUT /echo HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\n"
        "Content-Type: application/json\r\nContent-Length: 6\r\n\r\n";
    int fds[3];

    for (int i = 0; i < 3; i++)
        fds[i] = rig_connect(rig);
    rig_send(rig, fds[0], echo);
    rig_send(rig, fds[0], "secret"); /* moved to a small block meanwhile */
    CHECK_HAS("\r\n\r\nsecret", rig_read(rig, fds[0], NULL));
    rig_send(rig, fds[1], "GET /secret HTTP/1.1\r\n");                    /* never ends */
    rig_send(rig, fds[2], "GET secret HTTP/1.1\r\nsecret\r\n\r\nsecret"); /* refused */
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    rig_await_connections(rig, 0);
    CHECK(rig->server->pool.free[0] && rig->server->pool.free[1]);
    check_wiped(rig, "secret");
}

#define CROWD 400
#define WAITING_BYTES_MAX 3072

CASE_RIG(waiting_memory, "A waiting request costs less than 3 KiB.")
{
    struct mallinfo2 before;
    static int fds[CROWD];

    if (CHECK_SANITIZED)
        check_skip("a sanitizer's allocator counts otherwise");
    rig_disconnect(rig, rig_connect(rig));
    before = mallinfo2();
    for (int i = 0; i < CROWD; i++)
        fds[i] = rig_request(rig, rig_get("/wait"));
    CHECK_INT(CROWD, rig_counts(rig).suspended);
    CHECK_BETWEEN(0, WAITING_BYTES_MAX, (mallinfo2().uordblks - before.uordblks) / CROWD);
    for (int i = 0; i < CROWD; i++)
        close(fds[i]);
    rig_await_connections(rig, 0);
    CHECK_INT(0, rig_counts(rig).suspended);
}

CASE_RIG(evicted, "At the limit of connections the one that is idle for longest makes room.",
         .options = {.connections_max = 3})
{
    int fds[4];
    bool end;

    for (int i = 0; i < 3; i++)
        fds[i] = rig_connect(rig);
    rig_send(rig, fds[0], rig_get("/now")); /* now the second is the oldest */
    fds[3] = rig_connect(rig);
    CHECK_HAS("200 OK", rig_exchange(rig, fds[3], rig_get("/now")));
    rig_read(rig, fds[1], &end);
    CHECK(end);
    CHECK_HAS("200 OK", rig_read(rig, fds[0], &end));
    CHECK(!end);
    CHECK_INT(1, rig_counts(rig).evicted);
}

CASE_RIG(full, "A client that finds no room waits until a connection ends.",
         .options = {.connections_max = 2})
{
    int fds[3];

    for (int i = 0; i < 3; i++)
        fds[i] = rig_request(rig, rig_get(i < 2 ? "/wait" : "/now"));
    CHECK_STR("", rig_read(rig, fds[2], NULL));
    CHECK_INT(2, rig_counts(rig).connections);
    close(fds[0]);
    CHECK_HAS("200 OK", rig_read(rig, fds[2], NULL));
}

CASE_RIG(refused_while_sending, "A client that goes on sending still reads why it was refused.")
{
    static const char head[] = "PUT /echo HTTP/1.1\r\nHost: h\r\n"
                               "Content-Type: application/json\r\n"
                               "Content-Length: 1000000\r\n\r\n";
    static char body[32769];
    int fd = rig_connect(rig);

    memset(body, 'x', 32768);
    memcpy(body, head, sizeof head - 1);
    /* Before a turn: the refusal leaves most of it unread. */
    CHECK_INT(32768, send(fd, body, 32768, 0));
    CHECK_HAS("HTTP/1.1 413 ", rig_read(rig, fd, NULL));
    CHECK_INT(0, rig->begun);
    CHECK_INT(1, rig_counts(rig).refused);
    /* It never closes by itself: the server does after so many bytes. */
    for (int i = 0; i < 3; i++)
        rig_send(rig, fd, body);
    CHECK_INT(0, rig_counts(rig).connections);
}

CASE_RIG(refused_in_order, "A refusal leaves behind the answers of requests before it.")
{
    int fd = rig_connect(rig);
    char text[512];
    const char *got;
    bool end;

    snprintf(text, sizeof text, "%s%s", rig_get("/now"),
             "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
             "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    rig_send(rig, fd, text);
    got = rig_read(rig, fd, &end);
    CHECK(strstr(got, "200 OK") < strstr(got, "501 Not Implemented"));
    CHECK_STR("begin /now; ", rig_trace(rig));
    CHECK(end);
}
