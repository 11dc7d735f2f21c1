/* SPDX-License-Identifier: BSD-2-Clause */
#include "variant.h"

#include <stdio.h>

#include "results.h"

static double per(double sum, uint64_t count)
{
    return count ? sum / (double)count : 0;
}

void variant_add(struct variant *variant, const struct sample *sample)
{
    double servers_s = sample->servers_cpu_s;
    series_add(&variant->per_s, (double)sample->cycles / sample->seconds);
    series_add(&variant->p50_us, latency_quantile_us(&sample->acquire, 0.50));
    series_add(&variant->p99_us, latency_quantile_us(&sample->acquire, 0.99));
    series_add(&variant->cycle_p50_us, latency_quantile_us(&sample->cycle, 0.50));
    series_add(&variant->client_us, per(sample->client_cpu_s * 1e6, sample->cycles));
    series_add(&variant->servers_us, servers_s < 0 ? -1 : per(servers_s * 1e6, sample->cycles));
    variant->cycles += sample->cycles;
    variant->failures += sample->failures;
}

struct cost variant_cost(const struct variant *variant)
{
    return (struct cost){series_median(&variant->client_us),
                         series_median(&variant->servers_us)};
}

void variant_note_failures(struct row *row, const struct variant *variant)
{
    if (variant->failures)
        snprintf(row->note, sizeof row->note, "%llu of %llu cycles failed",
                 (unsigned long long)variant->failures,
                 (unsigned long long)(variant->failures + variant->cycles));
}

void variant_compare(struct row *row, const struct variant *ours, const struct variant *theirs)
{
    row->ours = ours->per_s;
    row->theirs = theirs->per_s;
    row->cost = variant_cost(ours);
    variant_note_failures(row, ours);
}
