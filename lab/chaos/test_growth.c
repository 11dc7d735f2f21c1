/* SPDX-License-Identifier: BSD-2-Clause */
/* The judgement of a soak, on samples made by hand: each limit once kept and once exceeded. */
#include "growth.h"

#include "check.h"

#include <stdio.h>

enum { HOUR_S = 3600, EVERY_S = 10 };

static char path[256];

/* An hour of one process that has `first` of something at its start and `last` at its end. */
static void put_process(FILE *out, int pid, const char *words, int from_s, int to_s,
                        const long rss_kib[2], const long descriptors[2], char state)
{
    for (int at_s = from_s; at_s <= to_s; at_s += EVERY_S) {
        double part = (double)(at_s - from_s) / (to_s - from_s);
        fprintf(out, "%d.0,%d,%s,%c,%ld,%d,%ld,%d\n", at_s, pid, words, state,
                rss_kib[0] + (long)(part * (double)(rss_kib[1] - rss_kib[0])), 100,
                descriptors[0] + (long)(part * (double)(descriptors[1] - descriptors[0])),
                at_s * 10);
    }
}

static FILE *open_samples(void)
{
    FILE *out;
    snprintf(path, sizeof path, "%s/samples.csv", check_dir());
    out = fopen(path, "we");
    CHECK(out != NULL);
    fprintf(out, "at_s,pid,process,state,rss_kib,pss_kib,descriptors,cpu_ms\n");
    return out;
}

static struct growths judged(FILE *out)
{
    struct growths g;
    CHECK_INT(0, fclose(out));
    CHECK(growths_read(path, &g));
    return g;
}

CASE(flat, "A process that keeps its memory and descriptors for an hour has not grown.")
{
    FILE *out = open_samples();
    struct growths g;
    put_process(out, 7, "steady", 0, HOUR_S, (long[]){5000, 5000}, (long[]){20, 20}, 'S');
    g = judged(out);
    CHECK_INT(1, g.count);
    CHECK_INT(0, g.grew);
    CHECK_INT(100, (int64_t)(g.growth[0].cpu_percent * 100));
}

CASE(memory, "Memory that grows by more than the limit in an hour is found, and less is not.")
{
    /* The middles of the two quarters are half an hour apart. */
    long limit = MEMORY_KIB_PER_HOUR + 2 * MEMORY_KIB;
    FILE *out = open_samples();
    struct growths g;
    put_process(out, 7, "modest", 0, HOUR_S, (long[]){5000, 4900 + limit}, (long[]){20, 20},
                'S');
    put_process(out, 8, "leaking", 0, HOUR_S, (long[]){5000, 5200 + limit}, (long[]){20, 20},
                'S');
    g = judged(out);
    CHECK_INT(1, g.grew);
    CHECK_STR("leaking", g.growth[0].words);
    CHECK(g.growth[0].memory_grew && !g.growth[0].descriptors_grew);
}

CASE(descriptors, "Descriptors that grow by more than the limit in an hour are found.")
{
    long limit = DESCRIPTORS_PER_HOUR + 2 * DESCRIPTORS;
    FILE *out = open_samples();
    struct growths g;
    put_process(out, 7, "modest", 0, HOUR_S, (long[]){5000, 5000}, (long[]){20, 18 + limit},
                'S');
    put_process(out, 8, "leaking", 0, HOUR_S, (long[]){5000, 5000}, (long[]){20, 24 + limit},
                'S');
    g = judged(out);
    CHECK_INT(1, g.grew);
    CHECK(g.growth[0].descriptors_grew && !g.growth[0].memory_grew);
}

CASE(short_lives, "A process that lived for less than half of the run is not judged.")
{
    FILE *out = open_samples();
    struct growths g;
    put_process(out, 7, "steady", 0, HOUR_S, (long[]){5000, 5000}, (long[]){20, 20}, 'S');
    put_process(out, 8, "brief", 0, HOUR_S / 3, (long[]){5000, 99000}, (long[]){20, 20}, 'S');
    g = judged(out);
    CHECK_INT(1, g.count);
    CHECK_INT(2, g.processes);
    CHECK_INT(0, g.grew);
}

CASE(reused_numbers, "Two processes that had one number one after the other are judged apart.")
{
    FILE *out = open_samples();
    struct growths g;
    put_process(out, 7, "steady", 0, HOUR_S, (long[]){5000, 5000}, (long[]){20, 20}, 'S');
    put_process(out, 8, "first", 0, 600, (long[]){5000, 5000}, (long[]){20, 20}, 'S');
    put_process(out, 8, "first", 2400, HOUR_S, (long[]){9000, 9000}, (long[]){20, 20}, 'S');
    g = judged(out);
    CHECK_INT(3, g.processes);
    CHECK_INT(1, g.count);
    CHECK_INT(0, g.grew);
}

CASE(zombies, "A process that is dead and not reaped for half a minute is counted.")
{
    FILE *out = open_samples();
    put_process(out, 7, "steady", 0, HOUR_S, (long[]){5000, 5000}, (long[]){20, 20}, 'S');
    put_process(out, 8, "awaited", 100, 120, (long[]){0, 0}, (long[]){0, 0}, 'Z');
    CHECK_INT(0, judged(out).zombies);
    out = open_samples();
    put_process(out, 7, "steady", 0, HOUR_S, (long[]){5000, 5000}, (long[]){20, 20}, 'S');
    put_process(out, 8, "forgotten", 100, 140, (long[]){0, 0}, (long[]){0, 0}, 'Z');
    CHECK_INT(1, judged(out).zombies);
}

CASE(nothing, "A file without a process that can be judged gives no verdict.")
{
    struct growths g;
    CHECK_INT(0, fclose(open_samples()));
    CHECK(!growths_read(path, &g));
    CHECK(!growths_read("/does/not/exist", &g));
}
