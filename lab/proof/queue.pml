/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The waiting queue: waiters are served in order, though no single node keeps the queue.
 *
 * Modelled: each node has the lock, a queue ordered by (ticket, client) and the largest ticket
 * it has seen. A first round goes out without a ticket. If it fails, the ticket is the largest
 * next ticket of a quorum of nodes, fixed from then on; each later round queues with it. A node
 * grants only to its head (and, with FAIR, to a first round only if no client waits). A failed
 * round takes its grants back and keeps its place; with fewer than a quorum of answers it leaves
 * the queue and drops the ticket; a success leaves it. Clients that crash stay in queues, and own
 * keys, until these run out.
 *
 * Abstracted: time. Locks of live clients do not expire (base.pml is about that); those of
 * crashed ones do at any later moment, as do their places. Waking is left out: a waiter asks
 * again at any moment. next_ticket is the largest seen plus one; the node's clock, which the
 * scripts use as a lower bound, only makes it larger. A round starts when nothing of the
 * client's last one is under way. Leaving the queue happens with the release: until then the
 * place changes nothing, since the lock is taken.
 *
 * Bounds: N = 3 nodes, DOWN of them down, CLIENTS, one acquisition each, CRASHES, and with
 * TIMEOUTS two returns to the queue.
 *
 * Properties: one holder; no bypass: a client that starts after a waiter was queued on a quorum is
 * not served before it (needs FAIR); and with LIVE, every client that lives and reaches a quorum
 * is served, in every endless run that is weakly fair (each client goes on taking steps).
 *
 * Switches:
 *   NO_ORDER        one holder alone is checked
 *   FAIR            the first round respects the queue as well
 *   TIMEOUTS        a round may end while requests are under way
 *   CUT             A loses node 2 at some moment, for ever
 *   LIVE            with the claim that all are served
 *   NO_TICKETS      no client queues, all just try again
 *   KEEP_GRANTS     a failed round keeps the grants of its minority
 *   CLIENT_TICKETS  the ticket is a client's clock
 *   STAY            a client that reaches only a minority keeps its place
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef DOWN
#define DOWN 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#define N 3
#define QUORUM 2

mtype = { FRESH, ROUND, BETWEEN, HELD, SERVED, CRASHED }; /* a client */
/*
 * Between a client and a node: nothing; a request under way; its answer; a deletion under way;
 * both; the same for a deletion that leaves the queue too.
 */
mtype = { NONE, ASKED, REFUSED, GRANTED, DELETE, ASKED_DELETE, LEAVE, ASKED_LEAVE };

byte owner[N];   /* 1 + client; 0: no key */
byte waiting[N]; /* the queue: a bit per client; its order is (ticket, client) */
byte largest[N]; /* ticket seen */

mtype phase[CLIENTS] = FRESH;
byte ticket[CLIENTS]; /* 0: none */
byte next[CLIENTS];   /* the largest next ticket that this round has seen */
byte before[CLIENTS]; /* clients queued on a quorum when this one started, a bit each */
mtype slot[CLIENTS * N] = NONE;
byte crashes = CRASHES;
#ifdef TIMEOUTS
byte leaves = 2; /* tickets grow with every return to the queue: a bound */
#endif
#ifdef CUT
bool cut;
#else
#define cut false
#endif

#define AT(c, n) ((c) * N + (n))
#define IS(c, n, what) (slot[AT(c, n)] == what)
#define COUNT(c, what) (IS(c, 0, what) + IS(c, 1, what) + IS(c, 2, what))
#define IS_WAITING(c) ((phase[c] == ROUND || phase[c] == BETWEEN) && ticket[c] > 0)
#define BIT(c) (1 << (c))
#define IN_QUEUE(c, n) ((waiting[n] >> (c)) & 1)
#define REACHES(c, n) ((n) < N - DOWN && !(cut && (c) == 0 && (n) == 1))

/* ---- the order of the queue ---- */
#define AHEAD(d, c, n)                                                                          \
    ((d) != (c) && IN_QUEUE(d, n) &&                                                            \
     (ticket[d] < ticket[c] || (ticket[d] == ticket[c] && (d) < (c))))
#if CLIENTS == 2
#define IS_HEAD(c, n) (!AHEAD(0, c, n) && !AHEAD(1, c, n))
#else
#define IS_HEAD(c, n) (!AHEAD(0, c, n) && !AHEAD(1, c, n) && !AHEAD(2, c, n))
#endif
#ifdef FAIR
#define FIRST_ROUND_MAY(n) (waiting[n] == 0)
#else
#define FIRST_ROUND_MAY(n) true
#endif

