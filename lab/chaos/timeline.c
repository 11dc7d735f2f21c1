/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/time.h"
#include "report.h"

#include <redlock.h>
#include <string.h>

/* Pixels. */
enum {
    WIDTH = 1400,
    LEFT = 120,
    RIGHT = 20,
    TOP = 64,
    PLOT = WIDTH - LEFT - RIGHT,
    LANE = 18,  /* from one lane to the next */
    BAR = 13,   /* height of what is drawn in it */
    GAP = 26,   /* between sections, with room for a heading */
    MARKED = 9, /* room for marks below a lane */
    LEGEND = 58,
    LANES = 8,   /* of names: see rows */
    SERVERS = 3, /* of a Sentinel group, and as many sentinels */
};

static const char *const worker_colour[WORKERS] = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1",
                                                   "#9c755f", "#76b7b2", "#edc948", "#ff9da7"};

/* What a row of the lower half shows: one name, one kind of it, one slot. */
struct row {
    const char *label;
    int name;
    int kind; /* -1: any */
    int slot; /* 0: any */
    bool marked;
};

static const struct row rows[LANES] = {
    {"orders", NAME_ORDERS, -1, 0, true},
    {"stock", NAME_STOCK, -1, 0, true},
    {"ledger", NAME_LEDGER, -1, 0, true},
    {"catalog: writer", NAME_CATALOG, REDLOCK_MUTEX, 0, false},
    {"catalog: readers", NAME_CATALOG, REDLOCK_SHARED, 0, false},
    {"printers: slot 1", NAME_PRINTERS, -1, 1, false},
    {"printers: slot 2", NAME_PRINTERS, -1, 2, false},
    {"tree (nested)", NAME_TREE, -1, 0, false},
};

/* While drawing: where time is on the page, and how far down it is filled. */
struct canvas {
    FILE *out;
    int64_t start_ns, end_ns;
    double y;
    struct claims claims;
    struct stretches stretches;
    const struct verdict *verdict;
    bool is_group; /* of electors: there are terms */
    bool is_cluster;
};

static double x_of(const struct canvas *c, int64_t at_ns)
{
    if (at_ns > c->end_ns)
        at_ns = c->end_ns;
    if (at_ns < c->start_ns)
        at_ns = c->start_ns;
    return LEFT + (double)(at_ns - c->start_ns) / (double)(c->end_ns - c->start_ns) * PLOT;
}

static void heading(struct canvas *c, const char *text)
{
    c->y += GAP;
    fprintf(c->out, "<text x='8' y='%.0f' class='h'>%s</text>\n", c->y - 6, text);
}

static void label(struct canvas *c, const char *text)
{
    fprintf(c->out,
            "<text x='%d' y='%.0f' text-anchor='end'>%s</text>"
            "<path d='M%d %.1fh%d' class='g'/>\n",
            LEFT - 8, c->y + BAR - 3, text, LEFT, c->y + BAR + 1.5, PLOT);
}

static void bar(struct canvas *c, int64_t from_ns, int64_t to_ns, const char *colour)
{
    double x = x_of(c, from_ns), width = x_of(c, to_ns) - x;
    fprintf(c->out, "<rect x='%.1f' y='%.0f' width='%.1f' height='%d' fill='%s'/>\n", x, c->y,
            width < 1.5 ? 1.5 : width, BAR, colour);
}

static bool loses_trust(int kind)
{
    return kind == FAULT_KILL_NODE || kind == FAULT_FLUSH || kind == FAULT_CLOCK ||
           kind == FAULT_OUTAGE_KILL;
}

static void draw_target(struct canvas *c, bool client, int target)
{
    /* Quarantines first: the next fault is drawn over the end of one. */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->stretches.count; i++) {
            const struct stretch *s = &c->stretches.stretch[i];
            if (fault_hits_client(s->kind) != client || fault_hits_replica(s->kind) ||
                s->target != target)
                continue;
            if (pass == 1)
                bar(c, s->from_ns, s->to_ns, fault_colour(s->kind));
            else if (loses_trust(s->kind) && s->to_ns < c->end_ns)
                bar(c, s->to_ns, s->to_ns + GUARD_MS * RL_NS_PER_MS, "#e4e4e4");
        }
}

static void draw_targets(struct canvas *c, const char *title, const char *word, bool client,
                         int count)
{
    heading(c, title);
    for (int i = 0; i < count; i++) {
        char text[32];
        if (c->is_group && !client)
            snprintf(text, sizeof text, "%s %d",
                     c->is_cluster || i < SERVERS ? "server" : "sentinel",
                     c->is_cluster ? i + 1 : i % SERVERS + 1);
        else
            snprintf(text, sizeof text, "%s %d", word, i + 1);
        label(c, text);
        if (client)
            fprintf(c->out, "<rect x='%d' y='%.0f' width='5' height='%d' fill='%s'/>\n",
                    LEFT - 6, c->y, BAR, worker_colour[i]);
        draw_target(c, client, i);
        c->y += LANE;
    }
}

