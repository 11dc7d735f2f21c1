/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GET /v1/events?prefix=P: what happens, as this replica sees it, as a stream of events (SSE).
 *
 *     granted released expired lost jeopardy broken    {"name","label","fence","reason"}
 *     node                                             {"node","quorum","state":"up","down","quarantined"}
 *
 * A feed begins with the state of every node; locks that are held already are not told.
 * It shows the names that its principal may read at that moment, below its prefix, and nodes to
 * principals that may read /v1/nodes. Other replicas see other things: this is for people and pages,
 * not for deciding who holds a lock. A client that does not read is cut off when HTTP_STREAM_BACKLOG bytes
 * wait for it; nothing waits for a feed. What happens within 20 ms is told together.
 */
#ifndef REDLOCKD_EVENTS_H
#define REDLOCKD_EVENTS_H

#include "access/access.h"
#include "events/batch.h"
#include "http/body.h"
#include "http/server.h"
#include "redlock.h"
#include "view/changes.h"

#define EVENTS_FEEDS_MAX 256
#define EVENTS_FEEDS_OF_ONE_MAX 64 /* of one principal */

struct feed;

struct events {
    struct access *access;
    struct changes *changes; /* of the nodes, which it tells by events_tell_node() */
    struct http_body body;
    struct feed *feeds;
    unsigned count;
    bool is_draining;   /* none begins any more */
    int64_t comment_ns; /* when the next sign of life is due */
    int64_t write_ns;   /* when events may be written again */
    struct batch batch; /* that were not written yet */
};

/* About a lock. Texts may be NULL: unknown, or none. */
struct event {
    const char *word; /* "granted" */
    const char *name;
    const char *label;
    const char *reason;
    int64_t fence; /* 0: none */
};

/* 0, or -1: out of memory. The changes and the access must outlive the server. */
int events_init(struct events *events, struct access *access);
/* After the server is freed. */
void events_free(struct events *events);

/* Answers with a feed, or says why not. */
void events_begin(struct events *events, struct http_exchange *exchange,
                  const struct http_request *request, const struct access_who *who);

void events_tell(struct events *events, const struct event *event);
void events_tell_node(struct events *events, const redlock_node_info *node,
                      enum changes_state state);

/* Rules or tokens are new: feeds whose principal may read nothing any more end. */
void events_reload(struct events *events);
/* Ends all, for ever: clients come back elsewhere. */
void events_drain(struct events *events);

/* A part of the loop: signs of life. */
int64_t events_turn(void *context, int64_t now_ns);

#endif
