/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The base algorithm: acquire, roll back, extend, release over N nodes.
 *
 * Modelled: a FIFO connection per client and node, with requests that are delayed for as long as
 * you like; replies that come late or never; connections that break with requests under way,
 * which the node may then serve later than what came on the next connection, or not at all;
 * giving up at any moment; time in ticks, keys that expire, nodes whose clocks run fast; and the
 * holder's own look at its own clock. Rules of docs/algorithm.md are cited where they act.
 *
 * Abstracted: a refusal is no vote, and any client may give up at any moment, so refusals and
 * timeouts are not told apart (A4 is haste, not a safety rule). Retry delays (A9) are arbitrary.
 * A reply whose round is over is dropped: it could only be ignored (see LATE_COUNTED). The
 * clock of a client is the unit of time; what a node's clock gains on it during one TTL is at
 * most DRIFT (A3), so a key lives TTL - DRIFT to TTL ticks. Slower nodes only keep keys longer.
 * All TTLs are equal, so "never shortens" (A7) has no meaning here. Repair (A8) is in guard.pml.
 *
 * Bounds: N = 3, CLIENTS, ATTEMPTS_A/B/C, EXTENSIONS of A, BREAKS of A's connection to node 1 (the
 * nodes are alike), DEPTH requests under way per connection. Time is not bounded.
 *
 * Property: no two clients believe at one instant that they hold the lock (asserted whenever a
 * belief begins or is renewed). CONTINUITY, LEAKS and PAUSE add others, where they stand below.
 *
 * HAND_OUT: the owner learns of its grant at any later moment, or it is taken back before (A9). It
 * believes in the lock from the hand-out on, by a validity that counts from t0.
 *
 * Switches that take one rule or assumption away:
 *   REUSE_VALUE         a retry uses the value of the attempt before          (A1)
 *   QUORUM=1            one vote too few                                      (A2)
 *   LATE_COUNTED        a reply of an earlier attempt counts for this one     (A2)
 *   NO_RECHECK          the validity is not looked at with the deciding reply (A3)
 *   FROM_REPLY          the validity is counted from the deciding reply       (A3)
 *   NOT_PURGED          a grant that was taken back is handed out as well     (A9)
 *   FROM_HAND_OUT       the validity is counted from the hand-out             (A9)
 *   ROLLBACK_ELSEWHERE  a rollback may overtake its acquire                   (A5)
 *   EXTEND_CREATES      an extension sets a missing key again                 (A7)
 *   EXTEND_LATE         an extension counts after the validity has ended      (A7)
 *   EXTEND_FROM_REPLY   its validity is counted from its deciding reply       (A7)
 *   CLIENT_SLEEPS       the holder's clock stands still while it is suspended (A10)
 *   FAST_NODES          nodes gain more than the drift allowance              (assumption)
 *   CLOCK_STEP          a node's clock is set forward                         (assumption)
 *   RESTART             a node forgets a key and votes at once                (assumption)
 *   PAUSE [+ FENCED]    a holder stops between looking and acting             (assumption)
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ATTEMPTS_A
#define ATTEMPTS_A 1
#endif
#ifndef ATTEMPTS_B
#define ATTEMPTS_B 1
#endif
#ifndef ATTEMPTS_C
#define ATTEMPTS_C 1
#endif
#ifndef EXTENSIONS
#define EXTENSIONS 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#ifndef DEPTH
#define DEPTH 3
#endif
#ifndef QUORUM
#define QUORUM 2 /* A2: a majority of the configured nodes */
#endif
#define N 3
#define TTL 3
#define DRIFT 1
#define VALID (TTL - DRIFT) /* A3: how long a lock is certainly held, from t0 */
#define ATTEMPTS(c) (c == 0 -> ATTEMPTS_A : (c == 1 -> ATTEMPTS_B : ATTEMPTS_C))

mtype = { ACQUIRE, EXTEND, DELETE }; /* SET NX PX; compare-and-renew; compare-and-delete */
mtype = { IDLE, TRYING, WON, HELD }; /* WON: with HAND_OUT, until the owner reads the event */

/* ---- the nodes ---- */
byte owner[N]; /* the value of the key; 0: no key */
byte left[N];  /* ticks until it expires */

