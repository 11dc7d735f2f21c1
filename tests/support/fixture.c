/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

void fixture_run(const struct fixture *f, fixture_body *body)
{
    static struct cluster c;
    redlock *client[2] = {NULL, NULL};
    int clients = f->clients ? f->clients : 1;

    (f->start ? f->start : cluster_start)(&c, f->nodes ? f->nodes : 3);
    for (int i = 0; i < clients; i++) {
        client[i] = client_open_hasty(&c, f->flags,
                                      f->node_timeout_ms ? f->node_timeout_ms : PATIENT_MS);
        client_warm(client[i]);
    }
    body(&c, client[0], client[1]);
}
