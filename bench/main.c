/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-bench: how many cycles per second the library does, next to the floor. Or, with
 * --holds, what it costs to keep many locks renewed.
 *
 * All variants are run in turn within every round, so that whatever the machine does besides
 * hits ours and the floor alike. Absolute numbers say little; the ratio carries over.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor.h"
#include "holds.h"
#include "measure.h"
#include "ours.h"
#include "redlock.h"
#include "report.h"
#include "servers.h"

#define CHECK_IN_FLIGHT 64 /* where --check compares */
#define IN_FLIGHT_COUNT_MAX 10
#define NODES_TEXT_MAX 4096
#define SECONDS_MAX 3600.0
#define HOLD_TTL_MS 10000
#define HOLD_SECONDS 30

enum exit_status {
    EXIT_BELOW_CHECK = 1,
    EXIT_HOLDS_LOST = 1,
    EXIT_USAGE = 64,
    EXIT_NODES = 69
};

struct settings {
    unsigned rounds;
    double seconds; /* negative: not given */
    unsigned holds; /* 0: measure cycles */
    int64_t ttl_ms; /* of the holds */
    bool burst;     /* acquire them all at once */
    unsigned in_flight[IN_FLIGHT_COUNT_MAX];
    unsigned in_flight_count;
    unsigned threads;
    double check; /* negative: none */
    bool json;
    bool native;
    char nodes_text[NODES_TEXT_MAX];
    const char *node[REDLOCK_NODES_MAX];
    size_t node_count;
};

static const char usage[] =
    "Usage: redlock-bench [OPTION]...\n"
    "Measures acquire + release cycles on the nodes named in REDLOCK_NODES, next to a floor\n"
    "that does the same commands over raw sockets.\n"
    "\n"
    "  -r, --rounds N        rounds; medians are reported (default 5)\n"
    "  -s, --seconds S       length of each measurement (default 1; 30 with --holds)\n"
    "  -i, --in-flight LIST  cycles in flight, asynchronous (default 1,64,256)\n"
    "  -t, --threads N       threads of the threaded variant (default 64)\n"
    "  -q, --quick           3 rounds of 0.3 s\n"
    "  -c, --check RATIO     exit with 1 if ours is below RATIO of the floor at 64 in flight\n"
    "      --no-native       release by script even where the servers can do without\n"
    "      --holds N         instead of cycles: hold N locks and let them be renewed\n"
    "      --ttl TIME        of these locks: 10s, 500ms (default 10s)\n"
    "      --burst           acquire them all at once, so that renewals fall due at once\n"
    "      --json            print JSON\n"
    "  -h, --help            print this\n";

/* ---- options ---- */

static int bad_usage(const char *what, const char *value)
{
    fprintf(stderr, "redlock-bench: %s: %s; see --help\n", what, value);
    return -1;
}

static int parse_number(const char *text, double low, double high, double *out)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !(value >= low && value <= high))
        return bad_usage("not a number in range", text);
    *out = value;
    return 0;
}

static int parse_count(const char *text, unsigned high, unsigned *out)
{
    double value;
    if (parse_number(text, 1, high, &value) != 0)
        return -1;
    *out = (unsigned)value;
    return 0;
}

static int parse_ttl(const char *text, int64_t *out_ms)
{
    char number[32];
    size_t length = strspn(text, "0123456789.");
    bool is_ms = strcmp(text + length, "ms") == 0;
    double value;
    if (length >= sizeof number || (text[length] && !is_ms && strcmp(text + length, "s") != 0))
        return bad_usage("not a time", text);
    memcpy(number, text, length);
    number[length] = '\0';
    if (parse_number(number, 0, SECONDS_MAX * 1e3, &value) != 0)
        return -1;
    *out_ms = (int64_t)(is_ms ? value : value * 1e3);
    return 0;
}

static int parse_in_flight(struct settings *settings, char *list)
{
    settings->in_flight_count = 0;
    char *rest = list;
    for (char *word; (word = strsep(&rest, ","));) {
        if (settings->in_flight_count == IN_FLIGHT_COUNT_MAX)
            return bad_usage("too many numbers", "--in-flight");
        unsigned *next = &settings->in_flight[settings->in_flight_count];
        if (parse_count(word, FLOOR_IN_FLIGHT_MAX, next) != 0)
            return -1;
        settings->in_flight_count++;
    }
    return 0;
}

