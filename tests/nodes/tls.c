/* SPDX-License-Identifier: BSD-2-Clause */
/* Encrypted connections: verified or not made at all. */
#include "certs.h"
#include "check.h"
#include "client.h"
#include "clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One node whose port speaks TLS, and its arguments. */
static struct cluster c;
static const char *arguments[16];

static void reach_by(const char *prefix)
{
    snprintf(c.url[0], sizeof c.url[0], "%s:%d", prefix, c.node[0].port.number);
}

/* With the named certificate; the options of a client that trusts its authority. */
static redlock_options start(const char *name, const char *auth_clients)
{
    static char cert[128], key[128], ca[128];
    static const char *const usual[] = {
        "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, NULL};
    redlock_options o;

    certs_make();
    snprintf(cert, sizeof cert, "%s/%s.crt", check_dir(), name);
    snprintf(key, sizeof key, "%s/%s.key", check_dir(), name);
    snprintf(ca, sizeof ca, "%s", certs_path("ca.crt"));
    memcpy(arguments, usual, sizeof usual);
    arguments[6] = "--tls-auth-clients";
    arguments[7] = auth_clients;
    c.count = 1;
    server_init(&c.node[0], arguments, NULL);
    c.node[0].tls = true;
    server_launch(&c.node[0]);
    server_ready(&c.node[0]);
    server_admit(&c.node[0]);
    c.urls[0] = c.url[0];
    reach_by("rediss://127.0.0.1");
    o = client_options(&c);
    o.tls_ca_file = certs_path("ca.crt");
    return o;
}

/* The same for a node that speaks plain text. */
static redlock_options start_plain(void)
{
    redlock_options o;

    certs_make();
    cluster_start(&c, 1);
    reach_by("rediss://:secret@127.0.0.1");
    o = client_options(&c);
    o.tls_ca_file = certs_path("ca.crt");
    return o;
}

/* Tries a lock; the error, and what the node's part of the report says. */
static int try_lock(const redlock_options *o, redlock_node_report *node)
{
    redlock_lock *lock = NULL;
    redlock *r = client_open_with(o);
    int error = redlock_acquire(r, "x", 10000, NULL, &lock);

    if (lock != NULL)
        client_unlock(lock);
    client_close(r);
    if (node != NULL)
        *node = redlock_failure_report()->node[0];
    return error;
}

/* An attempt may end before a silent port is known for what it is. */
static redlock_node_report await_reason(const redlock_options *o, int reason)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    redlock_node_report node;

    do {
        int error = try_lock(o, &node);

        CHECK(error == REDLOCK_PROTO || error == REDLOCK_NOQUORUM);
    } while (node.reason != reason && now_ms() < end_ms);
    CHECK_STR(redlock_reason_name(reason), redlock_reason_name(node.reason));
    CHECK(node.text[0]);
    return node;
}

static void check_refused(const redlock_options *o, int reason, const char *word)
{
    redlock_node_report node = await_reason(o, reason);

    CHECK_INT(REDLOCK_VOTE_UNREACHABLE, node.vote);
    if (strcasestr(node.text, word) == NULL)
        FAIL("expected \"%s\" in \"%s\"", word, node.text);
    CHECK_INT(0, server_keys(&c.node[0]));
    CHECK_LACKS("\nset ", server_commands(&c.node[0]));
}

CASE(good_certificate,
     "A node with a good certificate is verified, and its connection encrypted.")
{
    redlock_options o = start("good", "no");
    redlock_lock *lock;
    redlock_node_info info;
    redlock *r = client_open_with(&o);
    client_warm(r);
    lock = client_lock(r, "x", 10000);
    CHECK_INT(1, cluster_count(&c, "redlock:x"));
    info = client_node(r, 0);
    CHECK_INT(1, info.tls);
    CHECK_INT(REDLOCK_NODE_UP, info.state);
    CHECK_OK(redlock_extend(lock, 10000));
}

CASE(good_certificate_by_name, "A node reached by name is verified against that name.")
{
    redlock_options o = start("good", "no");
    reach_by("rediss://localhost");
    CHECK_OK(try_lock(&o, NULL));
}

CASE(long_conversation, "One encrypted connection carries many locks, also with long names.")
{
    char name[REDLOCK_NAME_MAX + 1];
    redlock_options o = start("good", "no");
    redlock *r = client_open_with(&o);
    memset(name, 'n', REDLOCK_NAME_MAX);
    name[REDLOCK_NAME_MAX] = '\0';
    for (int i = 0; i < 200; i++)
        client_unlock(client_lock(r, name, 10000));
    CHECK_INT(1, client_node(r, 0).connects);
}

CASE(expired_certificate, "An expired certificate is refused, and the message says so.")
{
    redlock_options o = start("expired", "no");
    check_refused(&o, REDLOCK_REASON_CERTIFICATE, "expired");
}

CASE(wrong_name, "A certificate for another name is refused unless the options give that name.")
{
    redlock_options o = start("wrong", "no");
    check_refused(&o, REDLOCK_REASON_SERVER_NAME, "127.0.0.1");
    o.tls_server_name = "wrong.example";
    CHECK_OK(try_lock(&o, NULL));
}