/* In the colours of the workers; readers have one, and are the darker the more there are. */
static void draw_row(struct canvas *c, const struct row *r)
{
    bool shared = r->kind == REDLOCK_SHARED;
    label(c, r->label);
    for (int w = 0; w < WORKERS; w++) {
        fprintf(c->out, "<path stroke='%s' stroke-opacity='%s' stroke-width='%d' d='",
                shared ? "#2c3e50" : worker_colour[w], shared ? ".3" : "1", BAR);
        for (size_t i = 0; i < c->claims.count; i++) {
            const struct claim *k = &c->claims.claim[i];
            double x = x_of(c, k->granted_ns), width = x_of(c, k->end_ns) - x;
            if (k->granted_ns != 0 && k->worker == w && k->names >> r->name & 1 &&
                (r->kind < 0 || k->kind == r->kind) && (r->slot == 0 || k->slot == r->slot))
                fprintf(c->out, "M%.1f %.1fh%.1f", x, c->y + BAR / 2.0,
                        width < 0.5 ? 0.5 : width);
        }
        fprintf(c->out, "'/>\n");
    }
}

static void draw_marks(struct canvas *c, const struct mark *marks, size_t count, int name,
                       const char *colour, int down)
{
    fprintf(c->out, "<path fill='%s' d='", colour);
    for (size_t i = 0; i < count; i++)
        if (marks[i].name == name)
            fprintf(c->out, "M%.1f %.0fl4 7h-8z", x_of(c, marks[i].at_ns), c->y + BAR + down);
    fprintf(c->out, "'/>\n");
}

static void draw_breaches(struct canvas *c, int name)
{
    for (size_t i = 0; i < c->verdict->note_count; i++)
        if (c->verdict->note[i].name == name)
            fprintf(c->out, "<path d='M%.1f %.0fv%d' stroke='#ff0000' stroke-width='2'/>\n",
                    x_of(c, c->verdict->note[i].at_ns), c->y - 3, BAR + 6);
}

static void draw_names(struct canvas *c)
{
    heading(c, "Holders of each name (colour: the worker)");
    for (size_t i = 0; i < LANES; i++) {
        draw_row(c, &rows[i]);
        draw_breaches(c, rows[i].name);
        if (rows[i].marked) {
            draw_marks(c, c->verdict->overrun, c->verdict->overrun_count, rows[i].name,
                       "#d00000", 2);
            draw_marks(c, c->verdict->refused, c->verdict->refused_count, rows[i].name,
                       "#1e8449", 2);
            c->y += MARKED;
        }
        c->y += LANE;
    }
}

/* Vertical lines of time, behind everything else. */
static void draw_grid(struct canvas *c, double top, double bottom)
{
    static const int steps[] = {1, 2, 5, 10, 20, 30, 60, 120, 300, 600};
    double seconds = (double)(c->end_ns - c->start_ns) / 1e9;
    int step = 600;
    for (size_t i = sizeof steps / sizeof *steps; i-- > 0;)
        if (seconds / steps[i] <= 26)
            step = steps[i];
    for (int s = 0; s <= seconds; s += step) {
        double x = x_of(c, c->start_ns + s * RL_NS_PER_S);
        fprintf(c->out,
                "<path d='M%.1f %.0fV%.0f' class='g'/>"
                "<text x='%.1f' y='%.0f' text-anchor='middle'>%d s</text>\n",
                x, top, bottom, x, bottom + 13, s);
    }
    if (c->verdict->quiet_ns != 0) {
        double x = x_of(c, c->verdict->quiet_ns);
        fprintf(c->out,
                "<path d='M%.1f %.0fV%.0f' stroke='#555' stroke-dasharray='4 3'/>"
                "<text x='%.1f' y='%.0f' text-anchor='end'>faults end</text>\n",
                x, top, bottom, x - 4, top - 4);
    }
    for (size_t i = 0; i < c->stretches.count; i++) {
        const struct stretch *s = &c->stretches.stretch[i];
        if (s->kind >= FAULT_OUTAGE_FREEZE && s->target == 0)
            fprintf(c->out, "<text x='%.1f' y='%.0f' text-anchor='middle'>outage</text>\n",
                    (x_of(c, s->from_ns) + x_of(c, s->to_ns)) / 2, top - 4);
    }
}

/* When a majority of the electors named another master, and which. */
static void draw_terms(struct canvas *c, const struct history *h, double top, double bottom)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct record *r = &h->record[i];
        double x = x_of(c, r->at_ns);
        if (r->what == RECORD_TERM)
            fprintf(c->out,
                    "<path d='M%.1f %.0fV%.0f' stroke='#2980b9'/>"
                    "<text x='%.1f' y='%.0f' fill='#2980b9'>server %u</text>\n",
                    x, top, bottom, x + 3, top - 4, r->worker + 1u);
    }
}

