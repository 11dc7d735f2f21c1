/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of one lock: step(event with its time) -> actions.
 *
 *           ACQUIRE            quorum, still valid
 *   IDLE ------------> ACQUIRING ------------------> HELD --RELEASE--> RELEASING --> ENDED
 *     |                 ^     |  \\_ ALIGNING ____/   | validity over     | gone
 *     |                 |     | lost                  v                   v
 *     v      UNPARK     |     v                     ENDED (lost)       CHECKING --> ENDED
 *   PARKED -------------+- TICKETING, QUEUED: another holds it, and we wait
 *                       +- BACKOFF: too few nodes answered, and we wait
 *                          INQUIRING: tried once, and another holds it
 *
 * ALIGNING: a fenced lock whose granting nodes disagree about the token (docs/guards.md,
 * Fencing). PARKED: behind another waiter in the client's local queue; only its head is sent to
 * the nodes.
 *
 * Pure: the time and the random number come with the event, and the caller carries out the
 * actions. Rule numbers (A1-A11) are those of docs/algorithm.md.
 *
 * Every round of requests has a number. A reply of an older round is never counted for a newer
 * one; it can only add to the margin of the hold it belongs to. What a late answer does depends
 * on the state that it meets:
 *
 *   state                     answer to           what happens
 *   ACQUIRING                 this attempt        it is a vote, and may decide
 *   ALIGNING                  this attempt        it joins the hold to be
 *   INQUIRING, BACKOFF,       the last attempt    at most the report: its rollback is behind it
 *   QUEUED
 *   HELD                      its own acquire     a grant: the margin grows, unless extended
 *                                                 since; a refusal: that queue is left
 *   HELD, extension open      that extension      it is a vote, and may decide
 *   HELD, extension decided   that extension      the margin changes; a missing key is repaired
 *   HELD                      a repair            the margin grows; no vote
 *   RELEASING                 the release         it is a vote, and may decide
 *   CHECKING                  the release         only the report
 *   INQUIRING, CHECKING       an inquiry          who is there now; the last of them ends it
 *   TICKETING                 a ticket            a place; other answers are dropped
 *   any                       anything else       dropped
 *   IDLE, PARKED, ENDED       anything            dropped
 *
 * A node votes once in a round, so the answer of a node that was timed out is no vote; a grant
 * that comes when the lock is HELD still adds to the margin. A late grant to an owner is given
 * the owner's token (token.c). Answers to an earlier attempt, or to a freed handle, end in the
 * engine (rl_deliver_answer() in engine/receive.c).
 */
#ifndef RL_CORE_LOCK_H
#define RL_CORE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "core/answer.h"
#include "core/op.h"
#include "core/tally.h"

#define RL_LONGEST_TTL_MS UINT32_MAX /* longer than any that is allowed */

/* A waiter whose last heartbeat is this old has lost its place in the nodes' queues. */
#define RL_WAITER_TTL_MS 3000

#define RL_SENDS_MAX 4 /* send again, roll back and try another slot are three */

enum rl_state {
    RL_IDLE,
    RL_ACQUIRING, /* from here to HELD: an acquisition is under way */
    RL_ALIGNING,
    RL_INQUIRING, /* tried once and refused: the remaining times are on their way */
    RL_BACKOFF,   /* between two attempts */
    RL_PARKED,    /* behind another waiter of this client */
    RL_TICKETING, /* which place in the queue can we get? */
    RL_QUEUED,    /* in the queue; woken by a message or a timer */
    RL_HELD,
    RL_RELEASING,
    RL_CHECKING, /* our key was gone: is another's there? */
    RL_ENDED,
};

/* What all locks of a client share; constant after open. */
struct rl_policy {
    uint8_t node_count;
    uint8_t quorum;
    uint16_t all_nodes; /* a bit each */
    uint32_t drift_ppm;
    int64_t node_timeout_ns;
    int64_t retry_min_ns; /* bound of the first random delay; doubles up to ... */
    int64_t retry_max_ns;
};