static int parse_nodes(struct settings *settings)
{
    const char *text = getenv("REDLOCK_NODES");
    if (!text || !*text)
        return bad_usage("REDLOCK_NODES names no nodes", "try redlock dev -- redlock-bench");
    if (strlen(text) >= sizeof settings->nodes_text)
        return bad_usage("too long", "REDLOCK_NODES");
    strcpy(settings->nodes_text, text);
    char *rest = settings->nodes_text;
    for (char *word; (word = strsep(&rest, ", \t\n"));) {
        if (!*word)
            continue;
        if (settings->node_count == REDLOCK_NODES_MAX)
            return bad_usage("too many nodes", "REDLOCK_NODES");
        settings->node[settings->node_count++] = word;
    }
    return settings->node_count ? 0 : bad_usage("REDLOCK_NODES names no nodes", text);
}

static int parse_option(struct settings *settings, int option)
{
    switch (option) {
    case 'r':
        return parse_count(optarg, ROUNDS_MAX, &settings->rounds);
    case 's':
        return parse_number(optarg, 0.01, SECONDS_MAX, &settings->seconds);
    case 'i':
        return parse_in_flight(settings, optarg);
    case 't':
        return parse_count(optarg, OURS_THREADS_MAX, &settings->threads);
    case 'q':
        settings->rounds = 3;
        settings->seconds = 0.3;
        return 0;
    case 'c':
        return parse_number(optarg, 0, 10, &settings->check);
    case 'H':
        return parse_count(optarg, HOLDS_MAX, &settings->holds);
    case 'T':
        return parse_ttl(optarg, &settings->ttl_ms);
    case 'B':
        settings->burst = true;
        return 0;
    case 'N':
        settings->native = false;
        return 0;
    case 'J':
        settings->json = true;
        return 0;
    case 'h':
        fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    default:
        return -1;
    }
}

static int parse_arguments(struct settings *settings, int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'},
        {"in-flight", required_argument, NULL, 'i'},
        {"threads", required_argument, NULL, 't'},
        {"quick", no_argument, NULL, 'q'},
        {"check", required_argument, NULL, 'c'},
        {"no-native", no_argument, NULL, 'N'},
        {"holds", required_argument, NULL, 'H'},
        {"ttl", required_argument, NULL, 'T'},
        {"burst", no_argument, NULL, 'B'},
        {"json", no_argument, NULL, 'J'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "r:s:i:t:qc:h", options, NULL)) != -1)
        if (parse_option(settings, option) != 0)
            return -1;
    if (optind < argc)
        return bad_usage("unexpected argument", argv[optind]);
    if (settings->seconds < 0)
        settings->seconds = settings->holds ? HOLD_SECONDS : 1;
    if (settings->holds && settings->seconds * 1e3 < (double)settings->ttl_ms)
        return bad_usage("too short to see renewals of --ttl", "--seconds");
    return parse_nodes(settings);
}

/* ---- measuring ---- */

/* Everything that is opened once and used by all rounds. */
struct bench {
    const struct settings *settings;
    struct servers servers;
    struct floor *floor;
    redlock *direct;   /* drives itself: asynchronous and blocking variants */
    redlock *threaded; /* has an I/O thread */
    struct variant variant[VARIANTS_MAX];
    size_t variant_count;
};

static const struct variant *find(const struct bench *bench, enum variant_kind kind,
                                  unsigned callers)
{
    for (size_t i = 0; i < bench->variant_count; i++)
        if (bench->variant[i].kind == kind && bench->variant[i].callers == callers)
            return &bench->variant[i];
    return NULL;
}

static void plan_one(struct bench *bench, enum variant_kind kind, unsigned callers)
{
    struct variant *variant = &bench->variant[bench->variant_count];
    variant->kind = kind;
    variant->callers = callers;
    if (kind != VARIANT_FLOOR)
        variant->floor = find(bench, VARIANT_FLOOR, callers);
    bench->variant_count++;
}

static void plan(struct bench *bench)
{
    const struct settings *settings = bench->settings;
    for (unsigned i = 0; i < settings->in_flight_count; i++) {
        plan_one(bench, VARIANT_FLOOR, settings->in_flight[i]);
        plan_one(bench, VARIANT_ASYNC, settings->in_flight[i]);
    }
    plan_one(bench, VARIANT_BLOCKING, 1);
    plan_one(bench, VARIANT_THREADS, settings->threads);
}

static int bench_open(struct bench *bench)
{
    const struct settings *settings = bench->settings;
    uint32_t flags = settings->native ? 0 : REDLOCK_NO_NATIVE;
    if (servers_find(&bench->servers, settings->node, settings->node_count) != 0)
        return -1;
    bench->floor = floor_open(&bench->servers, settings->native);
    bench->direct = ours_open(&bench->servers, flags);
    bench->threaded = ours_open(&bench->servers, flags | REDLOCK_THREAD);
    return bench->floor && bench->direct && bench->threaded ? 0 : -1;
}

