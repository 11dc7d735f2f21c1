/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"

/* Of the window under way, when it began. */
static struct {
    const struct servers *servers;
    double servers_cpu_s;
} start;

static void note_costs(struct window *window)
{
    struct sample *sample = window->sample;
    double cpu_s = servers_cpu_s(start.servers);
    if (!window->has_begun) {
        start.servers_cpu_s = cpu_s;
        return;
    }
    sample->servers_cpu_s = cpu_s < 0 ? -1 : cpu_s - start.servers_cpu_s;
}

void measure_open(struct window *window, const struct servers *servers, double seconds,
                  struct sample *sample)
{
    window_open(window, seconds, true, sample);
    window->costs = note_costs;
    start.servers = servers;
}

redlock *measure_client(const struct servers *servers, uint32_t flags)
{
    redlock_options options =
        REDLOCK_OPTIONS(.nodes = servers->url, .node_count = servers->count, .flags = flags,
                        .prefix = BENCH_PREFIX);
    return callers_open(&options, BENCH_TTL_MS);
}

int measure_callers(struct callers callers, struct window *window)
{
    callers.ttl_ms = BENCH_TTL_MS;
    if (callers_run(&callers, window) != 0)
        return -1;
    for (unsigned i = 0; i < callers.client_count; i++)
        callers_settle(callers.client[i]);
    window_close(window);
    return 0;
}
