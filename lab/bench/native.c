/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "servers.h"
#include "variant.h"

#define IN_FLIGHT 64

enum { NATIVE, SCRIPT, SIDES };

static bool is_native(redlock *client, size_t node_count)
{
    for (size_t i = 0; i < node_count; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        if (redlock_node(client, i, &info) != REDLOCK_OK || !info.native)
            return false;
    }
    return true;
}

static int run_rounds(const struct options *options, const struct servers *servers,
                      redlock *const client[SIDES], struct variant variant[SIDES])
{
    static struct sample sample;
    for (unsigned round = 0; round < options->rounds; round++) {
        for (unsigned i = 0; i < SIDES; i++) {
            unsigned side = round % 2 ? SIDES - 1 - i : i;
            struct window window;
            measure_open(&window, servers, options->seconds, &sample);
            if (measure_callers((struct callers){.client = &client[side],
                                                 .client_count = 1,
                                                 .count = IN_FLIGHT},
                                &window) != 0)
                return -1;
            variant_add(&variant[side], &sample);
        }
    }
    return 0;
}

/* 1: measured. 0: these servers have no such command. -1: failed, with a message. */
static int try_servers(const struct options *options, const struct servers *servers,
                       struct row *row)
{
    static struct variant variant[SIDES];
    redlock *client[SIDES] = {measure_client(servers, 0), NULL};
    int result = -1;
    if (!client[NATIVE])
        return -1;
    if (!is_native(client[NATIVE], servers->count)) {
        result = 0;
    } else {
        client[SCRIPT] = measure_client(servers, REDLOCK_NO_NATIVE);
        if (client[SCRIPT] && run_rounds(options, servers, client, variant) == 0) {
            variant_compare(row, &variant[NATIVE], &variant[SCRIPT]);
            if (!row->note[0])
                snprintf(row->note, sizeof row->note, "on %s", servers->version);
            result = 1;
        }
    }
    redlock_close(client[SCRIPT]);
    redlock_close(client[NATIVE]);
    return result;
}

static int try_program(const struct options *options, const char *program, struct row *row)
{
    static struct servers servers;
    struct quorum quorum;
    int result;
    if (quorum_start(&quorum, program) != 0)
        return 0;
    result = servers_find(&servers, quorum.node, quorum.node_count);
    if (result == 0)
        result = try_servers(options, &servers, row);
    quorum_stop(&quorum);
    return result;
}

int native_measure(const struct options *options, const struct servers *servers,
                   struct results *results)
{
    static const char *const usual[] = {"valkey-server", "redis-server"};
    const char *chosen = getenv("BENCH_NATIVE_SERVER");
    struct row *row =
        results_row(results, "native_64", "release without a script, 64 in flight", "cycles/s",
                    "release by script");
    int found;
    row->target = (struct target){TARGET_AT_LEAST, 1.5, false};
    if (chosen && *chosen) {
        found = try_program(options, chosen, row);
        if (found == 0)
            snprintf(row->note, sizeof row->note,
                     "BENCH_NATIVE_SERVER does not run, or has no such command");
        return found < 0 ? -1 : 0;
    }
    found = try_servers(options, servers, row);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0] && found == 0; i++)
        found = try_program(options, usual[i], row);
    if (found == 0)
        snprintf(row->note, sizeof row->note, "no such server here; set BENCH_NATIVE_SERVER");
    return found < 0 ? -1 : 0;
}
