/* SPDX-License-Identifier: BSD-2-Clause */
#include "events/events.h"

#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "http/target.h"
#include "http/user.h"
#include "io/clock.h"

#define COMMENT_EVERY_NS (10 * RL_NS_PER_S)
#define WRITE_EVERY_NS (20 * RL_NS_PER_MS) /* what happens meanwhile is told together */

/* One client that reads. */
struct feed {
    struct http_user user; /* first: what http_set_user() is given */
    struct events *events;
    struct feed *previous, *next;
    struct http_exchange *exchange;
    struct access_who who;
    size_t prefix_size;
    char prefix[REDLOCK_NAME_MAX + 1];
};

int events_init(struct events *events, struct access *access)
{
    *events = (struct events){.access = access};
    return http_body_init(&events->body);
}

void events_free(struct events *events)
{
    http_body_free(&events->body);
}

/* ---- feeds ------------------------------------------------------------------------------- */

static void forget(struct feed *feed)
{
    struct events *events = feed->events;

    *(feed->previous ? &feed->previous->next : &events->feeds) = feed->next;
    if (feed->next)
        feed->next->previous = feed->previous;
    events->count--;
    free(feed);
}

static void on_ended(struct http_user *user, enum http_ended how)
{
    (void)how;
    forget((struct feed *)(void *)user);
}

static void end_feed(struct feed *feed)
{
    http_set_user(feed->exchange, NULL);
    http_stream_end(feed->exchange);
    forget(feed);
}

static void add(struct events *events, struct feed *feed)
{
    if (events->count++ == 0)
        events->comment_ns = rl_now_ns() + COMMENT_EVERY_NS;
    feed->events = events;
    feed->next = events->feeds;
    if (feed->next)
        feed->next->previous = feed;
    events->feeds = feed;
}

/* ---- what is told ------------------------------------------------------------------------ */

/* of batch_choose() */
static bool may_see(const void *context, const char *name)
{
    const struct feed *feed = context;

    return strncmp(name, feed->prefix, feed->prefix_size) == 0 &&
           access_still_may(feed->events->access, &feed->who, feed->exchange, ACCESS_READ,
                            name);
}

/* Do both see the same? Certificates are asked by their connections. */
static bool is_like(const struct feed *feed, const struct feed *other)
{
    const struct access_groups *groups = &feed->who.groups;

    return strcmp(feed->prefix, other->prefix) == 0 &&
           strcmp(feed->who.principal, other->who.principal) == 0 &&
           feed->who.proof == other->who.proof && groups->count == other->who.groups.count &&
           memcmp(groups->list, other->who.groups.list, groups->count * sizeof *groups->list) ==
               0 &&
           !http_exchange_peer(feed->exchange)->ssl &&
           !http_exchange_peer(other->exchange)->ssl;
}

static void write_batch(struct events *events)
{
    char chosen[BATCH_BYTES];
    size_t size = 0;

    if (events->batch.count == 0)
        return;
    /* A feed that does not read is given up, and leaves the list in a later turn. */
    for (const struct feed *feed = events->feeds; feed; feed = feed->next) {
        if (!feed->previous || !is_like(feed, feed->previous))
            size = batch_choose(&events->batch, may_see, feed, chosen);
        if (size > 0)
            http_stream_send(feed->exchange, chosen, size);
    }
    batch_clear(&events->batch);
}

void events_tell(struct events *events, const struct event *event)
{
    struct json *json = &events->body.json;

    if (!events->feeds)
        return;
    http_body_begin_event(&events->body, event->word);
    json_string(json, "name", event->name);
    json_string(json, "label", event->label && event->label[0] ? event->label : NULL);
    json_known(json, "fence", event->fence ? event->fence : -1);
    json_string(json, "reason", event->reason);
    http_body_end_event(&events->body);
    /* Without memory for an event a feed could miss it and not know. */
    if (json->failed) {
        for (const struct feed *feed = events->feeds; feed; feed = feed->next)
            http_stream_cut(feed->exchange);
        return;
    }
    if (!batch_add(&events->batch, event->name, json->text, json->size)) {
        write_batch(events);
        batch_add(&events->batch, event->name, json->text, json->size);
    }
}

static void tell_node(struct feed *feed, const redlock_node_info *node,
                      enum changes_state state)
{
    static const char *const words[] = {
        [CHANGES_UNKNOWN] = "down",
        [CHANGES_DOWN] = "down",
        [CHANGES_QUARANTINED] = "quarantined",
        [CHANGES_UP] = "up",
    };
    struct events *events = feed->events;
    struct json *json = &events->body.json;

