/* SPDX-License-Identifier: BSD-2-Clause */
/* GET /v1/events: what many feeds are sent together. */
#include "lease_rig.h"

#include "check.h"
#include "io/clock.h"

#include <stdio.h>
#include <string.h>

CASES_BEGIN_WITH(replica_begin);

static struct feeds *feeds(void)
{
    return &one.journal.feeds;
}

/* Of this path; nothing is sent before write_now(). */
static int feed_open(const char *path)
{
    int fd = rig_request(one.rig, rig_get(path));

    rig_read_until(one.rig, fd, "event: node");
    rig_read(one.rig, fd, NULL);
    feeds()->write_ns = rl_now_ns() + 3600 * RL_NS_PER_S;
    return fd;
}

static void note(const char *name)
{
    journal_note(&one.journal, &(struct journal_entry){.event = JOURNAL_GRANTED, .name = name});
}

static void write_now(void)
{
    int64_t now_ns = rl_now_ns();

    feeds()->write_ns = 0;
    feeds_turn(feeds(), now_ns);
    CHECK(feeds()->write_ns > now_ns); /* what happens next waits for more of it */
}

CASE(together, "What happens within a while is sent together, to each feed what it may see.")
{
    const char *text;
    int all, also, some;

    all = feed_open("/v1/events");
    also = feed_open("/v1/events");
    some = feed_open("/v1/events?prefix=b");
    note("a");
    note("b");
    feeds_turn(feeds(), rl_now_ns());
    CHECK_LACKS("granted", rig_read(one.rig, all, NULL));
    write_now();
    text = rig_read(one.rig, all, NULL);
    CHECK_HAS("\"name\":\"a\"", text);
    CHECK(strstr(text, "\"a\"") < strstr(text, "\"b\""));
    CHECK_HAS("\"a\"", rig_read(one.rig, also, NULL));
    text = rig_read(one.rig, some, NULL);
    CHECK_LACKS("\"a\"", text);
    CHECK_HAS("\"b\"", text);
}

CASE(before_its_time, "A feed gets nothing that happened before it began.")
{
    int older, newer;

    older = feed_open("/v1/events");
    note("a");
    newer = feed_open("/v1/events");
    CHECK_HAS("\"a\"", rig_read(one.rig, older, NULL));
    note("b");
    write_now();
    CHECK_HAS("\"b\"", rig_read(one.rig, older, NULL));
    CHECK_LACKS("\"a\"", rig_read(one.rig, newer, NULL));
}

CASE(many_at_once, "More events than are kept for later are sent at once, each in its turn.")
{
    const char *text;
    char name[16];
    int fd = feed_open("/v1/events");

    for (int i = 0; i <= FEEDS_BATCH_EVENTS; i++) {
        snprintf(name, sizeof name, "job%d", i);
        note(name);
    }
    text = rig_read_until(one.rig, fd, "\"job100\"");
    CHECK_HAS("\"job0\"", text);
    CHECK_LACKS("\"job256\"", text);
    write_now();
    rig_read_until(one.rig, fd, "\"job256\"");
}
