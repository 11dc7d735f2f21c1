/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection to one node, as far as it needs no socket: which session it carries, when it
 * is made, when it is given up, and when it is made again. io/conn.c drives it with sockets,
 * the simulator without.
 */
#ifndef RL_ENGINE_LINK_H
#define RL_ENGINE_LINK_H

#include "engine/engine.h"

/* For making a connection, unless the application sets another. */
#define RL_CONNECT_TIMEOUT_MS 1000

/* As many failures in a row as make the delay before the next connection the longest. */
#define RL_LINK_FAILURES_OF_LONGEST_DELAY 16

enum rl_link_role {
    RL_LINK_NODE,       /* sends requests */
    RL_LINK_SUBSCRIBER, /* only listens; made when a lock has to wait */
    RL_LINK_ELECTOR,    /* learns from an elector which server is that of the node */
};

enum rl_link_state { RL_LINK_DOWN, RL_LINK_CONNECTING, RL_LINK_UP };

struct rl_link {
    /* Set by the caller, once. */
    struct rl_engine *engine;
    uint8_t node;
    enum rl_link_role role;
    uint8_t elector; /* which of the node's, for that role */
    int64_t connect_timeout_ns;

    enum rl_link_state state;
    struct rl_session *session; /* that it carries; NULL before the first attempt */
    int64_t deadline_ns;        /* of making the connection */
    int64_t retry_at_ns;        /* no attempt before; 0 in the beginning */
    uint32_t failure_count;     /* since the last session that came up */
    uint32_t term_number;       /* of an elected vote: that its server was chosen in; 0: none */
};

/*
 * To whom to connect, host:port; of an elected vote the server that its electors name, and the
 * connection is of that term. NULL: they have not named one yet. Empty: the node has one
 * address.
 */
const char *rl_link_choose(struct rl_link *link);

/* The electors have named another server, or term, since the connection was made. */
static inline bool rl_link_is_deposed(const struct rl_link *link)
{
    const struct rl_elected *elected = link->engine->node[link->node].elected;

    return elected && link->role != RL_LINK_ELECTOR && link->term_number != 0 &&
           link->term_number != elected->electors.term_number;
}

/*
 * When the caller has to act: DOWN, to make the connection; CONNECTING or UP, to close it
 * because it takes too long or the node is silent. RL_NEVER_NS: not wanted, or no reply is
 * owed.
 */
static inline int64_t rl_link_due_ns(const struct rl_link *link)
{
    if (link->state != RL_LINK_DOWN && rl_link_is_deposed(link))
        return 0;
    switch (link->state) {
    case RL_LINK_DOWN:
        return link->role != RL_LINK_SUBSCRIBER || link->engine->wants_subscribers
                   ? link->retry_at_ns
                   : RL_NEVER_NS;
    case RL_LINK_CONNECTING:
        return link->deadline_ns;
    case RL_LINK_UP:
        break;
    }
    return link->role != RL_LINK_SUBSCRIBER && link->session->pending.sent_count > 0
               ? link->session->progress_ns + link->engine->stall_ns
               : RL_NEVER_NS;
}

/* It is being made. Without memory for the greeting the session is down afterwards. */
void rl_link_connecting(struct rl_link *link, int64_t now_ns);
/* The transport is there: bytes can flow. */
void rl_link_connected(struct rl_link *link, int64_t now_ns);
/* The password is known, or is another now: rl_session_log_in(). -1: no memory. */
int rl_link_log_in(struct rl_link *link, int64_t now_ns);
/* The caller has closed it, or could not make it; the next attempt is put off. */
void rl_link_failed(struct rl_link *link, enum redlock_vote vote, enum redlock_reason reason,
                    const char *text, int64_t now_ns);

/* How long a node may be silent with requests pending before its connection is given up. */
int64_t rl_link_stall_ns(int64_t node_timeout_ns);

#endif
