/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes that forget. A holds a lock on nodes 1, 2 and 3 of five, node 3 loses its memory, and
 * B asks: nodes 3, 4 and 5 would make a second majority. Each case is one way of forgetting;
 * whether B is kept out depends on the guard (G1, G2), and where it is not, the case says so.
 */
#include "fixture.h"
#include "kinds.h"
#include "relay.h"

#include <stdio.h>
#include <string.h>

enum { FORGETFUL = 2, TTL_MS = 30000 };

struct scene {
    struct cluster c;
    enum shape shape;      /* of the lock */
    struct server outside; /* a master for the node that is demoted */
    struct relay relay;
    redlock *a, *b;
    redlock_lock *held;
};

typedef void forget_fn(struct scene *s);

static void restart(struct scene *s)
{
    server_restart(&s->c.node[FORGETFUL]);
}

static void flush(struct scene *s)
{
    CHECK_STR("OK", server_cmd(&s->c.node[FORGETFUL], "FLUSHALL", NULL));
}

static void swap(struct scene *s)
{
    CHECK_STR("OK", server_cmd(&s->c.node[FORGETFUL], "SWAPDB", "0", "1", NULL));
}

static void demote_and_promote(struct scene *s)
{
    struct server *node = &s->c.node[FORGETFUL];
    char port[16];
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0", NULL};
    server_start(&s->outside, at_once);
    snprintf(port, sizeof port, "%d", s->outside.port.number);
    CHECK_STR("OK", server_cmd(node, "REPLICAOF", "127.0.0.1", port, NULL));
    AWAIT(strstr(server_cmd(node, "INFO", "replication", NULL), "master_link_status:up") !=
          NULL);
    CHECK_STR("OK", server_cmd(node, "REPLICAOF", "NO", "ONE", NULL));
}

/* The clients talk to node 3 through a relay that hides the restart. */
static void restart_unseen(struct scene *s)
{
    server_restart(&s->c.node[FORGETFUL]);
    CHECK_INT(0, s->relay.switches->hidden);
}

static void start(struct scene *s, uint32_t flags, bool hidden, enum shape shape)
{
    *s = (struct scene){.shape = shape};
    cluster_start(&s->c, 5);
    if (hidden) {
        relay_start(&s->relay, s->c.node[FORGETFUL].port.number, 1);
        s->relay.switches->keep = 1;
        s->c.urls[FORGETFUL] = s->relay.url;
    }
    s->a = client_open_warm(&s->c, flags);
    s->b = client_open_warm(&s->c, flags);
    /* Both have seen every node while it was to be trusted. */
    CHECK_OK(client_try(s->a, "warm", TTL_MS));
    CHECK_OK(client_try(s->b, "warm", TTL_MS));
    cluster_set(&s->c, 3, 2, "redlock:x", "in the way", 60000);
    s->held = client_lock_as(s->a, "x", TTL_MS, shape_request(shape));
    cluster_del(&s->c, 3, 2, "redlock:x");
    CHECK_INT(3, kind_count_holds(&s->c, "x", redlock_value(s->held)));
}

static void finish(struct scene *s)
{
    CHECK(redlock_remaining_ms(s->held) > 0); /* A was entitled all the time */
    redlock_lock_free(s->held);
    client_close(s->a);
    client_close(s->b);
    cluster_each(&s->c, 0, 5, server_kill);
}

static bool forgot(void *data)
{
    const struct scene *s = data;
    return server_int(&s->c.node[FORGETFUL], "EXISTS", "redlock:x", NULL) == 0;
}

/* B tries for a while, as connections come back. True: it was granted what A holds. */
static bool second_holder(const struct scene *s, redlock *b)
{
    redlock_request q = shape_rival(s->shape);
    redlock_lock *lock = NULL;
    int error;
    q.wait_ms = 1000;
    error = redlock_acquire(b, "x", TTL_MS, &q, &lock);
    if (error == REDLOCK_OK)
        redlock_lock_free(lock);
    else if (error != REDLOCK_TIMEOUT && error != REDLOCK_GUARDED)
        FAIL("expected TIMEOUT or GUARDED, got %s: %s", redlock_error_name(error),
             redlock_detail());
    return error == REDLOCK_OK;
}

static bool is_quarantined(redlock *r, size_t node, const char *word)
{
    redlock_node_info info = client_node(r, node);
    if (info.quarantined)
        CHECK_HAS(word, info.text);
    return info.quarantined != 0;
}

static void holds(forget_fn *forget, uint32_t flags, bool hidden, enum shape shape,
                  const char *word)
{
    struct scene s;
    redlock *fresh;
    start(&s, flags, hidden, shape);
    forget(&s);
    CHECK(forgot(&s));
    CHECK_NEVER(second_holder(&s, s.b));
    CHECK(is_quarantined(s.b, FORGETFUL, word));
    for (size_t i = 0; i < 5; i++)
        CHECK(i == FORGETFUL || !is_quarantined(s.b, i, ""));
    fresh = client_open_warm(&s.c, flags); /* one that never knew the old node */
    CHECK_NEVER(second_holder(&s, fresh));
    client_close(fresh);
    finish(&s);
}

