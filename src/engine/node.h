/* SPDX-License-Identifier: BSD-2-Clause */
/* One node as its connections come and go, as its caller reports it to the engine. */
#ifndef RL_ENGINE_NODE_H
#define RL_ENGINE_NODE_H

#include "engine/attempt.h"
#include "engine/elected.h"
#include "protocol/session.h"

#define RL_UNDELIVERED_MAX 4096

/* A grant that is not counted before its attestation has answered (vote.c). */
struct rl_unconfirmed {
    struct rl_pending pending; /* holds a reference to the attempt */
    int64_t token;
};

/*
 * A grant or renewal that has passed every check but the word of the electors, or that of the
 * server about the age of its stamp (vote.c).
 */
struct rl_withheld {
    struct rl_pending pending; /* holds a reference to the attempt */
    struct rl_answer answer;
};

/*
 * The subscriber connection: the second connection to a node, which only listens. It is made
 * when a lock of this client first has to wait, and shared by all waiters. Its messages only
 * make waiting shorter.
 */
struct rl_subscriber {
    struct rl_login login;
    struct rl_session session;
    bool is_up; /* subscribed */
    /* Messages that concerned no waiter of this client, in the second that began then. */
    uint32_t vain_count;
    int64_t vain_since_ns;
};

struct rl_node {
    struct rl_login login;
    struct rl_session session;
    struct rl_subscriber subscriber;
    struct rl_elected *elected; /* what makes it an elected vote; NULL: one server */
    char address[REDLOCK_ADDRESS_MAX];
    bool had_its_time;          /* to report its set; it did not, and is not waited for again */
    char run_id[RL_RUN_ID_MAX]; /* of its server, when it was last greeted; empty: unknown */
    uint32_t run_id_number;     /* the smaller, the earlier the node reported it */
    char new_set[RL_SET_ANSWER_MAX];        /* what ADMIT writes on it ... */
    char set_so_far[RL_SET_ANSWER_MAX];     /* ... if it is still this; empty: none */
    char new_electors[RL_ELECTOR_LIST_MAX]; /* what it writes as well; empty: no elected vote */

    /*
     * Attempts whose release was not delivered because their connection broke: it goes on the
     * next one, best effort (A5). Each holds a reference.
     */
    struct rl_attempt **undelivered;
    uint32_t undelivered_count;
    bool undelivered_sent; /* on the connection under way: worth a moment's wait at close */

    struct rl_unconfirmed *unconfirmed;
    uint32_t unconfirmed_count;
    uint32_t unconfirmed_capacity;

    struct rl_withheld *kept;
    uint32_t kept_count;
    uint32_t kept_capacity;

    bool warming;         /* the very first connection is still being made */
    bool connected;       /* the transport is there */
    int64_t connected_ns; /* since when */
    uint32_t connects;
    int64_t received_ns; /* when bytes of it came last, but for a subscriber's; 0: never */
    enum redlock_reason traced_reason; /* its standing, as the trace has it */
    int32_t rtt_us;                    /* smoothed; -1: none yet */
    int32_t
        late_us; /* how long an answer took that came after the node timeout; 0: none did since
                        the last that came in time */
};

/* A connection is being made: requests may be queued from now on, behind the greeting. */
void rl_engine_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* The connection failed or broke: everything without a reply gets `vote`. */
void rl_engine_disconnected(struct rl_engine *engine, uint8_t node, enum redlock_vote vote,
                            enum redlock_reason reason, const char *text, int64_t now_ns);

/* The node took so long to answer, or to take the connection. */
void rl_node_note_delay(struct rl_engine *engine, uint8_t node, int64_t delay_ns);

/* "answers after 80 ms, 50 ms are allowed"; false, and empty: it is not known to be late. */
bool rl_node_describe_late(const struct rl_engine *engine, uint8_t node, char *out,
                           size_t size);

/* The reason that a vote has by itself; NONE: the node did what it was sent. */
enum redlock_reason rl_reason_of_vote(enum redlock_vote vote);
/* Why the node gave this vote, and in words, perhaps none. */
enum redlock_reason rl_node_explain_vote(const struct rl_engine *engine, uint8_t node,
                                         enum redlock_vote vote, char out[REDLOCK_TEXT_MAX]);

/* ---- the subscriber connection: as above for the other one ---- */

/* rl_subscriber_received(): the node floods us; it gets another connection after
 * a long delay. */
#define RL_SUBSCRIBER_FLOODED (-2)

/* The session stays down when there is no memory. */
void rl_subscriber_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns);
void rl_subscriber_disconnected(struct rl_engine *engine, uint8_t node);
/* -1 and RL_SUBSCRIBER_FLOODED: the caller must close it
 * and call rl_subscriber_disconnected(). */
int rl_subscriber_received(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns);

/* ---- releases ---- */

/* Keeps a release for the node's next connection. */
void rl_node_keep_undelivered(struct rl_engine *engine, uint8_t node,
                              struct rl_attempt *attempt, int64_t now_ns);

#endif
