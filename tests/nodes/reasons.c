/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a node does not vote or did not answer: each reason is provoked and read from the report
 * of a lock, from the node's info, or from the audit.
 */
#include "fixture.h"
#include "helper.h"
#include "nodeclock.h"
#include "proxy.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TTL_MS = 10000 };

struct wanted {
    redlock *r;
    uint32_t flags; /* of the requests */
    size_t node;
    int reason;
    int seen; /* the last one */
};

static void check_text(int reason, const char *text)
{
    CHECK(reason == REDLOCK_REASON_NONE || text[0]);
    CHECK_LACKS("--", text);
}

/* As the report of a failed attempt has it. */
static bool is_reported(void *data)
{
    struct wanted *w = data;
    redlock_request q = REDLOCK_REQUEST(.flags = w->flags);
    redlock_lock *lock = NULL;
    int error = redlock_acquire(w->r, "x", TTL_MS, &q, &lock);
    const redlock_report *report;
    redlock_lock_free(lock);
    if (!error)
        return false;
    report = redlock_failure_report();
    CHECK(report != NULL);
    w->seen = report->node[w->node].reason;
    if (w->seen != w->reason)
        return false;
    if (w->reason != REDLOCK_REASON_SILENT)
        check_text(w->seen, report->node[w->node].text);
    return true;
}

/* As the node's info has it. */
static bool is_known(void *data)
{
    struct wanted *w = data;
    redlock_node_info info = REDLOCK_NODE_INFO();
    client_try(w->r, "x", TTL_MS);
    CHECK_OK(redlock_node(w->r, w->node, &info));
    w->seen = info.reason;
    if (w->seen != w->reason)
        return false;
    check_text(w->seen, info.text);
    return true;
}

static void await(bool (*is_there)(void *), struct wanted w)
{
    if (!wait_until(is_there, &w))
        FAIL("the reason is \"%s\", not \"%s\": %s", redlock_reason_text(w.seen),
             redlock_reason_text(w.reason), redlock_detail());
}

/* A client with these options finds that its first node does not vote, for this reason. */
static void check_reason(const redlock_options *o, int reason)
{
    redlock *r = client_open_with(o);
    await(is_reported, (struct wanted){.r = r, .reason = reason});
    client_close(r);
}

/*
 * The same for the one node of a cluster; it is down, or in quarantine, so its info says it
 * too.
 */
static void check_node_reason(const struct cluster *c, int reason)
{
    redlock_options o = client_options(c);
    redlock *r;
    check_reason(&o, reason);
    r = client_open_with(&o);
    await(is_known, (struct wanted){.r = r, .reason = reason});
    client_close(r);
}

static void check_url(const char *url, int reason)
{
    struct cluster c = {.count = 1, .urls = {url}};
    check_node_reason(&c, reason);
}

CASE(every_reason_has_words,
     "Every reason has words of its own; a number that is none has none.")
{
    const char *words[] = {
#define WORDS(name, text) redlock_reason_text(REDLOCK_REASON_##name),
        REDLOCK_REASONS(WORDS)
#undef WORDS
    };
    enum { COUNT = sizeof words / sizeof words[0] };
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < i; j++)
            CHECK(strcmp(words[i], words[j]) != 0);
    CHECK_STR("unknown", redlock_reason_text(COUNT));
    CHECK_STR("unknown", redlock_reason_text(-1));
    CHECK_STR("YOUNG", redlock_reason_name(REDLOCK_REASON_YOUNG));
    CHECK_STR("UNKNOWN", redlock_reason_name(COUNT));
    CHECK_STR("UNKNOWN", redlock_reason_name(-1));
}

CASE(unresolved, "A host without an address is distinguished from one that cannot be reached.")
{
    check_url("redis://no-such-host.invalid:6379", REDLOCK_REASON_UNRESOLVED);
}

CASE(refused, "A port on which no server listens refuses the connection.")
{
    struct port p = port_reserve();
    char url[64];
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", p.number);
    check_url(url, REDLOCK_REASON_REFUSED);
}