/* ---- the wires: one connection per client and node, and one that broke ---- */
#define WIRE(c, n) ((c) * N + (n))
chan wire[CLIENTS * N] = [DEPTH] of { mtype, byte, byte }; /* what, value, round */
chan broken = [DEPTH] of { mtype, byte, byte };
byte broken_node;
#ifdef ROLLBACK_ELSEWHERE
chan aside[CLIENTS * N] = [2] of { mtype, byte, byte };
#endif

/* ---- the clients ---- */
mtype phase[CLIENTS] = IDLE;
byte attempt[CLIENTS];
byte value[CLIENTS];
byte spent[CLIENTS]; /* own clock since t0, up to VALID */
byte votes[CLIENTS]; /* grants of this round whose reply has come or is on its way, up to QUORUM */
#if EXTENSIONS > 0 /* of A: there is one other client to disturb it, and to be disturbed */
byte extensions;
bool extending;
byte extension_spent;
#define EXTENDING(c) (c == 0 && extending)
#else
#define EXTENDING(c) false
#endif

#ifdef PAUSE
#define PAUSED(c) looked[c]
#else
#define PAUSED(c) false
#endif
#define BELIEVES(c) (phase[c] == HELD && spent[c] < VALID) /* A10: by its own clock alone */

#if CLIENTS == 2
#define NO_OTHER_BELIEVES(c) (!BELIEVES(1 - (c)))
#else
#define NO_OTHER_BELIEVES(c)                                                                    \
    (!((c) != 0 && BELIEVES(0)) && !((c) != 1 && BELIEVES(1)) && !((c) != 2 && BELIEVES(2)))
#endif

#ifdef CONTINUITY /* an extension never bridges a time in which another client held */
byte holder; /* 1 + the last client that acquired */
#endif
#ifdef LEAKS /* no node serves an acquire after the rollback of that acquire */
bool rolled_back[N * 8];
#endif
#ifdef PAUSE
byte order;           /* counts holds; fence.pml shows that tokens are such a count */
byte token[CLIENTS];
bool looked[CLIENTS]; /* has seen a positive validity, then stopped; will act when it wakes */
byte accepted;        /* the largest token that the resource has seen */
#endif

/* ---- what a node does with a request ---- */
inline clear() /* what was read is not part of the state */
{
    op = 0;
    v = 0;
    r = 0
}

inline set_key(n, v, life)
{
    owner[n] = v;
    left[n] = life
}

#ifdef EXTEND_CREATES
#define RENEWS(n, v) (owner[n] == v || owner[n] == 0)
#else
#define RENEWS(n, v) (owner[n] == v) /* A7: never creates */
#endif
#ifdef LATE_COUNTED
#define IS_AWAITED(c, r) (phase[c] == TRYING)
#define IS_AWAITED_EXTENSION(c, v, r) EXTENDING(c)
#else
#define IS_AWAITED(c, r) (phase[c] == TRYING && r == attempt[c])
#if EXTENSIONS > 0
#define IS_AWAITED_EXTENSION(c, v, r) (EXTENDING(c) && value[c] == v && r == extensions)
#else
#define IS_AWAITED_EXTENSION(c, v, r) false
#endif
#endif

/*
 * Votes are counted by their round (A2). Only the moment of the reply that makes the quorum
 * matters: those before it change nothing. So a vote is added here, and the client sees a
 * quorum at any moment after that, or never.
 */
inline vote(c)
{
    if
    :: votes[c] < QUORUM -> votes[c]++
    :: else
    fi
}

