/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include "fleet.h"

#include <stdio.h>

void fixture_register(const char *name, const struct fixture *f, void (*run)(void))
{
    int runs = 1;

    while ((size_t)runs <= sizeof f->also / sizeof f->also[0] && f->also[runs - 1])
        runs++;
    check_register(name, f->intent, run, runs);
}

void fixture_run(const struct fixture *f, fixture_body *body)
{
    static struct cluster c;
    static struct fleet fleet;
    redlock *client[2] = {NULL, NULL};
    size_t nodes = f->nodes ? f->nodes : 3;
    int clients = f->clients ? f->clients : 1;
    uint32_t flags = check_run() > 0 ? f->also[check_run() - 1] : f->flags;

    if (f->also[0])
        printf("# flags %#x\n", flags);
    if (f->quorums)
        fleet_start(&fleet, f->quorums, nodes);
    else if (f->start)
        f->start(&c, nodes);
    else
        cluster_start_as(
            &c, nodes, &(struct cluster_form){.max_ttl_ms = f->max_ttl_ms, .young = f->young});
    for (int i = 0; i < clients; i++) {
        client[i] = CLIENT_OPEN(&c, .quorums = f->quorums ? fleet.quorum : NULL,
                                .quorum_count = f->quorums, .flags = flags,
                                .node_timeout_ms = f->node_timeout_ms, .notify = f->notify);
        client_warm(client[i]);
    }
    body(&c, &fleet, client[0], client[1], flags);
}