/* ---- a node serves what is under way ---- */
inline serve_ask(c, n)
{
    if
    :: ticket[c] > 0 ->
        waiting[n] = waiting[n] | BIT(c);
        largest[n] = (ticket[c] > largest[n] -> ticket[c] : largest[n])
    :: else -> next[c] = (largest[n] + 1 > next[c] -> largest[n] + 1 : next[c])
    fi;
    if
    :: IS(c, n, ASKED_DELETE) -> slot[AT(c, n)] = DELETE
    :: IS(c, n, ASKED_LEAVE) -> slot[AT(c, n)] = LEAVE
    :: else -> slot[AT(c, n)] = REFUSED
    fi;
    if
    :: (owner[n] == 0 && (ticket[c] > 0 -> IS_HEAD(c, n) : FIRST_ROUND_MAY(n))) ||
           owner[n] == 1 + c ->
        owner[n] = 1 + c;
        if
        :: IS(c, n, REFUSED) -> slot[AT(c, n)] = GRANTED
        :: else
        fi;
        printf("node %d: grants %c\n", n + 1, 65 + c)
    :: else ->
        printf("node %d: refuses %c, ticket %d, queue %d\n", n + 1, 65 + c, ticket[c], waiting[n])
    fi
}

inline serve_delete(c, n)
{
    if
    :: owner[n] == 1 + c -> owner[n] = 0
    :: else
    fi;
    if
    :: IS(c, n, LEAVE) -> waiting[n] = waiting[n] & ~BIT(c)
    :: else
    fi;
    printf("node %d: takes back what %c has\n", n + 1, 65 + c);
    slot[AT(c, n)] = NONE
}

/* ---- what a client does ---- */
#define QUEUED_ON_QUORUM(d)                                                                     \
    (IS_WAITING(d) && IN_QUEUE(d, 0) + IN_QUEUE(d, 1) + IN_QUEUE(d, 2) >= QUORUM)

inline note_waiter(c, d)
{
    if
    :: d != c && QUEUED_ON_QUORUM(d) -> before[c] = before[c] | BIT(d)
    :: else
    fi
}

inline ask(c, n)
{
    if
    :: REACHES(c, n) && !IS(c, n, GRANTED) -> slot[AT(c, n)] = ASKED
    :: else
    fi
}

inline begin_round(c)
{
    if
    :: phase[c] == FRESH ->
        note_waiter(c, 0);
        note_waiter(c, 1);
#if CLIENTS > 2
        note_waiter(c, 2);
#endif
        printf("%c: STARTS\n", 65 + c)
    :: else -> printf("%c: asks again\n", 65 + c)
    fi;
    phase[c] = ROUND;
    next[c] = 0;
    ask(c, 0);
    ask(c, 1);
    ask(c, 2)
}

inline check_order(c, d)
{
    assert(d == c || phase[d] != HELD); /* one holder */
#ifndef NO_ORDER
    assert(!((before[c] >> d) & 1) || !IS_WAITING(d)) /* no bypass */
#endif
}

inline hold(c)
{
    phase[c] = HELD;
    printf("%c: HOLDS\n", 65 + c);
    check_order(c, 0);
    check_order(c, 1);
#if CLIENTS > 2
    check_order(c, 2);
#endif
    before[c] = 0
}

#ifdef KEEP_GRANTS
#define AFTER_GRANT GRANTED
#else
#define AFTER_GRANT DELETE
#endif

/* A failed round: grants go back, the place stays. */
inline take_back(c, n)
{
    if
    :: IS(c, n, GRANTED) -> slot[AT(c, n)] = AFTER_GRANT
    :: IS(c, n, ASKED) -> slot[AT(c, n)] = ASKED_DELETE
    :: IS(c, n, REFUSED) -> slot[AT(c, n)] = NONE
    :: else
    fi
}

inline leave(c, n)
{
    if
    :: !REACHES(c, n) -> slot[AT(c, n)] = NONE
    :: REACHES(c, n) && IS(c, n, ASKED) -> slot[AT(c, n)] = ASKED_LEAVE
    :: else -> slot[AT(c, n)] = LEAVE
    fi
}

inline forget_waiter(c, d)
{
    before[d] = before[d] & ~BIT(c)
}

inline leave_queue(c)
{
    leave(c, 0);
    leave(c, 1);
    leave(c, 2);
    forget_waiter(c, 0);
    forget_waiter(c, 1);
#if CLIENTS > 2
    forget_waiter(c, 2)
#endif
}

#define ANSWERS(c) (COUNT(c, REFUSED) + COUNT(c, GRANTED))
#ifdef STAY
#define LEAVES(c) false
#else
#define LEAVES(c) (ANSWERS(c) < QUORUM)
#endif

