/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams where memory is short: each allocation of a stream's life fails once. */
#include "stream_rig.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVES_MAX 300
#define WAIT_TURNS 100

static unsigned allocations, failing; /* counts while failing > 0 */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails(void)
{
    return failing > 0 && ++allocations == failing;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

/* Turns until the stream holds, is refused or is gone; true: it holds. */
static bool await_outcome(int fd)
{
    for (int i = 0; i < WAIT_TURNS; i++) {
        bool end;
        const char *text = rig_read(&one.rig, fd, &end);

        if (strstr(text, "event: granted"))
            return true;
        if (end || text[0] != '\0')
            return false;
        loop_turn(&one.rig.loop, 5);
    }
    return false;
}

/* Opened, renewed, drained away; the allocation of this number fails. False: it has none so late. */
static bool live(unsigned number, const char *id)
{
    int fd = rig_connect(&one.rig);
    bool holds;

    allocations = 0;
    failing = number;
    rig_send(&one.rig, fd, lease_stream_request(id, NULL, "{\"wait_ms\":1000}"));
    holds = await_outcome(fd);
    if (holds && one.leases.streams)
        renew_now(&one);
    leases_send_streams_away(&one.leases);
    replica_run(&one, 5);
    failing = 0;
    close(fd);
    for (int i = 0; i < SOON_MS / 10 && one.leases.streams; i++)
        replica_run(&one, 10);
    CHECK(!one.leases.streams);
    CHECK_INT(0, one.leases.counts.waiting);
    CHECK_INT(0, one.leases.counts.streaming);
    /* What was cut is left to its TTL. */
    for (size_t i = 0; i < cluster.count; i++)
        server_int(&cluster.node[i], "DEL", KEY, NULL);
    return allocations >= number;
}

CASE(each_allocation,
     "A stream for which an allocation fails is refused or cut, and never stuck.")
{
    unsigned number = 1;
    char id[64];
    int fd;

    begin_one();
    one.rig.may_break = true;
    for (; number < LIVES_MAX; number++) {
        snprintf(id, sizeof id, "stream-without-memory-%06u", number);
        if (!live(number, id))
            break;
    }
    CHECK_BETWEEN(3, LIVES_MAX - 1, number);
    /* And then all is well again. */
    fd = hold(ID_A);
    close(fd);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    end_one();
}
