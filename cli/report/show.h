/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock as users see it: what a look found of it, as a sentence, as a row of a table, or as
 * JSON, the same in every subcommand.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/settings.h"
#include "ui/table.h"
#include "ui/text.h"

struct rl_json;

/*
 * What a look found of a lock. A redlock_info has room for many holders and waiters, most of it
 * unused: this points to those that are there, or owns a copy of them where thousands of locks
 * are kept.
 */
struct snapshot {
    const char *name;
    int error;                    /* why it is unknown; 0: it is known, as follows */
    const char *detail;           /* the library's words for that */
    const redlock_report *report; /* NULL: what each node has was not kept */
    bool held, disagree;
    bool record; /* of a run: it has no holder, and nodes may have forgotten it (ui/record.h) */
    int32_t kind;  /* -1: nothing is held, or it is unknown */
    int32_t votes; /* on how many nodes */
    uint32_t holder_count, slots;
    uint32_t waiter_count;
    int64_t left_ms; /* how long it stays held at most; -1: unknown or without expiry */
    int64_t fence;
    char value[REDLOCK_VALUE_MAX + 1];
    char owner[REDLOCK_OWNER_MAX + 1];
    const redlock_holder *holder; /* `shown_holders` of them, the one of `value` first */
    const redlock_waiter *waiter; /* `shown_waiters` of them, from the head of the queue */
    uint32_t shown_holders, shown_waiters;
    void *owned;
};

/* A view of an answer, which must outlive it. */
struct snapshot snapshot_of(const char *name, const redlock_info *info,
                            const redlock_report *report);

/* The same where the holder alone is known, from a refusal. */
struct snapshot snapshot_of_holder(const char *name, const redlock_holder *holder);

/* A copy that owns what it points to but for the name, without the report. False: out of
 * memory, and *out is as it was. */
bool snapshot_copy(struct snapshot *out, const struct snapshot *s);
void snapshot_free(struct snapshot *s);

/* The one that has held it for longest, of those that are shown; NULL: none. */
const redlock_holder *snapshot_longest(const struct snapshot *s);

#define SHOW_TEXT_MAX 640
#define SHOW_NAME_MAX (REDLOCK_LABEL_MAX + TEXT_HOLDER_MAX) /* of a holder */

/* How much of it is shown. Zero: all. */
struct show_style {
    size_t name_columns; /* a holder's name is cut to this; 0: it is not cut */
    bool brief;          /* without the time that has passed */
};

/*
 * "deploy@web3:4711 (make)": the label, or of a value without one the first eight characters.
 */
void show_name(char out[SHOW_NAME_MAX], const char *label, const char *value);

/*
 * "held by deploy@web3:4711 (make), for 2 min 5 s, up to 8.4 s more", "held by 2 readers (a,
 * b), up to 1.0 s more", "2 of 4 slots taken (a, b), ..."; "free".
 */
void show_holders(char out[SHOW_TEXT_MAX], const struct snapshot *s, struct show_style style);

/* The waiters from the head of the queue on: "alice@web1:7 (make), bob@web2:9 (sh) and 3
 * more". */
void show_waiters(char out[SHOW_TEXT_MAX], const struct snapshot *s);

/* A sentence on standard output, and node by node what each found where they differ, or with
 * -v. */
void show_lock(const struct settings *settings, const struct snapshot *s);

/* An object on a line of its own. `client`: NULL if a service was queried. */
void show_lock_json(redlock *client, const struct snapshot *s);

/* The beginning of such an object, with the time, for a lock that may be unknown. */
void show_time_json(const struct snapshot *s, struct rl_json *j);

/* What is held, by which holders, and the waiters: members of the object being written. */
void show_members_json(const struct snapshot *s, struct rl_json *j);

/*
 * Many locks, a line each: name, holder, kind, since when, what is left, how many wait, and how
 * often the holder changes in a second; a column of which nothing is known is left out.
 */
void show_rows_begin(struct table *t);
void show_row(struct table *t, const struct snapshot *s, const char *changes);
enum text_colour show_colour(const struct snapshot *s);

/* A line for each node that is in quarantine: its grants do not count. NULL: for none. */
void show_quarantine(redlock *client);

#endif
