/* SPDX-License-Identifier: BSD-2-Clause */
#include "lease.h"

#include "random.h"
#include "rig.h"

#include "base/time.h"
#include "clock.h"
#include "unix_socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LOOK_MS = 20,
    RETURN_MS = 300, /* how long a return may take, before another replica is asked */
};

static void hang_up(struct hold *h)
{
    if (h->stream >= 0)
        close(h->stream);
    h->stream = -1;
}

/* Connects to any replica and asks; false: it is not there. */
static bool call(struct crew *c, struct hold *h, const char *body)
{
    const char *path =
        c->rig->replicas.balancer.replica[random_between(&c->random, 0, REPLICAS - 1)];
    char request[2048];
    lease_write_request(h, "PUT", "Accept: text/event-stream\r\n", body, request,
                        sizeof request);
    h->events_size = 0;
    h->called_ns = now_ns();
    h->stream = unix_connect(path, SOCK_STREAM);
    if (h->stream < 0)
        return false;
    if (send(h->stream, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
        return true;
    hang_up(h);
    return false;
}

/* Adds what comes within wait_ms; false: the stream has ended. */
static bool receive(struct hold *h, int64_t wait_ms)
{
    struct pollfd poller = {h->stream, POLLIN, 0};
    ssize_t got;
    if (poll(&poller, 1, wait_ms > 0 ? (int)wait_ms : 0) <= 0)
        return true;
    got = recv(h->stream, h->events + h->events_size, sizeof h->events - 1 - h->events_size, 0);
    if (got <= 0)
        return false;
    h->events_size += (size_t)got;
    return true;
}

/* The text up to an empty line, taken off the front; NULL: there is none yet. */
static const char *next_event(struct hold *h)
{
    static char event[sizeof h->events];
    size_t size;
    bool is_head;
    const char *end;
    h->events[h->events_size] = '\0';
    is_head = strncmp(h->events, "HTTP/", 5) == 0;
    end = strstr(h->events, is_head ? "\r\n\r\n" : "\n\n");
    if (end == NULL)
        return NULL;
    size = (size_t)(end - h->events) + (is_head ? 4 : 2);
    memcpy(event, h->events, size);
    event[size] = '\0';
    h->events_size -= size;
    memmove(h->events, h->events + size, h->events_size);
    return event;
}

static bool is(const char *event, const char *word)
{
    return strncmp(event, "event: ", 7) == 0 && strncmp(event + 7, word, strlen(word)) == 0;
}

/* What the events have come to. */
enum news { NOTHING, HELD, AWAY, OVER };

/* Takes one event into account. */
static enum news take_event(struct crew *c, struct hold *h, const char *event)
{
    if (strncmp(event, "HTTP/1.1 200", 12) == 0 || event[0] == ':' || is(event, "queued"))
        return NOTHING;
    if (strncmp(event, "HTTP/", 5) == 0 || is(event, "lost")) {
        /* 410 says that it is over, 423 that another has it; the rest that this
         * replica cannot know. */
        h->is_unsure = strncmp(event, "HTTP/", 5) == 0 && strncmp(event + 9, "410", 3) != 0 &&
                       strncmp(event + 9, "423", 3) != 0;
        return OVER;
    }
    if (is(event, "granted") && h->fence == 0)
        h->fence = atoll(lease_member(event, "fence"));
    lease_believe(c, h, h->called_ns, event);
    if (!is(event, "reconnect"))
        return HELD;
    snprintf(h->grant, sizeof h->grant, "%s", lease_member(event, "grant"));
    return AWAY;
}

/* Until it is held, over, or the time is. */
static enum news await(struct crew *c, struct hold *h, int64_t end_ns)
{
    for (;;) {
        const char *event;
        int64_t left_ms;
        while ((event = next_event(h)) != NULL) {
            enum news news = take_event(c, h, event);
            if (news != NOTHING)
                return news;
        }
        left_ms = (end_ns - now_ns()) / RL_NS_PER_MS;
        if (left_ms <= 0)
            return NOTHING;
        if (!receive(h, left_ms)) {
            h->is_unsure = true;
            return OVER;
        }
    }
}

enum outcome stream_try(struct crew *c, struct hold *h, int64_t wait_ms)
{
    char body[256];
    lease_choose_id(h);
    h->grant[0] = '\0';
    h->fence = 0;
    h->is_unsure = false;
    lease_write_terms(c, h, wait_ms, body, sizeof body);
    if (!call(c, h, body)) {
        sleep_ms(LOOK_MS);
        return UNKNOWN;
    }
    if (await(c, h, now_ns() + (wait_ms + ANSWER_MS) * RL_NS_PER_MS) == HELD &&
        h->deadline_ns > now_ns()) {
        c->rig->replicas.balancer.switches->streams++;
        return GRANTED;
    }
    /* Whatever became of it: closing ends it. */
    hang_up(h);
    return h->is_unsure ? UNKNOWN : REFUSED;
}

/* Back to any replica with the grant, once. The deadline stands meanwhile. */
static enum news come_back(struct crew *c, struct hold *h)
{
    char body[64];
    int64_t told_ns = h->deadline_ns;
    enum news news = NOTHING;
    snprintf(body, sizeof body, "{\"ttl_ms\":%lld}", (long long)h->ttl_ms);
    h->is_unsure = false;
    if (call(c, h, body))
        news = await(c, h, now_ns() + RETURN_MS * RL_NS_PER_MS);
    if (news == HELD) {
        c->rig->replicas.balancer.switches->returned++;
        h->has_returned = true;
        return HELD;
    }
    hang_up(h);
    h->deadline_ns = told_ns;
    if (news == OVER && !h->is_unsure)
        return OVER;
    sleep_ms(LOOK_MS);
    return NOTHING;
}

/* Everything that was sent meanwhile. */
static enum news look(struct crew *c, struct hold *h, int64_t wait_ms)
{
    const char *event;
    enum news news = NOTHING;
    bool goes_on = receive(h, wait_ms);
    while ((event = next_event(h)) != NULL && news != OVER && news != AWAY)
        news = take_event(c, h, event);
    return goes_on || news == AWAY ? news : OVER;
}

void stream_look(struct crew *c, struct hold *h, int64_t wait_ms)
{
    enum news news = h->stream >= 0 ? look(c, h, wait_ms) : come_back(c, h);
    if (news == AWAY || news == OVER)
        hang_up(h);
    if (news == OVER)
        h->deadline_ns = 0;
}

bool stream_close(struct hold *h)
{
    bool ends_it = h->stream >= 0 && !h->has_returned;
    hang_up(h);
    return ends_it;
}
