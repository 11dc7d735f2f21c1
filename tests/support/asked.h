/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions that were started, and what their callbacks were told. */
#ifndef ASKED_H
#define ASKED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "redlock.h"

enum { LONG_MS = 15000 };

/* What the callbacks of one question were told. */
struct told {
    _Atomic int calls;
    _Atomic int error;
    _Atomic int checks;
    _Atomic size_t names;
    bool has_info, has_report, has_detail;
    int votes; /* of the report that were answers */
    redlock_info info;
    char name[REDLOCK_NAME_MAX + 1];
    char first[REDLOCK_NAME_MAX + 1], last[REDLOCK_NAME_MAX + 1];
    redlock *client;
};

/* For `done` and for `each` of an audit; data: a struct told. */
void told_note(int error, const redlock_answer *answer, void *data);
void told_check(const redlock_check *check, void *data);
bool is_told(void *data);

/* By a poll loop that never waits inside the library, or by the I/O thread. */
void await_told(redlock *r, uint32_t flags, bool (*done)(void *), void *data);

int ask_and_await(redlock *r, uint32_t flags, const char *name, struct told *t);

#endif
