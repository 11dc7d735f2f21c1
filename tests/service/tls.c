/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting requests over TCP and TLS: the end of the client is noticed there as well. */
#include "certs.h"
#include "check.h"
#include "rig.h"

#include "http/tls.h"
#include "system/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS_MAX 1000 /* of 10 ms */

/* A second listener of the rig on a loopback port, which is returned. */
static int listen_tcp(struct rig *rig, struct http_tls_context *tls)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    char why[256];
    int fd = sockets_open("127.0.0.1:0", 0600, why, sizeof why);

    CHECK(fd >= 0);
    CHECK_INT(0, getsockname(fd, (struct sockaddr *)&address, &size));
    CHECK_INT(0, http_server_listen(rig->server, fd, 8, tls, false));
    return ntohs(address.sin_port);
}

static int connect_tcp(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ||
          errno == EINPROGRESS);
    return fd;
}

/* Turns until the handler has seen `needle`. */
static void await_trace(struct rig *rig, const char *needle)
{
    for (int i = 0; i < TURNS_MAX && !strstr(rig->trace, needle); i++)
        loop_turn(&rig->loop, 10);
    CHECK_HAS(needle, rig_trace(rig));
}

static int connect_waiting(struct rig *rig, int port)
{
    int fd = connect_tcp(port);

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
    close(connect_waiting(&rig, listen_tcp(&rig, NULL)));
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
    fd = connect_waiting(&rig, listen_tcp(&rig, NULL));
    CHECK_INT(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
    close(fd);
    await_trace(&rig, "gone; ");
    CHECK_INT(0, rig_counts(&rig).connections);
    rig_close(&rig);
}

/* ---- TLS ---------------------------------------------------------------------------------- */

struct client {
    struct rig rig;
    struct http_tls_context *context;
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
};

static void open_client(struct client *client)
{
    char why[256];

    certs_make();
    if (http_tls_context_new(certs_path("good.crt"), certs_path("good.key"), NULL, why,
                             sizeof why, &client->context) < 0)
        FAIL("%s", why);
    rig_open(&client->rig, NULL);
    client->fd = connect_tcp(listen_tcp(&client->rig, client->context));
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