/* What the caller requested. */
struct rl_lock_terms {
    int64_t max_hold_ns;     /* 0: no cap */
    uint32_t max_extensions; /* 0: no cap */
    uint16_t slots;          /* SEMAPHORE */
    uint8_t kind;            /* enum redlock_kind */
    bool renew : 1;          /* watchdog: extend at a third of the TTL (A11) */
    bool fenced : 1;         /* with a fencing token */
    bool tagged : 1;         /* its values have a tag, which is granted once */
    bool fair : 1;           /* the first attempt respects the queue */
    bool keep : 1;           /* others may renew it: our loss of it deletes nothing */
};

#define RL_VOTE_BITS 4
#define RL_RTT_MAX_US ((1 << 27) - 1) /* two minutes: what is left for a round trip, signed */

/* One node's part in the last operation. A lock keeps one for every node as long
 * as it lives. */
struct rl_node_vote {
    uint32_t vote : RL_VOTE_BITS;         /* enum redlock_vote */
    int32_t rtt_us : (32 - RL_VOTE_BITS); /* -1: no answer */
};

/* A token of the owner's first hold, and how many granting nodes have it. */
struct rl_owners_token {
    int64_t token; /* 0: none */
    uint8_t count;
};

/*
 * What is needed until an acquisition is decided, and not after that. A client may hold very
 * many locks, and acquires few at a time: the owner of the memory takes it away once the lock
 * is held. A lock that failed keeps it, for the report.
 */
struct rl_acquisition {
    int64_t wait_deadline_ns; /* RL_NEVER_NS: for ever; 0: try once */
    int64_t retry_at_ns;      /* BACKOFF, QUEUED, PARKED */
    int64_t ticket;           /* our place in the queue, fixed once it is known; 0: none */
    int64_t
        grace_ends_ns; /* ACQUIRING from the queue: until then a refusal is not the last word */
    int64_t ahead_ms;  /* the waiter ahead of us may live this long */
    uint32_t attempt_count;
    uint32_t place; /* in the queue, from 1; 0: unknown */
    uint32_t place_round;
    int8_t attempt_error;    /* why the last attempt failed; what INQUIRING will report */
    uint8_t collision_count; /* rounds in a row that gave us some nodes, but no quorum */
    uint8_t again_count;     /* requests of this round that were repeated */
    uint16_t beyond_max_ttl; /* nodes that do not allow such a long TTL */
    uint16_t unsafe;         /* nodes that do not pass the safety checks of a profile */
    uint16_t counts_once;    /* nodes whose server votes by another name already */
    uint16_t woken;          /* nodes that reported, during the round, that the lock is free */
    uint16_t overtakes;      /* nodes whose grant is not counted, because other clients wait */
    uint16_t aligned;        /* ALIGNING: nodes whose counter is the token */
    uint16_t slot_tries;     /* SEMAPHORE: in a row, without waiting */
    uint16_t free_slot;      /* one that nodes reported as free; 0: none */
    uint16_t nested;         /* REENTRANT: nodes that named the owner's first hold ... */
    struct rl_owners_token owners[2];           /* ... and the tokens they named */
    int64_t key_ttl_ms[REDLOCK_NODES_MAX];      /* -1: unknown */
    int64_t token_or_ticket[REDLOCK_NODES_MAX]; /* of a grant, or offered; 0: none */
    uint32_t same_tag[REDLOCK_NODES_MAX]; /* which value of our tag was in the way; 0: none */
};

/* By size, not by subject: there may be a hundred thousand of these. */
struct rl_lock {
    const struct rl_policy *policy;
    struct rl_acquisition *acquisition; /* the owner's; NULL: held, or was */
    struct rl_node_vote *node;          /* the owner's, one for every node */
    struct rl_lock_terms terms;

    /* The round under way: ACQUIRE, EXTEND, RELEASE or an inquiry. */
    int64_t round_start_ns;
    int64_t round_deadline_ns; /* when nodes that have not answered are given up (A2) */
    struct rl_tally tally;
    uint32_t round;

