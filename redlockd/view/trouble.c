/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"

int trouble_init(struct trouble *trouble)
{
    *trouble = (struct trouble){.entries = calloc(TROUBLE_MAX, sizeof *trouble->entries)};
    return trouble->entries ? 0 : -1;
}

void trouble_free(struct trouble *trouble)
{
    free(trouble->entries);
    *trouble = (struct trouble){0};
}

/* 0 is the worst; -1: no trouble. */
static int rank(enum audit_event event)
{
    switch (event) {
    case AUDIT_JEOPARDY:
        return 0;
    case AUDIT_LOST:
        return 1;
    case AUDIT_BROKEN:
        return 2;
    case AUDIT_EXPIRED:
        return 3;
    default:
        return -1;
    }
}

static void remove_at(struct trouble *trouble, unsigned index)
{
    trouble->count--;
    memmove(&trouble->entries[index], &trouble->entries[index + 1],
            (trouble->count - index) * sizeof *trouble->entries);
}

static void remove_entry(struct trouble *trouble, const char *name, enum audit_event event)
{
    for (unsigned i = 0; i < trouble->count; i++)
        if (trouble->entries[i].event == event && strcmp(trouble->entries[i].name, name) == 0) {
            remove_at(trouble, i);
            return;
        }
}

/* Behind those that are worse, before those that are as bad. */
static void insert(struct trouble *trouble, const struct audit_line *line)
{
    struct trouble_entry *entry;
    unsigned at = 0;

    while (at < trouble->count && rank(trouble->entries[at].event) < rank(line->event))
        at++;
    if (at == TROUBLE_MAX)
        return;
    if (trouble->count == TROUBLE_MAX)
        trouble->count--;
    entry = &trouble->entries[at];
    memmove(entry + 1, entry, (trouble->count - at) * sizeof *entry);
    trouble->count++;
    *entry = (struct trouble_entry){.event = line->event, .at_ns = rl_now_ns()};
    snprintf(entry->name, sizeof entry->name, "%s", line->name);
    snprintf(entry->label, sizeof entry->label, "%s", line->label ? line->label : "");
    snprintf(entry->reason, sizeof entry->reason, "%s", line->reason ? line->reason : "");
}

void trouble_note(struct trouble *trouble, const struct audit_line *line)
{
    if (!line->name || line->event == AUDIT_DENIED)
        return;
    /* Whatever happened to the lock, the renewal that had failed is history. */
    remove_entry(trouble, line->name, AUDIT_JEOPARDY);
    if (rank(line->event) < 0)
        return;
    remove_entry(trouble, line->name, line->event);
    insert(trouble, line);
}

void trouble_age(struct trouble *trouble, int64_t now_ns)
{
    for (unsigned i = trouble->count; i-- > 0;)
        if (trouble->entries[i].event != AUDIT_JEOPARDY &&
            now_ns - trouble->entries[i].at_ns > TROUBLE_KEPT_NS)
            remove_at(trouble, i);
}
