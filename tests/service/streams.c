/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of events, and the end of the server. */
#include "rig.h"

#include "base/time.h"
#include "http/server_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

CASE_RIG(events, "Events of a stream arrive one by one until its end.")
{
    int fd = rig_request(rig, rig_get("/stream"));
    const char *got;
    bool end;

    got = rig_read(rig, fd, &end);
    CHECK_HAS("Content-Type: text/event-stream\r\n", got);
    CHECK_HAS("Connection: close\r\n", got);
    CHECK_LACKS("Content-Length", got);
    CHECK_INT(1, rig_counts(rig).streams);
    CHECK(rig_event(rig, "event: queued\n\n"));
    CHECK_STR("event: queued\n\n", rig_read(rig, fd, &end));
    CHECK(rig_event(rig, "event: granted\n\n"));
    http_stream_end(rig->waiting[0]);
    CHECK_STR("event: granted\n\n", rig_read(rig, fd, &end));
    CHECK(end);
    CHECK_STR("begin /stream; sent; ", rig_trace(rig));
    CHECK_INT(0, rig_counts(rig).streams);
}

CASE_RIG(stream_left, "The close of a stream by its client is noticed at once.")
{
    int fd = rig_request(rig, rig_get("/stream"));

    close(fd);
    loop_turn(&rig->loop, 0);
    CHECK_STR("begin /stream; gone; ", rig_trace(rig));
}

CASE_RIG(stream_marks, "A handler can see whether a byte of an event was sent.")
{
    int fd = rig_request(rig, rig_get("/stream"));
    uint64_t mark;

    mark = http_written(rig->waiting[0]);
    CHECK_INT(mark, http_sent(rig->waiting[0]));
    CHECK(rig_event(rig, "event: granted\n\n"));
    CHECK_INT(mark, http_sent(rig->waiting[0]));
    rig_settle(rig);
    CHECK(http_sent(rig->waiting[0]) > mark);
    CHECK(http_untaken(rig->waiting[0]) > 0);
    rig_read(rig, fd, NULL);
    CHECK_INT(0, http_untaken(rig->waiting[0]));
}

CASE_RIG(stream_unread, "A stream whose client does not read is given up at its bound.")
{
    static char event[1001];
    size_t taken = 0;

    memset(event, 'e', 1000);
    rig_request(rig, rig_get("/stream"));
    while (rig_event(rig, event)) {
        rig_settle(rig);
        CHECK(++taken < 2000); /* what the socket takes, and HTTP_STREAM_BACKLOG */
    }
    CHECK_INT(false, rig_event(rig, event));
    http_stream_end(rig->waiting[0]); /* allowed, and without effect */
    rig_settle(rig);
    CHECK_STR("begin /stream; gone; ", rig_trace(rig));
}

CASE_RIG(stream_stopped,
         "A stream of which nothing is read is given up, though its socket has room.",
         .options = {.stall_timeout_ns = 50 * RL_NS_PER_MS})
{
    rig_request(rig, rig_get("/stream"));
    rig_await_connections(rig, 0);
    CHECK_INT(0, rig_counts(rig).streams);
    CHECK_INT(1, rig_counts(rig).timed_out);
    CHECK_STR("begin /stream; gone; ", rig_trace(rig));
}

CASE_RIG(stream_stopped_before,
         "A stream whose client has not read an earlier answer is given up, too.",
         .options = {.stall_timeout_ns = 50 * RL_NS_PER_MS})
{
    int fd = rig_request(rig, rig_get("/now"));

    rig_send(rig, fd, rig_get("/stream"));
    rig_await_connections(rig, 0);
    CHECK_INT(1, rig_counts(rig).timed_out);
}

/* The time of the client that has unread bytes is over. */
static void end_time(struct rig *rig)
{
    rig->server->due[HTTP_DUE_UNREAD].first->due_ns = 0;
    loop_wake(&rig->server->part);
    rig_settle(rig);
}

