/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-bench: what the library costs, next to the least that it could.
 *
 * All figures are ratios measured side by side in one run: the compared sides take turns within
 * every round, so that whatever the machine does besides hits both alike. Absolute numbers say
 * little; the ratio carries over.
 */
#include <stdio.h>
#include <stdlib.h>

#include "parts.h"
#include "results.h"

#define CHECK_MARGIN 0.2 /* machines are noisy: only what is missed by more fails --check */

enum exit_status { EXIT_MISSED = 1, EXIT_USAGE = 64, EXIT_NODES = 69, EXIT_OUTPUT = 74 };

static const struct {
    measure_fn *measure;
    const char *what;
} parts[PART_COUNT] = {
    [PART_CYCLES] = {cycles_measure, "cycles"}, [PART_NATIVE] = {native_measure, "native"},
    [PART_HUNG] = {hung_measure, "hung"},       [PART_CROWD] = {crowd_measure, "crowd"},
    [PART_RUN] = {launch_measure, "run"},       [PART_HELD] = {held_measure, "held"},
};

/* A part that fails does not keep the others from being measured. */
static int measure_all(const struct options *options, const struct servers *servers,
                       struct results *results)
{
    int failed = 0;
    for (unsigned i = 0; i < PART_COUNT; i++) {
        if (!(options->parts & (1u << i)))
            continue;
        fprintf(stderr, "measuring: %s\n", parts[i].what);
        if (parts[i].measure(options, servers, results) != 0) {
            fprintf(stderr, "redlock-bench: %s failed\n", parts[i].what);
            failed = -1;
        }
    }
    return failed;
}

static int check(const struct results *results)
{
    int status = EXIT_SUCCESS;
    for (unsigned i = 0; i < results->row_count; i++) {
        const struct row *row = &results->row[i];
        if (row_verdict(row, CHECK_MARGIN) == VERDICT_MISSED) {
            fprintf(stderr, "check: missed by far: %s\n", row->what);
            status = EXIT_MISSED;
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct options options;
    static struct servers servers;
    static struct results results;
    int failed;

    if (options_parse(&options, argc, argv) != 0)
        return EXIT_USAGE;
    if (servers_find(&servers, options.node, options.node_count) != 0)
        return EXIT_NODES;
    machine_begin(&results.machine);
    snprintf(results.machine.server, sizeof results.machine.server, "%s", servers.version);
    results.machine.nodes = servers.count;
    results.rounds = options.rounds;
    results.seconds = options.seconds;
    failed = measure_all(&options, &servers, &results);
    machine_end(&results.machine);
    if (results_json_write(&results, options.json) != 0)
        return EXIT_OUTPUT;
    if (failed)
        return EXIT_NODES;
    return options.check ? check(&results) : EXIT_SUCCESS;
}
