/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of one node: its connection, and its answer to a ping. */
#ifndef CLI_NODE_VIEW_H
#define CLI_NODE_VIEW_H

#include <redlock.h>
#include <stdbool.h>
#include <stdio.h>

#include "settings/settings.h"

#define NODE_VIEW_TEXT_MAX 48

struct rl_json;

struct node_view {
    redlock_node_info info;
    const redlock_node_report *ping;
    int32_t rtt_us;
    const char *why; /* nothing to say: empty */
    bool answered;
};

/* `report` is that of redlock_ping(), and must live as long as the view. */
void node_view_look(struct node_view *v, redlock *client, const redlock_report *report,
                    uint32_t index);

/* The library's word for an enum redlock_node_state. */
const char *node_state_text(int32_t state);

/* "up", "down", "timed out" */
const char *node_view_state(const struct node_view *v);

/* Do its grants count? "yes", "in 12.0 s", "no"; "unchecked" without the guard; "-" if
 * it is down. */
const char *node_view_votes(const struct node_view *v, const struct settings *s,
                            char out[NODE_VIEW_TEXT_MAX]);

/* How far its clock is from ours: "+0.001 s"; "-" if that is unknown. */
const char *node_view_clock(const struct node_view *v, char out[NODE_VIEW_TEXT_MAX]);

/*
 * What the nodes of the quorum are and what they promise, in a line; of independent servers
 * only if it was asked to be verbose.
 */
void guarantee_print(const struct settings *s, redlock *member, FILE *out);
/* The server and the sentinels of a Sentinel group, with their terms. */
void sentinels_print(const redlock_node_info *node, FILE *out);

/* Its members of the object being written. */
void node_view_json(const struct node_view *v, struct rl_json *j);

#endif
