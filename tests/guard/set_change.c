/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes are changed as docs/operations.md says, while processes take a lock again and
 * again: no two ever hold it at once, and clients that do not know of the change get nothing.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"
#include "lab/history/holds.h"

#include <stdatomic.h>

enum {
    SERVERS = 5,
    MAX_TTL_MS = 2000,
    GUARD_MS = MAX_TTL_MS + 2000,
    RECORDS = 200000,
    SOME_GRANTS = 20,
};

/* Which of the servers, by number; -1 ends. */
struct list {
    int node[SERVERS + 1];
};

static const struct list three = {{0, 1, 2, -1}};
static const struct list replaced = {{0, 1, 3, -1}};
static const struct list five = {{0, 1, 2, 3, 4, -1}};

/* A process with a client of its own, and what it reports. */
struct worker {
    struct cluster *cluster;
    struct holds *holds;
    struct list list;
    uint32_t flags;
    pid_t pid;
    _Atomic int stop;
    _Atomic int grants;
    _Atomic int error; /* of the last attempt */
};

static redlock *open_list(const struct cluster *c, const struct list *list, uint32_t flags)
{
    const char *urls[SERVERS];
    redlock_options o = client_options(c);
    o.nodes = urls;
    o.flags = flags;
    o.max_ttl_ms = MAX_TTL_MS;
    for (o.node_count = 0; list->node[o.node_count] >= 0; o.node_count++)
        urls[o.node_count] = c->urls[list->node[o.node_count]];
    return client_open_with(&o);
}

static void hold_once(struct worker *w, redlock *r)
{
    redlock_lock *lock = NULL;
    int64_t asked_ns = now_ns();
    struct hold_record *record;
    int64_t end_ns;
    w->error = redlock_acquire(r, "x", MAX_TTL_MS - 100, NULL, &lock);
    if (w->error != REDLOCK_OK) {
        sleep_ms(3);
        return;
    }
    record = holds_add(w->holds);
    CHECK(record != NULL);
    *record = (struct hold_record){
        .names = 1,
        .asked_ns = asked_ns,
        .granted_ns = now_ns(),
        .ended_ns = redlock_deadline_ns(lock),
    };
    w->grants++;
    sleep_ms(2);
    end_ns = now_ns();
    if (end_ns < record->ended_ns)
        record->ended_ns = end_ns;
    redlock_release(lock);
    redlock_lock_free(lock);
    sleep_ms(1);
}

static void work(void *data)
{
    struct worker *w = data;
    redlock *r = open_list(w->cluster, &w->list, w->flags);
    client_warm_nodes(r, 2);
    while (!w->stop)
        hold_once(w, r);
    client_close(r);
}

static struct worker *start(struct cluster *c, struct holds *h, const struct list *list,
                            uint32_t flags)
{
    struct worker *w = helper_memory(sizeof *w);
    w->cluster = c;
    w->holds = h;
    w->list = *list;
    w->flags = flags;
    w->pid = helper_start(work, w);
    return w;
}

static void stop(struct worker *w)
{
    w->stop = 1;
    helpers_join(&w->pid, 1);
}

static bool has_grants(void *data)
{
    return ((struct worker *)data)->grants >= SOME_GRANTS;
}

/* It takes the lock, from now on. */
static void await_grants(struct worker *w)
{
    w->grants = 0;
    if (!wait_until(has_grants, w))
        FAIL("%d grants; the last error is %s", w->grants, redlock_strerror(w->error));
}

static void init_list(const struct cluster *c, const struct list *list)
{
    redlock *r = open_list(c, list, 0);
    int count = 0;
    while (list->node[count] >= 0)
        count++;
    client_warm_nodes(r, count);
    CHECK_OK(redlock_admit(r, NULL));
    client_close(r);
}

CASE_EACH(replace_a_node,
          "A node is replaced while clients with the old and the new list work.", 0,
          REDLOCK_STRICT)
{
    struct cluster c;
    struct holds *h = holds_new(RECORDS);
    struct worker *old[2], *young[2];
    cluster_start_as(&c, SERVERS, &(struct cluster_form){.max_ttl_ms = "2000"});
    init_list(&c, &three);
    for (int i = 0; i < 2; i++)
        old[i] = start(&c, h, &three, flags);
    await_grants(old[0]);
    await_grants(old[1]);
    server_stop(&c.node[2]);
    sleep_ms(GUARD_MS);
    init_list(&c, &replaced);
    for (int i = 0; i < 2; i++)
        young[i] = start(&c, h, &replaced, flags);
    for (int i = 0; i < 2; i++) {
        await_grants(young[i]);
        await_grants(old[i]); /* they go on, with the nodes that are left */
    }
    for (int i = 0; i < 2; i++) {
        stop(old[i]);
        await_grants(young[i]);
        stop(young[i]);
    }
    CHECK_NEVER(holds_doubles(h));
}

static void change(const struct list *before, const struct list *after, uint32_t flags)
{
    struct cluster c;
    struct holds *h = holds_new(RECORDS);
    struct worker *old, *forgotten, *young, *late;
    cluster_start_as(&c, SERVERS, &(struct cluster_form){.max_ttl_ms = "2000"});
    init_list(&c, before);
    old = start(&c, h, before, flags);
    forgotten = start(&c, h, before, flags);
    await_grants(old);
    await_grants(forgotten);
    stop(old);
    sleep_ms(MAX_TTL_MS);
    init_list(&c, after);
    /* Strict: at once. By default it has read the set up to a second ago. */
    if (!(flags & REDLOCK_STRICT))
        AWAIT(forgotten->error == REDLOCK_GUARDED);
    young = start(&c, h, after, flags);
    await_grants(young);
    AWAIT(forgotten->error == REDLOCK_GUARDED);
    forgotten->grants = 0;
    await_grants(young);
    CHECK_NEVER(forgotten->grants);
    stop(forgotten);
    /* A process that is started with the old list gets nothing either. */
    late = start(&c, h, before, flags);
    AWAIT(late->error == REDLOCK_GUARDED);
    await_grants(young);
    CHECK_NEVER(late->grants);
    stop(late);
    stop(young);
    CHECK_NEVER(holds_doubles(h));
}

CASE_OF(add_nodes,
        "Three nodes become five: a forgotten client with three gets nothing any more.",
        change(&three, &five, 0));

CASE_OF(add_nodes_strict, "In strict mode three nodes become five, beside a forgotten client.",
        change(&three, &five, REDLOCK_STRICT));

CASE_OF(remove_nodes, "Five nodes become three: a forgotten client with five gets nothing.",
        change(&five, &three, 0));

CASE_OF(remove_nodes_strict,
        "In strict mode five nodes become three, beside a forgotten client.",
        change(&five, &three, REDLOCK_STRICT));
