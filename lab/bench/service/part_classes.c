/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What classes of locks cost: a daemon that counts by a hundred of them, of which the names
 * match the last, and the same process without any, in short slices that take turns; HUP
 * switches. Beside it the time that two notes take, which is what a cycle has more of.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"
#include "clients.h"
#include "cycles.h"
#include "journal/classes.h"
#include "lab/stats/series.h"
#include "parts.h"
#include "processes.h"

#define SLICE_NS (100 * RL_NS_PER_MS)
#define SLICES_PER_ROUND 20
#define NOTES 10000
#define NOTES_TURNS 21
#define ANSWER_MAX (1u << 20)
#define TURNS_MAX 3000 /* of 2 ms */

struct daemon {
    char address[BENCH_PATH_MAX], settings[BENCH_PATH_MAX];
    pid_t pid;
    struct clients callers;
    int fd;
};

static void pattern_of(unsigned i, char out[CLASS_PATTERN_MAX + 1])
{
    snprintf(out, CLASS_PATTERN_MAX + 1, i + 1 < CLASSES_MAX ? "bench-%u/*/nightly" : "bench/*",
             i);
}

static void write_settings(const struct daemon *d, bool with_classes)
{
    char pattern[CLASS_PATTERN_MAX + 1];
    FILE *file = fopen(d->settings, "we");

    if (!file)
        err(1, "%s", d->settings);
    for (unsigned i = 0; with_classes && i < CLASSES_MAX; i++) {
        pattern_of(i, pattern);
        fprintf(file, "class = %s\n", pattern);
    }
    if (fclose(file) != 0)
        err(1, "%s", d->settings);
}

static bool has_classes(const struct daemon *d)
{
    static const char request[] = "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char body[ANSWER_MAX];

    if (clients_exchange(d->fd, request, sizeof request - 1, body, sizeof body) != 200)
        errx(1, "GET /v1/status: %s", body);
    return strstr(body, "\"classes\":[{") != NULL;
}

static void switch_classes(const struct daemon *d, bool with_classes)
{
    int turns = 0;

    write_settings(d, with_classes);
    if (kill(d->pid, SIGHUP) != 0)
        err(1, "kill");
    while (has_classes(d) != with_classes && turns++ < TURNS_MAX)
        usleep(2000);
    if (turns > TURNS_MAX)
        errx(1, "the daemon does not read its classes again");
}

static double measure(struct daemon *d, struct series *cpu_us)
{
    struct clients_result result = {0};
    double before_us = process_cpu_us(d->pid);

    clients_run(&d->callers, &cycle_redlockd, SLICE_NS, &result);
    series_add(cpu_us, (process_cpu_us(d->pid) - before_us) / (double)result.cycles);
    return (double)result.cycles / result.seconds;
}

/* Of one grant and one release in this process: processor time, as that of the daemon is. */
static double notes_us(void)
{
    struct journal_entry granted = {.event = JOURNAL_GRANTED, .name = "bench/63"};
    struct journal_entry released = {
        .event = JOURNAL_RELEASED, .name = "bench/63", .held_ns = 1};
    char pattern[CLASS_PATTERN_MAX + 1], why[128];
    struct classes classes = {.list = NULL};
    struct series us = {0};
    double median_us;

    for (unsigned i = 0; i < CLASSES_MAX; i++) {
        pattern_of(i, pattern);
        if (classes_add(&classes, pattern, why, sizeof why) < 0)
            errx(1, "%s", why);
    }
    for (int turn = 0; turn < NOTES_TURNS; turn++) {
        double from_us = process_cpu_us(getpid());

        for (int i = 0; i < NOTES; i++) {
            classes_note(&classes, &granted);
            classes_note(&classes, &released);
        }
        series_add(&us, (process_cpu_us(getpid()) - from_us) / NOTES);
    }
    median_us = series_median(&us);
    series_free(&us);
    classes_free(&classes);
    return median_us;
}

static void open_daemon(struct daemon *d, const struct bench *bench)
{
    char listen[BENCH_PATH_MAX + 8], log[BENCH_PATH_MAX];
    const char *argv[] = {bench->redlockd, "--config", d->settings, "--listen", listen, NULL};

    snprintf(d->address, sizeof d->address, "%s/classes", bench->directory);
    snprintf(d->settings, sizeof d->settings, "%s/classes.conf", bench->directory);
    snprintf(listen, sizeof listen, "unix:%s", d->address);
    snprintf(log, sizeof log, "%s/classes.log", bench->directory);
    write_settings(d, false);
    d->pid = process_start(argv, log);
    process_await(d->address);
    bench_await_ready(d->address);
    clients_open(&d->callers, d->address, CLIENTS_MAX);
    d->fd = clients_connect(d->address);
}

void part_classes(struct bench *bench)
{
    static struct daemon d;
    struct series without_us = {0}, with_us = {0}, ratio = {0}, settle = {0};
    double own_us = notes_us();
    long memory_kib;

    open_daemon(&d, bench);
    /* What reading settings and answering takes is there before the classes are. */
    for (int i = 0; i < 10; i++) {
        measure(&d, &settle);
        switch_classes(&d, false);
    }
    memory_kib = process_memory_kib(d.pid);
    switch_classes(&d, true);
    memory_kib = process_memory_kib(d.pid) - memory_kib;
    for (int i = 0; i < SLICES_PER_ROUND * bench->rounds; i++) {
        double without, with;

        /* The order takes turns, too: the first slice behind a HUP is the colder one. */
        switch_classes(&d, i % 2);
        without = with = measure(&d, i % 2 ? &with_us : &without_us);
        switch_classes(&d, !(i % 2));
        *(i % 2 ? &without : &with) = measure(&d, i % 2 ? &without_us : &with_us);
        series_add(&ratio, with / without);
    }
    clients_close(&d.callers);
    close(d.fd);
    process_end(d.pid, SIGTERM);
    table_note(
        "redlockd per PUT + DELETE: without classes, with 100, and two notes by themselves",
        "%.2f us, %.2f us, %.2f us", series_median(&without_us), series_median(&with_us),
        own_us);
    table_note("requests/s with 100 classes / without, by slices: quartiles", "%.3f and %.3f",
               series_quantile(&ratio, 0.25), series_quantile(&ratio, 0.75));
    table_most("two notes / redlockd per PUT + DELETE", own_us / series_median(&without_us),
               0.01, "");
    table_least("requests/s with 100 classes / without", series_median(&ratio), 0.99, "");
    table_most("memory of 100 classes", (double)memory_kib, 200, " KiB");
    series_free(&without_us);
    series_free(&with_us);
    series_free(&ratio);
    series_free(&settle);
}
