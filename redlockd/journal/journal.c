/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal/journal.h"

#include <string.h>

#include "base/histogram.h"

static const struct {
    const char *word;
    unsigned readers;
} events[JOURNAL_EVENT_COUNT] = {
#define X(name, word, readers) {word, readers},
    JOURNAL_EVENTS(X)
#undef X
};

const char *journal_word(enum journal_event event)
{
    return events[event].word;
}

int journal_init(struct journal *journal, struct access *access, struct audit *audit,
                 struct classes *classes)
{
    static const int reasons[] = {REDLOCK_LOST, REDLOCK_EXPIRED, REDLOCK_NOQUORUM};

    *journal = (struct journal){.audit = audit, .classes = classes};
    /* Those that are usual are there before they happen, so that their rise is seen. */
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        journal->lost[i].word = redlock_error_name(reasons[i]);
    return feeds_init(&journal->feeds, access);
}

void journal_free(struct journal *journal)
{
    feeds_free(&journal->feeds);
}

static void count_loss(struct journal *journal, const char *reason)
{
    size_t i = 0;

    while (i < JOURNAL_REASONS_MAX - 1 && journal->lost[i].word &&
           strcmp(journal->lost[i].word, reason) != 0)
        i++;
    if (!journal->lost[i].word)
        journal->lost[i].word = reason;
    journal->lost[i].count++;
}

/* A reader that has nothing to read is not called. */
void journal_note(struct journal *journal, const struct journal_entry *entry)
{
    unsigned readers = events[entry->event].readers;

    journal->count[entry->event]++;
    if (entry->held_ns > 0)
        rl_histogram_add(&journal->hold, entry->held_ns);
    if (entry->event == JOURNAL_LOST)
        count_loss(journal, entry->reason ? entry->reason : "UNKNOWN");
    if (journal->classes->count > 0)
        classes_note(journal->classes, entry);
    if (readers & JOURNAL_AUDITED && journal->audit->sink)
        audit_note(journal->audit, entry);
    if (!(readers & JOURNAL_SHOWN))
        return;
    if (readers & JOURNAL_BAD || journal->trouble.count > 0)
        trouble_note(&journal->trouble, entry);
    if (journal->on_change)
        journal->on_change(journal->context, entry->name);
    if (journal->feeds.list)
        feeds_note(&journal->feeds, entry);
}