    /* The hold. */
    uint32_t acquire_round;
    int64_t acquired_ns;
    int64_t deadline_ns; /* end of the validity (A3, A10); 0: not held */
    int64_t token;       /* fencing token of the hold; 0: none */
    union {
        int64_t renew_at_ns; /* HELD: the watchdog's next renewal; RL_NEVER_NS: none */
        int64_t sweep_at_ns; /* after a loss: when what remains is taken back; RL_NEVER_NS */
    };
    uint32_t ttl_ms;           /* of the acquire, and of the watchdog's renewals */
    uint32_t extension_ttl_ms; /* of the extension under way, or the last one */
    uint32_t longest_ttl_ms;   /* of any request for this key: a shorter may not be native */
    uint32_t extension_count;

    union {
        uint16_t awaited; /* INQUIRING, CHECKING and so on: nodes whose answer is still out */
        /*
         * HELD: elected votes whose new term this hold may succeed to. Before its server is
         * greeted, and among nodes_proven until the key is found there (docs/elected.md, E9).
         */
        uint16_t nodes_succeeding;
    };
    uint16_t slot;           /* SEMAPHORE: the one that is tried or held, from 1 */
    uint16_t nodes_with_key; /* nodes known to carry our key, a bit each */
    /*
     * Nodes that had our key while they could vote and were not found without it since. Only on
     * these does a renewal count in quarantine, and in strict mode without an attestation: a
     * key that was set there proves nothing (G3).
     */
    uint16_t nodes_proven;
    uint16_t
        nodes_proving; /* whose part in the last round won is what the deadline counts from */
    uint16_t maybe_queued; /* of a hold that was waited for: nodes that may still queue us */
    enum rl_state state : 8;
    int8_t jeopardy_error;    /* why the last renewal failed */
    bool jeopardy : 1;        /* it did, and the validity runs out */
    bool extending : 1;       /* an extension is under way ... */
    bool by_watchdog : 1;     /* ... started by the watchdog: no caller waits for it */
    bool came_from_queue : 1; /* the hold was waited for */
    bool overtakes_none : 1;  /* an attempt behind our own release overtakes no waiter */
    bool released_late : 1;   /* RELEASING: the validity was already over */
    bool adopted : 1;         /* taken over by value: validity unknown until extended */
    bool foreign : 1; /* taken over: only a release may delete it, never our loss of it */
};

enum rl_event_type {
    RL_EVENT_ACQUIRE, /* ttl_ns, wait_deadline_ns, parked, yields */
    RL_EVENT_ANSWER,  /* node, op, round, answer */
    RL_EVENT_TIMER,   /* warming, warm_at_ns */
    RL_EVENT_EXTEND,  /* ttl_ns */
    RL_EVENT_RELEASE,
    RL_EVENT_CANCEL,
    RL_EVENT_NODE_OUT,   /* node: its memory, clock or set cannot be trusted any more */
    RL_EVENT_OUR_CLOCK,  /* our own clock is wrong: nothing that was held can be trusted */
    RL_EVENT_UNPARK,     /* PARKED: at the head of the local queue now; client_holds */
    RL_EVENT_WAKE,       /* nodes: there the lock may be free, and we are at the head; slot */
    RL_EVENT_SETS_KNOWN, /* the set of every node is known, or its time is over (G8) */
    RL_EVENT_TOO_LATE, /* granted, but the wait's deadline passed before its owner knew (A9) */
    RL_EVENT_TERM,     /* node: an elected vote has another term or incarnation; rose */
    RL_EVENT_GREETED,  /* node: the incarnation of its server in the new term is known */
};

struct rl_event {
    enum rl_event_type type;
    int64_t now_ns;
    uint32_t random; /* for the delay between attempts */
    int64_t ttl_ns;
    int64_t wait_deadline_ns;
    uint8_t node;
    enum rl_op op;
    uint32_t round;
    struct rl_answer answer;
    /*
     * Nodes whose very first connection is still being made, and when to look at them again.
     * Their deadline starts when the connection is there: a cold start could otherwise never
     * lock over a distance of more than node_timeout.
     */
    uint16_t warming;
    int64_t warm_at_ns;