/* One entry; begins a new line of the legend where the old one is full. */
static void legend(struct canvas *c, double *x, const char *shape, const char *colour,
                   const char *text)
{
    double width = 30 + 6.6 * (double)strlen(text);
    if (*x + width > WIDTH - RIGHT) {
        *x = LEFT;
        c->y += 18;
    }
    fprintf(c->out, "<g transform='translate(%.0f %.0f)'><path fill='%s' d='%s'/>", *x, c->y,
            colour, shape);
    fprintf(c->out, "<text x='15' y='10'>%s</text></g>\n", text);
    *x += width;
}

static void draw_legend(struct canvas *c)
{
    const char *box = "M0 0h11v11h-11z", *triangle = "M5 2l4 7h-8z";
    double x = LEFT;
    bool seen[FAULT_COUNT] = {false};
    fprintf(c->out, "<text x='8' y='%.0f' class='h'>Legend</text>\n", c->y + 10);
    for (size_t i = 0; i < c->stretches.count; i++)
        seen[c->stretches.stretch[i].kind] = true;
    /* Nodes, workers and outages share colours. */
    legend(c, &x, box, fault_colour(FAULT_KILL_NODE), "killed");
    legend(c, &x, box, fault_colour(FAULT_FREEZE_NODE), "stopped");
    for (int i = 0; i < FAULT_COUNT; i++)
        if (seen[i] && i != FAULT_MACHINE &&
            strcmp(fault_colour(i), fault_colour(FAULT_KILL_NODE)) != 0 &&
            strcmp(fault_colour(i), fault_colour(FAULT_FREEZE_NODE)) != 0)
            legend(c, &x, box, fault_colour(i), fault_text(i));
    legend(c, &x, box, "#e4e4e4", "quarantine due");
    x = LEFT;
    c->y += 20;
    legend(c, &x, triangle, "#d00000", "update of the plain register lost");
    legend(c, &x, triangle, "#1e8449", "late write refused by its token");
    legend(c, &x, "M4 0h2v13h-2z", "#ff0000", "promise broken");
    legend(c, &x, box, "#2c3e5080", "readers: the darker, the more");
}

static size_t all_grants(const struct verdict *v)
{
    size_t sum = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        sum += v->grants[kind];
    return sum;
}

bool timeline_write(const char *path, const struct history *h, const struct verdict *v,
                    const char *title)
{
    FILE *out = fopen(path, "w");
    int nodes, bottom, height;
    struct canvas c;
    if (out == NULL)
        return false;
    c = (struct canvas){
        .out = out, .verdict = v, .start_ns = v->start_ns, .end_ns = v->over_ns};
    c.claims = claims_read(h);
    c.stretches = stretches_read(h);
    for (size_t i = 0; i < h->count; i++)
        if (h->record[i].what == RECORD_TERM) {
            c.is_group = true;
            c.is_cluster = h->record[i].kind != 0;
        }
    nodes = c.is_group ? 2 * SERVERS : NODES;
    bottom = TOP - 14 + 3 * GAP + (nodes + WORKERS + LANES) * LANE + 3 * MARKED + 4;
    height = bottom + 24 + LEGEND;
    fprintf(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' "
        "font-size='12'>\n<style>.h{font-weight:bold}.g{stroke:#ddd;stroke-width:1}</style>\n"
        "<rect width='100%%' height='100%%' fill='#fff'/>\n"
        "<text x='8' y='26' font-size='18' class='h'>%s</text>\n",
        WIDTH, height, title);
    fprintf(
        out,
        "<text x='8' y='46'>%zu acquisitions, %zu faults, %zu promises broken. Updates lost: "
        "%zu with tokens (%zu late writes refused), %zu without.</text>\n",
        all_grants(v), c.stretches.count - v->faults[FAULT_MACHINE], v->breach_count,
        v->breaches[BREACH_FENCED], v->fenced_refused, v->plain_lost);
    draw_grid(&c, TOP + 12, bottom);
    draw_terms(&c, h, TOP + 12, bottom);
    c.y = TOP - 14;
    draw_targets(&c,
                 c.is_group
                     ? "The group (line: a majority of its electors names another master)"
                     : "Nodes",
                 "node", false, nodes);
    draw_targets(&c, "Workers", "worker", true, WORKERS);
    draw_names(&c);
    c.y = bottom + 24;
    draw_legend(&c);
    fprintf(out, "</svg>\n");
    claims_free(&c.claims);
    stretches_free(&c.stretches);
    return fclose(out) == 0;
}
