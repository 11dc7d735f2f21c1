/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting requests over TCP and TLS: the end of the client is noticed there as well. */
#include "certs.h"
#include "check.h"
#include "rig.h"

#include "http/tls.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS_MAX 1000 /* of 10 ms */

/* Turns until the handler has seen `needle`. */
static void await_trace(struct rig *rig, const char *needle)
{
    for (int i = 0; i < TURNS_MAX && !strstr(rig->trace, needle); i++)
        loop_turn(&rig->loop, 10);
    CHECK_HAS(needle, rig_trace(rig));
}

static int connect_waiting(struct rig *rig, int port)
{
    int fd = rig_connect_tcp(port, "127.0.0.1");

    for (int i = 0; i < TURNS_MAX && rig_counts(rig).connections == 0; i++)
        loop_turn(&rig->loop, 10);
    rig_send(rig, fd, rig_get("/wait"));
    await_trace(rig, "begin /wait; ");
    return fd;
}

CASE(tcp_closed, "A TCP client that closes while its request waits is noticed.")
{
    struct rig rig;

    rig_open(&rig, NULL);
    close(connect_waiting(&rig, rig_listen_tcp(&rig, 8, NULL)));
    await_trace(&rig, "gone; ");
    CHECK_INT(0, rig_counts(&rig).connections);
    rig_close(&rig);
}

