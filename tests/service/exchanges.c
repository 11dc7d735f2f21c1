/* SPDX-License-Identifier: BSD-2-Clause */
/* One request and its answer: at once, later, in order, and when the client goes away. */
#include "check.h"
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

CASE(kept_alive, "A connection serves one request after the other.")
{
    struct rig rig;
    bool end;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    for (int i = 0; i < 3; i++) {
        rig_send(&rig, fd, rig_get("/now"));
        CHECK_HAS("HTTP/1.1 200 OK\r\n", rig_read(&rig, fd, &end));
        CHECK(!end);
    }
    CHECK_INT(1, rig_counts(&rig).accepted);
    CHECK_INT(3, rig_counts(&rig).requests);
    close(fd);
    rig_settle(&rig);
    CHECK_INT(0, rig_counts(&rig).connections);
    rig_close(&rig);
}

CASE(byte_by_byte, "A request that arrives byte by byte is answered once it is complete.")
{
    const char *text = "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                       "Content-Length: 4\r\n\r\n1234";
    struct rig rig;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    for (const char *at = text; *at; at++) {
        char byte[2] = {*at, '\0'};

        CHECK_STR("", rig_read(&rig, fd, NULL));
        rig_send(&rig, fd, byte);
    }
    CHECK_HAS("\r\n\r\n1234", rig_read(&rig, fd, NULL));
    close(fd);
    rig_close(&rig);
}

CASE(in_order, "Pipelined requests are answered in order, also behind one that waits.")
{
    struct rig rig;
    char text[512];
    const char *got;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    snprintf(text, sizeof text, "%s%s%s%s", rig_get("/a"), rig_get("/wait"), rig_get("/b"),
             rig_get("/c"));
    rig_send(&rig, fd, text);
    CHECK_STR("begin /a; begin /wait; ", rig_trace(&rig));
    CHECK_HAS("\r\n\r\n/a", rig_read(&rig, fd, NULL));
    rig_answer(&rig, "waited");
    got = rig_read(&rig, fd, NULL);
    CHECK_STR("sent; begin /b; begin /c; ", rig_trace(&rig));
    CHECK_INT(3, count_of(got, "200 OK"));
    CHECK(strstr(got, "waited") < strstr(got, "\r\n\r\n/b"));
    CHECK(strstr(got, "\r\n\r\n/b") < strstr(got, "\r\n\r\n/c"));
    close(fd);
    rig_close(&rig);
}

CASE(gone_while_waiting, "A client that closes while its request waits is noticed at once.")
{
    struct rig rig;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, rig_get("/wait"));
    CHECK_INT(1, rig_counts(&rig).suspended);
    close(fd);
    loop_turn(&rig.loop, 0);
    CHECK_STR("begin /wait; gone; ", rig_trace(&rig));
    CHECK_INT(0, rig_counts(&rig).suspended);
    CHECK_INT(0, rig_counts(&rig).connections);
    rig_close(&rig);
}

CASE(gone_behind_unread_bytes,
     "A waiting client's end is noticed behind bytes that are unread.")
{
    struct rig rig;
    char *text = malloc(60001);
    int fd;

    memset(text, 'x', 60000);
    text[60000] = '\0';
    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, rig_get("/wait"));
    rig_send(&rig, fd, text);
    CHECK_STR("begin /wait; ", rig_trace(&rig));
    close(fd);
    loop_turn(&rig.loop, 0);
    CHECK_STR("gone; ", rig_trace(&rig));
    free(text);
    rig_close(&rig);
}

CASE(half_closed_while_waiting,
     "A client that half-closes while its request waits counts as gone.")
{
    struct rig rig;
    bool end;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, rig_get("/wait"));
    shutdown(fd, SHUT_WR);
    CHECK_STR("", rig_read(&rig, fd, &end));
    CHECK(end);
    CHECK_STR("begin /wait; gone; ", rig_trace(&rig));
    close(fd);
    rig_close(&rig);
}

CASE(half_closed_before, "A half-closed client is answered what can be answered at once.")
{
    struct rig rig;
    char text[512];
    const char *got;
    bool end;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    snprintf(text, sizeof text, "%s%s%s", rig_get("/a"), rig_get("/b"), rig_get("/wait"));
    CHECK_INT(strlen(text), send(fd, text, strlen(text), 0));
    shutdown(fd, SHUT_WR);
    got = rig_read(&rig, fd, &end);
    CHECK_INT(2, count_of(got, "200 OK"));
    CHECK(end);
    CHECK_STR("begin /a; begin /b; begin /wait; gone; ", rig_trace(&rig));
    close(fd);
    rig_close(&rig);
}