static void breaks(forget_fn *forget, uint32_t flags, bool hidden, enum shape shape)
{
    struct scene s;
    start(&s, flags, hidden, shape);
    forget(&s);
    CHECK(forgot(&s));
    CHECK(second_holder(&s, s.b));
    finish(&s);
}

CASE(restart_is_guarded,
     "A node killed and restarted makes no second majority for a lock of any kind.")
{
    FOR_SHAPES(shape)
    holds(restart, 0, false, shape, "restarted not long ago");
}

CASE(restart_without_guard,
     "With the guard off, a restarted node makes a second majority for every kind.")
{
    FOR_SHAPES(shape)
    breaks(restart, REDLOCK_NO_GUARD, false, shape);
}

CASE_OF(restart_is_guarded_strict,
        "In strict mode a node killed and restarted lets no second client in.",
        holds(restart, REDLOCK_STRICT, false, SHAPE_MUTEX, "not admitted"));

CASE(flushall_strict,
     "In strict mode a flushed node makes no second majority for a lock of any kind.")
{
    FOR_SHAPES(shape)
    holds(flush, REDLOCK_STRICT, false, shape, "not admitted");
}

CASE_OF(flushall_default_misses,
        "In the default mode FLUSHALL on a node makes two holders: a known limit.",
        breaks(flush, 0, false, SHAPE_MUTEX));

CASE_OF(swapdb_strict, "In strict mode SWAPDB on a node lets no second client in.",
        holds(swap, REDLOCK_STRICT, false, SHAPE_MUTEX, "not admitted"));

CASE_OF(swapdb_default_misses,
        "In the default mode SWAPDB on a node makes two holders: a known limit.",
        breaks(swap, 0, false, SHAPE_MUTEX));

CASE_OF(promotion_strict,
        "In strict mode a node demoted and promoted in place lets no second client in.",
        holds(demote_and_promote, REDLOCK_STRICT, false, SHAPE_MUTEX, "not admitted"));

CASE_OF(promotion_default_misses,
        "In the default mode a demotion and promotion makes two holders: a known limit.",
        breaks(demote_and_promote, 0, false, SHAPE_MUTEX));

CASE_OF(hidden_restart_strict,
        "In strict mode a restart hidden by a proxy lets no second client in.",
        holds(restart_unseen, REDLOCK_STRICT, true, SHAPE_MUTEX, "not admitted"));

CASE_OF(hidden_restart_default_misses,
        "In the default mode a restart hidden by a proxy makes two holders: a known limit.",
        breaks(restart_unseen, 0, true, SHAPE_MUTEX));

/* Nodes with a short guard time: this and the margin of two seconds. */
#define SHORT_MAX_TTL_MS "2000"
enum { SHORT_TTL_MS = 2000 };

static redlock *open_short(const struct cluster *c, uint32_t flags)
{
    redlock *r = CLIENT_OPEN(c, .max_ttl_ms = SHORT_TTL_MS, .flags = flags);
    client_warm(r);
    return r;
}

static void comes_back(uint32_t flags, forget_fn *forget)
{
    struct scene s = {0};
    enum { GUARD_MS = SHORT_TTL_MS + 2000 };
    redlock *r;
    int64_t start_ms;
    bool out = false;
    cluster_start_as(&s.c, 3, &(struct cluster_form){.max_ttl_ms = SHORT_MAX_TTL_MS});
    r = open_short(&s.c, REDLOCK_THREAD | flags);
    CHECK_OK(client_try(r, "x", SHORT_TTL_MS));
    start_ms = now_ms();
    forget(&s);
    while (!out && now_ms() - start_ms < GIVE_UP_MS) {
        redlock_lock *lock = NULL;
        if (redlock_acquire(r, "x", SHORT_TTL_MS, NULL, &lock) == REDLOCK_OK)
            redlock_lock_free(lock);
        out = is_quarantined(r, FORGETFUL, "");
        sleep_ms(5);
    }
    CHECK(out);
    while (is_quarantined(r, FORGETFUL, "")) {
        redlock_lock *lock = NULL;
        CHECK(now_ms() - start_ms < GIVE_UP_MS);
        if (redlock_acquire(r, "x", SHORT_TTL_MS, NULL, &lock) == REDLOCK_OK)
            redlock_lock_free(lock);
        sleep_ms(20);
    }
    CHECK(now_ms() - start_ms >= GUARD_MS - 5);
}

CASE_OF(restarted_node_returns, "After max_ttl and two seconds a restarted node votes again.",
        comes_back(0, restart));

CASE_OF(restarted_node_returns_strict,
        "In strict mode a restarted node votes again after probation, with a new marker.",
        comes_back(REDLOCK_STRICT, restart));

CASE_OF(flushed_node_returns_strict, "A flushed node earns a new marker in strict mode.",
        comes_back(REDLOCK_STRICT, flush));

