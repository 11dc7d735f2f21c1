/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal/feeds.h"

#include <stdlib.h>
#include <string.h>

#include "base/target.h"
#include "base/time.h"
#include "io/clock.h"

#define COMMENT_EVERY_NS (10 * RL_NS_PER_S)
#define WRITE_EVERY_NS (20 * RL_NS_PER_MS) /* what happens meanwhile is written together */

/* One client that reads. */
struct feed {
    struct http_completion completion; /* first: that of its exchange */
    struct feeds *feeds;
    struct feed *previous, *next;
    struct http_exchange *exchange;
    struct access_who who;
    size_t prefix_size;
    char prefix[REDLOCK_NAME_MAX + 1];
};

int feeds_init(struct feeds *feeds, struct access *access)
{
    *feeds = (struct feeds){.access = access};
    return http_body_init(&feeds->body);
}

void feeds_free(struct feeds *feeds)
{
    http_body_free(&feeds->body);
}

/* ---- feeds ------------------------------------------------------------------------------- */

static void forget(struct feed *feed)
{
    struct feeds *feeds = feed->feeds;

    *(feed->previous ? &feed->previous->next : &feeds->list) = feed->next;
    if (feed->next)
        feed->next->previous = feed->previous;
    feeds->count--;
    free(feed);
}

static void on_ended(struct http_completion *completion, enum http_ended how)
{
    (void)how;
    forget((struct feed *)(void *)completion);
}

static void end_feed(struct feed *feed)
{
    feed->exchange->completion = NULL;
    http_stream_end(feed->exchange);
    forget(feed);
}

static void add(struct feeds *feeds, struct feed *feed)
{
    if (feeds->count++ == 0)
        feeds->comment_ns = rl_now_ns() + COMMENT_EVERY_NS;
    loop_due(&feeds->part, feeds->comment_ns);
    feed->feeds = feeds;
    feed->next = feeds->list;
    if (feed->next)
        feed->next->previous = feed;
    feeds->list = feed;
}

/* ---- what is written --------------------------------------------------------------------- */

static bool may_see(const struct feed *feed, const char *name)
{
    return strncmp(name, feed->prefix, feed->prefix_size) == 0 &&
           access_still_may(feed->feeds->access, &feed->who, feed->exchange, ACCESS_READ, name);
}

/* Do both see the same? A certificate is looked at by its connection. */
static bool is_like(const struct feed *feed, const struct feed *other)
{
    const struct access_groups *groups = &feed->who.groups;

    return strcmp(feed->prefix, other->prefix) == 0 &&
           strcmp(feed->who.principal, other->who.principal) == 0 &&
           feed->who.proof == other->who.proof && groups->count == other->who.groups.count &&
           memcmp(groups->list, other->who.groups.list, groups->count * sizeof *groups->list) ==
               0 &&
           !feed->exchange->peer->ssl && !other->exchange->peer->ssl;
}

/* False: there is no room for it. */
static bool batch_add(struct feeds_batch *batch, const char *name, const char *text,
                      size_t size)
{
    size_t name_size = strlen(name) + 1;
    uint32_t at = batch->size;

    if (batch->count == FEEDS_BATCH_EVENTS || name_size + size > FEEDS_BATCH_BYTES - at)
        return false;
    batch->events[batch->count].name_at = at;
    batch->events[batch->count].text_at = at + (uint32_t)name_size;
    batch->events[batch->count].text_size = (uint32_t)size;
    memcpy(batch->bytes + at, name, name_size);
    memcpy(batch->bytes + at + name_size, text, size);
    batch->size += (uint32_t)(name_size + size);
    batch->count++;
    return true;
}

/* The texts of those that the feed may see, one behind another; their size. */
static size_t batch_choose(const struct feeds_batch *batch, const struct feed *feed,
                           char out[FEEDS_BATCH_BYTES])
{
    size_t size = 0;

    for (unsigned i = 0; i < batch->count; i++) {
        if (!may_see(feed, batch->bytes + batch->events[i].name_at))
            continue;
        memcpy(out + size, batch->bytes + batch->events[i].text_at, batch->events[i].text_size);
        size += batch->events[i].text_size;
    }
    return size;
}

static void write_batch(struct feeds *feeds)
{
    char chosen[FEEDS_BATCH_BYTES];
    size_t size = 0;

    if (feeds->batch.count == 0)
        return;
    /* A feed that does not read is given up, and leaves the list in a later turn. */
    for (const struct feed *feed = feeds->list; feed; feed = feed->next) {
        if (!feed->previous || !is_like(feed, feed->previous))
            size = batch_choose(&feeds->batch, feed, chosen);
        if (size > 0)
            http_stream_send(feed->exchange, chosen, size);
    }
    feeds->batch.count = 0;
    feeds->batch.size = 0;
}

void feeds_note(struct feeds *feeds, const struct journal_entry *entry)
{
    struct rl_json *json = &feeds->body.json;

    http_body_begin_event(&feeds->body, journal_word(entry->event));
    rl_json_string(json, "name", entry->name);
    rl_json_string(json, "label", entry->label && entry->label[0] ? entry->label : NULL);
    rl_json_known(json, "fence", entry->fence ? entry->fence : -1);
    rl_json_string(json, "reason", entry->reason);
    http_body_end_event(&feeds->body);
    /* Without memory for an event a feed could miss it and not know. */
    if (json->failed) {
        for (const struct feed *feed = feeds->list; feed; feed = feed->next)
            http_stream_cut(feed->exchange);
        return;
    }
    if (!batch_add(&feeds->batch, entry->name, json->text, json->size)) {
        write_batch(feeds);
        batch_add(&feeds->batch, entry->name, json->text, json->size);
    }
    loop_due(&feeds->part, feeds->write_ns);
}