CASE(end_is_told, "A handler is told that the client has closed behind its request.")
{
    struct rig rig;
    bool end;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    CHECK(send(fd, rig_get("/careful"), strlen(rig_get("/careful")), 0) > 0);
    shutdown(fd, SHUT_WR);
    CHECK_STR("", rig_read(&rig, fd, &end));
    CHECK(end);
    CHECK_STR("begin /careful; ", rig_trace(&rig));
    close(fd);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, rig_get("/careful"));
    CHECK_HAS("\r\n\r\n/careful", rig_read(&rig, fd, &end));
    CHECK(!end);
    close(fd);
    rig_close(&rig);
}

CASE(told_of_the_first_byte, "A handler that asked hears that its answer was sent.")
{
    struct rig rig;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, rig_get("/told"));
    CHECK_HAS("/told", rig_read(&rig, fd, NULL));
    CHECK_STR("begin /told; sent; ", rig_trace(&rig));
    close(fd);
    rig_close(&rig);
}

CASE(answered_too_late, "An answer to a client that has just closed ends as gone, not as sent.")
{
    struct rig rig;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, rig_get("/wait"));
    /* No turn of the loop between the two: the server cannot know. */
    close(fd);
    rig_answer(&rig, "granted");
    rig_settle(&rig);
    CHECK_STR("begin /wait; gone; ", rig_trace(&rig));
    rig_close(&rig);
}

CASE(answered_others_in_between,
     "A handler may answer other exchanges from inside a callback's turn.")
{
    struct rig rig;
    int fds[20];

    rig_open(&rig, NULL);
    for (int i = 0; i < 20; i++) {
        fds[i] = rig_connect(&rig);
        rig_send(&rig, fds[i], rig_get("/wait"));
    }
    CHECK_INT(20, rig_counts(&rig).suspended);
    /* All answers are queued before any is written; every other client is gone by then. */
    for (int i = 0; i < 20; i += 2)
        close(fds[i]);
    for (int i = 0; i < 20; i++)
        http_answer(rig.waiting[i], &(struct http_answer){.status = 204});
    rig_settle(&rig);
    for (int i = 1; i < 20; i += 2) {
        CHECK_HAS("HTTP/1.1 204 No Content\r\n", rig_read(&rig, fds[i], NULL));
        close(fds[i]);
    }
    CHECK_INT(10, count_of(rig.trace, "gone"));
    CHECK_INT(10, count_of(rig.trace, "sent"));
    rig_close(&rig);
}

CASE(heads_only, "HEAD gets the head of GET, and 204 has no length.")
{
    struct rig rig;
    const char *got;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, "HEAD /now HTTP/1.1\r\nHost: h\r\n\r\n");
    got = rig_read(&rig, fd, NULL);
    CHECK_HAS("Content-Length: 4\r\n", got);
    CHECK_STR("\r\n\r\n", strstr(got, "\r\n\r\n"));
    rig_send(&rig, fd, rig_get("/wait"));
    http_answer(rig.waiting[0], &(struct http_answer){.status = 204});
    got = rig_read(&rig, fd, NULL);
    CHECK_LACKS("Content-Length", got);
    CHECK_LACKS("Content-Type", got);
    close(fd);
    rig_close(&rig);
}

CASE(continues, "A client that expects 100-continue is told to go on.")
{
    struct rig rig;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd,
             "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
             "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    CHECK_STR("HTTP/1.1 100 Continue\r\n\r\n", rig_read(&rig, fd, NULL));
    rig_send(&rig, fd, "12");
    CHECK_STR("", rig_read(&rig, fd, NULL));
    rig_send(&rig, fd, "34");
    CHECK_HAS("\r\n\r\n1234", rig_read(&rig, fd, NULL));
    close(fd);
    rig_close(&rig);
}

CASE(last_one, "Connection: close and HTTP/1.0 end the connection after the answer.")
{
    static const char *const requests[] = {
        "GET /now HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "GET /now HTTP/1.0\r\n\r\n",
    };

    for (int i = 0; i < 2; i++) {
        struct rig rig;
        bool end;
        int fd;

        rig_open(&rig, NULL);
        fd = rig_connect(&rig);
        rig_send(&rig, fd, requests[i]);
        CHECK_HAS("Connection: close\r\n", rig_read(&rig, fd, &end));
        CHECK(end);
        close(fd);
        rig_settle(&rig);
        CHECK_INT(0, rig_counts(&rig).connections);
        rig_close(&rig);
    }
}

CASE(too_large_an_answer, "An answer beyond the bound becomes a 500.")
{
    struct rig rig;
    int fd;

    rig_open(&rig, NULL);
    fd = rig_connect(&rig);
    rig_send(&rig, fd, rig_get("/huge"));
    CHECK_HAS("HTTP/1.1 500 ", rig_read(&rig, fd, NULL));
    close(fd);
    rig_close(&rig);
}
