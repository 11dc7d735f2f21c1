/* SPDX-License-Identifier: BSD-2-Clause */
#include "loads.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "proxy.h"
#include "waiter.h"

#include <stdio.h>

enum {
    NODES = 5,
    LONG_MS = LONG_TTL_MS, /* a TTL that nothing here waits for */
    SHORT_MS = 2500,       /* a TTL that ends, and not at a heartbeat of the waiter */
    OTHER_KEYS = 10000,
};

static const struct waiter_terms patient = {
    .name = "x", .ttl_ms = LONG_MS, .wait_ms = REDLOCK_WAIT_FOREVER};

struct scene {
    struct cluster c, rest;
    redlock *r; /* the holder's */
    redlock_lock *lock;
    struct waiter first, second;
};

static void begin(struct scene *s, enum trouble trouble)
{
    cluster_start(&s->c, NODES);
    trouble_begin(&s->c, trouble);
    s->rest = trouble_rest(&s->c, trouble);
    s->r = client_open_hasty(&s->c, 0, STEADY_MS);
    client_warm_nodes(s->r, (int)s->rest.count);
}

static void queue_up(struct scene *s, struct waiter *w, const struct waiter_terms *terms,
                     int length)
{
    waiter_start(w, &s->c, (int)s->rest.count, terms);
    CHECK(queue_await(&s->rest, terms->name, length));
}

/* Since then, or NOT_SERVED; ends the scene. */
static int64_t served_after_ms(struct scene *s, struct waiter *w, int64_t since_ns,
                               int64_t limit_ms)
{
    int64_t took_ms = NOT_SERVED;
    if (waiter_await_within(w, limit_ms)) {
        CHECK_OK(w->news->error);
        took_ms = (w->news->granted_ns - since_ns) / RL_NS_PER_MS;
        waiter_end(w);
    } else {
        waiter_kill(w);
    }
    client_close(s->r);
    return took_ms;
}

int64_t after_dead_head_ms(enum trouble trouble, int64_t limit_ms)
{
    struct scene s;
    int64_t killed_ns;
    begin(&s, trouble);
    s.lock = client_lock(s.r, "x", LONG_MS);
    queue_up(&s, &s.first, &patient, 1);
    queue_up(&s, &s.second, &patient, 2);
    waiter_kill(&s.first);
    killed_ns = now_ns();
    CHECK_INT(0, s.second.news->done);
    client_unlock(s.lock);
    return served_after_ms(&s, &s.second, killed_ns, limit_ms);
}

static void fill(const struct cluster *c)
{
    static const char script[] =
        "for i = 1, tonumber(ARGV[1]) do "
        "redis.call('SET', 'other:' .. i, 'x', 'PX', 500 + i * 10) end return 1";
    char count[16];
    snprintf(count, sizeof count, "%d", OTHER_KEYS);
    for (size_t i = 0; i < c->count; i++)
        CHECK_INT(1, server_int(&c->node[i], "EVAL", script, "0", count, NULL));
}

int64_t after_dead_holder_ms(enum trouble trouble, int64_t limit_ms)
{
    struct scene s;
    struct waiter_terms brief = patient;
    int64_t end_ns;
    brief.ttl_ms = SHORT_MS;
    begin(&s, trouble);
    fill(&s.rest);
    waiter_start(&s.first, &s.c, (int)s.rest.count, &brief);
    CHECK(waiter_await(&s.first));
    CHECK_OK(s.first.news->error);
    queue_up(&s, &s.second, &patient, 1);
    waiter_kill(&s.first);
    CHECK_INT(0, s.second.news->done);
    end_ns = s.first.news->granted_ns + SHORT_MS * RL_NS_PER_MS;
    return served_after_ms(&s, &s.second, end_ns, SHORT_MS + limit_ms);
}

static void cut_subscriptions(const struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        server_cmd(&c->node[i], "CLIENT", "KILL", "TYPE", "pubsub", NULL);
}

int64_t without_messages_ms(enum trouble trouble, int64_t limit_ms)
{
    struct scene s;
    int64_t released_ns;
    begin(&s, trouble);
    s.lock = client_lock(s.r, "x", LONG_MS);
    queue_up(&s, &s.second, &patient, 1);
    for (int i = 0; i < 20; i++) {
        cut_subscriptions(&s.rest);
        sleep_ms(5); /* as quickly as they come back */
    }
    CHECK_INT(0, s.second.news->done);
    cut_subscriptions(&s.rest);
    released_ns = now_ns();
    client_unlock(s.lock);
    while (!s.second.news->done && now_ns() < released_ns + limit_ms * RL_NS_PER_MS) {
        cut_subscriptions(&s.rest);
        sleep_ms(2);
    }
    return served_after_ms(&s, &s.second, released_ns, 1);
}

int64_t behind_a_minority_ms(int64_t limit_ms)
{
    struct scene s;
    struct cluster behind;
    struct proxy p[NODES - 1];
    int64_t took_ms, cut_ns;
    begin(&s, ONE_KILLED);
    behind = s.c;
    proxies_start(p, &behind, NODES - 1);
    s.lock = client_lock(s.r, "x", LONG_MS);
    waiter_start(&s.first, &behind, (int)s.rest.count, &patient);
    CHECK(queue_await(&s.rest, "x", 1));
    queue_up(&s, &s.second, &patient, 2);
    proxy_stop(&p[2]);
    proxy_stop(&p[3]);
    cut_ns = now_ns();
    client_unlock(s.lock);
    CHECK_INT(0, s.first.news->done);
    took_ms = served_after_ms(&s, &s.second, cut_ns, limit_ms);
    CHECK_INT(0, s.first.news->done); /* it is still there, and wants it */
    waiter_kill(&s.first);
    return took_ms;
}

static bool only_three_have_it(void *data)
{
    return cluster_count(data, "redlock:x") == 3;
}

int left_by_failed_rounds(int64_t limit_ms)
{
    struct scene s;
    struct waiter_terms terms = patient;
    int found = 0;
    terms.wait_ms = 2000;
    begin(&s, ALL_UP);
    cluster_set(&s.c, 0, 3, "redlock:x", "another", LONG_MS);
    waiter_start(&s.second, &s.c, NODES, &terms);
    while (!s.second.news->done) /* by its own timer */
        sleep_ms(1);
    CHECK_ERR(REDLOCK_TIMEOUT, s.second.news->error);
    waiter_end(&s.second);
    wait_within(only_three_have_it, &s.c, limit_ms);
    found = cluster_count(&s.c, "redlock:x") - 3;
    client_close(s.r);
    return found;
}

/* The client is not driven after the call: what has to be done is done when it returns. */
int places_after_timeout(void)
{
    struct scene s;
    struct waiter_terms terms = patient;
    int places = 0;
    terms.wait_ms = 2000; /* enough for a place in the queue on a busy machine */
    begin(&s, ALL_UP);
    cluster_set(&s.c, 0, NODES, "redlock:x", "another", LONG_MS);
    waiter_start(&s.second, &s.c, NODES, &terms);
    CHECK(waiter_await(&s.second));
    CHECK_ERR(REDLOCK_TIMEOUT, s.second.news->error);
    for (int i = 0; i < NODES; i++) /* which lets a node read what came before */
        server_cmd(&s.c.node[i], "PING", NULL);
    for (int i = 0; i < NODES; i++)
        places += (int)queue_length(&s.c.node[i], "x");
    waiter_kill(&s.second);
    client_close(s.r);
    return places;
}