CASE(unreachable, "A socket that does not exist cannot be reached.")
{
    char url[256];
    snprintf(url, sizeof url, "unix://%s/no-such-socket", check_dir());
    check_url(url, REDLOCK_REASON_UNREACHABLE);
}

CASE(resources, "A process without descriptors to spare says that it is to blame.")
{
    struct port p = port_reserve();
    struct cluster c = {.count = 1, .urls = {c.url[0]}};
    redlock *r;
    struct rlimit limit, none;
    snprintf(c.url[0], sizeof c.url[0], "redis://127.0.0.1:%d", p.number);
    r = client_open(&c, 0);
    CHECK_INT(0, getrlimit(RLIMIT_NOFILE, &limit));
    none = limit;
    none.rlim_cur = 1;
    CHECK_INT(0, setrlimit(RLIMIT_NOFILE, &none));
    await(is_reported, (struct wanted){.r = r, .reason = REDLOCK_REASON_RESOURCES});
    CHECK_INT(0, setrlimit(RLIMIT_NOFILE, &limit));
}

CASE_NODES(silent, "A server that hangs gives no answer.", .nodes = 1)
{
    r = client_open_hasty(c, 0, 200);
    client_warm(r);
    server_freeze(&c->node[0]);
    await(is_reported, (struct wanted){.r = r, .reason = REDLOCK_REASON_SILENT});
    await(is_known, (struct wanted){.r = r, .reason = REDLOCK_REASON_SILENT});
    server_thaw(&c->node[0]);
}

CASE_NODES(not_waited_for,
           "A node whose answer could not change the outcome is not counted as unable to vote.")
{

    server_kill(&c->node[1]);
    server_kill(&c->node[2]);
    r = client_open_hasty(c, 0, STEADY_MS);
    client_warm_nodes(r, 1);
    server_freeze(&c->node[0]);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", TTL_MS));
    CHECK_HAS("at most 1 of 3 nodes could vote, 2 needed: ", redlock_detail());
    CHECK_LACKS("no answer yet", redlock_detail());
    server_thaw(&c->node[0]);
}

CASE_NODES(late, "A server that answers after the node timeout is late, not silent.",
           .nodes = 1)
{
    struct proxy p;
    proxy_before(&p, c, 0);
    r = client_open_hasty(c, 0, 200);
    p.switches->down_delay_ms = 800;
    await(is_reported, (struct wanted){.r = r, .reason = REDLOCK_REASON_LATE});
    await(is_known, (struct wanted){.r = r, .reason = REDLOCK_REASON_LATE});
}

CASE_NODES(rights, "A user that may not run a command lacks a right.", .nodes = 1)
{
    redlock_options o;
    CHECK_STR("OK", server_cmd(&c->node[0], "ACL", "SETUSER", "default", "-set", "-eval",
                               "-evalsha", NULL));
    o = client_options(c);
    check_reason(&o, REDLOCK_REASON_RIGHTS);
}

/* Says the same to every client, whatever that says, and hangs up. */
struct speaker {
    int listener;
    const char *text;
};

static void speak(struct helper_connection *connection)
{
    const struct speaker *s = connection->argument;
    char rest[512];
    helper_write(connection->fd, s->text, strlen(s->text));
    shutdown(connection->fd, SHUT_WR);
    while (read(connection->fd, rest, sizeof rest) > 0)
        continue;
}

static void serve(void *argument)
{
    helper_accept_loop(((struct speaker *)argument)->listener, speak, argument);
}

static void check_speaker(const char *text, const char *password, int reason)
{
    struct port p = port_reserve();
    struct speaker s = {.listener = port_listen(&p), .text = text};
    struct cluster c = {.count = 1, .urls = {c.url[0]}};
    pid_t pid = helper_start(serve, &s);
    redlock_options o;
    close(s.listener);
    snprintf(c.url[0], sizeof c.url[0], "redis://127.0.0.1:%d", p.number);
    o = client_options(&c);
    o.password = password;
    check_reason(&o, reason);
    helper_stop(&pid);
}

