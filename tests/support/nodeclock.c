/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodeclock.h"

#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void nodeclock_attach(struct server *s)
{
    if (access(SERVER_SHIM, R_OK) != 0)
        check_skip("%s is not there", SERVER_SHIM);
    snprintf(s->clock_path, sizeof s->clock_path, "%s/clock%d", check_dir(), s->id);
    int fd = open(s->clock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *s->clock_ms) != 0)
        FAIL("cannot make %s", s->clock_path);
    s->clock_ms = mmap(NULL, sizeof *s->clock_ms, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s->clock_ms == MAP_FAILED)
        FAIL("mmap failed");
}

void nodeclock_step(struct server *s, int64_t ms)
{
    *s->clock_ms += ms;
}

static long long seconds(const struct server *s)
{
    return strtoll(server_cmd(s, "TIME", NULL), NULL, 10);
}

void nodeclock_cluster(struct cluster *c, size_t count)
{
    memset(c, 0, sizeof *c);
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        server_init(&c->node[i], NULL, NULL);
        nodeclock_attach(&c->node[i]);
        server_launch(&c->node[i]);
        snprintf(c->url[i], sizeof c->url[i], "redis://127.0.0.1:%d", c->node[i].port.number);
        c->urls[i] = c->url[i];
    }
    for (size_t i = 0; i < count; i++) {
        server_ready(&c->node[i]);
        server_admit(&c->node[i]);
    }
    /* A server that takes its time from elsewhere (a static binary) cannot be fooled. */
    long long before = seconds(&c->node[0]);
    nodeclock_step(&c->node[0], 100000);
    long long after = seconds(&c->node[0]);
    nodeclock_step(&c->node[0], -100000);
    if (after < before + 90)
        check_skip("this server does not ask the C library for the time");
}
