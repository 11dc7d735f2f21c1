/* SPDX-License-Identifier: BSD-2-Clause */
#include "lease_trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "check.h"
#include "leases/lease.h"
#include "redlock.h"

#define LINE_MAX_SIZE 512

static const char *const states[] = {"IDLE",   "WAITING",  "ANSWERED", "STREAMING", "RESUMING",
                                     "UNDONE", "RENEWING", "ENDING",   "OVER"};
static const char *const memories[] = {"UNKNOWN", "WAITS", "STREAMS", "GRANTED", "ENDED"};
static const char *const verbs[] = {"put", "resume", "post", "delete"};
static const char *const events[] = {"-",        "-",     "queued", "acquired", "extended",
                                     "released", "lost",  "sent",   "gone",     "cut",
                                     "tick",     "ruled", "drain",  "failed"};
static const char *const answers[] = {
    "HELD",      "RELEASED",  "FAILURE", "YOURS",    "YOURS_HERE", "SUPERSEDED",
    "ELSEWHERE", "HAS_ENDED", "STOP",    "WAS_GONE", "NO_GRANT",   "OTHER_GRANT",
    "DRAINING",  "FORBIDDEN", "QUOTA",   "LATE",     "NO_MEMORY"};
static const char *const words[] = {"place",     "granted",   "renewed", "jeopardy",
                                    "recovered", "reconnect", "alive"};
static const char *const notes[] = {"grant",  "held",  "release", "close",     "undelivered",
                                    "left",   "loss",  "missing", "jeopardy",  "recovery",
                                    "denial", "quota", "yours",   "disconnect"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static int find(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], word) == 0)
            return (int)i;
    return -1;
}

static void add(char *out, const char *format, ...)
{
    size_t size = strlen(out);
    va_list list;

    va_start(list, format);
    vsnprintf(out + size, LINE_MAX_SIZE - size, format, list);
    va_end(list);
}

static bool read_error(const char *word, struct lease_event *event)
{
    for (int error = -99; error < 0; error++)
        if (strcmp(redlock_error_name(error), word) == 0)
            event->error = error;
    return event->error != 0;
}

static void read_word(const char *word, struct lease *lease, struct lease_event *event)
{
    int number;

    if ((number = find(verbs, COUNT(verbs), word)) >= 0)
        event->verb = (enum lease_verb)number;
    else if ((number = find(events, COUNT(events), word)) >= 0)
        event->type = (enum lease_event_type)number;
    else if ((number = find(memories, COUNT(memories), word)) >= 0)
        event->memory = (enum lease_memory)number;
    else if (strcmp(word, "again") == 0)
        event->type = LEASE_REPEATED;
    else if (strcmp(word, "stream") == 0)
        lease->is_stream = true;
    else if (strcmp(word, "tcp") == 0 && event->type == LEASE_REPEATED)
        event->is_local = false;
    else if (strcmp(word, "tcp") == 0)
        lease->is_local = event->is_local = false;
    else if (strcmp(word, "leave") == 0)
        lease->leaves = true;
    else if (strcmp(word, "eof") == 0)
        event->eof = true;
    else if (strcmp(word, "draining") == 0)
        event->is_draining = true;
    else if (strcmp(word, "other") == 0)
        event->is_same = false;
    else if (strcmp(word, "waited") == 0)
        event->had_wait = true;
    else if (strcmp(word, "streams") == 0)
        event->is_streams_grant = true;
    else if (strcmp(word, "ungranted") == 0)
        event->has_grant = false;
    else if (strcmp(word, "full") == 0)
        event->has_room = false;
    else if (strcmp(word, "denied") == 0)
        event->may = false;
    else if (strcmp(word, "unseen") == 0)
        event->is_seen = false;
    else if (strcmp(word, "written") == 0)
        event->was_sent = true;
    else if (strcmp(word, "older") == 0)
        event->is_older = true;
    else if (strncmp(word, "until=", 6) == 0)
        event->deadline_ns = atoll(word + 6) * RL_NS_PER_MS;
    else if (event->type == LEASE_QUEUED)
        event->place = atoi(word);
    else
        CHECK(read_error(word, event));
}

static void write_action(const struct lease_action *action, const struct lease_actions *all,
                         char *out)
{
    static const char *const plain[] = {[LEASE_EXTEND] = "extend",
                                        [LEASE_END] = "end",
                                        [LEASE_TAKE] = "take",
                                        [LEASE_DROP] = "drop"};
    bool has_deadline = (action->type == LEASE_ANSWER && action->answer == LEASE_HELD) ||
                        (action->type == LEASE_SEND && action->word != LEASE_SENDS_PLACE &&
                         action->word != LEASE_SENDS_ALIVE);

    switch (action->type) {
    case LEASE_REMEMBER:
        add(out, "remember %s", memories[action->memory]);
        break;
    case LEASE_START:
        add(out, "start%s", action->is_kept ? "" : " unkept");
        break;
    case LEASE_ANSWER:
        add(out, "answer %s", answers[action->answer]);
        break;
    case LEASE_REFUSE:
        add(out, "refuse %s", answers[action->answer]);
        break;
    case LEASE_SEND:
        add(out, "send %s%s", words[action->word], action->with_grant ? " with grant" : "");
        break;
    case LEASE_NOTE:
        add(out, "note %s", notes[action->note]);
        break;
    default:
        add(out, "%s", plain[action->type]);
        break;
    }
    if (has_deadline)
        add(out, " %lld+%lld", (long long)all->deadline.after_ms,
            (long long)all->deadline.remaining_ms);
    if (action->error)
        add(out, " %s", redlock_error_name(action->error));
}

/* One line: what it says should happen is what happens. */
static void play(struct lease *lease, char *line)
{
    struct lease_event event = {.has_grant = true,
                                .is_same = true,
                                .is_local = lease->is_local,
                                .may = true,
                                .has_room = true,
                                .is_seen = true};
    char *expected = strstr(line, "->"), *rest = NULL, got[LINE_MAX_SIZE] = "";
    int64_t now_ns = atoll(line + 1) * RL_NS_PER_MS;
    struct lease_actions actions;

    CHECK(line[0] == '[' && expected);
    *expected = '\0';
    for (char *word = strtok_r(strchr(line, ']') + 1, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        read_word(word, lease, &event);
    event.received_ns = now_ns;
    if (event.type == LEASE_REQUESTED)
        lease->received_ns = now_ns;
    lease_step(lease, &event, now_ns, &actions);
    CHECK(actions.count <= LEASE_ACTIONS_MAX);
    for (unsigned i = 0; i < actions.count; i++) {
        add(got, i > 0 ? ", " : "");
        write_action(&actions.list[i], &actions, got);
    }
    add(got, "%s%s", actions.count > 0 ? ": " : "", states[lease->state]);
    CHECK_STR(expected + 2 + strspn(expected + 2, " "), got);
}

void lease_trace(const char *text)
{
    struct lease lease = {.is_local = true,
                          .drift_ppm = 10000,
                          .ttl_ms = 30000,
                          .comment_every_ns = 10 * RL_NS_PER_S};
    char line[LINE_MAX_SIZE];

    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        CHECK(end && (size_t)(end - text) < sizeof line);
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        play(&lease, line);
    }
}
