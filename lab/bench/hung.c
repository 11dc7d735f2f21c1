/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "parts.h"
#include "variant.h"

#define DESCRIPTORS_MAX 4096 /* more than this process opens */

/*
 * A server that hangs, for a while: stopped by a signal, and certain to be continued, because a
 * process of its own waits for the end of this one and does it, however this one ends.
 */
struct hang {
    pid_t guardian; /* continues the server when `pipe_fd` is closed */
    int pipe_fd;
};

/* The child of a process with threads: nothing here needs a lock or memory. */
static void continue_at_end(int pipe_fd, pid_t server)
{
    char byte;
    setsid(); /* Ctrl-C must not end this process */
    /* Connections that the parent closes must not stay open here. */
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
        if (fd != pipe_fd)
            close(fd);
    while (read(pipe_fd, &byte, 1) > 0)
        ;
    kill(server, SIGCONT);
    _exit(0);
}

/* Returns when the server has been continued. */
static void hang_end(struct hang *hang)
{
    close(hang->pipe_fd);
    if (hang->guardian > 0)
        waitpid(hang->guardian, NULL, 0);
}

/* 0 or -1, with a message. */
static int hang_begin(struct hang *hang, pid_t server)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("redlock-bench: pipe");
        return -1;
    }
    hang->guardian = fork();
    if (hang->guardian == 0)
        continue_at_end(ends[0], server);
    close(ends[0]);
    hang->pipe_fd = ends[1];
    if (hang->guardian > 0 && kill(server, SIGSTOP) == 0)
        return 0;
    perror("redlock-bench: hanging a server");
    hang_end(hang);
    return -1;
}

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
    int64_t give_up_ns = now_ns() + RECOVER_MS * RL_NS_PER_MS;
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
    int result;
    measure_open(&window, servers, seconds, sample);
    if (side == ONE_HUNG && hang_begin(&hang, servers->pid[round % servers->count]) != 0)
        return -1;
    /* No warm-up: the moment at which a node begins to hang belongs to it. */
    window_begin(&window);
    result = measure_callers(
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
    redlock *client;
    int result;
    median->target = (struct target){TARGET_AT_MOST, 1.1, false};
    tail->target = (struct target){TARGET_AT_MOST, 1.5, false};
    /* Only servers that redlock dev has started for us are stopped. */
    if (!servers->local || !getenv("REDLOCK_DEV")) {
        snprintf(median->note, sizeof median->note, "only on servers of redlock dev");
        snprintf(tail->note, sizeof tail->note, "only on servers of redlock dev");
        return 0;
    }
    client = measure_client(servers, 0);
    if (!client)
        return -1;
    result = run_rounds(options, servers, client, results, variant);
    redlock_close(client);
    if (result == 0)
        add_rows(variant, median, tail);
    return result;
}