static void bench_close(struct bench *bench)
{
    redlock_close(bench->threaded);
    redlock_close(bench->direct);
    floor_close(bench->floor);
}

static int run_variant(struct bench *bench, const struct variant *variant,
                       struct sample *sample)
{
    struct window window;
    window_open(&window, &bench->servers, bench->settings->seconds, sample);
    switch (variant->kind) {
    case VARIANT_FLOOR:
        return floor_run(bench->floor, variant->callers, &window);
    case VARIANT_ASYNC:
        return ours_run_async(bench->direct, variant->callers, &window);
    case VARIANT_BLOCKING:
        return ours_run_blocking(bench->direct, &window);
    case VARIANT_THREADS:
        return ours_run_threads(bench->threaded, variant->callers, &window);
    }
    return -1;
}

/* Every second round goes backwards, so that neither side always runs second. */
static int run_round(struct bench *bench, unsigned round, struct sample *sample)
{
    for (size_t i = 0; i < bench->variant_count; i++) {
        size_t index = round % 2 ? bench->variant_count - 1 - i : i;
        struct variant *variant = &bench->variant[index];
        if (run_variant(bench, variant, sample) != 0)
            return -1;
        variant_add(variant, round, sample);
    }
    return 0;
}

static int measure(struct bench *bench)
{
    struct sample *sample = malloc(sizeof *sample);
    int result = sample ? 0 : -1;
    for (unsigned round = 0; round < bench->settings->rounds && result == 0; round++)
        result = run_round(bench, round, sample);
    free(sample);
    return result;
}

/* ---- holding ---- */

static int measure_holds(const struct settings *settings)
{
    static struct sample sample;
    static struct holds_result result;
    struct servers servers;
    struct window window = {
        .servers = &servers, .seconds = settings->seconds, .sample = &sample};
    if (servers_find(&servers, settings->node, settings->node_count) != 0)
        return EXIT_NODES;
    redlock *client = ours_open(&servers, settings->native ? 0 : REDLOCK_NO_NATIVE);
    if (!client)
        return EXIT_NODES;
    int error =
        holds_run(client, settings->holds, settings->ttl_ms, settings->burst, &window, &result);
    redlock_close(client);
    if (error != 0)
        return EXIT_NODES;
    (settings->json ? holds_json : holds_table)(&result, &window);
    return result.lost ? EXIT_HOLDS_LOST : EXIT_SUCCESS;
}

/* ---- verdict ---- */

static int check(const struct bench *bench)
{
    const struct settings *settings = bench->settings;
    if (settings->check < 0)
        return EXIT_SUCCESS;
    const struct variant *ours = find(bench, VARIANT_ASYNC, CHECK_IN_FLIGHT);
    double ratio = variant_ratio(ours, settings->rounds);
    bool good = ratio >= settings->check;
    fprintf(settings->json ? stderr : stdout,
            "\ncheck: %.2f of the floor at %d in flight, %s %g\n", ratio, CHECK_IN_FLIGHT,
            good ? "not below" : "below", settings->check);
    return good ? EXIT_SUCCESS : EXIT_BELOW_CHECK;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static struct settings settings = {.rounds = 5,
                                       .seconds = -1,
                                       .ttl_ms = HOLD_TTL_MS,
                                       .in_flight = {1, 64, 256},
                                       .in_flight_count = 3,
                                       .threads = 64,
                                       .check = -1,
                                       .native = true};
    int status = EXIT_NODES;

    if (parse_arguments(&settings, argc, argv) != 0)
        return EXIT_USAGE;
    if (settings.holds)
        return measure_holds(&settings);
    bench.settings = &settings;
    plan(&bench);
    if (settings.check >= 0 && !find(&bench, VARIANT_ASYNC, CHECK_IN_FLIGHT)) {
        bad_usage("--check needs 64 among", "--in-flight");
        return EXIT_USAGE;
    }
    if (bench_open(&bench) == 0 && measure(&bench) == 0) {
        struct report report = {.servers = &bench.servers,
                                .release_word = floor_release_word(bench.floor),
                                .rounds = settings.rounds,
                                .seconds = settings.seconds,
                                .variant = bench.variant,
                                .variant_count = bench.variant_count};
        (settings.json ? report_json : report_table)(&report);
        status = check(&bench);
    }
    bench_close(&bench);
    return status;
}
