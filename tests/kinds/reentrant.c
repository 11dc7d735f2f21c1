/* SPDX-License-Identifier: BSD-2-Clause */
/* One owner, any number of holds: nesting, tokens, waiting, and what lost answers cannot do. */
#include "fixture.h"
#include "helper.h"
#include "kinds.h"
#include "kinds_load.h"
#include "loads.h"

#include <string.h>
#include <sys/wait.h>

enum { TTL_MS = LONG_TTL_MS, BRIEF_MS = 3000 };

CASE_ON(nested,
        "The owner may hold the lock again; others are refused until its last hold is gone.",
        .flags = REDLOCK_THREAD)
{
    redlock_request q = REDLOCK_REQUEST(.kind = REDLOCK_REENTRANT); /* the client owns it */
    redlock_lock *inner, *outer;
    other = client_open_warm(c, 0);
    outer = client_lock_as(r, "x", TTL_MS, q);
    CHECK(kind_await_holds(c, "x", redlock_value(outer), 3));
    inner = client_lock_as(r, "x", TTL_MS, q);
    CHECK(strcmp(redlock_value(outer), redlock_value(inner)) != 0);
    CHECK_ERR(REDLOCK_BUSY,
              client_try_as(other, "x", TTL_MS, q)); /* another client, another owner */
    CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "x", TTL_MS, owner_request("somebody")));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS)); /* a mutex is no nested hold */
    client_unlock(inner);
    CHECK(kind_await_holds(c, "x", redlock_value(outer), 3));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "x", TTL_MS, q));
    client_unlock(outer);
    CHECK_OK(client_try_as(other, "x", TTL_MS, q));
    CHECK(cluster_await_empty(c));
}

CASE_ON(any_order,
        "Nested holds may be released in any order; "
        "the outer first leaves the inner one whole.",
        .clients = 2)
{
    redlock_request q = owner_request("shared owner"); /* two clients, one owner */
    redlock_lock *outer = client_lock_as(r, "x", TTL_MS, q);
    redlock_lock *inner = client_lock_as(other, "x", TTL_MS, q);
    client_unlock(outer);
    CHECK_ERR(REDLOCK_BUSY, client_try_as(r, "x", TTL_MS, owner_request("another")));
    CHECK_OK(redlock_extend(inner, TTL_MS));
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(inner));
    client_unlock(inner);
    CHECK(cluster_await_empty(c));
}

static void hold_nested(void *data)
{
    const struct cluster *c = data;
    redlock *r = client_open_warm(c, 0);
    redlock_lock *lock = client_lock_as(r, "x", TTL_MS, owner_request("job"));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
    client_unlock(lock);
    client_close(r);
}

CASE_ON(across_processes,
        "A process that knows the owner's name holds the lock beside its parent.")
{
    int status = -1;
    redlock_lock *outer = client_lock_as(r, "x", TTL_MS, owner_request("job"));
    while (kind_count_holds(c, "x", redlock_value(outer)) < 3)
        CHECK(next_event(r, 10) == NULL);
    CHECK(waitpid(helper_start(hold_nested, c), &status, 0) > 0);
    CHECK_INT(0, status);
    CHECK(kind_await_holds(c, "x", redlock_value(outer), 3));
    client_unlock(outer);
    CHECK(cluster_await_empty(c));
}

CASE_ON(own_expiry,
        "A hold that is never released expires by itself, and the owner's others stay.")
{
    redlock_lock *outer = client_lock_as(r, "x", TTL_MS, owner_request("o"));
    redlock_lock_leave(client_lock_as(r, "x", BRIEF_MS, owner_request("o")));
    sleep_ms(BRIEF_MS + 10);
    client_unlock(outer); /* the other one's time is over: nothing keeps the key */
    CHECK(cluster_await_empty(c));
    redlock_lock_leave(client_lock_as(r, "x", TTL_MS / 2, owner_request("o")));
    outer = client_lock_as(r, "x", TTL_MS, owner_request("o"));
    client_unlock(outer);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS)); /* the left one still has its time */
    CHECK_BETWEEN(1, TTL_MS / 2, server_int(&c->node[0], "PTTL", "redlock:x", NULL));
}

static redlock_request fenced(const char *owner)
{
    redlock_request q = owner_request(owner);
    q.flags = REDLOCK_FENCED;
    return q;
}

CASE_ON(nested_token,
        "A nested hold has the token of the first hold; the next owner's is larger.",
        .clients = 2)
{
    redlock_lock *outer = client_lock_as(r, "x", TTL_MS, fenced("me"));
    int64_t token = redlock_fence(outer);
    redlock_lock *inner, *third, *next;
    CHECK(token > 0);
    for (int i = 0; i < 5; i++) {
        inner = client_lock_as(i % 2 ? r : other, "x", TTL_MS, fenced("me"));
        CHECK_INT(token, redlock_fence(inner));
        client_unlock(inner);
    }
    inner = client_lock_as(other, "x", TTL_MS, fenced("me"));
    client_unlock(outer); /* the first hold goes, its token stays with the owner */
    third = client_lock_as(r, "x", TTL_MS, fenced("me"));
    CHECK_INT(token, redlock_fence(third));
    client_unlock(inner);
    client_unlock(third);
    next = client_lock_as(other, "x", TTL_MS, fenced("you"));
    CHECK_NEVER(redlock_fence(next) <= token);
}