CASE_OF(protected_mode,
        "A server in protected mode is reported as that, not as a wrong password.",
        check_speaker(
            "-DENIED Redis is running in protected mode because protected mode is enabled "
            "and no password is set for the default user.\r\n",
            NULL, REDLOCK_REASON_PROTECTED_MODE));

CASE_OF(too_many_clients, "A server with too many clients has not refused the password.",
        check_speaker("-ERR max number of clients reached\r\n", "right",
                      REDLOCK_REASON_SERVER_ERROR));

CASE_OF(protocol, "A server of another protocol is reported as that.",
        check_speaker("HTTP/1.1 400 Bad Request\r\n\r\n", NULL, REDLOCK_REASON_PROTOCOL));

CASE_NODES(replica, "A replica is reported as that, with the guard and without.", .nodes = 1)
{
    struct server outside;
    char port[16];
    redlock_options o;
    server_start(&outside, NULL);
    snprintf(port, sizeof port, "%d", outside.port.number);
    CHECK_STR("OK", server_cmd(&c->node[0], "REPLICAOF", "127.0.0.1", port, NULL));
    check_node_reason(c, REDLOCK_REASON_REPLICA);
    o = client_options(c);
    o.flags = REDLOCK_NO_GUARD;
    check_reason(&o, REDLOCK_REASON_REPLICA);
}

CASE(cluster_mode, "A node of a Redis Cluster is reported as that, with the guard and without.")
{
    /* Unless it is given, the bus has the port 10,000 above, which may be another test's. */
    struct port bus = port_reserve();
    char bus_port[16];
    const char *const arguments[] = {"--cluster-enabled", "yes", "--cluster-port", bus_port,
                                     NULL};
    struct cluster c;
    redlock_options o;
    snprintf(bus_port, sizeof bus_port, "%d", bus.number);
    cluster_start_as(&c, 1, &(struct cluster_form){.extra = arguments, .young = true});
    check_node_reason(&c, REDLOCK_REASON_CLUSTER);
    o = client_options(&c);
    o.flags = REDLOCK_NO_GUARD;
    check_reason(&o, REDLOCK_REASON_CLUSTER);
    port_release(&bus);
}

CASE_NODES(counter, "A fence counter beyond what clocks reach is reported as that.", .nodes = 1,
           .start = nodeclock_cluster)
{
    nodeclock_step(&c->node[0], 100 * INT64_C(31557600000)); /* a century */
    r = client_open(c, 0);
    await(is_reported,
          (struct wanted){.r = r, .flags = REDLOCK_FENCED, .reason = REDLOCK_REASON_COUNTER});
}

CASE_NODES(not_admitted, "In strict mode a node without a marker is not admitted.", .nodes = 1,
           .young = true)
{
    redlock_options o = client_options(c);
    o.flags = REDLOCK_STRICT;
    check_reason(&o, REDLOCK_REASON_NOT_ADMITTED);
}

CASE_NODES(info, "Without INFO the age of a node is unknown, and init cannot name it.",
           .nodes = 1, .young = true)
{
    CHECK_STR("OK", server_cmd(&c->node[0], "ACL", "SETUSER", "default", "-info", NULL));
    check_node_reason(c, REDLOCK_REASON_INFO);
    r = client_open_warm(c, 0);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_INT(REDLOCK_REASON_INFO, redlock_failure_report()->node[0].reason);
}

CASE_NODES(max_ttl, "A node that allows no such TTL is reported as that.", .nodes = 1,
           .max_ttl_ms = "5000")
{
    redlock_options o = client_options(c);
    check_reason(&o, REDLOCK_REASON_MAX_TTL);
}