CASE_RIG(stream_read,
         "A stream that is read lives on, also one of which little is read at a time.")
{
    int fd = rig_request(rig, rig_get("/stream"));
    char bytes[64];

    rig_read(rig, fd, NULL);
    end_time(rig); /* and nothing waits for it */
    CHECK_INT(1, rig_counts(rig).streams);
    CHECK(!rig->server->due[HTTP_DUE_UNREAD].first);
    /* Twice as much comes as is read, in so many times that are over: it is always behind. */
    for (int i = 0; i < 8; i++) {
        CHECK(rig_event(rig, "event: one\n\n"));
        rig_settle(rig);
        CHECK(rig_event(rig, "event: two\n\n"));
        rig_settle(rig);
        CHECK_INT(12, recv(fd, bytes, 12, 0));
        end_time(rig);
        CHECK_INT(1, rig_counts(rig).streams);
    }
    /* Nothing of that is read any more. */
    end_time(rig);
    CHECK_INT(0, rig_counts(rig).streams);
}

CASE_RIG(drained, "While the server drains, each answer ends its connection.")
{
    int waiting_fd = rig_request(rig, rig_get("/wait")), new_fd;
    bool end;

    http_server_drain(rig->server);
    new_fd = rig_request(rig, rig_get("/now"));
    CHECK_HAS("Connection: close\r\n", rig_read(rig, new_fd, &end));
    CHECK(end);
    rig_answer(rig, "waited");
    CHECK_HAS("Connection: close\r\n", rig_read(rig, waiting_fd, &end));
    CHECK(end);
}

CASE_RIG(stopped, "A server that stops closes idle connections and finishes the others.")
{
    int idle_fd = rig_connect(rig), waiting_fd, new_fd;
    bool end;

    CHECK_HAS("HTTP/1.1 200 ", rig_exchange(rig, idle_fd, rig_get("/now")));
    CHECK(http_server_is_idle(rig->server));
    waiting_fd = rig_request(rig, rig_get("/wait"));
    CHECK(!http_server_is_idle(rig->server));
    new_fd = rig_connect(rig);
    http_server_stop(rig->server);
    /* Its first request may be on the way: it gets its answer. */
    rig_send(rig, new_fd, rig_get("/now"));
    CHECK_HAS("HTTP/1.1 200 ", rig_read(rig, new_fd, &end));
    CHECK(end);
    close(new_fd);
    rig_read(rig, idle_fd, &end);
    CHECK(end);
    CHECK(!http_server_is_done(rig->server));
    rig_answer(rig, "waited");
    CHECK_HAS("waited", rig_read(rig, waiting_fd, &end));
    CHECK(end);
    rig_disconnect(rig, waiting_fd);
    CHECK(http_server_is_done(rig->server));
}

CASE_RIG(freed, "A server that is freed ends what waits as gone.")
{
    rig_request(rig, rig_get("/stream"));
    rig_request(rig, rig_get("/wait"));
    rig_end();
    CHECK_HAS("gone; gone; ", rig_trace(rig));
}

/* How often `needle` is in text. */
static int count_of(const char *text, const char *needle)
{
    int count = 0;

    while ((text = strstr(text, needle)) != NULL) {
        text += strlen(needle);
        count++;
    }
    return count;
}

CASE_RIG(answered_others_in_between,
         "A handler may answer other exchanges from inside a callback's turn.")
{
    int fds[20];

    for (int i = 0; i < 20; i++)
        fds[i] = rig_request(rig, rig_get("/wait"));
    CHECK_INT(20, rig_counts(rig).suspended);
    /* All answers are queued before any is written; every other client is gone by then. */
    for (int i = 0; i < 20; i += 2)
        close(fds[i]);
    for (int i = 0; i < 20; i++)
        http_answer(rig->waiting[i], &(struct http_answer){.status = 204});
    rig_settle(rig);
    for (int i = 1; i < 20; i += 2)
        CHECK_HAS("HTTP/1.1 204 No Content\r\n", rig_read(rig, fds[i], NULL));
    CHECK_INT(10, count_of(rig->trace, "gone"));
    CHECK_INT(10, count_of(rig->trace, "sent"));
}