/*
 * A refused attempt may find what the one before it left: its rollback knew the script by a
 * digest that the restarted server did not, and came after us.
 */
static void is_guarded_soon(redlock *r)
{
    int64_t start_ms = now_ms();
    int result = REDLOCK_BUSY;
    while ((result == REDLOCK_BUSY || result == REDLOCK_NOQUORUM) &&
           now_ms() - start_ms < GIVE_UP_MS)
        result = client_try(r, "x", SHORT_TTL_MS);
    CHECK_INT(REDLOCK_GUARDED, result);
}

CASE_NODES(hidden_restart_returns_strict,
           "A node restarted behind a proxy votes again for every client.",
           .max_ttl_ms = SHORT_MAX_TTL_MS)
{
    struct relay relay[3];
    redlock *old, *fresh;
    for (int i = 0; i < 3; i++) {
        relay_start(&relay[i], c->node[i].port.number, 1);
        relay[i].switches->keep = 1;
        c->urls[i] = relay[i].url;
    }
    old = open_short(c, REDLOCK_THREAD | REDLOCK_STRICT);
    redlock_lock_free(client_lock(old, "x", SHORT_TTL_MS));
    cluster_each(c, 0, 3, server_restart);
    CHECK_NEVER(client_try(old, "x", SHORT_TTL_MS) == REDLOCK_OK); /* here the relay notices */
    is_guarded_soon(old);
    fresh = open_short(c, REDLOCK_THREAD | REDLOCK_STRICT);
    is_guarded_soon(fresh);
    for (int i = 0; i < 4; i++)
        redlock_lock_free(
            CLIENT_LOCK(i % 2 ? fresh : old, "x", SHORT_TTL_MS, .wait_ms = GIVE_UP_MS));
}

CASE_ON(renewal_counts_in_quarantine,
        "A renewal counts on a node in quarantine that still has the holder's key.",
        .flags = REDLOCK_THREAD | REDLOCK_STRICT)
{
    redlock_lock *lock = client_lock_on(r, c, 3, "x", TTL_MS);
    for (int i = 0; i < 3; i++)
        CHECK_INT(1, server_int(&c->node[i], "DEL", "redlock.admit", NULL));
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "y", TTL_MS)); /* no new lock ... */
    CHECK_OK(redlock_extend(lock, TTL_MS)); /* ... but the old one lives on */
}

/*
 * Three nodes, a lock on all of them. The attestation behind the grant of the last node is
 * refused, so that the grant was not counted, and the key of the second is gone: what is the
 * renewal of the last worth?
 */
static int extend_on_uncounted(bool is_forgetful)
{
    struct cluster c;
    redlock *r = client_start(&c, 3, REDLOCK_THREAD | REDLOCK_STRICT);
    const struct server *last;
    redlock_lock *lock;
    int result;
    CHECK_OK(client_try(r, "warm", TTL_MS));
    last = &c.node[2];
    if (is_forgetful)
        CHECK_STR("OK", server_cmd(last, "FLUSHALL", NULL));
    CHECK_STR("OK", server_cmd(last, "ACL", "SETUSER", "default", "-eval", "-evalsha", NULL));
    lock = client_lock_on(r, &c, 3, "x", TTL_MS);
    CHECK_STR("OK", server_cmd(last, "ACL", "SETUSER", "default", "+eval", "+evalsha", NULL));
    CHECK_INT(1, server_int(&c.node[1], "DEL", "redlock:x", NULL));
    result = redlock_extend(lock, TTL_MS);
    redlock_lock_free(lock);
    client_close(r);
    return result;
}

CASE_OF(renewal_of_uncounted_strict,
        "A strict renewal does not count where the node forgot and its attestation failed.",
        CHECK_REFUSED(REDLOCK_GUARDED, extend_on_uncounted(true)));

CASE_OF(renewal_is_attested_strict,
        "In strict mode a renewal counts on an uncounted grant if its own attestation answers.",
        CHECK_OK(extend_on_uncounted(false)));

CASE(follower_finds_it_strict,
     "In strict mode the waiter that gets a handover checks the node's marker.")
{
    struct scene s = {0};
    redlock_lock *next[2], *held;
    redlock *r;
    cluster_start(&s.c, 5);
    r = client_open_warm(&s.c, REDLOCK_THREAD | REDLOCK_STRICT);
    held = client_lock(r, "x", TTL_MS);
    for (int i = 0; i < 2; i++)
        next[i] = CLIENT_START(r, "x", TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
    client_unlock(held);
    EXPECT(r, ACQUIRED, REDLOCK_OK, next[0]);
    flush(&s);
    CHECK_OK(redlock_start_release(next[0]));
    EXPECT(r, RELEASED, REDLOCK_OK, next[0]);
    EXPECT(r, ACQUIRED, REDLOCK_OK, next[1]);
    AWAIT(is_quarantined(r, FORGETFUL, ""));
}
