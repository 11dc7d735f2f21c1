/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "lab/stats/series.h"

#define SECONDS_MAX 3600.0

#define PART_LINE(NAME, name, what) "                        " name ": " what "\n"

static const char usage[] =
    "Usage: redlock-bench [OPTION]...\n"
    "Measures the library on the nodes named in REDLOCK_NODES, next to a floor that sends the\n"
    "same commands over raw sockets; `redlock dev -- redlock-bench` starts nodes. Writes\n"
    "JSON, of which tables.py makes a table. Figures are medians of rounds in which the\n"
    "compared sides took turns.\n"
    "\n"
    "  -r, --rounds N      rounds (default 5)\n"
    "  -s, --seconds S     length of each measurement (default 1)\n"
    "  -q, --quick         3 rounds of 0.25 s, fewer held locks: to see that it works\n"
    "  -o, --only LIST     only these parts, by name:\n" PARTS(
        PART_LINE) "      --json FILE     write it there, instead of to standard output\n"
                   "  -c, --check         exit with 1 if a target is missed by more than a "
                   "fifth\n"
                   "      --locks LIST    held: how many locks (default 1000,10000,100000)\n"
                   "      --ttl TIME      held: 30s, 500ms (default 30s)\n"
                   "  -h, --help          print this\n"
                   "\n"
                   "BENCH_NATIVE_SERVER names a valkey-server (9.0 or newer) or redis-server "
                   "(8.4 or newer)\n"
                   "for the part `native`, where the nodes themselves are older.\n";

static int bad_usage(const char *what, const char *value)
{
    fprintf(stderr, "redlock-bench: %s: %s; see --help\n", what, value);
    return -1;
}

static int parse_number(const char *text, double low, double high, double *out)
{
    char *end;
    double value;
    errno = 0;
    value = strtod(text, &end);
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
    const char *problem = rl_duration_parse(text, out_ms);
    return problem ? bad_usage(problem, text) : 0;
}

size_t split_words(char *text, const char **word, size_t max)
{
    size_t count = 0;
    char *rest = text;
    for (char *next; (next = strsep(&rest, ", \t\n"));) {
        if (!*next)
            continue;
        if (count == max)
            return max + 1;
        word[count++] = next;
    }
    return count;
}

static int parse_locks(struct options *options, char *text)
{
    const char *word[LOCKS_COUNT_MAX];
    size_t count = split_words(text, word, LOCKS_COUNT_MAX);
    if (count == 0 || count > LOCKS_COUNT_MAX)
        return bad_usage("not so many numbers", "--locks");
    for (size_t i = 0; i < count; i++)
        if (parse_count(word[i], HELD_LOCKS_MAX, &options->locks[i]) != 0)
            return -1;
    options->locks_count = (unsigned)count;
    return 0;
}

static int parse_parts(struct options *options, char *text)
{
#define PART_NAME(NAME, name, what) name,
    static const char *const names[] = {PARTS(PART_NAME)};
    const char *word[PART_COUNT];
    size_t count = split_words(text, word, PART_COUNT);
    options->parts = 0;
    for (size_t i = 0; i < count && i < PART_COUNT; i++) {
        unsigned part = 0;
        while (part < PART_COUNT && strcmp(names[part], word[i]) != 0)
            part++;
        if (part == PART_COUNT)
            return bad_usage("no such part", word[i]);
        options->parts |= 1u << part;
    }
    return options->parts && count <= PART_COUNT ? 0 : bad_usage("which parts?", "--only");
}

static int parse_nodes(struct options *options)
{
    const char *text = getenv("REDLOCK_NODES");
    if (!text || !*text)
        return bad_usage("REDLOCK_NODES names no nodes", "try redlock dev -- redlock-bench");
    if (strlen(text) >= sizeof options->nodes_text)
        return bad_usage("too long", "REDLOCK_NODES");
    strcpy(options->nodes_text, text);
    options->node_count = split_words(options->nodes_text, options->node, REDLOCK_NODES_MAX);
    if (options->node_count == 0 || options->node_count > REDLOCK_NODES_MAX)
        return bad_usage("not so many nodes", "REDLOCK_NODES");
    return 0;
}

static void be_quick(struct options *options)
{
    options->rounds = 3;
    options->seconds = 0.25;
    options->locks_count = 2;
    options->ttl_ms = 6000;
}

static int parse_option(struct options *options, int option)
{
    switch (option) {
    case 'r':
        return parse_count(optarg, ROUNDS_MAX, &options->rounds);
    case 's':
        return parse_number(optarg, 0.01, SECONDS_MAX, &options->seconds);
    case 'q':
        be_quick(options);
        return 0;
    case 'o':
        return parse_parts(options, optarg);
    case 'c':
        options->check = true;
        return 0;
    case 'L':
        return parse_locks(options, optarg);
    case 'T':
        return parse_ttl(optarg, &options->ttl_ms);
    case 'J':
        options->json = optarg;
        return 0;
    case 'h':
        fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    default:
        return -1;
    }
}

int options_parse(struct options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"rounds", required_argument, NULL, 'r'}, {"seconds", required_argument, NULL, 's'},
        {"quick", no_argument, NULL, 'q'},        {"only", required_argument, NULL, 'o'},
        {"check", no_argument, NULL, 'c'},        {"locks", required_argument, NULL, 'L'},
        {"ttl", required_argument, NULL, 'T'},    {"json", required_argument, NULL, 'J'},
        {"help", no_argument, NULL, 'h'},         {0},
    };
    int option;
    *options = (struct options){.rounds = 5,
                                .seconds = 1,
                                .parts = (1u << PART_COUNT) - 1,
                                .locks = {1000, 10000, 100000},
                                .locks_count = 3,
                                .ttl_ms = 30000};
    while ((option = getopt_long(argc, argv, "r:s:qo:ch", known, NULL)) != -1)
        if (parse_option(options, option) != 0)
            return -1;
    if (optind < argc)
        return bad_usage("unexpected argument", argv[optind]);
    return parse_nodes(options);
}