CASE_ON(clock_step, "A node whose clock was set is reported as that.",
        .start = nodeclock_cluster, .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = CLIENT_LOCK(r, "held", LONG_TTL_MS, .flags = REDLOCK_RENEW);
    CHECK(client_await_margin(lock, 1));
    nodeclock_step(&c->node[1], 3600000);
    await(is_known, (struct wanted){.r = r, .node = 1, .reason = REDLOCK_REASON_CLOCK});
}

#define A3 "aaaaaaaaaaaaaaaa:0000000000000001/3"
#define B3 "bbbbbbbbbbbbbbbb:0000000000000001/3"

static void write_sets(const struct cluster *c, const char *last)
{
    for (size_t i = 0; i < 3; i++) {
        const char *set = i < 2 ? A3 : last;
        if (set)
            server_int(&c->node[i], "HSET", "redlock.admit", "set", set, NULL);
        else
            server_int(&c->node[i], "HDEL", "redlock.admit", "set", NULL);
    }
}

CASE_NODES(sets, "A node of another set, of none, or of one in the making has its own reason.")
{
    static const struct {
        const char *set;
        int reason;
    } last[] = {
        {B3, REDLOCK_REASON_OTHER_SET},
        {"aaaaaaaaaaaaaaaa:0000000000000001/5", REDLOCK_REASON_OTHER_NUMBER},
        {NULL, REDLOCK_REASON_NO_SET},
        {A3 "?", REDLOCK_REASON_SET_PENDING},
    };
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        write_sets(c, last[i].set);
        r = client_open_warm(c, 0);
        await(is_known, (struct wanted){.r = r, .node = 2, .reason = last[i].reason});
        client_close(r);
    }
    write_sets(c, A3);
    CHECK_STR("OK", server_cmd(&c->node[2], "ACL", "SETUSER", "default", "resetkeys",
                               "~redlock:*", NULL));
    r = client_open_warm(c, 0);
    await(is_known,
          (struct wanted){.r = r, .node = 2, .reason = REDLOCK_REASON_SET_UNREADABLE});
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_INT(REDLOCK_REASON_SET_UNREADABLE, redlock_failure_report()->node[2].reason);
}

CASE_NODES(same_server, "The second name of a server is reported as that.", .nodes = 2)
{
    struct proxy p;
    redlock_node_info first = REDLOCK_NODE_INFO(), second = REDLOCK_NODE_INFO();
    proxy_start(&p, c->node[0].port.number);
    c->count = 3;
    c->urls[2] = c->urls[1];
    c->urls[1] = p.url;
    r = client_open_warm(c, 0);
    CHECK_OK(redlock_node(r, 0, &first));
    CHECK_OK(redlock_node(r, 1, &second));
    CHECK_INT(REDLOCK_REASON_SAME_SERVER, first.reason + second.reason);
}

static int reason_of_check(const redlock_answer *answer, const char *address, const char *name)
{
    for (size_t i = 0; i < answer->check_count; i++)
        if (strcmp(answer->checks[i].name, name) == 0 &&
            strcmp(answer->checks[i].address, address) == 0)
            return answer->checks[i].reason;
    FAIL("no check %s of %s", name, address);
}

CASE_NODES(audit, "The audit gives the reason of what it finds, and none for what is well.")
{
    redlock_answer *answer = NULL;
    CHECK_STR("OK", server_cmd(&c->node[1], "ACL", "SETUSER", "default", "-set", NULL));
    server_kill(&c->node[2]);
    r = client_open(c, 0);
    CHECK_OK(redlock_audit(r, TTL_MS, &answer));
    for (size_t i = 0; i < answer->check_count; i++) {
        CHECK_LACKS("--", answer->checks[i].remedy);
        CHECK_INT(answer->checks[i].verdict == REDLOCK_CHECK_OK,
                  answer->checks[i].reason == REDLOCK_REASON_NONE);
    }
    CHECK_INT(REDLOCK_REASON_RIGHTS, reason_of_check(answer, c->url[1] + 8, "rights"));
    CHECK_INT(REDLOCK_REASON_REFUSED, reason_of_check(answer, c->url[2] + 8, "reachable"));
    redlock_answer_free(answer);
}