    bool rose;        /* TERM: a later one, named by a majority of the electors */
    bool awaits_sets; /* nodes that may be in a set have not answered (G8) */

    bool yields;       /* other clients are known to wait: begin with a place in the queue */
    bool parked;       /* another waiter of this client is before us */
    bool client_holds; /* this client holds the lock at this moment: trying would be in vain */
    int leader_error;  /* TIMER while PARKED: why the waiter before us had no success */
    uint16_t nodes;    /* WAKE */
    uint16_t slot;     /* WAKE: of a semaphore; 0: unknown */
    bool behind_release; /* WAKE: our own release is on its way, in front of what follows */
};

struct rl_send {
    enum rl_op op;
    uint16_t nodes;
    uint32_t round;
};

/* Why a hold ended before it was released. */
enum rl_loss {
    RL_LOSS_EXPIRED,   /* its validity was over */
    RL_LOSS_MISSING,   /* a majority cannot have the key any more */
    RL_LOSS_UNTRUSTED, /* nodes or a clock that it leant on are not to be trusted (G6) */
};

struct rl_actions {
    uint32_t send_count;
    struct rl_send send[RL_SENDS_MAX]; /* in this order; an ACQUIRE gets a fresh value (A1) */
    bool done;                         /* the operation of the caller is over */
    int done_error;
    bool lost;         /* the hold ended before it was released ... */
    enum rl_loss loss; /* ... for this reason */
    bool jeopardy;     /* a renewal failed ... */
    bool recovered;    /* ... and one succeeded again */
};

/*
 * The end of the validity of a key whose request was started at start_ns. No node can have set
 * its key earlier than start_ns, so none lets it expire earlier than start_ns + ttl by its own
 * clock; the drift, ttl * ppm / 10^6 + 2 ms, covers the difference between its clock's rate and
 * ours.
 */
int64_t rl_validity_end_ns(int64_t start_ns, int64_t ttl_ns, uint32_t drift_ppm);

/* votes: one for every node; they and the acquisition stay the caller's. */
void rl_lock_init(struct rl_lock *lock, const struct rl_policy *policy,
                  const struct rl_lock_terms *terms, struct rl_node_vote *votes,
                  struct rl_acquisition *acquisition);

/* For a lock that another process acquired: held, with unknown validity. */
void rl_lock_adopt(struct rl_lock *lock);

void rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

static inline int64_t rl_ttl_ns(const struct rl_lock *lock)
{
    return (int64_t)lock->ttl_ms * RL_NS_PER_MS;
}

static inline int64_t rl_extension_ttl_ns(const struct rl_lock *lock)
{
    return (int64_t)lock->extension_ttl_ms * RL_NS_PER_MS;
}

/* HELD: has the moment come at which its loss is reported (A10)? */
bool rl_hold_is_over(const struct rl_lock *lock, int64_t now_ns);

/* How many of the nodes gave this vote. */
uint8_t rl_count_votes(const struct rl_policy *policy, const struct rl_node_vote *votes,
                       enum redlock_vote vote);

/* When the next RL_EVENT_TIMER is due; RL_NEVER_NS for none. */
int64_t rl_lock_timer_ns(const struct rl_lock *lock);

/* A round trip as reports have it: a machine that slept may get an answer after hours. */
static inline int32_t rl_rtt_us(int64_t rtt_ns)
{
    return rtt_ns / 1000 < RL_RTT_MAX_US ? (int32_t)(rtt_ns / 1000) : RL_RTT_MAX_US;
}

/* The per-node deadline for a TTL (0: unknown): the policy's, but small against
 * the TTL (A2). */
int64_t rl_lock_node_timeout_ns(const struct rl_policy *policy, int64_t ttl_ns);

#endif