CASE(address_as_name, "An address in the URL needs an address in the certificate, not a name.")
{
    redlock_options o = start("spelled", "no");
    check_refused(&o, REDLOCK_REASON_SERVER_NAME,
                  "has no IP address among its alternative names: it needs IP:127.0.0.1");
}

CASE(another_address, "A certificate for another address is refused, and the message names it.")
{
    redlock_options o = start("elsewhere", "no");
    check_refused(&o, REDLOCK_REASON_SERVER_NAME, "is for 192.0.2.1, not 127.0.0.1");
}

CASE(unknown_authority, "A certificate of an unknown authority is refused.")
{
    redlock_options o = start("good", "no");
    o.tls_ca_file = certs_path("other.crt");
    check_refused(&o, REDLOCK_REASON_AUTHORITY, "certificate");
    o.tls_ca_file = NULL; /* the system's store does not know it either */
    check_refused(&o, REDLOCK_REASON_AUTHORITY, "certificate");
}

CASE(client_certificate,
     "The client shows its certificate to a server that asks, which says so if it does not.")
{
    redlock_options o = start("good", "yes");
    await_reason(&o, REDLOCK_REASON_CLIENT_CERTIFICATE);
    o.tls_cert_file = certs_path("client.crt");
    o.tls_key_file = certs_path("client.key");
    CHECK_OK(try_lock(&o, NULL));
}

CASE(client_certificate_with_key,
     "The client's key may be in the same file as its certificate.")
{
    char line[256], both[128];
    FILE *out;
    redlock_options o = start("good", "yes");
    static const char *const parts[] = {"client.crt", "client.key"};
    snprintf(both, sizeof both, "%s", certs_path("both.pem"));
    out = fopen(both, "w");
    for (int i = 0; i < 2; i++) {
        FILE *in = fopen(certs_path(parts[i]), "r");
        while (fgets(line, sizeof line, in) != NULL)
            fputs(line, out);
        fclose(in);
    }
    fclose(out);
    o.tls_cert_file = both;
    CHECK_OK(try_lock(&o, NULL));
}

CASE(no_plaintext_fallback, "A rediss:// node that speaks plaintext gets no command.")
{
    redlock_options o = start_plain();
    redlock_node_report node;

    o.connect_timeout_ms = 1000;
    server_forget_commands(&c.node[0]);
    node = await_reason(&o, REDLOCK_REASON_PLAIN_PORT);
    CHECK_STR("", server_commands(&c.node[0]));
    /* Silent, or an answer in plain text, as the bytes of the handshake happen to look. */
    if (!strstr(node.text, "is it a port without TLS? use redis://") &&
        !strstr(node.text, "the server does not speak TLS here: use its TLS port, or redis://"))
        FAIL("no hint in \"%s\"", node.text);
}

CASE(plaintext_to_tls_port,
     "A redis:// URL to a TLS port fails in time, with a reason of its own.")
{
    redlock_options o = start("good", "no");
    int64_t start_ms;
    redlock *r;

    reach_by("redis://127.0.0.1");
    o = client_options(&c);
    o.node_timeout_ms = 200;
    start_ms = now_ms();
    try_lock(&o, NULL);
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    CHECK_HAS("use rediss://", await_reason(&o, REDLOCK_REASON_TLS_PORT).text);
    r = client_open_with(&o); /* the node's own part says it, too */
    AWAIT_DOING(client_node(r, 0).reason == REDLOCK_REASON_TLS_PORT, client_try(r, "x", 10000));
}

CASE(old_protocols_refused, "A server that only speaks TLS 1.1 is refused.")
{
    static const char *const old[] = {"--tls-protocols", "TLSv1.1"};
    size_t count = 0;
    redlock_options o = start("good", "no");
    server_kill(&c.node[0]);
    while (arguments[count] != NULL)
        count++;
    memcpy(arguments + count, old, sizeof old);
    arguments[count + 2] = NULL;
    server_restart(&c.node[0]);
    CHECK_ERR(REDLOCK_NOQUORUM, try_lock(&o, NULL));
}

CASE(bad_files, "Certificate files that cannot be used are INVAL at open, with their name.")
{
    redlock *r = NULL;
    redlock_options o = start_plain();
    o.tls_ca_file = "/nonexistent/ca.pem";
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    CHECK_HAS("/nonexistent/ca.pem", redlock_detail());
    o.tls_ca_file = certs_path("ca.key"); /* a key is no certificate */
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    o.tls_ca_file = certs_path("ca.crt");
    o.tls_cert_file = certs_path("client.crt");
    o.tls_key_file = certs_path("good.key"); /* not its key */
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    CHECK(r == NULL);
}

CASE(exposed_files, "A CA, certificate or key file that another user can change is refused.")
{
    static const char *const names[] = {"ca.crt", "client.crt", "client.key"};
    redlock_options o = start("good", "yes");
    o.tls_cert_file = certs_path("client.crt");
    o.tls_key_file = certs_path("client.key");
    CHECK_OK(try_lock(&o, NULL));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *file = certs_path(names[i]);
        redlock *r = NULL;
        CHECK_INT(0, chmod(file, 0620));
        CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
        CHECK(r == NULL);
        CHECK_HAS("others can write to the TLS ", redlock_detail());
        CHECK_HAS(file, redlock_detail());
        CHECK_INT(0, chmod(file, 0600));
    }
    CHECK_OK(try_lock(&o, NULL));
}