CASE(tcp_reset, "A TCP connection that is reset while its request waits is noticed.")
{
    struct linger reset = {1, 0};
    struct rig rig;
    int fd;

    rig_open(&rig, NULL);
    fd = connect_waiting(&rig, rig_listen_tcp(&rig, 8, NULL));
    CHECK_INT(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
    close(fd);
    await_trace(&rig, "gone; ");
    CHECK_INT(0, rig_counts(&rig).connections);
    rig_close(&rig);
}

/* ---- TLS -------------------------------------------------------------------------------- */

struct client {
    struct rig rig;
    struct http_tls_context *context;
    SSL_CTX *ctx;
    SSL *ssl;
    int fd, port;
};

static void open_client(struct client *client)
{
    struct http_tls_files files = {0};
    char why[256];

    certs_make();
    files.cert = certs_path("good.crt");
    files.key = certs_path("good.key");
    if (http_tls_context_new(&files, why, sizeof why, &client->context) < 0)
        FAIL("%s", why);
    rig_open(&client->rig, NULL);
    client->port = rig_listen_tcp(&client->rig, 8, client->context);
    client->fd = rig_connect_tcp(client->port, "127.0.0.1");
    client->ctx = SSL_CTX_new(TLS_client_method());
    CHECK(client->ctx && SSL_CTX_load_verify_file(client->ctx, certs_path("ca.crt")) == 1);
    SSL_CTX_set_verify(client->ctx, SSL_VERIFY_PEER, NULL);
    client->ssl = SSL_new(client->ctx);
    CHECK(client->ssl && SSL_set_fd(client->ssl, client->fd) == 1);
    SSL_set_connect_state(client->ssl);
    for (int i = 0; i < TURNS_MAX && SSL_do_handshake(client->ssl) != 1; i++)
        loop_turn(&client->rig.loop, 10);
    CHECK(SSL_is_init_finished(client->ssl));
}

static void send_text(struct client *client, const char *text)
{
    CHECK_INT(strlen(text), SSL_write(client->ssl, text, (int)strlen(text)));
}

static void expect_text(struct client *client, const char *needle)
{
    char text[RIG_TEXT_MAX] = "";
    size_t used = 0;

    for (int i = 0; i < TURNS_MAX && !strstr(text, needle); i++) {
        int got = SSL_read(client->ssl, text + used, (int)(sizeof text - used - 1));

        if (got > 0)
            used += (size_t)got;
        else
            loop_turn(&client->rig.loop, 10);
        text[used] = '\0';
    }
    CHECK_HAS(needle, text);
}

static void close_client(struct client *client)
{
    rig_close(&client->rig);
    SSL_free(client->ssl);
    SSL_CTX_free(client->ctx);
    http_tls_context_free(client->context);
}

CASE(tls_pipelined, "Requests in one TLS record are answered one by one, also later.")
{
    struct client client;
    char text[512];

    open_client(&client);
    snprintf(text, sizeof text, "%s%s%s", rig_get("/a"), rig_get("/wait"), rig_get("/b"));
    send_text(&client, text);
    expect_text(&client, "\r\n\r\n/a");
    await_trace(&client.rig, "begin /a; begin /wait; ");
    rig_answer(&client.rig, "waited");
    expect_text(&client, "\r\n\r\n/b");
    await_trace(&client.rig, "sent; begin /b; ");
    close(client.fd);
    close_client(&client);
}

CASE(tls_records, "Requests in several TLS records that arrive together are all answered.")
{
    struct client client;

    open_client(&client);
    for (int i = 0; i < 5; i++)
        send_text(&client, rig_get(i < 4 ? "/a" : "/last"));
    expect_text(&client, "\r\n\r\n/last");
    CHECK_INT(5, client.rig.begun);
    close(client.fd);
    close_client(&client);
}

CASE(tls_closed, "A TLS client that closes while its request waits is noticed.")
{
    struct client client;

    open_client(&client);
    send_text(&client, rig_get("/wait"));
    await_trace(&client.rig, "begin /wait; ");
    close(client.fd);
    await_trace(&client.rig, "gone; ");
    close_client(&client);
}

#define MANY 6

CASE(tls_handshakes, "Of many handshakes that are due each turn of the loop continues one.")
{
    struct client client;
    SSL *ssl[MANY];
    int answered = 0;
    char byte;

    open_client(&client);
    for (int i = 0; i < MANY; i++) {
        ssl[i] = SSL_new(client.ctx);
        CHECK(ssl[i] && SSL_set_fd(ssl[i], rig_connect_tcp(client.port, "127.0.0.1")) == 1);
        SSL_set_connect_state(ssl[i]);
    }
    for (int i = 0; i < TURNS_MAX && rig_counts(&client.rig).connections < 1 + MANY; i++)
        loop_turn(&client.rig.loop, 10);
    for (int i = 0; i < MANY; i++)
        CHECK(SSL_do_handshake(ssl[i]) != 1); /* sends its first words */
    for (int turns = 0; answered < MANY; turns++) {
        CHECK(turns < TURNS_MAX);
        loop_turn(&client.rig.loop, 10);
        answered = 0;
        for (int i = 0; i < MANY; i++)
            answered += recv(SSL_get_fd(ssl[i]), &byte, 1, MSG_PEEK) == 1;
        CHECK(answered <= turns);
    }
    for (int i = 0; i < MANY; i++) {
        close(SSL_get_fd(ssl[i]));
        SSL_free(ssl[i]);
    }
    close(client.fd);
    close_client(&client);
}

CASE(tls_goodbye, "A TLS client that says goodbye and keeps its socket open is gone as well.")
{
    struct client client;

    open_client(&client);
    send_text(&client, rig_get("/wait"));
    await_trace(&client.rig, "begin /wait; ");
    SSL_shutdown(client.ssl);
    await_trace(&client.rig, "gone; ");
    close(client.fd);
    close_client(&client);
}

CASE(tls_goodbye_behind, "A goodbye that arrives together with the request is seen as well.")
{
    struct client client;

    open_client(&client);
    send_text(&client, rig_get("/wait"));
    SSL_shutdown(client.ssl);
    await_trace(&client.rig, "begin /wait; gone; ");
    close(client.fd);
    close_client(&client);
}

CASE(tls_large, "A large answer over TLS arrives whole though its client reads slowly.")
{
    struct client client;
    size_t got = 0;

    open_client(&client);
    for (int i = 0; i < 8; i++)
        send_text(&client, rig_get("/big"));
    for (int i = 0; i < 100 * TURNS_MAX && got < 8 * (size_t)RIG_BIG; i++) {
        char bytes[1000];
        int n = SSL_read(client.ssl, bytes, sizeof bytes);

        if (n > 0)
            got += (size_t)n;
        else
            loop_turn(&client.rig.loop, 10);
    }
    CHECK(got >= 8 * (size_t)RIG_BIG);
    CHECK_INT(8, client.rig.begun);
    close(client.fd);
    close_client(&client);
}
