/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes that answer, but later than the node timeout allows: errors, reports and the audit say
 * so, and what to do. A node that does not answer at all is not called late.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum { NODES = 3, ALLOWED_MS = 200, DELAY_MS = 800, TTL_MS = 10000 };

#define SAID "answers after "
#define LIMIT " ms, 200 ms are allowed"

struct late {
    struct cluster cluster;
    struct proxy proxy[NODES];
    redlock_options options;
};

static void start(struct late *l)
{
    cluster_start(&l->cluster, NODES);
    proxies_start(l->proxy, &l->cluster, NODES);
    for (int i = 0; i < NODES; i++)
        l->proxy[i].switches->down_delay_ms = DELAY_MS;
    l->options = client_options(&l->cluster);
    l->options.node_timeout_ms = ALLOWED_MS;
}

/* What the kernel is made to say of the way to every node; 0: the truth. */
static uint32_t pretended_rtt_us;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    int status = __real_getsockopt(fd, level, name, value, size);
    if (status == 0 && level == IPPROTO_TCP && name == TCP_INFO && pretended_rtt_us)
        ((struct tcp_info *)value)->tcpi_rtt = pretended_rtt_us;
    return status;
}

CASE(a_long_way_is_known_at_once,
     "Nodes that are far away are called late by the first attempt.")
{
    struct late l;
    redlock *r;
    start(&l);
    for (int i = 0; i < NODES; i++)
        l.proxy[i].switches->swallow = 1;
    pretended_rtt_us = 280000;
    r = client_open_with(&l.options);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", TTL_MS));
    CHECK_HAS("timed out (" SAID "280" LIMIT ")", redlock_detail());
}

/* Tries until the detail calls nodes late, or not: that is known once an answer has come. */
static void try_until(redlock *r, bool wanted)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    do {
        CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", TTL_MS));
        if ((strstr(redlock_detail(), SAID) != NULL) == wanted)
            return;
    } while (now_ms() < end_ms);
    FAIL("expected %s\"%s\" in \"%s\"", wanted ? "" : "no ", SAID, redlock_detail());
}

CASE(acquire_names_it, "An acquire that late nodes prevent names their delay and the limit.")
{
    struct late l;
    redlock *r;
    const redlock_report *report;
    bool known = false;
    start(&l);
    r = client_open_with(&l.options);
    try_until(r, true);
    report = redlock_failure_report();
    CHECK_HAS(LIMIT, redlock_detail());
    CHECK_HAS("raise node_timeout_ms", redlock_detail());
    for (uint32_t i = 0; i < report->node_count; i++) {
        CHECK_INT(REDLOCK_VOTE_SILENT, report->node[i].vote);
        if (report->node[i].rtt_us < 0)
            continue;
        known = true;
        CHECK(report->node[i].rtt_us > ALLOWED_MS * 1000);
        CHECK_HAS(SAID, report->node[i].text);
    }
    CHECK(known);
}

CASE(it_is_forgotten, "A node that answers in time again, or breaks off, is not called late.")
{
    struct late l;
    redlock_node_info info = REDLOCK_NODE_INFO();
    redlock *r;
    int64_t end_ms;
    start(&l);
    r = client_open_with(&l.options);
    try_until(r, true);
    for (int i = 0; i < NODES; i++)
        l.proxy[i].switches->down_delay_ms = 0;
    end_ms = now_ms() + GIVE_UP_MS;
    for (size_t i = 0; i < NODES; i++) {
        do {
            client_warm(r);
            CHECK_OK(redlock_node(r, i, &info));
        } while (strstr(info.text, SAID) && now_ms() < end_ms);
        CHECK_LACKS(SAID, info.text);
    }
    cluster_each(&l.cluster, 0, NODES, server_freeze);
    try_until(r, false);
    CHECK_HAS("timed out", redlock_detail());
    cluster_each(&l.cluster, 0, NODES, server_thaw);
}

CASE(a_pause_of_the_caller,
     "A reply that waited while no thread drove the client does not make its node late.")
{
    enum { TIMEOUT_MS = 3000, PAUSE_MS = TIMEOUT_MS + 300, HELD_MS = 4 * TIMEOUT_MS + 2000 };
    struct late l;
    redlock_lock *lock = NULL;
    redlock *r;

    start(&l);
    /* The first two decide, and the reply of the third stays unread. */
    for (int i = 0; i < NODES; i++)
        l.proxy[i].switches->down_delay_ms = i == NODES - 1 ? 100 : 0;
    l.options.node_timeout_ms = TIMEOUT_MS;
    r = client_open_with(&l.options);
    client_warm(r);
    CHECK_OK(redlock_acquire(r, "x", HELD_MS, NULL, &lock));
    sleep_ms(PAUSE_MS);
    CHECK_OK(redlock_extend(lock, HELD_MS));
    cluster_each(&l.cluster, 0, NODES, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_extend(lock, HELD_MS));
    CHECK_HAS("timed out", redlock_detail());
    CHECK_LACKS(SAID, redlock_detail());
    cluster_each(&l.cluster, 0, NODES, server_thaw);
}

static int unreachable, late, starting;

static void note(const redlock_check *check)
{
    if (strcmp(check->name, "reachable") != 0 || check->verdict != REDLOCK_CHECK_FAIL)
        return;
    unreachable++;
    late += strstr(check->text, SAID) && strstr(check->text, LIMIT) &&
            strstr(check->remedy, "raise node_timeout_ms") &&
            check->reason == REDLOCK_REASON_LATE;
    starting += strstr(check->remedy, "start the server") != NULL;
}

CASE(audit_names_it, "The audit calls a late node late and does not advise to start it.")
{
    struct late l;
    int64_t end_ms;
    start(&l);
    /* A busy machine may delay one answer beyond the audit: then it is asked once more. */
    end_ms = now_ms() + GIVE_UP_MS;
    do {
        redlock *r;
        redlock_answer *answer = NULL;
        unreachable = late = starting = 0;
        r = client_open_with(&l.options);
        CHECK_OK(redlock_audit(r, TTL_MS, &answer));
        for (size_t i = 0; i < answer->check_count; i++)
            note(&answer->checks[i]);
        redlock_answer_free(answer);
        client_close(r);
        CHECK_INT(NODES, unreachable);
    } while (late < NODES && now_ms() < end_ms);
    CHECK_INT(NODES, late);
    CHECK_INT(0, starting);
}