static void write_node(struct feed *feed, const redlock_node_info *node,
                       enum changes_state state)
{
    static const char *const words[] = {
        [CHANGES_UNKNOWN] = "down",
        [CHANGES_DOWN] = "down",
        [CHANGES_QUARANTINED] = "quarantined",
        [CHANGES_UP] = "up",
    };
    struct feeds *feeds = feed->feeds;
    struct rl_json *json = &feeds->body.json;

    if (!access_still_may(feeds->access, &feed->who, feed->exchange, ACCESS_ADMIN, NULL))
        return;
    http_body_begin_event(&feeds->body, "node");
    rl_json_string(json, "node", node->address);
    rl_json_string(json, "quorum", node->quorum_name[0] ? node->quorum_name : NULL);
    rl_json_string(json, "state", words[state]);
    http_body_send(&feeds->body, feed->exchange);
}

/* As the other feeds have it, so that what comes next is a change for this one, too. */
static void write_all_nodes(struct feed *feed)
{
    const struct changes *changes = feed->feeds->changes;
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; redlock_node(changes->client, i, &node) == REDLOCK_OK; i++)
        write_node(feed, &node, changes->node[i].state);
}

void feeds_note_node(void *context, const redlock_node_info *node, enum changes_state state)
{
    struct feeds *feeds = context;

    write_batch(feeds); /* in the order in which it happened */
    for (struct feed *feed = feeds->list; feed; feed = feed->next)
        write_node(feed, node, state);
}

/* ---- begun ------------------------------------------------------------------------------- */

static unsigned feeds_of(const struct feeds *feeds, const struct access_who *who)
{
    unsigned count = 0;

    for (const struct feed *feed = feeds->list; feed; feed = feed->next)
        count += strcmp(feed->who.principal, who->principal) == 0;
    return count;
}

void feeds_begin(struct feeds *feeds, const struct routed *routed)
{
    static const char *const names[] = {"prefix", NULL};
    const struct http_request *request = routed->request;
    struct http_exchange *exchange = routed->exchange;
    struct feed *feed = NULL;
    int size;

    if (feeds_of(feeds, &routed->who) >= FEEDS_OF_ONE_MAX) {
        http_answer_problem(exchange, 429, "FEEDS",
                            "too many feeds of this principal are read already", NULL);
        return;
    }
    if (feeds->count < FEEDS_MAX && !feeds->is_draining)
        feed = calloc(1, sizeof *feed);
    if (!feed) {
        http_answer_problem(exchange, 503, feeds->is_draining ? "DRAINING" : "FEEDS",
                            feeds->is_draining ? "this replica is about to end: use another"
                                               : "too many feeds are read already",
                            NULL);
        return;
    }
    size = rl_target_query_get(request->query, "prefix", feed->prefix, sizeof feed->prefix);
    if (!rl_target_query_only(request->query, names) || size == RL_TARGET_BAD) {
        http_answer_problem(exchange, 400, "QUERY",
                            "there is no parameter but prefix, the beginning of a name", NULL);
        free(feed);
        return;
    }
    feed->prefix_size = size > 0 ? (size_t)size : 0;
    feed->completion.ended = on_ended;
    feed->exchange = exchange;
    feed->who = routed->who;
    changes_look(feeds->changes, rl_now_ns());
    write_batch(feeds); /* which happened before it */
    add(feeds, feed);
    exchange->completion = &feed->completion;
    http_stream_begin(exchange);
    write_all_nodes(feed);
}

/* ---- turns ------------------------------------------------------------------------------- */

void feeds_reload(struct feeds *feeds)
{
    struct feed *next;

    write_batch(feeds);
    for (struct feed *feed = feeds->list; feed; feed = next) {
        next = feed->next;
        if (!access_still_reads(feeds->access, &feed->who, feed->exchange))
            end_feed(feed);
    }
}

void feeds_drain(struct feeds *feeds)
{
    feeds->is_draining = true;
    write_batch(feeds);
    while (feeds->list)
        end_feed(feeds->list);
}

int64_t feeds_turn(void *context, int64_t now_ns)
{
    static const char comment[] = ": alive\n\n";
    struct feeds *feeds = context;

    if (feeds->count == 0)
        return RL_NEVER_NS;
    if (now_ns >= feeds->comment_ns) {
        feeds->comment_ns = now_ns + COMMENT_EVERY_NS;
        for (struct feed *feed = feeds->list; feed; feed = feed->next)
            http_stream_send(feed->exchange, comment, sizeof comment - 1);
    }
    if (feeds->batch.count == 0)
        return feeds->comment_ns;
    if (now_ns < feeds->write_ns)
        return feeds->write_ns;
    feeds->write_ns = now_ns + WRITE_EVERY_NS;
    write_batch(feeds);
    return feeds->comment_ns;
}
