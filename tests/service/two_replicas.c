/* SPDX-License-Identifier: BSD-2-Clause */
#include "two_replicas.h"

#include "check.h"

struct cluster cluster;
struct replica one, two;

void begin_one(void)
{
    cluster_start(&cluster, 3);
    replica_open(&one, "one", &cluster);
}

void begin_two(void)
{
    begin_one();
    replica_open(&two, "two", &cluster);
}

void end_one(void)
{
    replica_close(&one);
}

void end_two(void)
{
    end_one();
    replica_close(&two);
}

void await_nodes(struct replica *replica, int wanted)
{
    for (int i = 0; i < SOON_MS / 10 && cluster_count(&cluster, KEY) != wanted; i++)
        replica_run(replica, 10);
    CHECK_INT(wanted, cluster_count(&cluster, KEY));
}

const char *take_lease(struct replica *replica, const char *id)
{
    const char *answer = lease_ask(replica, lease_request("PUT", id, NULL, "{}"));

    CHECK_HAS("HTTP/1.1 201 ", answer);
    return lease_member(answer, "grant");
}

int wait_for_lease(struct replica *replica, const char *id)
{
    unsigned before = replica->leases.counts.waiting;
    int fd = rig_connect(&replica->rig);

    rig_send(&replica->rig, fd, lease_request("PUT", id, NULL, "{\"wait_ms\":40000}"));
    CHECK_INT(before + 1, replica->leases.counts.waiting);
    return fd;
}
