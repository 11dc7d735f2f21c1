/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways to reach a node: unix sockets, IPv6, names, databases, and the name we go by. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

static void check_works(const struct cluster *c, const char *address)
{
    redlock *r = CLIENT_OPEN(c, .flags = 0);
    redlock_lock *lock = client_lock(r, "x", 10000);
    CHECK(cluster_await(c, "redlock:x", (int)c->count));
    CHECK_STR(address, redlock_lock_report(lock)->node[0].address);
    client_unlock(lock);
    client_close(r);
}

CASE_NODES(unix_socket, "A node is reached through its unix socket.", .nodes = 1)
{
    snprintf(c->url[0], sizeof c->url[0], "unix://%s", c->node[0].socket_path);
    check_works(c, c->node[0].socket_path);
}

CASE_NODES(unix_socket_db,
           "A node is reached through its unix socket with a database in the URL.", .nodes = 1)
{
    snprintf(c->url[0], sizeof c->url[0], "unix://%s?db=5", c->node[0].socket_path);
    c->node[0].db = "5";
    server_admit(&c->node[0]);
    r = client_open(c, 0);
    client_lock(r, "x", 10000);
    CHECK_HAS("db5:keys=2", server_cmd(&c->node[0], "INFO", "keyspace", NULL));
}

CASE(ipv6, "A node is reached by its IPv6 address in brackets.")
{
    struct cluster c;
    char address[64];
    if (!port_have_ipv6())
        check_skip("no IPv6 loopback here");
    cluster_start(&c, 1);
    snprintf(c.url[0], sizeof c.url[0], "redis://[::1]:%d", c.node[0].port.number);
    snprintf(address, sizeof address, "[::1]:%d", c.node[0].port.number);
    check_works(&c, address);
}

CASE_NODES(host_name, "A node is reached by name, resolved off the I/O path.", .nodes = 1)
{
    char address[64];
    snprintf(c->url[0], sizeof c->url[0], "redis://localhost:%d", c->node[0].port.number);
    snprintf(address, sizeof address, "localhost:%d", c->node[0].port.number);
    check_works(c, address);
}

CASE_NODES(bare_host_and_port, "host:port without a scheme is redis://host:port.", .nodes = 1)
{
    char address[64];
    snprintf(c->url[0], sizeof c->url[0], "127.0.0.1:%d", c->node[0].port.number);
    snprintf(address, sizeof address, "127.0.0.1:%d", c->node[0].port.number);
    check_works(c, address);
}

CASE_NODES(unknown_host,
           "A name that does not resolve is one unreachable node, reported by that name.")
{
    redlock *hopeless;
    c->urls[1] = "redis://no-such-host.invalid:6379";
    r = client_open(c, 0);
    client_unlock(client_lock(r, "x", 10000));
    c->urls[2] = "redis://no-such-host-either.invalid:6379";
    hopeless = client_open(c, 0);
    CHECK_ERR(REDLOCK_NOQUORUM, CLIENT_TRY(hopeless, "x", 10000, .wait_ms = 1000));
    CHECK_STR("no-such-host.invalid:6379", redlock_failure_report()->node[1].address);
}

CASE_NODES(database_index, "The keys are in the database of the URL.")
{
    for (int i = 0; i < 3; i++) {
        snprintf(c->url[i], sizeof c->url[i], "redis://127.0.0.1:%d/3", c->node[i].port.number);
        c->node[i].db = "3";
        server_admit(&c->node[i]);
    }
    r = client_open(c, REDLOCK_THREAD);
    client_lock(r, "x", 10000);
    for (int i = 0; i < 2; i++) {
        int64_t end_ms = now_ms() + GIVE_UP_MS;
        while (strstr(server_cmd(&c->node[i], "INFO", "keyspace", NULL), "db3:keys=2") == NULL)
            CHECK(now_ms() < end_ms);
        CHECK_INT(0, server_keys(&c->node[i])); /* database 0 */
    }
}

CASE_NODES(database_after_reconnect, "After a reconnect the keys are in the same database.",
           .nodes = 1)
{
    snprintf(c->url[0], sizeof c->url[0], "redis://127.0.0.1:%d/7", c->node[0].port.number);
    c->node[0].db = "7";
    server_admit(&c->node[0]);
    r = client_open(c, 0);
    client_unlock(client_lock(r, "x", 10000));
    /* Admitted again: this is about the database. */
    server_restart_admitted(&c->node[0]);
    CLIENT_LOCK(r, "x", 10000, .wait_ms = 5000);
    CHECK_HAS("db7:keys=2", server_cmd(&c->node[0], "INFO", "keyspace", NULL));
}

CASE_NODES(missing_database,
           "A database that the server does not have is reported in the server's words.",
           .nodes = 1)
{
    redlock_lock *lock = NULL;
    int error;
    snprintf(c->url[0], sizeof c->url[0], "redis://127.0.0.1:%d/99", c->node[0].port.number);
    r = client_open(c, 0);
    error = redlock_acquire(r, "x", 10000, NULL, &lock);
    CHECK(error != REDLOCK_OK && lock == NULL);
    CHECK_HAS("DB index", redlock_failure_report()->node[0].text);
    CHECK_INT(0, server_keys(&c->node[0]));
    CHECK_LACKS("keys=2", server_cmd(&c->node[0], "INFO", "keyspace", NULL));
}

CASE_NODES(client_name, "CLIENT LIST shows the client's name, on one connection per node.",
           .nodes = 1)
{
    redlock_options o = client_options(c);
    redlock *plain = client_open_with(&o);
    redlock *named;
    client_warm(plain);
    CHECK_HAS("name=redlock ", server_cmd(&c->node[0], "CLIENT", "LIST", NULL));
    CHECK_INT(1, server_clients(&c->node[0]));
    o.client_name = "nightly-job";
    named = client_open_with(&o);
    client_warm(named);
    CHECK_HAS("name=nightly-job ", server_cmd(&c->node[0], "CLIENT", "LIST", NULL));
    CHECK_INT(2, server_clients(&c->node[0]));
}

CASE_ON(version_is_known, "The node's information names the server and its version.",
        .nodes = 1)
{
    redlock_node_info info = client_node(r, 0);
    CHECK_INT(REDLOCK_NODE_UP, info.state);
    CHECK_INT(0, info.tls);
    CHECK_INT(1, info.connects);
    CHECK(strncmp(info.version, "redis ", 6) == 0 || strncmp(info.version, "valkey ", 7) == 0);
    CHECK_STR("", info.text);
    CHECK(info.rtt_us >= 0);
}
