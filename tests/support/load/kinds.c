/* SPDX-License-Identifier: BSD-2-Clause */
#include "kinds.h"

#include "check.h"
#include "client.h"
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char *const more_names[] = {"y", "z"};

const char *shape_text(enum shape shape)
{
    return shape == SHAPE_SEVERAL ? "several names" : redlock_kind_text((int)shape);
}

uint32_t shape_traits(enum shape shape)
{
    return redlock_kind_traits(shape == SHAPE_SEVERAL ? REDLOCK_MUTEX : (int)shape);
}

bool shape_may_be_held_twice(enum shape shape)
{
    return shape_traits(shape) & (REDLOCK_KIND_SEVERAL | REDLOCK_KIND_OWNER);
}

bool shape_announce(enum shape shape)
{
    printf("# %s\n", shape_text(shape));
    fflush(stdout);
    return true;
}

redlock_request reader_request(void)
{
    return (redlock_request)REDLOCK_REQUEST(.kind = REDLOCK_SHARED);
}

redlock_request owner_request(const char *owner)
{
    return (redlock_request)REDLOCK_REQUEST(.kind = REDLOCK_REENTRANT, .owner = owner);
}

redlock_request slots_request(uint32_t slots)
{
    return (redlock_request)REDLOCK_REQUEST(.kind = REDLOCK_SEMAPHORE, .slots = slots);
}

redlock_request shape_request(enum shape shape)
{
    uint32_t traits = shape_traits(shape);
    redlock_request q = REDLOCK_REQUEST(.kind = (int32_t)shape);
    if (shape == SHAPE_SEVERAL) {
        q.kind = REDLOCK_MUTEX;
        q.more_names = more_names;
        q.more_name_count = 2;
    }
    q.owner = traits & REDLOCK_KIND_OWNER ? "owner-a" : NULL;
    q.slots = traits & REDLOCK_KIND_SLOTS ? 2 : 0;
    return q;
}

redlock_request shape_rival(enum shape shape)
{
    redlock_request rival = REDLOCK_REQUEST();
    if (shape_traits(shape) & REDLOCK_KIND_OWNER) {
        rival.kind = (int32_t)shape;
        rival.owner = "owner-b";
    }
    return rival;
}

void kind_start(redlock *r, const char *name, int64_t ttl_ms, redlock_request q,
                int64_t wait_ms, struct kind_waiter *w)
{
    q.wait_ms = wait_ms;
    w->client = r;
    CHECK_OK(redlock_start_acquire(r, name, ttl_ms, &q, &w->lock));
}

static bool holds_it(const struct server *s, const char *key, const char *value)
{
    char field[128];
    const char *type = server_cmd(s, "TYPE", key, NULL);
    if (strcmp(type, "string") == 0)
        return strcmp(server_cmd(s, "GET", key, NULL), value) == 0;
    if (strcmp(type, "zset") == 0)
        return strcmp(server_cmd(s, "ZSCORE", key, value, NULL), "(nil)") != 0;
    if (strcmp(type, "hash") != 0)
        return false;
    snprintf(field, sizeof field, "h:%s", value);
    if (server_int(s, "HEXISTS", key, field, NULL) == 1)
        return true;
    return strstr(server_cmd(s, "HVALS", key, NULL), value) != NULL;
}

int kind_count_holds(const struct cluster *c, const char *name, const char *value)
{
    char key[REDLOCK_NAME_MAX + 16];
    int count = 0;
    snprintf(key, sizeof key, "redlock:%s", name);
    for (size_t i = 0; i < c->count; i++)
        count += c->node[i].pid != 0 && holds_it(&c->node[i], key, value);
    return count;
}

struct wanted {
    const struct cluster *cluster;
    const char *name, *value;
    int count;
};

static bool count_is(void *data)
{
    const struct wanted *w = data;
    return kind_count_holds(w->cluster, w->name, w->value) == w->count;
}

bool kind_await_holds(const struct cluster *c, const char *name, const char *value, int wanted)
{
    struct wanted w = {c, name, value, wanted};
    return wait_until(count_is, &w);
}

static bool is_clean(void *data)
{
    const struct cluster *c = data;
    for (size_t i = 0; i < c->count; i++) {
        const char *keys;
        if (c->node[i].pid == 0)
            continue;
        keys = server_cmd(&c->node[i], "KEYS", "redlock*", NULL);
        if (strstr(keys, "redlock:") != NULL || strstr(keys, "redlock.queue:") != NULL ||
            strstr(keys, "redlock.alive:") != NULL)
            return false;
    }
    return true;
}

bool kind_await_clean(const struct cluster *c)
{
    return wait_until(is_clean, (void *)c);
}

void kind_print(const struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->node[i].pid != 0)
            printf("# node %zu:\n%s\n", i, server_cmd(&c->node[i], "KEYS", "*", NULL));
    fflush(stdout);
}

unsigned seed_choose(void)
{
    unsigned seed = 0;
    const char *given = getenv("REDLOCK_TEST_SEED");
    if (given != NULL)
        seed = (unsigned)strtoul(given, NULL, 10);
    else
        CHECK(getrandom(&seed, sizeof seed, 0) == (ssize_t)sizeof seed);
    printf("# REDLOCK_TEST_SEED=%u\n", seed);
    fflush(stdout);
    return seed;
}

int seed_draw(unsigned *seed, int low, int high)
{
    return low + rand_r(seed) % (high - low + 1);
}
