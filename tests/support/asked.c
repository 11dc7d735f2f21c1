/* SPDX-License-Identifier: BSD-2-Clause */
#include "asked.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "client.h"
#include "clock.h"

void told_note(int error, const redlock_answer *answer, void *data)
{
    struct told *t = data;

    CHECK_INT(sizeof *answer, answer->size);
    t->has_info = answer->info != NULL;
    if (answer->info)
        t->info = *answer->info;
    t->has_report = answer->report != NULL;
    for (size_t i = 0; answer->report && i < answer->report->node_count; i++)
        t->votes += answer->report->node[i].rtt_us >= 0;
    snprintf(t->name, sizeof t->name, "%s", answer->name ? answer->name : "");
    for (size_t i = 1; i < answer->name_count; i++)
        CHECK(strcmp(answer->names[i - 1], answer->names[i]) < 0);
    if (answer->name_count > 0) {
        snprintf(t->first, sizeof t->first, "%s", answer->names[0]);
        snprintf(t->last, sizeof t->last, "%s", answer->names[answer->name_count - 1]);
    }
    t->names = answer->name_count;
    t->has_detail = error && redlock_detail()[0] != '\0';
    t->error = error;
    t->calls++;
}

void told_check(const redlock_check *check, void *data)
{
    struct told *t = data;

    CHECK_INT(0, t->calls); /* all of them before `done` */
    CHECK(check->name[0] != '\0' && check->text[0] != '\0');
    t->checks++;
}

bool is_told(void *data)
{
    return ((struct told *)data)->calls > 0;
}

void await_told(redlock *r, uint32_t flags, bool (*done)(void *), void *data)
{
    int64_t end_ms = now_ms() + LONG_MS;
    struct pollfd p = {.fd = flags & REDLOCK_THREAD ? -1 : redlock_fd(r), .events = POLLIN};

    if (flags & REDLOCK_THREAD) {
        CHECK(wait_until(done, data, LONG_MS));
        return;
    }
    while (!done(data)) {
        if (now_ms() >= end_ms)
            FAIL("an answer did not come");
        poll(&p, 1, 1000);
        CHECK(redlock_process(r, 0) >= 0);
    }
}

int ask_and_await(redlock *r, uint32_t flags, const char *name, struct told *t)
{
    *t = (struct told){0};
    CHECK_OK(redlock_start_query(r, name, told_note, t));
    await_told(r, flags, is_told, t);
    CHECK_INT(1, t->calls);
    return t->error;
}
