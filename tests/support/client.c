/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include "check.h"
#include "clock.h"
#include "drive/client.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t or_else(uint32_t given, uint32_t otherwise)
{
    return given != 0 ? given : otherwise;
}

static redlock_options complete(redlock_options o, const struct cluster *c)
{
    if (o.nodes == NULL && o.quorums == NULL) {
        o.nodes = c->urls;
        o.node_count = c->count;
    }
    o.node_timeout_ms = or_else(o.node_timeout_ms, PATIENT_MS);
    o.connect_timeout_ms = or_else(o.connect_timeout_ms, 5000);
    o.retry_min_ms = or_else(o.retry_min_ms, 2);
    o.retry_max_ms = or_else(o.retry_max_ms, 20);
    return o;
}

redlock_options client_options(const struct cluster *c)
{
    return complete((redlock_options)REDLOCK_OPTIONS(), c);
}

static struct opened {
    redlock **client;
    size_t count;
    pthread_mutex_t mutex;
} opened = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* NULL: its owner has freed all of them. */
static redlock_lock *first_lock(redlock *member)
{
    struct rl_handle *handle;
    redlock_lock *lock = NULL;

    pthread_mutex_lock(&member->mutex);
    LIST_FOREACH (handle, &member->engine.handles, all) {
        lock = (redlock_lock *)handle;
        if (lock->operation != RL_JOB && !atomic_load(&lock->is_freed))
            break;
        lock = NULL;
    }
    pthread_mutex_unlock(&member->mutex);
    return lock;
}

static void free_locks(redlock *r)
{
    redlock *member;

    for (size_t i = 0; (member = redlock_member(r, i)); i++) {
        for (redlock_lock *lock; (lock = first_lock(member));) {
            if (redlock_remaining_ms(lock) > 0 && redlock_release(lock) < 0)
                FAIL("release of '%s', held at the end of the case: %s", redlock_name(lock),
                     redlock_detail());
            redlock_lock_free(lock);
        }
    }
}

static void close_all(void)
{
    while (opened.count > 0) {
        redlock *r = opened.client[--opened.count];
        free_locks(r);
        redlock_close(r);
    }
    free(opened.client);
}

static void remember(redlock *r)
{
    pthread_mutex_lock(&opened.mutex);
    opened.client = realloc(opened.client, (opened.count + 1) * sizeof(redlock *));
    CHECK(opened.client != NULL);
    opened.client[opened.count++] = r;
    pthread_mutex_unlock(&opened.mutex);
    check_at_end(close_all);
}

redlock *client_open_with(const redlock_options *options)
{
    redlock *r = NULL;
    CHECK_OK(redlock_open(options, &r));
    CHECK(r != NULL);
    remember(r);
    return r;
}

void client_close(redlock *r)
{
    size_t i = 0;

    pthread_mutex_lock(&opened.mutex);
    while (i < opened.count && opened.client[i] != r)
        i++;
    if (i < opened.count)
        opened.client[i] = opened.client[--opened.count];
    pthread_mutex_unlock(&opened.mutex);
    redlock_close(r);
}

redlock *client_open_as(const struct cluster *c, redlock_options o)
{
    o = complete(o, c);
    return client_open_with(&o);
}

redlock *client_open(const struct cluster *c, uint32_t flags)
{
    return CLIENT_OPEN(c, .flags = flags);
}

redlock *client_open_warm(const struct cluster *c, uint32_t flags)
{
    redlock *r = client_open(c, flags);
    client_warm(r);
    return r;
}

redlock *client_open_hasty(const struct cluster *c, uint32_t flags, uint32_t node_timeout_ms)
{
    return CLIENT_OPEN(c, .flags = flags, .node_timeout_ms = node_timeout_ms);
}

redlock *client_start(struct cluster *c, size_t count, uint32_t flags)
{
    return client_start_hasty(c, count, flags, PATIENT_MS);
}

redlock *client_start_hasty(struct cluster *c, size_t count, uint32_t flags,
                            uint32_t node_timeout_ms)
{
    redlock *r;
    cluster_start(c, count);
    r = client_open_hasty(c, flags, node_timeout_ms);
    client_warm(r);
    return r;
}

int client_ping(redlock *r, uint32_t *node_count)
{
    redlock_answer *answer = NULL;
    const redlock_report *report;
    int up;

    report = redlock_ping(r, &answer) == REDLOCK_OK ? answer->report : redlock_failure_report();
    CHECK(report != NULL);
    if (node_count)
        *node_count = report->node_count;
    up = report_votes(report, REDLOCK_VOTE_GRANTED);
    redlock_answer_free(answer);
    return up;
}

void client_warm_nodes(redlock *r, int count)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;

    while (client_ping(r, NULL) < count) {
        if (now_ms() >= end_ms)
            FAIL("nodes not up in time: %s", report_text(redlock_failure_report()));
        sleep_ms(1);
    }
}

