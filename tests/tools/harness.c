/* SPDX-License-Identifier: BSD-2-Clause */
/* The tests' own tools: a server that does not hang on request would prove nothing. */
#include "evil.h"
#include "fake.h"
#include "fixture.h"
#include "nodeclock.h"
#include "proxy.h"
#include "resp.h"
#include "rl_scripts.h"
#include "servers.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char *command(struct resp *r, const char *arg, ...)
{
    static char reply[4096];
    const char *argv[16];
    va_list args;
    va_start(args, arg);
    resp_collect(argv, 16, arg, args);
    va_end(args);
    CHECK(resp_send(r, argv) == 0);
    CHECK(resp_read(r, reply, sizeof reply) == 0);
    return reply;
}

CASE(real_servers_obey, "Servers start, forget on kill -9, and come back on their port.")
{
    struct cluster c;
    struct resp *r;
    cluster_start(&c, 3);
    cluster_set(&c, 0, 2, "k", "v", 60000);
    CHECK_INT(2, cluster_count(&c, "k"));
    CHECK_INT(2, cluster_count_value(&c, "k", "v"));
    server_kill(&c.node[0]);
    CHECK(resp_tcp("127.0.0.1", c.node[0].port.number) == NULL);
    CHECK_INT(1, cluster_count(&c, "k"));
    server_restart(&c.node[0]);
    CHECK_INT(1, cluster_count(&c, "k"));
    r = resp_tcp("127.0.0.1", c.node[0].port.number);
    CHECK(r != NULL);
    CHECK_STR("PONG", command(r, "PING", NULL));
    CHECK_INT(1, server_clients(&c.node[0]));
    resp_free(r);
    server_forget_commands(&c.node[1]);
    CHECK_STR("", server_commands(&c.node[1]));
    server_cmd(&c.node[1], "GET", "k", NULL);
    CHECK_STR("get 1\n", server_commands(&c.node[1]));
}

CASE(frozen_server_answers_later, "A stopped server is silent and answers once continued.")
{
    struct server s;
    char reply[64];
    struct resp *r;
    const char *ping[] = {"PING", NULL};
    server_start(&s, NULL);
    r = resp_tcp("127.0.0.1", s.port.number);
    server_freeze(&s);
    CHECK(resp_send(r, ping) == 0);
    server_thaw(&s);
    CHECK(resp_read(r, reply, sizeof reply) == 0);
    CHECK_STR("PONG", reply);
    resp_free(r);
}

CASE_NODES(server_clock_obeys, "A server's wall clock follows the test, and keys expire by it.",
           .nodes = 2, .start = nodeclock_cluster)
{
    cluster_set(c, 0, 2, "k", "v", 60000);
    nodeclock_step(&c->node[0], -100000);
    CHECK_BETWEEN(150000, 160000, server_int(&c->node[0], "PTTL", "k", NULL));
    nodeclock_step(&c->node[0], 100000);
    CHECK_BETWEEN(50000, 60000, server_int(&c->node[0], "PTTL", "k", NULL));
    nodeclock_step(&c->node[0], 70000);
    CHECK_INT(0, server_int(&c->node[0], "EXISTS", "k", NULL));
    CHECK_INT(1, server_int(&c->node[1], "EXISTS", "k", NULL));
}

CASE(fake_server_obeys, "The fake server locks, compares, expires and records.")
{
    struct fake f;
    struct resp *r;
    char sha[64];
    fake_start(&f);
    r = resp_tcp("127.0.0.1", f.port.number);
    CHECK_STR("OK", command(r, "SET", "k", "v", "NX", "PX", "1000", NULL));
    CHECK_STR("(nil)", command(r, "SET", "k", "w", "NX", "PX", "1000", NULL));
    CHECK_HAS("-ERR unknown command", command(r, "DELIFEQ", "k", "w", NULL));
    CHECK_HAS("-ERR syntax", command(r, "SET", "k", "v", "IFEQ", "v", "PX", "1000", NULL));
    f.shared->delifeq = FAKE_PRESENT;
    CHECK_STR("0", command(r, "DELIFEQ", "k", "w", NULL));
    sleep_ms(1010);
    CHECK_STR("-2", command(r, "PTTL", "k", NULL));
    CHECK_STR("OK", command(r, "SET", "k", "v", "NX", "PX", "6000", NULL));
    CHECK_HAS("-NOSCRIPT", command(r, "EVALSHA", "00", "1", "k", "v", NULL));
    snprintf(sha, sizeof sha, "%s", command(r, "SCRIPT", "LOAD", RL_SCRIPT_RELEASE, NULL));
    CHECK_INT(40, strlen(sha));
    CHECK_STR("0", command(r, "EVALSHA", sha, "3", "k", "q", "a", "w", "0", NULL));
    CHECK_STR("1", command(r, "EVALSHA", sha, "3", "k", "q", "a", "v", "0", NULL));
    CHECK_STR("0", command(r, "EXISTS", "k", NULL));
    CHECK_INT(0, fake_find(&f, 0, "SET k v NX PX 1000"));
    CHECK_INT(5, fake_find(&f, 0, "PTTL k"));
    CHECK_INT(-1, fake_find(&f, 0, "QUIT"));
    CHECK_INT(1, f.shared->record[0].connection);
    resp_free(r);
}

CASE(proxy_obeys, "The proxy delays, swallows, cuts, trickles and injects in order.")
{
    struct server s;
    struct proxy p;
    char reply[64];
    struct resp *r;
    int64_t start_ms;
    server_start(&s, NULL);
    proxy_start(&p, s.port.number);
    r = resp_tcp("127.0.0.1", p.port.number);
    CHECK_STR("PONG", command(r, "PING", NULL));
    p.switches->down_delay_ms = 50;
    start_ms = now_ms();
    CHECK_STR("PONG", command(r, "PING", NULL));
    CHECK_BETWEEN(50, SOON_MS, now_ms() - start_ms);
    p.switches->down_delay_ms = 0;
    p.switches->trickle = 1;
    CHECK_STR("PONG", command(r, "PING", NULL));
    p.switches->inject++;
    CHECK(resp_read(r, reply, sizeof reply) == 0);
    CHECK_STR("OK", reply);
    proxy_cut(&p);
    CHECK(resp_read(r, reply, sizeof reply) != 0);
    CHECK_INT(1, p.switches->connections);
    resp_free(r);
}

CASE(evil_server_obeys, "The evil servers send what their names promise.")
{
    struct evil e;
    char byte = 0;
    const char *ping[] = {"PING", NULL};
    for (int kind = EVIL_GARBAGE; kind <= EVIL_ENDLESS_LINE; kind++) {
        struct resp *r;
        evil_start(&e, (enum evil_kind)kind);
        r = resp_tcp("127.0.0.1", e.port.number);
        CHECK(resp_send(r, ping) == 0);
        CHECK_INT(1, recv(r->fd, &byte, 1, 0));
        CHECK_INT("\x16H$**+"[kind - EVIL_GARBAGE], byte);
        resp_free(r);
        evil_stop(&e);
        port_release(&e.port);
    }
}