    if (!access_still_may(events->access, &feed->who, feed->exchange, ACCESS_ADMIN, NULL))
        return;
    http_body_begin_event(&events->body, "node");
    json_string(json, "node", node->address);
    json_string(json, "quorum", node->quorum_name[0] ? node->quorum_name : NULL);
    json_string(json, "state", words[state]);
    http_body_send(&events->body, feed->exchange);
}

/* As the other feeds were told last, so that what is told next is a change for this one, too. */
static void tell_all_nodes(struct feed *feed)
{
    const struct changes *changes = feed->events->changes;
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; redlock_node(changes->client, i, &node) == REDLOCK_OK; i++)
        tell_node(feed, &node, changes->node[i].state);
}

void events_tell_node(struct events *events, const redlock_node_info *node,
                      enum changes_state state)
{
    write_batch(events); /* in the order in which it happened */
    for (struct feed *feed = events->feeds; feed; feed = feed->next)
        tell_node(feed, node, state);
}

/* ---- begun ------------------------------------------------------------------------------- */

static unsigned feeds_of(const struct events *events, const struct access_who *who)
{
    unsigned count = 0;

    for (const struct feed *feed = events->feeds; feed; feed = feed->next)
        count += strcmp(feed->who.principal, who->principal) == 0;
    return count;
}

void events_begin(struct events *events, struct http_exchange *exchange,
                  const struct http_request *request, const struct access_who *who)
{
    static const char *const names[] = {"prefix", NULL};
    struct feed *feed = NULL;
    int size;

    if (request->method != HTTP_GET) {
        http_answer_problem(exchange, 405, "METHOD_NOT_ALLOWED", "a feed is read by GET",
                            "Allow: GET\r\n");
        return;
    }
    if (feeds_of(events, who) >= EVENTS_FEEDS_OF_ONE_MAX) {
        http_answer_problem(exchange, 429, "FEEDS",
                            "too many feeds of this principal are read already",
                            "Retry-After: 1\r\n");
        return;
    }
    if (events->count < EVENTS_FEEDS_MAX && !events->is_draining)
        feed = calloc(1, sizeof *feed);
    if (!feed) {
        http_answer_problem(exchange, 503, events->is_draining ? "DRAINING" : "FEEDS",
                            events->is_draining ? "this replica is about to end: ask another"
                                                : "too many feeds are read already",
                            "Retry-After: 1\r\n");
        return;
    }
    size = http_query_get(request->query, "prefix", feed->prefix, sizeof feed->prefix);
    if (!http_query_only(request->query, names) || size == HTTP_QUERY_BAD) {
        http_answer_problem(exchange, 400, "QUERY",
                            "there is no parameter but prefix, the beginning of a name", NULL);
        free(feed);
        return;
    }
    feed->prefix_size = size > 0 ? (size_t)size : 0;
    feed->user.ended = on_ended;
    feed->exchange = exchange;
    feed->who = *who;
    changes_look(events->changes, rl_now_ns());
    write_batch(events); /* which happened before it */
    add(events, feed);
    http_set_user(exchange, &feed->user);
    http_stream_begin(exchange);
    tell_all_nodes(feed);
}

/* ---- turns ------------------------------------------------------------------------------- */

void events_reload(struct events *events)
{
    struct feed *next;

    write_batch(events);
    for (struct feed *feed = events->feeds; feed; feed = next) {
        next = feed->next;
        if (!access_still_reads(events->access, &feed->who, feed->exchange))
            end_feed(feed);
    }
}

void events_drain(struct events *events)
{
    events->is_draining = true;
    write_batch(events);
    while (events->feeds)
        end_feed(events->feeds);
}

int64_t events_turn(void *context, int64_t now_ns)
{
    static const char comment[] = ": alive\n\n";
    struct events *events = context;

    if (events->count == 0)
        return RL_NEVER_NS;
    if (now_ns >= events->comment_ns) {
        events->comment_ns = now_ns + COMMENT_EVERY_NS;
        for (struct feed *feed = events->feeds; feed; feed = feed->next)
            http_stream_send(feed->exchange, comment, sizeof comment - 1);
    }
    if (events->batch.count == 0)
        return events->comment_ns;
    if (now_ns < events->write_ns)
        return events->write_ns;
    events->write_ns = now_ns + WRITE_EVERY_NS;
    write_batch(events);
    return events->comment_ns;
}