inline fail_round(c)
{
    phase[c] = BETWEEN;
    if
    :: LEAVES(c) ->
        printf("%c: too few answers, leaves the queue\n", 65 + c);
        leave_queue(c);
#ifdef TIMEOUTS
        leaves = (leaves > 0 -> leaves - 1 : 0);
#endif
#ifndef CLIENT_TICKETS
        ticket[c] = 0
#endif
    :: else ->
        if
#ifndef NO_TICKETS
        :: ticket[c] == 0 && ANSWERS(c) >= QUORUM -> ticket[c] = next[c]
#endif
        :: else
        fi;
        printf("%c: the round failed, ticket %d\n", 65 + c, ticket[c]);
        take_back(c, 0);
        take_back(c, 1);
        take_back(c, 2)
    fi;
    next[c] = 0
}

inline release(c)
{
    phase[c] = SERVED;
    printf("%c: releases\n", 65 + c);
    leave_queue(c)
}

inline crash(c)
{
    crashes--;
    phase[c] = CRASHED;
    printf("%c: crashes\n", 65 + c);
    slot[AT(c, 0)] = NONE;
    slot[AT(c, 1)] = NONE;
    slot[AT(c, 2)] = NONE;
    forget_waiter(c, 0);
    forget_waiter(c, 1);
#if CLIENTS > 2
    forget_waiter(c, 2)
#endif
}

#ifdef KEEP_GRANTS
#define CAN_BEGIN(c) (COUNT(c, NONE) + COUNT(c, GRANTED) == N)
#else
#define CAN_BEGIN(c) (COUNT(c, NONE) == N)
#endif
#ifdef TIMEOUTS
#define ROUND_OVER(c) (COUNT(c, ASKED) == 0 || ANSWERS(c) >= QUORUM || leaves > 0)
#else
#define ROUND_OVER(c) (COUNT(c, ASKED) == 0)
#endif
#define IS_BUSY(c) (phase[c] == ROUND || phase[c] == BETWEEN || phase[c] == HELD)
#define SERVES(c, n)                                                                            \
    :: d_step { (IS(c, n, ASKED) || IS(c, n, ASKED_DELETE) || IS(c, n, ASKED_LEAVE)) ->         \
                serve_ask(c, n) }                                                               \
    :: d_step { (IS(c, n, DELETE) || IS(c, n, LEAVE)) -> serve_delete(c, n) }

proctype client(byte c)
{
#ifdef CLIENT_TICKETS
    if
    :: ticket[c] = 1
    :: ticket[c] = 2
#if CLIENTS > 2
    :: ticket[c] = 3
#endif
    fi;
#endif
end:
    do
    SERVES(c, 0)
    SERVES(c, 1)
    SERVES(c, 2)
    :: d_step { (phase[c] == FRESH || phase[c] == BETWEEN) && CAN_BEGIN(c) -> begin_round(c) }
    :: d_step { phase[c] == ROUND && COUNT(c, GRANTED) >= QUORUM -> hold(c) }
    :: d_step { phase[c] == ROUND && COUNT(c, GRANTED) < QUORUM && ROUND_OVER(c) -> fail_round(c) }
    :: d_step { phase[c] == HELD -> release(c) }
    :: d_step { crashes > 0 && (IS_BUSY(c)) -> crash(c) }
    od
}

/* Locks and places in queues that are not refreshed any more expire. */
#define IS_GONE(c, n) (phase[c] == CRASHED || (cut && (c) == 0 && (n) == 1))
#define RUNS_OUT(c, n)                                                                          \
    :: d_step { IS_GONE(c, n) && (owner[n] == 1 + c || IN_QUEUE(c, n)) ->                       \
                if :: owner[n] == 1 + c -> owner[n] = 0 :: else fi;                             \
                waiting[n] = waiting[n] & ~BIT(c);                                              \
                printf("node %d: what %c had runs out\n", n + 1, 65 + c) }

proctype reaper()
{
end:
    do
    RUNS_OUT(0, 0)
    RUNS_OUT(0, 1)
    RUNS_OUT(0, 2)
    RUNS_OUT(1, 0)
    RUNS_OUT(1, 1)
    RUNS_OUT(1, 2)
#if CLIENTS > 2
    RUNS_OUT(2, 0)
    RUNS_OUT(2, 1)
    RUNS_OUT(2, 2)
#endif
#ifdef CUT
    :: d_step { !cut ->
            cut = true;
            slot[AT(0, 1)] = NONE;
            printf("A cannot reach node 2 any more\n") }
#endif
    od
}

init
{
    atomic {
        run client(0);
        run client(1);
#if CLIENTS > 2
        run client(2);
#endif
        run reaper()
    }
}

#ifdef LIVE
#define DONE(c) (phase[c] == SERVED || phase[c] == CRASHED)
#ifdef CUT
ltl all_served { <> DONE(1) } /* A may have lost its quorum */
#else
#if CLIENTS > 2
ltl all_served { <> (DONE(0) && DONE(1) && DONE(2)) }
#else
ltl all_served { <> (DONE(0) && DONE(1)) }
#endif
#endif
#endif
