/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/top.h"

#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "base/quote.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/table.h"
#include "ui/text.h"

#define LIMIT_MS 5000 /* of a request */
#define HOST_MAX 256
#define PATTERN_MAX 256
#define CLASSES_MAX 100 /* of a redlockd */

/* In the order of the page and of /v1/status. */
enum { GRANTED, WAIT, HOLD, TIMEOUTS, LOST, EXPIRED, COUNTS };
static const char *const member[COUNTS] = {"granted",  "wait_us", "hold_us",
                                           "timeouts", "lost",    "expired"};

void top_classes_free(struct top_classes *c)
{
    service_answer_free(&c->answer);
}

int top_classes_take(struct top_classes *c, struct look *look)
{
    const struct service_request request = {
        .method = "GET",
        .path = "/v1/status",
        .limit_ms = LIMIT_MS,
        .cancel_fd = look->signal_fd,
    };
    struct service_answer *a = &c->answer;

    service_answer_free(a);
    service_fetch(&look->service, &request, a);
    /* A client without the right to see them gets null. */
    if (a->error == REDLOCK_OK && rl_json_member(a->body, "classes").type != RL_JSON_ARRAY) {
        a->error = REDLOCK_AUTH;
        snprintf(a->detail, sizeof a->detail,
                 "the service shows classes to clients with the right `admin`");
    }
    return a->error;
}

static void read_counts(struct rl_json_value class, int64_t out[COUNTS])
{
    for (int i = 0; i < COUNTS; i++)
        out[i] = rl_json_number(rl_json_member(class, member[i]), -1);
}

static enum text_colour colour_of(const int64_t count[COUNTS])
{
    return count[LOST] + count[EXPIRED] > 0 ? TEXT_BAD
           : count[TIMEOUTS] > 0            ? TEXT_WAIT
                                            : TEXT_PLAIN;
}

static void add_row(struct table *table, struct rl_json_value class)
{
    char text[COUNTS][TEXT_TIME_MAX], pattern[PATTERN_MAX];
    const char *row[COUNTS + 1] = {pattern};
    int64_t count[COUNTS];

    read_counts(class, count);
    rl_json_text(rl_json_member(class, "class"), pattern, sizeof pattern);
    for (size_t i = 0; i < COUNTS; i++) {
        if (i == WAIT || i == HOLD)
            text_time_short(text[i], count[i] < 0 ? -1 : (count[i] + 500) / 1000);
        else
            snprintf(text[i], sizeof text[i], "%lld", (long long)count[i]);
        row[i + 1] = text[i];
    }
    table_row(table, colour_of(count), row);
}

static void draw_title(struct screen *screen, struct rl_json_value status)
{
    char host[HOST_MAX], safe[HOST_MAX], up[TEXT_TIME_MAX], line[SCREEN_LINE_MAX];

    rl_json_text(rl_json_member(status, "host"), host, sizeof host);
    rl_quote_safe(safe, sizeof safe, host);
    text_time(up, rl_json_number(rl_json_member(status, "uptime_ms"), -1));
    snprintf(line, sizeof line, "redlock top  classes of %s, since its start %s ago", safe, up);
    screen_line(screen, TEXT_TITLE, line);
}

void top_classes_draw(struct screen *screen, const struct top_classes *c)
{
    static const char *const heading[] = {"CLASS",    "GRANTED", "WAIT",    "HOLD",
                                          "TIMEOUTS", "LOST",    "EXPIRED", NULL};
    struct rl_json_value class, classes = rl_json_member(c->answer.body, "classes");
    char safe[SERVICE_DETAIL_MAX];
    struct table table;

    screen_begin(screen);
    if (c->answer.error != REDLOCK_OK) {
        rl_quote_safe(safe, sizeof safe, c->answer.detail);
        screen_line(screen, TEXT_BAD, safe);
    } else {
        draw_title(screen, c->answer.body);
        table_begin(&table, heading);
        while (table.rows <= CLASSES_MAX && rl_json_element(&classes, &class))
            add_row(&table, class);
        if (table.rows > 1)
            top_view_table(screen, &table);
        else
            screen_line(screen, TEXT_PLAIN,
                        "no classes: redlockd.conf(5) has `class = PATTERN`");
        table_free(&table);
    }
    screen_end(screen);
}

void top_classes_json(const struct top_classes *c)
{
    struct rl_json_value class, classes = rl_json_member(c->answer.body, "classes");
    char text[PATTERN_MAX];
    struct rl_json j = {.out = stdout};
    int64_t count[COUNTS];

    message_json(&j, c->answer.error, c->answer.detail);
    rl_json_text(rl_json_member(c->answer.body, "host"), text, sizeof text);
    rl_json_string(&j, "host", text[0] ? text : NULL);
    rl_json_array(&j, "classes");
    while (rl_json_element(&classes, &class)) {
        read_counts(class, count);
        rl_json_text(rl_json_member(class, "class"), text, sizeof text);
        rl_json_object(&j, NULL);
        rl_json_string(&j, "class", text);
        for (int i = 0; i < COUNTS; i++)
            rl_json_known(&j, member[i], count[i]);
        rl_json_end_object(&j);
    }
    rl_json_end_array(&j);
    rl_json_finish(&j);
}
