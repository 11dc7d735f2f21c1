/* SPDX-License-Identifier: BSD-2-Clause */
/* Several servers at once: the second half of servers.h. */
#include "check.h"
#include "clock.h"
#include "servers.h"

#include <stdio.h>
#include <string.h>

void cluster_start_as(struct cluster *c, size_t count, const struct cluster_form *form)
{
    memset(c, 0, sizeof *c);
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        server_init(&c->node[i], form->extra, form->password);
        c->node[i].max_ttl_ms = form->max_ttl_ms;
        if (form->prepare != NULL)
            form->prepare(&c->node[i]);
        server_launch(&c->node[i]);
        snprintf(c->url[i], sizeof c->url[i], "redis://127.0.0.1:%d", c->node[i].port.number);
        c->urls[i] = c->url[i];
    }
    for (size_t i = 0; i < count; i++) {
        server_ready(&c->node[i]);
        if (!form->young)
            server_admit(&c->node[i]);
    }
}

void cluster_start(struct cluster *c, size_t count)
{
    cluster_start_as(c, count, &(struct cluster_form){0});
}

void cluster_each(struct cluster *c, size_t first, size_t count, void (*act)(struct server *))
{
    for (size_t i = first; i < first + count; i++)
        act(&c->node[i]);
}

int cluster_count(const struct cluster *c, const char *key)
{
    int found = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->node[i].pid != 0)
            found += server_int(&c->node[i], "EXISTS", key, NULL) == 1;
    return found;
}

int cluster_count_value(const struct cluster *c, const char *key, const char *value)
{
    int found = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->node[i].pid != 0)
            found += strcmp(server_cmd(&c->node[i], "GET", key, NULL), value) == 0;
    return found;
}

struct wanted {
    const struct cluster *cluster;
    const char *key;
    int count;
};

static bool count_is(void *data)
{
    const struct wanted *w = data;
    return cluster_count(w->cluster, w->key) == w->count;
}

bool cluster_await(const struct cluster *c, const char *key, int wanted)
{
    struct wanted w = {c, key, wanted};
    return wait_until(count_is, &w);
}

static bool all_empty(void *data)
{
    const struct cluster *c = data;
    for (size_t i = 0; i < c->count; i++)
        if (c->node[i].pid != 0 && server_keys(&c->node[i]) != 0)
            return false;
    return true;
}

bool cluster_await_empty(const struct cluster *c)
{
    return wait_until(all_empty, (void *)c);
}

void cluster_set(const struct cluster *c, size_t first, size_t count, const char *key,
                 const char *value, int64_t ttl_ms)
{
    char ttl[32];
    snprintf(ttl, sizeof ttl, "%lld", (long long)ttl_ms);
    for (size_t i = first; i < first + count; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "SET", key, value, "PX", ttl, NULL));
}

void cluster_del(const struct cluster *c, size_t first, size_t count, const char *key)
{
    for (size_t i = first; i < first + count; i++)
        CHECK_INT(1, server_int(&c->node[i], "DEL", key, NULL));
}