CASE_NODES(uneven_counters,
           "Nodes whose counters differ agree on one token, nested holds included.")
{
    redlock *a;
    redlock_lock *next, *outer;
    int64_t token;
    server_cmd(&c->node[1], "HSET", "redlock.fence:x", "0", "5000000000000000", NULL);
    a = client_open_warm(c, 0);
    outer = client_lock_as(a, "x", TTL_MS, fenced("me"));
    token = redlock_fence(outer);
    for (int i = 0; i < 10; i++) {
        redlock_lock *inner = client_lock_as(a, "x", TTL_MS, fenced("me"));
        CHECK_INT(token, redlock_fence(inner));
        client_unlock(inner);
    }
    client_unlock(outer);
    next = client_lock_as(a, "x", TTL_MS, fenced("me"));
    CHECK_NEVER(redlock_fence(next) <= token);
}

CASE_ON(leftover_gives_no_old_token,
        "A hold left behind by a lost rollback gives no old token to a new hold.", .clients = 2)
{
    /*
     * On one node of three a failed attempt of the owner was never rolled back. Another owner
     * held the lock since, on the other two. The first owner's next token must be larger.
     */
    server_cmd(&c->node[0], "HSET", "redlock:x", "owner", "me", "h:leftover", "4000000000000",
               "fence", "7", NULL);
    server_cmd(&c->node[0], "PEXPIRE", "redlock:x", "60000", NULL);
    for (int i = 0; i < 10; i++) {
        redlock_lock *yours = client_lock_as(other, "x", TTL_MS, fenced("you"));
        int64_t token = redlock_fence(yours);
        redlock_lock *lock;
        client_unlock(yours);
        lock = client_lock_as(r, "x", TTL_MS, fenced("me"));
        if (redlock_fence(lock) <= token)
            FAIL("token %lld after %lld had been given", (long long)redlock_fence(lock),
                 (long long)token);
        client_unlock(lock);
    }
}

CASE_ON(token_inside_a_plain_hold,
        "A fenced hold nested in a hold without a token gets a token.")
{
    redlock_lock *before = client_lock_as(r, "x", TTL_MS, fenced("me"));
    int64_t token = redlock_fence(before);
    redlock_lock *outer, *inner, *third;
    client_unlock(before);
    outer = client_lock_as(r, "x", TTL_MS, owner_request("me"));
    CHECK_INT(0, redlock_fence(outer));
    inner = client_lock_as(r, "x", TTL_MS, fenced("me"));
    CHECK_NEVER(redlock_fence(inner) <= token);
    third = client_lock_as(r, "x", TTL_MS, fenced("me"));
    CHECK_NEVER(redlock_fence(third) < redlock_fence(inner));
}

static void own_or_mutex(int worker, unsigned *seed, struct load_wish *out)
{
    static const char *const owners[] = {"o0", "o1", "o2", "o3", "o4", "o5"};
    out->owner = worker;
    out->request = seed_draw(seed, 0, 3) ? owner_request(owners[worker])
                                         : (redlock_request)REDLOCK_REQUEST();
    out->request.flags = REDLOCK_FENCED;
    out->request.wait_ms = seed_draw(seed, 0, 2) ? 300 : 0;
    out->ttl_ms = seed_draw(seed, 300, LOAD_MAX_TTL_MS);
    out->hold_ms = seed_draw(seed, 0, 3);
}

CASE(tokens_under_faults, "Each owner's token is larger than the last while nodes fail.")
{
    /* No owner nests here, but leftovers of lost releases look like nested holds. */
    struct load *l = load_run(&(struct load_spec){
        .nodes = 3,
        .workers = 6,
        .run_ms = check_setting("REDLOCK_STRESS_MS", 2500),
        .holds_min = 60,
        .faults = LOAD_HANGS | LOAD_CUTS | LOAD_RESTARTS,
        .seed = seed_choose(),
        .wish = own_or_mutex,
    });
    CHECK_NEVER(holds_doubles(l->holds));
    CHECK_NEVER(holds_disorders(l->holds));
}

CASE_ON(no_deadlock_with_oneself,
        "The owner nests at once, also while another owner of its client waits.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *outer = client_lock_as(r, "x", TTL_MS, owner_request("me"));
    struct kind_waiter w;
    redlock_request nested;
    redlock_lock *inner;
    kind_start(r, "x", TTL_MS, owner_request("you"), 20000, &w);
    CHECK(cluster_await(c, "redlock.queue:x", 3));
    nested = owner_request("me");
    nested.wait_ms = 5000;
    nested.flags = REDLOCK_FAIR;
    inner = client_lock_as(r, "x", TTL_MS, nested);
    client_unlock(inner);
    NO_EVENT(w.client);
    client_unlock(outer);
    KIND_EXPECT(REDLOCK_OK, w); /* woken by the last hold */
    client_unlock(w.lock);
    CHECK(cluster_await_empty(c));
}

CASE(lost_answers_one_client,
     "Failed inner holds never release the outer hold, and leave nothing behind.")
{
    int iterations =
        (int)check_setting("REDLOCK_STRESS_ITERATIONS", CHECK_SANITIZED ? 60 : 150);
    struct reentrant_outcome o = reentrant_load(0, iterations, seed_choose(), true);
    CHECK_NEVER(o.intrusions);
    CHECK_INT(0, o.left);
    CHECK(o.nested > iterations / 10 && o.failed > iterations / 10);
}

CASE(lost_answers_processes,
     "Failed inner holds of four processes of one owner never release the outer hold.")
{
    int iterations = (int)check_setting("REDLOCK_STRESS_ITERATIONS", CHECK_SANITIZED ? 30 : 80);
    struct reentrant_outcome o = reentrant_load(4, iterations, seed_choose(), true);
    CHECK_NEVER(o.intrusions);
    CHECK_INT(0, o.left);
    CHECK(o.nested > iterations / 10 && o.failed > iterations / 10);
}
