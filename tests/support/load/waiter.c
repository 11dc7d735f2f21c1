/* SPDX-License-Identifier: BSD-2-Clause */
#include "waiter.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"

#include <stdio.h>
#include <sys/wait.h>

static void wait_for_it(void *data)
{
    struct waiter *w = data;
    redlock *r;
    redlock_lock *lock = NULL;
    redlock_request q;
    r = CLIENT_OPEN(w->cluster,
                    .node_timeout_ms =
                        w->terms.node_timeout_ms ? w->terms.node_timeout_ms : STEADY_MS,
                    .username = w->terms.username, .password = w->terms.password);
    q = (redlock_request)REDLOCK_REQUEST(.flags = w->terms.flags, .wait_ms = w->terms.wait_ms);
    client_warm_nodes(r, w->up);
    w->news->asked_ns = now_ns();
    w->news->asking = 1;
    w->news->error = redlock_acquire(r, w->terms.name, w->terms.ttl_ms, &q, &lock);
    w->news->granted_ns = now_ns();
    w->news->done = 1;
    AWAIT(w->news->let_go != 0);
    if (lock != NULL) {
        CHECK_OK(redlock_release(lock));
        redlock_lock_free(lock);
    }
    client_close(r);
}

void waiter_start(struct waiter *w, const struct cluster *c, int up,
                  const struct waiter_terms *terms)
{
    *w = (struct waiter){.cluster = c,
                         .terms = *terms,
                         .news = helper_memory(sizeof(struct waiter_news)),
                         .up = up};
    w->pid = helper_start(wait_for_it, w);
    AWAIT(w->news->asking != 0);
}

static bool is_done(void *data)
{
    return ((struct waiter_news *)data)->done != 0;
}

bool waiter_await(struct waiter *w)
{
    return wait_until(is_done, w->news);
}

bool waiter_await_within(struct waiter *w, int64_t limit_ms)
{
    return wait_within(is_done, w->news, limit_ms);
}

void waiter_kill(struct waiter *w)
{
    helper_stop(&w->pid);
}

void waiter_end(struct waiter *w)
{
    int status = -1;
    w->news->let_go = 1;
    CHECK(waitpid(w->pid, &status, 0) == w->pid);
    CHECK_INT(0, status);
    w->pid = 0;
}

long long queue_length(const struct server *s, const char *name)
{
    char key[128];
    snprintf(key, sizeof key, "redlock.queue:%s", name);
    return server_int(s, "ZCARD", key, NULL);
}

struct wanted {
    const struct cluster *cluster;
    const char *name;
    int length;
};

static bool lengths_are(void *data)
{
    const struct wanted *w = data;
    for (size_t i = 0; i < w->cluster->count; i++)
        if (w->cluster->node[i].pid != 0 &&
            queue_length(&w->cluster->node[i], w->name) != w->length)
            return false;
    return true;
}

bool queue_await(const struct cluster *c, const char *name, int length)
{
    struct wanted w = {c, name, length};
    return wait_until(lengths_are, &w);
}

static bool only_the_lock(void *data)
{
    const struct cluster *c = data;
    for (size_t i = 0; i < c->count; i++)
        if (c->node[i].pid != 0 && server_keys(&c->node[i]) != 1)
            return false;
    return true;
}

bool queue_await_only_the_lock(const struct cluster *c)
{
    return wait_until(only_the_lock, (void *)c);
}
