/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodeclock.h"

#include "check.h"
#include "clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void nodeclock_attach(struct server *s)
{
    int fd;
    if (access(SERVER_SHIM, R_OK) != 0)
        FAIL("%s was not built", SERVER_SHIM);
    snprintf(s->clock_path, sizeof s->clock_path, "%s/clock%d", check_dir(), s->id);
    fd = open(s->clock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *s->clock_ms) != 0)
        FAIL("cannot make %s", s->clock_path);
    s->clock_ms = mmap(NULL, sizeof *s->clock_ms, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s->clock_ms == MAP_FAILED)
        FAIL("mmap failed");
}

static bool follows(void *data)
{
    const struct server *s = data;
    long long ahead_s = strtoll(server_cmd(s, "TIME", NULL), NULL, 10) - (long long)time(NULL);
    long long off_s = ahead_s - *s->clock_ms / 1000;
    return off_s >= -1 && off_s <= 1;
}

/*
 * TIME does not follow at once everywhere: Valkey 9.1 requests the time again when its
 * processor's counter says that a millisecond has passed, and until then adds the counter to
 * the last answer.
 */
void nodeclock_step(struct server *s, int64_t ms)
{
    *s->clock_ms += ms;
    if (!wait_until(follows, s))
        FAIL("the clock of server %d does not follow the shim that it has loaded", s->id);
}

/* Was the shim loaded? A static program loads nothing. */
static bool has_shim(const struct server *s)
{
    char path[64], line[512];
    FILE *maps;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)s->pid);
    maps = fopen(path, "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found = found || strstr(line, SERVER_SHIM) != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

void nodeclock_cluster(struct cluster *c, size_t count)
{
    cluster_start_as(c, count, &(struct cluster_form){.prepare = nodeclock_attach});
    if (!has_shim(&c->node[0]))
        check_skip("the server has not loaded %s: a static program?", SERVER_SHIM);
}