inline serve(n, c, op, v, r, life, connected)
{
    if
    :: op == ACQUIRE ->
#ifdef LEAKS
        assert(!rolled_back[n * 8 + v]);
#endif
        if
        :: owner[n] == 0 ->
            set_key(n, v, life);
            if
            :: connected && IS_AWAITED(c, r) -> vote(c)
            :: else
            fi;
            printf("node %d: grants value %d of %c for %d ticks\n", n + 1, v, 65 + c, left[n])
        :: else -> printf("node %d: refuses value %d of %c\n", n + 1, v, 65 + c)
        fi
    :: op == EXTEND ->
        if
        :: RENEWS(n, v) ->
            set_key(n, v, life);
            if
            :: connected && IS_AWAITED_EXTENSION(c, v, r) -> vote(c)
            :: else
            fi;
            printf("node %d: renews value %d of %c for %d ticks\n", n + 1, v, 65 + c, left[n])
        :: else -> printf("node %d: has no value %d of %c to renew\n", n + 1, v, 65 + c)
        fi
    :: op == DELETE ->
#ifdef LEAKS
        rolled_back[n * 8 + v] = true;
#endif
        if
        :: owner[n] == v ->
            owner[n] = 0;
            left[n] = 0;
            printf("node %d: deletes value %d of %c\n", n + 1, v, 65 + c)
        :: else -> printf("node %d: has no value %d of %c to delete\n", n + 1, v, 65 + c)
        fi
    fi
}

/* ---- what a client does ---- */
#ifdef REUSE_VALUE
#define FRESH(c) (1 + (c))
#else
#define FRESH(c) (1 + (c) + CLIENTS * attempt[c]) /* A1 */
#endif
#define ROOM(c) (nfull(wire[WIRE(c, 0)]) && nfull(wire[WIRE(c, 1)]) && nfull(wire[WIRE(c, 2)]))

inline send_all(c, op, r)
{
    wire[WIRE(c, 0)]!op, value[c], r;
    wire[WIRE(c, 1)]!op, value[c], r;
    wire[WIRE(c, 2)]!op, value[c], r
}

/* A4, A5, A6: to all nodes, behind the acquire on its connection. */
inline roll_back(c)
{
#ifdef ROLLBACK_ELSEWHERE
    aside[WIRE(c, 0)]!DELETE, value[c], 0;
    aside[WIRE(c, 1)]!DELETE, value[c], 0;
    aside[WIRE(c, 2)]!DELETE, value[c], 0;
#else
    send_all(c, DELETE, 0);
#endif
    phase[c] = IDLE;
    spent[c] = 0;
    value[c] = 0;
#if EXTENSIONS > 0
    if
    :: c == 0 ->
        extending = false;
        extension_spent = 0;
        extensions = 0
    :: else
    fi;
#endif
    votes[c] = 0
}

inline begin_attempt(c)
{
    value[c] = FRESH(c);
    attempt[c]++;
    phase[c] = TRYING;
    printf("%c: t0, asks all nodes with value %d\n", 65 + c, value[c]);
    send_all(c, ACQUIRE, attempt[c])
}

/* A3: decided with the deciding reply, by what the own clock says then. */
#ifdef NO_RECHECK
#define WINS(c) (phase[c] == TRYING && votes[c] == QUORUM)
#else
#define WINS(c) (phase[c] == TRYING && votes[c] == QUORUM && spent[c] < VALID)
#endif

inline believe(c)
{
    phase[c] = HELD;
    printf("%c: %d ticks after t0: HOLDS\n", 65 + c, spent[c]);
#if defined(FROM_REPLY) || defined(FROM_HAND_OUT)
    spent[c] = 0;
#endif
    assert(NO_OTHER_BELIEVES(c));
#ifdef CONTINUITY
    holder = 1 + c;
#endif
#ifdef PAUSE
    order++;
    token[c] = order
#endif
}

inline win(c)
{
    votes[c] = 0;
#ifdef HAND_OUT
    phase[c] = WON;
    printf("%c: the deciding reply, %d ticks after t0: its event waits\n", 65 + c, spent[c])
#else
    believe(c)
#endif
}

#ifdef FROM_HAND_OUT
#define HANDED_OUT(c) true
#else
#define HANDED_OUT(c) (spent[c] < VALID) /* A9: the last look at the clock */
#endif

/* A7: within the validity, and counted from the start of the extension. */
#ifdef EXTEND_LATE
#define RENEWED(c) (EXTENDING(c) && votes[c] == QUORUM && extension_spent < VALID)
#else
#define RENEWED(c)                                                                              \
    (EXTENDING(c) && votes[c] == QUORUM && extension_spent < VALID && spent[c] < VALID)
#endif

