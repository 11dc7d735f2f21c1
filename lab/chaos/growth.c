/* SPDX-License-Identifier: BSD-2-Clause */
#include "growth.h"
#include "lab/stats/series.h"

#include <stdlib.h>
#include <string.h>

enum { GAP_SAMPLES = 6 }; /* a busy machine may delay one, but not so many */

/* A line of the file. */
struct row {
    double at_s;
    int pid;
    char words[40];
    char state;
    long rss_kib, pss_kib, descriptors, cpu_ms;
};

struct rows {
    struct row *row; /* process by process, each in the order of time */
    size_t count;
};

static int by_process(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int words = strcmp(x->words, y->words);
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return words != 0 ? words : (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

static struct rows rows_read(const char *path)
{
    struct rows r = {0};
    char line[256];
    size_t room = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        struct row row;
        if (sscanf(line, "%lf,%d,%39[^,],%c,%ld,%ld,%ld,%ld", &row.at_s, &row.pid, row.words,
                   &row.state, &row.rss_kib, &row.pss_kib, &row.descriptors, &row.cpu_ms) != 8)
            continue; /* the heading, or a line that the end of the sampler cut */
        if (r.count == room) {
            room = room == 0 ? 1024 : 2 * room;
            r.row = realloc(r.row, room * sizeof *r.row);
            if (r.row == NULL)
                abort();
        }
        r.row[r.count++] = row;
    }
    if (file != NULL)
        fclose(file);
    if (r.count > 0)
        qsort(r.row, r.count, sizeof *r.row, by_process);
    return r;
}

/* Of one column, `offset` bytes into a row. */
static long median_of(const struct row *row, size_t count, size_t offset)
{
    int64_t *values = calloc(count + 1, sizeof *values);
    int64_t middle;
    if (values == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        values[i] = *(const long *)((const char *)&row[i] + offset);
    middle = quantile_of(values, count, 0.5);
    free(values);
    return (long)middle;
}

static bool exceeds(const long *medians, double hours, long per_hour, long floor)
{
    return (double)(medians[1] - medians[0]) > (double)per_hour * hours + (double)floor;
}

/* Of one process, with at least four rows. */
static struct growth judge(const struct row *row, size_t count)
{
    struct growth g = {.pid = row->pid, .from_s = row->at_s, .to_s = row[count - 1].at_s};
    size_t quarter = count / 4;
    const struct row *part[2] = {row + quarter, row + count - quarter};
    double hours;
    snprintf(g.words, sizeof g.words, "%s", row->words);
    for (int i = 0; i < 2; i++) {
        g.rss_kib[i] = median_of(part[i], quarter, offsetof(struct row, rss_kib));
        g.pss_kib[i] = median_of(part[i], quarter, offsetof(struct row, pss_kib));
        g.descriptors[i] = median_of(part[i], quarter, offsetof(struct row, descriptors));
    }
    hours = (g.to_s - g.from_s) / 2 / 3600; /* between the middles of the quarters */
    g.memory_grew = exceeds(g.rss_kib, hours, MEMORY_KIB_PER_HOUR, MEMORY_KIB);
    g.descriptors_grew = exceeds(g.descriptors, hours, DESCRIPTORS_PER_HOUR, DESCRIPTORS);
    if (g.to_s > g.from_s)
        g.cpu_percent =
            (double)(row[count - 1].cpu_ms - row->cpu_ms) / 10 / (g.to_s - g.from_s);
    return g;
}

static bool has_zombie(const struct row *row, size_t count)
{
    double from_s = -1;
    for (size_t i = 0; i < count; i++) {
        if (row[i].state != 'Z')
            from_s = -1;
        else if (from_s < 0)
            from_s = row[i].at_s;
        else if (row[i].at_s - from_s >= ZOMBIE_S)
            return true;
    }
    return false;
}

static bool is_same(const struct row *a, const struct row *b)
{
    return a->pid == b->pid && strcmp(a->words, b->words) == 0;
}

/* How far samples lie apart: the process with the most of them was there all the time. */
static double interval_s(const struct rows *r, double end_s)
{
    size_t most = 2;
    for (size_t i = 0, count; i < r->count; i += count) {
        for (count = 1; i + count < r->count && is_same(&r->row[i], &r->row[i + count]);)
            count++;
        most = count > most ? count : most;
    }
    return end_s / (double)(most - 1);
}

/* Rows of one process, from the first on. One that is missing for a while is another that
 * got its number. */
static size_t count_life(const struct row *row, size_t left, double gap_s)
{
    size_t count = 1;
    while (count < left && is_same(row, &row[count]) &&
           row[count].at_s - row[count - 1].at_s <= gap_s &&
           row[count].cpu_ms >= row[count - 1].cpu_ms)
        count++;
    return count;
}

static int by_words(const void *a, const void *b)
{
    const struct growth *x = a, *y = b;
    return strcmp(x->words, y->words);
}

bool growths_read(const char *path, struct growths *out)
{
    struct rows rows = rows_read(path);
    double end_s = 0;
    double gap_s;
    *out = (struct growths){.samples = rows.count};
    for (size_t i = 0; i < rows.count; i++)
        end_s = rows.row[i].at_s > end_s ? rows.row[i].at_s : end_s;
    gap_s = GAP_SAMPLES * interval_s(&rows, end_s);
    for (size_t i = 0, count; i < rows.count; i += count) {
        const struct row *row = &rows.row[i];
        struct growth g;
        count = count_life(row, rows.count - i, gap_s);
        out->processes++;
        out->zombies += has_zombie(row, count);
        if (count < 8 || row[count - 1].at_s - row->at_s < end_s / 2 ||
            out->count == GROWTH_MAX)
            continue;
        g = judge(row, count);
        out->grew += g.memory_grew || g.descriptors_grew;
        out->growth[out->count++] = g;
    }
    qsort(out->growth, out->count, sizeof *out->growth, by_words);
    free(rows.row);
    return out->count > 0;
}

void growths_print(FILE *out, const struct growths *g)
{
    fprintf(out, "  %-24s %7s  %15s  %15s  %11s  %6s\n", "process", "minutes", "resident KiB",
            "proportional", "descriptors", "CPU");
    for (size_t i = 0; i < g->count; i++) {
        const struct growth *p = &g->growth[i];
        fprintf(out, "  %-24s %7.1f  %6ld > %6ld  %6ld > %6ld  %4ld > %4ld  %4.1f %%%s%s\n",
                p->words, (p->to_s - p->from_s) / 60, p->rss_kib[0], p->rss_kib[1],
                p->pss_kib[0], p->pss_kib[1], p->descriptors[0], p->descriptors[1],
                p->cpu_percent, p->memory_grew ? "  MEMORY GREW" : "",
                p->descriptors_grew ? "  DESCRIPTORS GREW" : "");
    }
}
