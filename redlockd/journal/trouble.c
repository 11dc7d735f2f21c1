/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal/trouble.h"

#include <stdio.h>
#include <string.h>

#include "io/clock.h"

/* 0 is the worst; -1: no trouble. */
static int rank(enum journal_event event)
{
    switch (event) {
    case JOURNAL_JEOPARDY:
        return 0;
    case JOURNAL_LOST:
        return 1;
    case JOURNAL_BROKEN:
        return 2;
    case JOURNAL_EXPIRED:
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

static void remove_entry(struct trouble *trouble, const char *name, enum journal_event event)
{
    for (unsigned i = 0; i < trouble->count; i++)
        if (trouble->entries[i].event == event && strcmp(trouble->entries[i].name, name) == 0) {
            remove_at(trouble, i);
            return;
        }
}

/* Behind those that are worse, before those that are as bad. */
static void insert(struct trouble *trouble, const struct journal_entry *entry)
{
    struct trouble_entry *place;
    unsigned at = 0;

    while (at < trouble->count && rank(trouble->entries[at].event) < rank(entry->event))
        at++;
    if (at == TROUBLE_MAX)
        return;
    if (trouble->count == TROUBLE_MAX)
        trouble->count--;
    place = &trouble->entries[at];
    memmove(place + 1, place, (trouble->count - at) * sizeof *place);
    trouble->count++;
    *place = (struct trouble_entry){.event = entry->event, .at_ns = rl_now_ns()};
    snprintf(place->name, sizeof place->name, "%s", entry->name);
    snprintf(place->label, sizeof place->label, "%s", entry->label ? entry->label : "");
    snprintf(place->reason, sizeof place->reason, "%s", entry->reason ? entry->reason : "");
}

void trouble_note(struct trouble *trouble, const struct journal_entry *entry)
{
    /* Whatever happened to the lock, the renewal that had failed is history. */
    remove_entry(trouble, entry->name, JOURNAL_JEOPARDY);
    if (rank(entry->event) < 0)
        return;
    remove_entry(trouble, entry->name, entry->event);
    insert(trouble, entry);
}

void trouble_age(struct trouble *trouble, int64_t now_ns)
{
    for (unsigned i = trouble->count; i-- > 0;)
        if (trouble->entries[i].event != JOURNAL_JEOPARDY &&
            now_ns - trouble->entries[i].at_ns > TROUBLE_KEPT_NS)
            remove_at(trouble, i);
}
