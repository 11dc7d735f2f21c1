/* SPDX-License-Identifier: BSD-2-Clause */
/* Which connection ends for a new one where there are as many as there may be. */
#include "certs.h"
#include "rig.h"

#include "base/time.h"
#include "http/server_internal.h"
#include "http/tls.h"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT 12
#define HOUR_NS (3600 * RL_NS_PER_S)
#define TURNS_MAX 1000 /* of 10 ms */

/* No time of a connection is over while a case runs. */
#define ROOM                                                                                   \
    .options = {                                                                               \
        .connections_max = LIMIT, .head_timeout_ns = HOUR_NS, .idle_timeout_ns = HOUR_NS}

/* Turns until so many were accepted. */
static void await_accepted(struct rig *rig, uint64_t count)
{
    for (int i = 0; i < TURNS_MAX && rig_counts(rig).accepted < count; i++)
        loop_turn(&rig->loop, 10);
    CHECK_INT((long long)count, (long long)rig_counts(rig).accepted);
}

/* So many clients of the port, which send `text` and no more, one after another. */
static void flood(struct rig *rig, int port, const char *from, int *fds, int count,
                  const char *text)
{
    for (int i = 0; i < count; i++) {
        fds[i] = rig_connect_tcp(port, from);
        await_accepted(rig, rig_counts(rig).accepted + 1);
        rig_send(rig, fds[i], text);
    }
}

/* The client is served. */
static void expect_answer(struct rig *rig, int fd, const char *path)
{
    rig_send(rig, fd, rig_get(path));
    CHECK_HAS("HTTP/1.1 200 ", rig_read_until(rig, fd, path));
}

CASE_RIG(heads, "Half a head makes room, the oldest first, and a client that is new is served.",
         ROOM)
{
    int fds[LIMIT];
    bool end;

    for (int i = 0; i < LIMIT; i++)
        fds[i] = rig_request(rig, "GET /now HTTP/1.1\r\n");
    expect_answer(rig, rig_connect(rig), "/now");
    rig->may_break = true;
    rig_read(rig, fds[0], &end);
    CHECK(end);
    rig_send(rig, fds[1], "Host: h\r\n\r\n");
    CHECK_HAS("HTTP/1.1 200 ", rig_read(rig, fds[1], &end));
    CHECK_INT(1, rig_counts(rig).evicted);
}

/* A port with TLS. */
static int listen_tls(struct rig *rig, struct http_tls_context **context)
{
    struct http_tls_files files = {0};
    char why[256];

    certs_make();
    files.cert = certs_path("good.crt");
    files.key = certs_path("good.key");
    if (http_tls_context_new(&files, why, sizeof why, context) < 0)
        FAIL("%s", why);
    return rig_listen_tcp(rig, *context);
}

CASE_RIG(handshakes, "Half a TLS handshake makes room as well.", ROOM)
{
    struct http_tls_context *context;
    int fds[3 * LIMIT];

    flood(rig, listen_tls(rig, &context), "127.0.0.1", fds, 3 * LIMIT, "");
    CHECK(rig_counts(rig).connections <= LIMIT);
    expect_answer(rig, rig_connect(rig), "/now");
    rig_end();
    http_tls_context_free(context);
}

CASE_RIG(handshakes_in_turn,
         "Of many handshakes that are due each turn of the loop continues one.")
{
    enum { MANY = 6 };
    SSL_CTX *client = SSL_CTX_new(TLS_client_method());
    struct http_tls_context *context;
    int port = listen_tls(rig, &context), answered = 0;
    SSL *ssl[MANY];
    char byte;

    for (int i = 0; i < MANY; i++) {
        ssl[i] = SSL_new(client);
        CHECK(ssl[i] && SSL_set_fd(ssl[i], rig_connect_tcp(port, "127.0.0.1")) == 1);
        SSL_set_connect_state(ssl[i]);
    }
    await_accepted(rig, MANY);
    for (int i = 0; i < MANY; i++)
        CHECK(SSL_do_handshake(ssl[i]) != 1); /* sends its first words */
    for (int turns = 0; answered < MANY; turns++) {
        CHECK(turns < TURNS_MAX);
        loop_turn(&rig->loop, 10);
        answered = 0;
        for (int i = 0; i < MANY; i++)
            answered += recv(SSL_get_fd(ssl[i]), &byte, 1, MSG_PEEK) == 1;
        CHECK(answered <= turns);
    }
    for (int i = 0; i < MANY; i++)
        SSL_free(ssl[i]);
    SSL_CTX_free(client);
    rig_end();
    http_tls_context_free(context);
}

CASE_RIG(unread, "An answer that a stranger does not take makes room.", ROOM)
{
    for (int i = 0; i < LIMIT; i++) {
        int fd = rig_connect(rig);

        for (int k = 0; k < 5; k++)
            rig_send(rig, fd, rig_get("/big"));
    }
    CHECK_INT(LIMIT, rig->server->due[HTTP_DUE_STALL].count);
    expect_answer(rig, rig_connect(rig), "/now");
}

CASE_RIG(known,
         "A connection on which a rule allowed a request is kept before those of strangers.",
         ROOM)
{
    int known = rig_connect(rig), waiting;

    expect_answer(rig, known, "/known");
    waiting = rig_request(rig, rig_get("/wait"));
    for (int i = 0; i < 3 * LIMIT; i++)
        rig_request(rig, i % 2 ? "GET " : "");
    CHECK_INT(LIMIT, rig_counts(rig).connections);
    CHECK_INT(2 * LIMIT + 2, rig_counts(rig).evicted);
    expect_answer(rig, known, "/now");
    rig_answer(rig, "waited");
    CHECK_HAS("waited", rig_read(rig, waiting, NULL));
}

CASE_RIG(fullest, "Of strangers one of the address with most connections goes, not the oldest.",
         ROOM)
{
    int fds[LIMIT], port = rig_listen_tcp(rig, NULL), older, newer;

    flood(rig, port, "127.0.0.2", &older, 1, "GET /now HTTP/1.1\r\n");
    flood(rig, port, "127.0.0.1", fds, LIMIT, "GET /now HTTP/1.1\r\n");
    CHECK(rig_counts(rig).evicted > 0);
    flood(rig, port, "127.0.0.3", &newer, 1, "");
    expect_answer(rig, newer, "/now");
    rig_send(rig, older, "Host: h\r\n\r\n");
    CHECK_HAS("HTTP/1.1 200 ", rig_read_until(rig, older, "/now"));
}

CASE_RIG(shares, "Requests that wait on one listener leave the others their places.", ROOM)
{
    enum { OWN = LIMIT / 4, MOST = LIMIT - OWN }; /* half of all is kept for two listeners */
    int remote[MOST], port = rig_listen_tcp(rig, NULL), late;

    flood(rig, port, "127.0.0.1", remote, MOST, rig_get("/wait"));
    for (int i = 0; i < TURNS_MAX && rig_counts(rig).suspended < MOST; i++)
        loop_turn(&rig->loop, 10);
    late = rig_connect_tcp(port, "127.0.0.1");
    rig_send(rig, late, rig_get("/now"));
    for (int i = 0; i < OWN; i++)
        rig_request(rig, rig_get("/wait"));
    CHECK_INT(LIMIT, rig_counts(rig).suspended);
    /* There is no room on the port until one of its own ends. */
    CHECK_STR("", rig_read(rig, late, NULL));
    close(remote[0]);
    rig_read_until(rig, late, "HTTP/1.1 200 ");
}
