/* SPDX-License-Identifier: BSD-2-Clause */
#include "replicas.h"

#include "lease.h"

#include "check.h"
#include "clock.h"
#include "helper.h"
#include "servers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef REDLOCKD /* it was not built */
#define REDLOCKD "redlockd"
#endif

enum { NODE_TIMEOUT_MS = 150, DRAIN_S = 3 };

static void write_config(const struct replicas *r, const struct cluster *cluster, bool strict)
{
    FILE *file = fopen(r->config, "we");
    CHECK(file);
    fprintf(file, "node-timeout = %dms\nmax-ttl = %dms\nguard = %s\nnodes = ", NODE_TIMEOUT_MS,
            MAX_TTL_MS, strict ? "strict" : "on");
    for (size_t i = 0; i < cluster->count; i++)
        fprintf(file, "%s%s", i > 0 ? "," : "", cluster->urls[i]);
    fprintf(file, "\n");
    CHECK_INT(0, fclose(file));
}

struct start {
    struct replicas *replicas;
    int index;
};

static void run(void *data)
{
    const struct start *start = data;
    const struct replicas *r = start->replicas;
    char listen[128], drain[8];
    int log = open(r->log[start->index], O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (log >= 0)
        dup2(log, STDERR_FILENO);
    unsetenv("REDLOCK_NODES");
    unsetenv("REDLOCK_CONFIG");
    snprintf(listen, sizeof listen, "unix:%s", r->balancer.replica[start->index]);
    snprintf(drain, sizeof drain, "%d", DRAIN_S);
    execl(REDLOCKD, "redlockd", "--listen", listen, "--quorum-config", r->config, "--drain",
          drain, (char *)NULL);
    _exit(127);
}

void replica_launch(struct replicas *r, int index)
{
    struct start start = {r, index};
    r->pid[index] = helper_start(run, &start);
    r->balancer.switches->pid[index] = r->pid[index];
}

void replica_kill(struct replicas *r, int index)
{
    /* The balancer knows it no more: the number may be another process's from here on. */
    r->balancer.switches->kill_at_grant[index] = 0;
    r->balancer.switches->pid[index] = 0;
    helper_stop(&r->pid[index]);
}

void replica_drain(struct replicas *r, int index)
{
    kill(r->pid[index], SIGTERM);
}

void replica_await_end(struct replicas *r, int index)
{
    int status = 0;
    waitpid(r->pid[index], &status, 0);
    r->pid[index] = 0;
    if (status != 0)
        FAIL("replica %d drained and ended with %#x", index + 1, (unsigned)status);
}

static bool is_ready(void *data)
{
    const char *path = data;
    char answer[LEASE_ANSWER_MAX];
    return lease_get(path, "/readyz", 5000, answer) == 200;
}

void replicas_start(struct replicas *r, const struct cluster *cluster, bool strict,
                    uint64_t seed)
{
    snprintf(r->config, sizeof r->config, "%s/quorum.conf", check_dir());
    write_config(r, cluster, strict);
    r->balancer.switches = helper_memory(sizeof *r->balancer.switches);
    for (int i = 0; i < REPLICAS; i++) {
        snprintf(r->balancer.replica[i], sizeof r->balancer.replica[i], "%s/replica-%d",
                 check_dir(), i + 1);
        snprintf(r->log[i], sizeof r->log[i], "%s/replica-%d.log", check_dir(), i + 1);
        replica_launch(r, i);
    }
    for (int i = 0; i < REPLICAS; i++)
        if (!wait_until(is_ready, r->balancer.replica[i]))
            FAIL("replica %d is not ready", i + 1);
    balancer_start(&r->balancer, check_dir(), seed);
    r->balancer.switches->lossy = 1;
}

void replicas_look(struct replicas *r)
{
    for (int i = 0; i < REPLICAS; i++) {
        int status = 0;
        bool by_balancer;
        if (r->pid[i] == 0 || waitpid(r->pid[i], &status, WNOHANG) <= 0)
            continue;
        by_balancer = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        if (!by_balancer && status != 0)
            FAIL("replica %d ended with %#x", i + 1, (unsigned)status);
        r->pid[i] = 0;
        r->balancer.switches->pid[i] = 0;
    }
}

static void check_log(const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(text, sizeof text, file) != NULL)
        if (strstr(text, "Sanitizer") != NULL || strstr(text, "runtime error") != NULL)
            FAIL("%s: %s", path, text);
    if (file != NULL)
        fclose(file);
}

void replicas_stop(struct replicas *r)
{
    if (r->config[0] == '\0')
        return;
    balancer_stop(&r->balancer);
    for (int i = 0; i < REPLICAS; i++) {
        if (r->pid[i] != 0) {
            replica_drain(r, i);
            replica_await_end(r, i);
        }
        check_log(r->log[i]);
    }
}
