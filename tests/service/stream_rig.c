/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream_rig.h"

#include "check.h"
#include "io/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

int unacknowledged = -1;

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
    int result = __real_ioctl(fd, request, argument);

    if (request == TIOCOUTQ && unacknowledged >= 0)
        *(int *)argument = unacknowledged;
    return result;
}

struct lease_request *first_stream(const struct replica *replica)
{
    struct lease_request *request = replica->leases.all;

    while (request && !request->lease.is_stream)
        request = request->next;
    return request;
}

void renew_now(struct replica *replica)
{
    struct lease_request *stream = first_stream(replica);

    CHECK(stream);
    stream->lease.renew_ns = 0;
    lease_table_plan(&replica->leases.table,
                     lease_table_find(&replica->leases.table, &stream->tag, rl_now_ns()));
    replica_run(replica, 5);
}

int hold(const char *id)
{
    int fd = stream_open(&one, lease_stream_request(id, NULL, "{}"));

    rig_read_until(&one.rig, fd, "event: granted");
    await_nodes(&one, 3);
    return fd;
}

int hold_tcp(const char *id, char grant[LEASE_GRANT_MAX + 1])
{
    int fd = stream_open_tcp(&one, lease_stream_request(id, NULL, "{}"));
    const char *text = rig_read_until(&one.rig, fd, "}\n\n");

    snprintf(grant, LEASE_GRANT_MAX + 1, "%s",
             lease_member(stream_event(text, "granted"), "grant"));
    CHECK(grant[0] != '\0');
    await_nodes(&one, 3);
    return fd;
}

const char *come_back(struct replica *replica, const char *id, const char *grant, int *fd)
{
    const char *text;

    *fd = stream_open(replica, lease_stream_request(id, grant, "{}"));
    text = rig_read_until(&replica->rig, *fd, "}\n\n");
    return stream_event(text, "granted");
}
