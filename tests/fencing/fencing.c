/* SPDX-License-Identifier: BSD-2-Clause */
/* Fencing tokens: where they come from, that they grow, and what they cost. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MS = LONG_TTL_MS };

static int64_t next_token(redlock *r, const char *name)
{
    redlock_lock *lock = CLIENT_LOCK(r, name, TTL_MS, .flags = REDLOCK_FENCED);
    int64_t token = redlock_fence(lock);
    CHECK(token > 0);
    client_unlock(lock);
    return token;
}

/* The key of the only counter, whatever it is called: on a majority of the nodes at least. */
static const char *counter_key(const struct cluster *c)
{
    static char key[128];
    key[0] = '\0';
    for (size_t i = 0; i < c->count && key[0] == '\0'; i++) {
        snprintf(key, sizeof key, "%s",
                 server_cmd(&c->node[i], "KEYS", "redlock.fence*", NULL));
        key[strcspn(key, "\n")] = '\0';
    }
    CHECK(key[0] != '\0');
    return key;
}

static int count_at(const struct cluster *c, const char *key, int64_t token)
{
    int count = 0;
    for (size_t i = 0; i < c->count; i++)
        count += strtoll(server_cmd(&c->node[i], "HVALS", key, NULL), NULL, 10) == token;
    return count;
}

CASE_ON(no_token_unasked, "Without REDLOCK_FENCED there is no token and no counter.")
{
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    CHECK_INT(0, redlock_fence(lock));
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(token_is_on_a_majority, "When the acquire returns, a majority has exactly the token.",
        .nodes = 5, .flags = REDLOCK_THREAD)
{
    char key[128];
    next_token(r, "x");
    snprintf(key, sizeof key, "%s", counter_key(c));
    for (int i = 0; i < 20; i++) {
        char field[64];
        redlock_lock *lock = NULL;
        /* Another node is ahead each time: without alignment it would be alone with that. */
        snprintf(field, sizeof field, "%s", server_cmd(&c->node[i % 5], "HKEYS", key, NULL));
        field[strcspn(field, "\n")] = '\0';
        CHECK(server_int(&c->node[i % 5], "HINCRBY", key, field, "1000", NULL) > 1000);
        lock = CLIENT_LOCK(r, "x", TTL_MS, .flags = REDLOCK_FENCED);
        CHECK(count_at(c, key, redlock_fence(lock)) >= 3);
        CHECK_INT(redlock_fence(lock), client_query(r, "x").fence);
        client_unlock(lock);
    }
}

CASE_ON(lost_counters,
        "Counters that were lost start again at the clock, so tokens go on growing.",
        .flags = REDLOCK_THREAD)
{
    int64_t last = next_token(r, "x");
    char key[128];
    snprintf(key, sizeof key, "%s", counter_key(c));
    for (int i = 0; i < 10; i++) {
        int64_t token;
        for (int n = 0; n < 3; n++)
            if (i % 3 == 0 || n == i % 3)
                server_cmd(&c->node[n], "DEL", key, NULL);
        token = next_token(r, "x");
        CHECK_NEVER(token <= last);
        last = token;
    }
}

CASE_ON(counters_expire, "Idle counters expire after a day: they are no leak.",
        .flags = REDLOCK_THREAD)
{
    char key[128];
    next_token(r, "x");
    snprintf(key, sizeof key, "%s", counter_key(c));
    /* a node that came too late once grants the next time */
    AWAIT_DOING(cluster_count(c, key) >= 3, next_token(r, "x"));
    for (int i = 0; i < 3; i++)
        CHECK_BETWEEN(86000000, 86400000, server_int(&c->node[i], "PTTL", key, NULL));
}

static long evalsha_calls(const struct server *s)
{
    const char *found = strstr(server_commands(s), "evalsha ");
    return found != NULL ? strtol(found + strlen("evalsha "), NULL, 10) : 0;
}

CASE_ON(one_round_trip, "A token costs no second round trip where the counters agree.",
        .nodes = 5, .flags = REDLOCK_THREAD)
{
    enum { ROUNDS = 50 };
    for (int i = 0; i < 10; i++) {
        next_token(r, "x");
        sleep_ms(2); /* the stragglers too: from here on the counters agree */
    }
    for (int i = 0; i < 5; i++)
        server_forget_commands(&c->node[i]);
    for (int i = 0; i < ROUNDS; i++) {
        next_token(r, "x");
        sleep_ms(2);
    }
    /* Acquire, and release where the server needs a script for it; an alignment
     * would be more. */
    for (int i = 0; i < 5; i++)
        CHECK_BETWEEN(ROUNDS, 2 * ROUNDS + 5, evalsha_calls(&c->node[i]));
}

CASE_ON(tokens_grow_with_two_gone, "Tokens grow while one node is dead and one is hung.",
        .nodes = 5, .node_timeout_ms = STEADY_MS)
{
    int64_t last = next_token(r, "x");
    for (int round = 0; round < 5; round++) {
        server_freeze(&c->node[round]);
        for (int i = 0; i < 5; i++) {
            int64_t token = next_token(r, "x");
            CHECK_NEVER(token <= last);
            last = token;
        }
        server_thaw(&c->node[round]);
    }
}

CASE_ON(names_have_their_own, "Each name has its own fence counter.",
        .flags = REDLOCK_THREAD | REDLOCK_STRICT)
{
    char key[128], before[3][64];
    next_token(r, "x");
    snprintf(key, sizeof key, "%s", counter_key(c));
    sleep_ms(20);
    for (int i = 0; i < 3; i++)
        snprintf(before[i], sizeof before[i], "%s",
                 server_cmd(&c->node[i], "HGETALL", key, NULL));
    for (int i = 0; i < 20; i++)
        next_token(r, "y");
    for (int i = 0; i < 3; i++)
        CHECK_STR(before[i], server_cmd(&c->node[i], "HGETALL", key, NULL));
}