inline end_extension(c)
{
    extending = false;
    extension_spent = 0;
    votes[c] = 0
}

inline renewed(c)
{
    printf("%c: the deciding reply, %d ticks after its start: EXTENDED\n", 65 + c, extension_spent);
#ifdef EXTEND_FROM_REPLY
    spent[c] = 0;
#else
    spent[c] = extension_spent;
#endif
    end_extension(c);
    assert(NO_OTHER_BELIEVES(c));
#ifdef CONTINUITY
    assert(holder == 1 + c)
#endif
}

#ifdef ROLLBACK_ELSEWHERE
#define ROOM_TO_DELETE(c)                                                                       \
    (nfull(aside[WIRE(c, 0)]) && nfull(aside[WIRE(c, 1)]) && nfull(aside[WIRE(c, 2)]))
#else
#define ROOM_TO_DELETE(c) ROOM(c)
#endif
proctype client(byte c)
{
end:
    do
    :: d_step { phase[c] == IDLE && attempt[c] < ATTEMPTS(c) && ROOM(c) -> begin_attempt(c) }
    :: d_step { WINS(c) -> win(c) }
#ifdef HAND_OUT
    :: d_step {
            phase[c] == WON && HANDED_OUT(c) ->
            believe(c)
        }
    :: d_step {
            phase[c] == WON && ROOM_TO_DELETE(c) ->
            printf("%c: the event is not read in time, takes its grant back\n", 65 + c);
#ifdef NOT_PURGED
            send_all(c, DELETE, 0)
#else
            roll_back(c)
#endif
        }
#endif
    :: d_step {
            phase[c] == TRYING && ROOM_TO_DELETE(c) ->
            printf("%c: gives up, rolls back\n", 65 + c);
            roll_back(c)
        }
    :: d_step {
            phase[c] == HELD && !PAUSED(c) && ROOM_TO_DELETE(c) ->
            if
            :: BELIEVES(c) -> printf("%c: releases\n", 65 + c)
            :: else -> printf("%c: its validity is over, sweeps\n", 65 + c)
            fi;
            roll_back(c)
        }
#if EXTENSIONS > 0
    :: d_step {
            c == 0 && BELIEVES(c) && !extending && extensions < EXTENSIONS && ROOM(c) ->
            extensions++;
            extending = true;
            printf("%c: extends, %d ticks after t0\n", 65 + c, spent[c]);
            send_all(c, EXTEND, extensions)
        }
    :: d_step { RENEWED(c) -> renewed(c) }
    :: d_step {
            EXTENDING(c) ->
            end_extension(c);
            printf("%c: gives its extension up, the old deadline stands\n", 65 + c)
        }
#endif
#ifdef PAUSE
    :: d_step {
            BELIEVES(c) && !looked[c] ->
            looked[c] = true;
            printf("%c: looks: still %d ticks\n", 65 + c, VALID - spent[c])
        }
    :: d_step {
            looked[c] ->
            looked[c] = false;
#ifdef FENCED
            if
            :: token[c] < accepted ->
                printf("the resource refuses %c, token %d\n", 65 + c, token[c])
            :: else ->
#endif
                printf("the resource accepts %c, token %d\n", 65 + c, token[c]);
                assert(token[c] >= accepted); /* no write of a holder after one of the next */
                accepted = token[c]
#ifdef FENCED
            fi
#endif
        }
#endif
    od
}

/* How long a key set now will live: the node's clock is right, or gains DRIFT in a TTL. */
#ifdef ALL_FAST /* a bound: every key lives as short as it may */
#define SLOWEST FASTEST
#else
#define SLOWEST TTL
#endif
#ifdef FAST_NODES
#define FASTEST (TTL - DRIFT - 1)
#else
#define FASTEST (TTL - DRIFT)
#endif

