/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GET /v1/events?prefix=P: what happens, as this replica sees it, as a stream of events (SSE).
 *
 *     granted released expired lost jeopardy broken    {"name","label","fence","reason"}
 *     node                          {"node","quorum","state":"up","down","quarantined"}
 *
 * A feed begins with the state of every node; locks that are held already are left out. It
 * shows the names that its principal may read at that moment, below its prefix, and nodes to
 * principals that may read /v1/nodes. Other replicas see other things: this is for people and
 * pages, not for deciding who holds a lock. A client that does not read is cut off when
 * HTTP_STREAM_BACKLOG bytes wait for it; nothing waits for a feed.
 *
 * What happens within 20 ms is written together, each event encoded once, and a feed that may
 * see the same as the one before it gets the very same bytes: a write for each event and feed
 * would cost the locks that the events are about most of their speed.
 */
#ifndef REDLOCKD_JOURNAL_FEEDS_H
#define REDLOCKD_JOURNAL_FEEDS_H

#include "access/routed.h"
#include "http/body.h"
#include "http/server.h"
#include "journal/entry.h"
#include "nodes/changes.h"
#include "redlock.h"
#include "system/loop.h"

#define FEEDS_MAX 256
#define FEEDS_OF_ONE_MAX 64 /* of one principal */
#define FEEDS_BATCH_EVENTS 256
#define FEEDS_BATCH_BYTES (16u << 10) /* an event, its name included, has less than a third */

struct feed;

/* Events that were not written yet. */
struct feeds_batch {
    struct {
        uint32_t name_at; /* ends with NUL, and the text follows */
        uint32_t text_at, text_size;
    } events[FEEDS_BATCH_EVENTS];
    unsigned count;
    uint32_t size;
    char bytes[FEEDS_BATCH_BYTES];
};

struct feeds {
    struct loop_part part;
    struct access *access;
    struct changes *changes; /* of the nodes, which come by feeds_note_node() */
    struct http_body body;
    struct feed *list;
    unsigned count;
    bool is_draining;   /* none begins any more */
    int64_t comment_ns; /* when the next sign of life is due */
    int64_t write_ns;   /* when the batch may be written again */
    struct feeds_batch batch;
};

/* 0, or -1: out of memory. The changes and the access must outlive the server. */
int feeds_init(struct feeds *feeds, struct access *access);
/* After the server is freed. */
void feeds_free(struct feeds *feeds);

/* Answers with a feed, or with why not. */
void feeds_begin(struct feeds *feeds, const struct routed *routed);

/* Of a change of a lock, where there is a feed. */
void feeds_note(struct feeds *feeds, const struct journal_entry *entry);
/* For struct changes. */
void feeds_note_node(void *context, const redlock_node_info *node, enum changes_state state);

/* Rules or tokens are new: feeds whose principal may read nothing any more end. */
void feeds_reload(struct feeds *feeds);
/* Ends all, for ever: clients come back elsewhere. */
void feeds_drain(struct feeds *feeds);

/* A part of the loop: writes the batch, and signs of life. */
int64_t feeds_turn(void *context, int64_t now_ns);

#endif