void client_warm(redlock *r)
{
    redlock *member;
    uint32_t nodes;

    for (size_t i = 0; (member = redlock_member(r, i)); i++) {
        client_ping(member, &nodes);
        client_warm_nodes(member, (int)nodes);
    }
}

redlock_node_info client_node(redlock *r, size_t node)
{
    redlock_node_info info = REDLOCK_NODE_INFO();

    CHECK_OK(redlock_node(r, node, &info));
    return info;
}

redlock_info client_query(redlock *r, const char *name)
{
    redlock_answer *answer = NULL;
    redlock_info info;

    CHECK_OK(redlock_query(r, name, &answer));
    info = *answer->info;
    redlock_answer_free(answer);
    return info;
}

redlock_lock *client_lock(redlock *r, const char *name, int64_t ttl_ms)
{
    redlock_lock *lock = NULL;
    int error = redlock_acquire(r, name, ttl_ms, NULL, &lock);

    if (error != REDLOCK_OK)
        FAIL("acquire %s: %s: %s; %s", name, redlock_error_name(error), redlock_detail(),
             report_text(redlock_failure_report()));
    CHECK(lock != NULL);
    return lock;
}

redlock_lock *client_lock_on(redlock *r, const struct cluster *c, int count, const char *name,
                             int64_t ttl_ms)
{
    redlock_lock *lock = client_lock(r, name, ttl_ms);
    char key[REDLOCK_NAME_MAX + 16];
    snprintf(key, sizeof key, "redlock:%s", name);
    CHECK(cluster_await(c, key, count));
    return lock;
}

void client_unlock(redlock_lock *lock)
{
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
}

redlock_lock *client_start_as(redlock *r, const char *name, int64_t ttl_ms, redlock_request q)
{
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_start_acquire(r, name, ttl_ms, &q, &lock));
    return lock;
}

redlock_lock *client_lock_as(redlock *r, const char *name, int64_t ttl_ms, redlock_request q)
{
    redlock_lock *lock = NULL;
    int error = redlock_acquire(r, name, ttl_ms, &q, &lock);
    if (error != REDLOCK_OK)
        FAIL("acquire %s %s: %s: %s; %s", redlock_kind_text(q.kind), name,
             redlock_error_name(error), redlock_detail(),
             report_text(redlock_failure_report()));
    CHECK(lock != NULL);
    return lock;
}

int client_try_as(redlock *r, const char *name, int64_t ttl_ms, redlock_request q)
{
    redlock_lock *lock = NULL;
    int error = redlock_acquire(r, name, ttl_ms, &q, &lock);
    CHECK((error == REDLOCK_OK) == (lock != NULL));
    if (lock != NULL)
        client_unlock(lock);
    return error;
}

int client_try(redlock *r, const char *name, int64_t ttl_ms)
{
    return client_try_as(r, name, ttl_ms, (redlock_request)REDLOCK_REQUEST());
}

struct recovery {
    const struct cluster *cluster;
    int wanted;
};

static bool has_recovered(void *data)
{
    const struct recovery *r = data;
    return cluster_count(r->cluster, "redlock:recovery") == r->wanted;
}

bool client_recovers(redlock *r, const struct cluster *c, int wanted)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    do {
        redlock_lock *lock = NULL;
        bool all;
        if (redlock_acquire(r, "recovery", 20000, NULL, &lock) != REDLOCK_OK)
            continue;
        all = wait_within(has_recovered, &(struct recovery){c, wanted}, 20);
        redlock_release(lock);
        redlock_lock_free(lock);
        if (all)
            return true;
    } while (now_ms() < end_ms);
    return false;
}

struct margin {
    const redlock_lock *lock;
    int wanted;
};

static bool margin_is(void *data)
{
    const struct margin *m = data;
    return redlock_margin(m->lock) == m->wanted;
}

bool client_await_margin(const redlock_lock *lock, int wanted)
{
    return wait_until(margin_is, &(struct margin){lock, wanted});
}

int report_votes(const redlock_report *report, int vote)
{
    int count = 0;
    for (uint32_t i = 0; i < report->node_count; i++)
        count += report->node[i].vote == vote;
    return count;
}

const char *report_text(const redlock_report *report)
{
    static _Thread_local char out[2048];
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; report && i < report->node_count && used < sizeof out; i++)
        used +=
            (size_t)snprintf(out + used, sizeof out - used, "%s[%s: %s%s%s]", i > 0 ? " " : "",
                             report->node[i].address, redlock_vote_text(report->node[i].vote),
                             report->node[i].text[0] != '\0' ? ": " : "", report->node[i].text);
    return out;
}

int count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    CHECK(directory != NULL);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

long memory_peak_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "VmHWM: %ld", &kib);
    if (f != NULL)
        fclose(f);
    CHECK(kib > 0);
    return kib;
}

void memory_forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    if (fd < 0 || write(fd, "5", 1) != 1)
        printf("# the old memory peak stands\n");
    if (fd >= 0)
        close(fd);
}
