/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "hang.h"
#include "measure.h"
#include "variant.h"

/*
 * Long enough for both halves of a hang: at first the node owes answers, after a second it is
 * disconnected and connecting again fails.
 */
#define SECONDS_MIN 1.5
#define RECOVER_MS 5000

enum { HEALTHY, ONE_HUNG, SIDES };

/* Waits until the node that hung takes part again, so that the next round is a healthy one. */
static int recover(redlock *client, const struct servers *servers)
{
    int64_t give_up_ns = now_ns() + RECOVER_MS * 1000000LL;
    while (now_ns() < give_up_ns) {
        redlock_answer *answer = NULL;
        const redlock_event *event;
        unsigned up = 0;
        if (redlock_ping(client, &answer) == REDLOCK_OK)
            for (size_t i = 0; i < servers->count; i++)
                up += answer->report->node[i].vote == REDLOCK_VOTE_GRANTED;
        redlock_answer_free(answer);
        if (up == servers->count)
            return 0;
        redlock_next(client, &event, 10);
    }
    fputs("redlock-bench: a node that hung did not come back\n", stderr);
    return -1;
}

static int run_side(const struct options *options, const struct servers *servers,
                    redlock *client, unsigned side, unsigned round, struct sample *sample)
{
    struct window window;
    struct hang hang;
    double seconds = options->seconds < SECONDS_MIN ? SECONDS_MIN : options->seconds;
    measure_open(&window, servers, seconds, sample);
    if (side == ONE_HUNG && hang_begin(&hang, servers->pid[round % servers->count]) != 0)
        return -1;
    /* No warm-up: the moment at which a node begins to hang belongs to it. */
    window_begin(&window);
    int result = measure_callers(
        (struct callers){
            .way = CALLERS_BLOCKING, .client = &client, .client_count = 1, .count = 1},
        &window);
    if (side == ONE_HUNG) {
        hang_end(&hang);
        if (result == 0)
            result = recover(client, servers);
    }
    return result;
}

static int run_rounds(const struct options *options, const struct servers *servers,
                      redlock *client, struct results *results, struct variant variant[SIDES])
{
    static struct sample sample;
    for (unsigned round = 0; round < options->rounds; round++) {
        for (unsigned i = 0; i < SIDES; i++) {
            unsigned side = round % 2 ? SIDES - 1 - i : i;
            if (run_side(options, servers, client, side, round, &sample) != 0)
                return -1;
            variant_add(&variant[side], &sample);
            latency_merge(side == ONE_HUNG ? &results->one_hung : &results->healthy,
                          &sample.acquire);
        }
    }
    return 0;
}

static void add_rows(const struct variant variant[SIDES], struct row *median, struct row *tail)
{
    median->ours = variant[ONE_HUNG].p50_us;
    median->theirs = variant[HEALTHY].p50_us;
    median->cost = variant_cost(&variant[ONE_HUNG]);
    tail->ours = variant[ONE_HUNG].p99_us;
    tail->theirs = variant[HEALTHY].p99_us;
    variant_note_failures(median, &variant[ONE_HUNG]);
}

int hung_measure(const struct options *options, const struct servers *servers,
                 struct results *results)
{
    static struct variant variant[SIDES];
    struct row *median = results_row(results, "hung_p50", "one node hung, median acquire", "us",
                                     "all nodes healthy");
    struct row *tail = results_row(results, "hung_p99", "one node hung, p99 acquire", "us",
                                   "all nodes healthy");
    median->target = (struct target){TARGET_AT_MOST, 1.1, false};
    tail->target = (struct target){TARGET_AT_MOST, 1.5, false};
    /* Only servers that redlock dev has started for us are stopped. */
    if (!servers->local || !getenv("REDLOCK_DEV")) {
        snprintf(median->note, sizeof median->note, "only on servers of redlock dev");
        snprintf(tail->note, sizeof tail->note, "only on servers of redlock dev");
        return 0;
    }
    redlock *client = measure_client(servers, 0);
    if (!client)
        return -1;
    int result = run_rounds(options, servers, client, results, variant);
    redlock_close(client);
    if (result == 0)
        add_rows(variant, median, tail);
    return result;
}
