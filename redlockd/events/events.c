/* SPDX-License-Identifier: BSD-2-Clause */
#include "events/events.h"

#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "http/target.h"
#include "http/user.h"
#include "io/clock.h"

#define COMMENT_EVERY_NS (10 * RL_NS_PER_S)
#define LOOK_EVERY_NS RL_NS_PER_S

enum node_state { NODE_DOWN, NODE_QUARANTINED, NODE_UP };

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

static enum node_state state_of(const redlock_node_info *node)
{
    return node->state != REDLOCK_NODE_UP ? NODE_DOWN
           : node->quarantined            ? NODE_QUARANTINED
                                          : NODE_UP;
}

/* What the nodes are when the first feed begins: it is told that, and from there on changes. */
static void look_first(struct events *events)
{
    redlock_node_info node = {.size = sizeof node};

    for (size_t i = 0; i < EVENTS_NODES_MAX; i++)
        if (redlock_node(events->client, i, &node) == REDLOCK_OK)
            events->node_state[i] = (unsigned char)state_of(&node);
    events->look_ns = rl_now_ns() + LOOK_EVERY_NS;
    events->comment_ns = rl_now_ns() + COMMENT_EVERY_NS;
}

static void add(struct events *events, struct feed *feed)
{
    if (events->count++ == 0)
        look_first(events);
    feed->events = events;
    feed->next = events->feeds;
    if (feed->next)
        feed->next->previous = feed;
    events->feeds = feed;
}

/* ---- what is told ------------------------------------------------------------------------ */

static bool may_see(const struct feed *feed, const char *name)
{
    return strncmp(name, feed->prefix, feed->prefix_size) == 0 &&
           access_still_may(feed->events->access, &feed->who, feed->exchange, ACCESS_READ,
                            name);
}

void events_tell(struct events *events, const struct event *event)
{
    struct json *json = &events->body.json;

    /* A feed that does not read is given up, and leaves the list in a later turn. */
    for (struct feed *feed = events->feeds; feed; feed = feed->next) {
        if (!may_see(feed, event->name))
            continue;
        http_body_begin_event(&events->body, event->word);
        json_string(json, "name", event->name);
        json_string(json, "label", event->label && event->label[0] ? event->label : NULL);
        json_known(json, "fence", event->fence ? event->fence : -1);
        json_string(json, "reason", event->reason);
        http_body_send(&events->body, feed->exchange);
    }
}

static void tell_node(struct feed *feed, const redlock_node_info *node, unsigned char state)
{
    static const char *const words[] = {"down", "quarantined", "up"};
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
    redlock_node_info node = {.size = sizeof node};

    for (size_t i = 0; i < EVENTS_NODES_MAX; i++)
        if (redlock_node(feed->events->client, i, &node) == REDLOCK_OK)
            tell_node(feed, &node, feed->events->node_state[i]);
}

static void look_at_nodes(struct events *events)
{
    redlock_node_info node = {.size = sizeof node};

    for (size_t i = 0; i < EVENTS_NODES_MAX; i++) {
        enum node_state state;

        if (redlock_node(events->client, i, &node) != REDLOCK_OK)
            return;
        state = state_of(&node);
        if (state == events->node_state[i])
            continue;
        events->node_state[i] = (unsigned char)state;
        for (struct feed *feed = events->feeds; feed; feed = feed->next)
            tell_node(feed, &node, events->node_state[i]);
    }
}

/* ---- begun ------------------------------------------------------------------------------- */

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
    add(events, feed);
    http_set_user(exchange, &feed->user);
    http_stream_begin(exchange);
    tell_all_nodes(feed);
}

/* ---- turns ------------------------------------------------------------------------------- */

void events_reload(struct events *events)
{
    struct feed *next;

    for (struct feed *feed = events->feeds; feed; feed = next) {
        next = feed->next;
        if (!access_still_reads(events->access, &feed->who, feed->exchange))
            end_feed(feed);
    }
}

void events_drain(struct events *events)
{
    events->is_draining = true;
    while (events->feeds)
        end_feed(events->feeds);
}

int64_t events_turn(void *context, int64_t now_ns)
{
    static const char comment[] = ": alive\n\n";
    struct events *events = context;

    if (events->count == 0)
        return RL_NEVER_NS;
    if (now_ns >= events->look_ns) {
        events->look_ns = now_ns + LOOK_EVERY_NS;
        look_at_nodes(events);
    }
    if (now_ns >= events->comment_ns) {
        events->comment_ns = now_ns + COMMENT_EVERY_NS;
        for (struct feed *feed = events->feeds; feed; feed = feed->next)
            http_stream_send(feed->exchange, comment, sizeof comment - 1);
    }
    return events->look_ns;
}
