/* SPDX-License-Identifier: BSD-2-Clause */
/* Encrypted connections: verified or not made at all. */
#include "certs.h"
#include "check.h"
#include "client.h"
#include "clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* One node whose port speaks TLS with the named certificate. */
struct tls_cluster {
    struct cluster cluster;
    const char *arguments[16];
};

static void start(struct tls_cluster *t, const char *name, const char *auth_clients)
{
    static char cert[128], key[128], ca[128];
    struct cluster *c = &t->cluster;
    const char *arguments[] = {"--tls-cert-file",
                               cert,
                               "--tls-key-file",
                               key,
                               "--tls-ca-cert-file",
                               ca,
                               "--tls-auth-clients",
                               auth_clients,
                               NULL};
    certs_make();
    snprintf(cert, sizeof cert, "%s/%s.crt", check_dir(), name);
    snprintf(key, sizeof key, "%s/%s.key", check_dir(), name);
    snprintf(ca, sizeof ca, "%s", certs_path("ca.crt"));
    memcpy(t->arguments, arguments, sizeof arguments);
    memset(c, 0, sizeof *c);
    c->count = 1;
    server_init(&c->node[0], t->arguments, NULL);
    c->node[0].tls = true;
    server_launch(&c->node[0]);
    server_ready(&c->node[0]);
    server_admit(&c->node[0]);
    snprintf(c->url[0], sizeof c->url[0], "rediss://127.0.0.1:%d", c->node[0].port.number);
    c->urls[0] = c->url[0];
}

/* Tries a lock; the error, and the node's words in `text` (REDLOCK_TEXT_MAX). */
static int try_lock(const redlock_options *o, char *text, int *vote)
{
    redlock_lock *lock = NULL;
    redlock *r = client_open_with(o);
    int error = redlock_acquire(r, "x", 10000, NULL, &lock);
    if (lock != NULL)
        client_unlock(lock);
    client_close(r);
    if (text != NULL)
        memcpy(text, redlock_failure_report()->node[0].text, REDLOCK_TEXT_MAX);
    if (vote != NULL)
        *vote = redlock_failure_report()->node[0].vote;
    return error;
}

static void check_refused(const struct tls_cluster *t, const redlock_options *o,
                          const char *word)
{
    char text[REDLOCK_TEXT_MAX];
    int vote = 0;
    CHECK_ERR(REDLOCK_NOQUORUM, try_lock(o, text, &vote));
    CHECK_INT(REDLOCK_VOTE_UNREACHABLE, vote);
    if (strcasestr(text, word) == NULL)
        FAIL("expected \"%s\" in \"%s\"", word, text);
    CHECK_INT(0, server_keys(&t->cluster.node[0]));
    CHECK_LACKS("\nset ", server_commands(&t->cluster.node[0]));
}

static redlock_options options(const struct tls_cluster *t)
{
    redlock_options o = client_options(&t->cluster);
    o.tls_ca_file = certs_path("ca.crt");
    return o;
}

CASE(good_certificate,
     "A node with a good certificate is verified, and its connection encrypted.")
{
    struct tls_cluster t;
    redlock_options o;
    redlock_lock *lock;
    redlock_node_info info;
    redlock *r;
    start(&t, "good", "no");
    o = options(&t);
    r = client_open_with(&o);
    client_warm(r);
    lock = client_lock(r, "x", 10000);
    CHECK_INT(1, cluster_count(&t.cluster, "redlock:x"));
    info = client_node(r, 0);
    CHECK_INT(1, info.tls);
    CHECK_INT(REDLOCK_NODE_UP, info.state);
    CHECK_OK(redlock_extend(lock, 10000));
}

CASE(good_certificate_by_name, "A node reached by name is verified against that name.")
{
    struct tls_cluster t;
    redlock_options o;
    start(&t, "good", "no");
    snprintf(t.cluster.url[0], sizeof t.cluster.url[0], "rediss://localhost:%d",
             t.cluster.node[0].port.number);
    o = options(&t);
    CHECK_OK(try_lock(&o, NULL, NULL));
}

CASE(long_conversation, "One encrypted connection carries many locks, also with long names.")
{
    struct tls_cluster t;
    char name[REDLOCK_NAME_MAX + 1];
    redlock_options o;
    redlock_node_info info;
    redlock *r;
    start(&t, "good", "no");
    o = options(&t);
    r = client_open_with(&o);
    memset(name, 'n', REDLOCK_NAME_MAX);
    name[REDLOCK_NAME_MAX] = '\0';
    for (int i = 0; i < 200; i++)
        client_unlock(client_lock(r, name, 10000));
    info = client_node(r, 0);
    CHECK_INT(1, info.connects);
}

CASE(expired_certificate, "An expired certificate is refused, and the message says so.")
{
    struct tls_cluster t;
    redlock_options o;
    start(&t, "expired", "no");
    o = options(&t);
    check_refused(&t, &o, "expired");
}

CASE(wrong_name, "A certificate for another name is refused unless the options give that name.")
{
    struct tls_cluster t;
    redlock_options o;
    start(&t, "wrong", "no");
    o = options(&t);
    check_refused(&t, &o, "127.0.0.1");
    o.tls_server_name = "wrong.example";
    CHECK_OK(try_lock(&o, NULL, NULL));
}

CASE(address_as_name, "An address in the URL needs an address in the certificate, not a name.")
{
    struct tls_cluster t;
    redlock_options o;
    start(&t, "spelled", "no");
    o = options(&t);
    check_refused(&t, &o,
                  "has no IP address among its alternative names: it needs IP:127.0.0.1");
}