proctype node(byte n)
{
    byte v, r;
    mtype op;
end:
    do
    :: d_step { wire[WIRE(0, n)]?op, v, r -> serve(n, 0, op, v, r, SLOWEST, true); clear() }
    :: d_step { wire[WIRE(0, n)]?op, v, r -> serve(n, 0, op, v, r, FASTEST, true); clear() }
    :: d_step { wire[WIRE(1, n)]?op, v, r -> serve(n, 1, op, v, r, SLOWEST, true); clear() }
    :: d_step { wire[WIRE(1, n)]?op, v, r -> serve(n, 1, op, v, r, FASTEST, true); clear() }
#if CLIENTS > 2
    :: d_step { wire[WIRE(2, n)]?op, v, r -> serve(n, 2, op, v, r, SLOWEST, true); clear() }
    :: d_step { wire[WIRE(2, n)]?op, v, r -> serve(n, 2, op, v, r, FASTEST, true); clear() }
#endif
#ifdef ROLLBACK_ELSEWHERE
    :: d_step { aside[WIRE(0, n)]?op, v, r -> serve(n, 0, op, v, r, SLOWEST, true); clear() }
    :: d_step { aside[WIRE(1, n)]?op, v, r -> serve(n, 1, op, v, r, SLOWEST, true); clear() }
#endif
#if BREAKS > 0
    :: d_step {
            broken_node == n && nempty(broken) ->
            broken?op, v, r;
            serve(n, (v - 1) % CLIENTS, op, v, r, SLOWEST, false);
            clear()
        }
    :: d_step {
            broken_node == n && nempty(broken) ->
            broken?op, v, r;
            printf("node %d: a request about value %d is lost\n", n + 1, v);
            clear()
        }
#endif
    od
}

#if BREAKS > 0
/* A5: deletions are repeated on the next connection; acquires and extensions never are. */
inline break_wire(c, n)
{
    breaks--;
    broken_node = n;
    count = len(wire[WIRE(c, n)]);
    printf("the connection of %c to node %d breaks\n", 65 + c, n + 1);
    do
    :: count > 0 ->
        wire[WIRE(c, n)]?op, v, r;
        broken!op, v, r;
        if
        :: op == DELETE -> wire[WIRE(c, n)]!op, v, r
        :: else
        fi;
        count--
    :: else -> break
    od;
    clear()
}
#define CAN_BREAK(c, n) (breaks > 0 && empty(broken) && nempty(wire[WIRE(c, n)]))

proctype network()
{
    byte breaks = BREAKS;
    byte count;
    byte v, r;
    mtype op;
end:
    do
    :: d_step { CAN_BREAK(0, 0) -> break_wire(0, 0) }
    od
}
#endif

/* ---- time ---- */
inline age_key(n)
{
    if
    :: left[n] > 1 -> left[n]--
    :: left[n] == 1 ->
        left[n] = 0;
        owner[n] = 0;
        printf("node %d: its key expires\n", n + 1)
    :: else
    fi
}

inline age_client(c)
{
    if
    :: phase[c] != IDLE && spent[c] < VALID -> spent[c]++
    :: else
    fi;
#if EXTENSIONS > 0
    if
    :: EXTENDING(c) && extension_spent < VALID -> extension_spent++
    :: else
    fi
#endif
}

inline tick()
{
    printf("-- tick --\n");
    age_key(0);
    age_key(1);
    age_key(2);
    age_client(1);
#if CLIENTS > 2
    age_client(2)
#endif
}

proctype clock()
{
#if defined(CLOCK_STEP) || defined(RESTART)
    byte faults = 1;
#endif
end:
    do
    :: d_step { tick(); age_client(0) }
#ifdef CLIENT_SLEEPS
    :: d_step { tick(); printf("A: is suspended, its clock stands still\n") }
#endif
#ifdef CLOCK_STEP
    :: d_step {
            faults > 0 && left[0] > 0 ->
            faults--;
            printf("node 1: its clock is set forward by two ticks\n");
            age_key(0);
            age_key(0)
        }
#endif
#ifdef RESTART
    :: d_step {
            faults > 0 && owner[0] != 0 ->
            faults--;
            owner[0] = 0;
            left[0] = 0;
            printf("node 1: restarts with an empty memory\n")
        }
#endif
    od
}

init
{
    atomic {
        run node(0);
        run node(1);
        run node(2);
        run client(0);
        run client(1);
#if CLIENTS > 2
        run client(2);
#endif
#if BREAKS > 0
        run network();
#endif
        run clock()
    }
}
