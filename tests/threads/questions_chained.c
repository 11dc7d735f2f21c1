/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions that are started from the callbacks of others. */
#include "asked.h"
#include "check.h"
#include "client.h"
#include "clock.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void then_audit(int error, const redlock_answer *answer, void *data)
{
    struct told *t = data;

    (void)answer;
    CHECK_OK(error);
    CHECK_ERR(REDLOCK_INVAL, redlock_ping(t->client, NULL)); /* a blocking call */
    CHECK_OK(redlock_start_audit(t->client, 10000, told_check, told_note, t));
}

static void then_ping(int error, const redlock_answer *answer, void *data)
{
    struct told *t = data;

    CHECK_OK(error);
    CHECK(answer->info->held);
    if (--t->votes == 0)
        CHECK_OK(redlock_start_ping(t->client, then_audit, t));
}

static void then_query(int error, const redlock_answer *answer, void *data)
{
    struct told *t = data;

    CHECK_OK(error);
    t->votes = (int)answer->name_count;
    for (size_t i = 0; i < answer->name_count; i++)
        CHECK_OK(redlock_start_query(t->client, answer->names[i], then_ping, t));
}

static void chain(uint32_t flags)
{
    struct cluster c;
    char key[32];
    redlock *r = client_start(&c, 3, flags);
    struct told t = {.client = r};
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "redlock:n%d", i);
        cluster_set(&c, 0, 3, key, "somebody", 600000);
    }
    CHECK_OK(redlock_start_list(r, then_query, &t));
    await_told(r, flags, is_told, &t);
    CHECK_OK(t.error);
    CHECK(t.checks > 0);
    redlock_close(r);
}

CASE(from_callbacks, "A list, a query of each name, a ping and an audit start from callbacks.")
{
    chain(0);
}

CASE(from_callbacks_io_thread, "Callbacks on the I/O thread start questions of every kind.")
{
    chain(REDLOCK_THREAD);
}

static void again(int error, const redlock_answer *answer, void *data)
{
    struct told *t = data;

    (void)answer;
    CHECK_ERR(REDLOCK_NOQUORUM, error);
    t->calls++;
    CHECK_OK(redlock_start_query(t->client, "x", again, t));
}

CASE(asks_again,
     "A callback that asks nodes which are down once more lets redlock_process() end.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    struct told t = {.client = r};
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    cluster_each(&c, 0, 3, server_kill);
    CHECK_OK(redlock_start_query(r, "x", again, &t));
    for (int64_t end_ms = now_ms() + LONG_MS; t.calls < 200;) {
        CHECK(now_ms() < end_ms);
        CHECK(poll(&p, 1, 5000) == 1);
        CHECK_BETWEEN(0, 2, redlock_process(r, 0));
    }
    CHECK_INT(1, redlock_forget(r, &t));
    redlock_close(r);
}