CASE(another_address, "A certificate for another address is refused, and the message names it.")
{
    struct tls_cluster t;
    redlock_options o;
    start(&t, "elsewhere", "no");
    o = options(&t);
    check_refused(&t, &o, "is for 192.0.2.1, not 127.0.0.1");
}

CASE(unknown_authority, "A certificate of an unknown authority is refused.")
{
    struct tls_cluster t;
    redlock_options o;
    start(&t, "good", "no");
    o = options(&t);
    o.tls_ca_file = certs_path("other.crt");
    check_refused(&t, &o, "certificate");
    o.tls_ca_file = NULL; /* the system's store does not know it either */
    check_refused(&t, &o, "certificate");
}

CASE(client_certificate, "The client shows its certificate to a server that asks for one.")
{
    struct tls_cluster t;
    redlock_options o;
    start(&t, "good", "yes");
    o = options(&t);
    CHECK_ERR(REDLOCK_NOQUORUM, try_lock(&o, NULL, NULL));
    o.tls_cert_file = certs_path("client.crt");
    o.tls_key_file = certs_path("client.key");
    CHECK_OK(try_lock(&o, NULL, NULL));
}

CASE(client_certificate_with_key,
     "The client's key may be in the same file as its certificate.")
{
    struct tls_cluster t;
    char line[256], both[128];
    FILE *out;
    redlock_options o;
    static const char *const parts[] = {"client.crt", "client.key"};
    start(&t, "good", "yes");
    snprintf(both, sizeof both, "%s", certs_path("both.pem"));
    out = fopen(both, "w");
    for (int i = 0; i < 2; i++) {
        FILE *in = fopen(certs_path(parts[i]), "r");
        while (fgets(line, sizeof line, in) != NULL)
            fputs(line, out);
        fclose(in);
    }
    fclose(out);
    o = options(&t);
    o.tls_cert_file = both;
    CHECK_OK(try_lock(&o, NULL, NULL));
}

CASE(no_plaintext_fallback, "A rediss:// node that speaks plaintext gets no command.")
{
    struct tls_cluster t;
    redlock_options o;
    char text[REDLOCK_TEXT_MAX];
    certs_make();
    cluster_start(&t.cluster, 1);
    snprintf(t.cluster.url[0], sizeof t.cluster.url[0], "rediss://:secret@127.0.0.1:%d",
             t.cluster.node[0].port.number);
    o = options(&t);
    o.connect_timeout_ms = 500;
    server_forget_commands(&t.cluster.node[0]);
    CHECK_ERR(REDLOCK_NOQUORUM, try_lock(&o, text, NULL));
    CHECK_STR("", server_commands(&t.cluster.node[0]));
    /* Silent, or an answer in plain text, as the bytes of the handshake happen to look. */
    if (!strstr(text, "is it a port without TLS? use redis://") &&
        !strstr(text, "the server does not speak TLS here: use its TLS port, or redis://"))
        FAIL("no hint in \"%s\"", text);
}

CASE(plaintext_to_tls_port,
     "A redis:// URL to a TLS port fails in time, with a reason of its own.")
{
    struct tls_cluster t;
    redlock_options o;
    int64_t start_ms;
    char text[REDLOCK_TEXT_MAX];
    int error;
    start(&t, "good", "no");
    snprintf(t.cluster.url[0], sizeof t.cluster.url[0], "redis://127.0.0.1:%d",
             t.cluster.node[0].port.number);
    o = client_options(&t.cluster);
    o.node_timeout_ms = 200;
    start_ms = now_ms();
    error = try_lock(&o, text, NULL);
    CHECK(error == REDLOCK_PROTO || error == REDLOCK_NOQUORUM);
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    /* Nothing came back in time, or it ended, or it was a TLS alert. */
    if (text[0] && !strstr(text, "use rediss://"))
        FAIL("no hint in \"%s\"", text);
}

CASE(old_protocols_refused, "A server that only speaks TLS 1.1 is refused.")
{
    struct tls_cluster t;
    static const char *const old[] = {"--tls-protocols", "TLSv1.1"};
    size_t count = 0;
    redlock_options o;
    start(&t, "good", "no");
    server_kill(&t.cluster.node[0]);
    while (t.arguments[count] != NULL)
        count++;
    memcpy(t.arguments + count, old, sizeof old);
    t.arguments[count + 2] = NULL;
    server_restart(&t.cluster.node[0]);
    o = options(&t);
    CHECK_ERR(REDLOCK_NOQUORUM, try_lock(&o, NULL, NULL));
}

CASE(bad_files, "Certificate files that cannot be used are INVAL at open, with their name.")
{
    struct tls_cluster t;
    redlock *r = NULL;
    redlock_options o;
    certs_make();
    cluster_start(&t.cluster, 1);
    snprintf(t.cluster.url[0], sizeof t.cluster.url[0], "rediss://127.0.0.1:%d",
             t.cluster.node[0].port.number);
    o = client_options(&t.cluster);
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
    struct tls_cluster t;
    redlock_options o;
    start(&t, "good", "yes");
    o = options(&t);
    o.tls_cert_file = certs_path("client.crt");
    o.tls_key_file = certs_path("client.key");
    CHECK_OK(try_lock(&o, NULL, NULL));
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
    CHECK_OK(try_lock(&o, NULL, NULL));
}
