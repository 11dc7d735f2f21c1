/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guards: may a node that lost its memory vote?
 *
 * Modelled: nodes that restart with an empty memory at any moment; connections that break with
 * it, and the check that comes first on the next (G1): old enough, or watched on this connection
 * for the guard time; grants of quarantined nodes, which exist but do not count (G3); renewals,
 * which count wherever the key is still ours (G3); repair (A8); a proxy that hides a restart;
 * markers and probation (G2). With TOLD_LATER, a renewal that finds A's key missing on so many nodes
 * that no majority can have it is a loss (A7), and the owner of the lock learns of it later: it
 * believes until then, or until the promised end. With JUDGED, a renewal may be judged failed at any
 * moment, because nodes are down or slow, and is repeated; what others answer to it still comes. Time
 * is in ticks and not bounded.
 *
 * Abstracted: everything that base.pml covers. A client makes one attempt, its value is its
 * name, clocks have one rate (no drift: the validity is the TTL), and a rollback is a deletion
 * at any later moment. Of the replies, only the moment of the deciding one counts (see base.pml).
 * The margin of the guard time, which covers rounding of the uptime, is 0 here. FLUSHALL, SWAPDB
 * and a failover behind one address are, for a client, restarts that a proxy hides.
 *
 * Bounds: N = 3, two clients, one attempt each, EXTENSIONS of A, RESTARTS, all of node 1: the
 * nodes are alike, so which one restarts makes no difference.
 *
 * Properties: no two clients believe at one instant that they hold the lock; with JUDGED, A repeats
 * no renewal that has found its key gone from so many nodes that no majority can have it (A7).
 *
 * Switches:
 *   IDEAL        the node's true age decides. That lets every node vote that G1 lets vote, and
 *                perhaps more: a connection that was watched for the guard time, or that
 *                reported such an age, leads to a node of that age, else it would have broken.
 *                Smaller, for the searches with extensions
 *   STRICT       G2 instead of G1: a grant counts if the marker was there in the same step
 *   PROXY        a restart does not break connections
 *   GUARD_OFF    no check at all
 *   SHORT_GUARD  the guard time is one tick less than the longest TTL          (G4)
 *   REPLAY       a request goes out again on a new connection before the check (G1)
 *   RENEW_ALL    a renewal counts in quarantine also where the grant did not   (G3)
 *   TOLD_LATER   the owner of A's lock learns of a loss at any later moment    (A10)
 *   JUDGED       a renewal is judged failed at any moment; needs TOLD_LATER    (A7)
 *   EARLY        what nodes answer after that proves no loss                   (A7)
 *   SWEEP        what is left of a lost lock is deleted at once                (A10)
 *   REPAIR_ALL     missing keys are set again on quarantined nodes too           (G3, A8)
 *   ATTESTATION  the marker is read behind the key, in a step of its own, on the same connection:
 *                what the plain acquire does. Only the marker is compared, not the node's identity
 *   MARKER_FIRST the marker is read before the key is set, not together        (G2)
 *   BLIND_ADMIT  a watched node is admitted without comparing the probation    (G2)
 */
#ifndef RESTARTS
#define RESTARTS 1
#endif
#ifndef EXTENSIONS
#define EXTENSIONS 0
#endif
#define N 3
#define CLIENTS 2
#define QUORUM 2
#define TTL 2
#ifdef SHORT_GUARD
#define GUARD (TTL - 1)
#else
#define GUARD TTL /* G4: no TTL is longer */
#endif

mtype = { IDLE, TRYING, HELD, LOST, OVER }; /* a client; LOST: its owner has not been told yet */
mtype = { NOTHING, ASK, GRANTED, RENEW }; /* what is under way between a client and a node */

/* ---- the nodes ---- */
byte owner[N]; /* 1 + the client whose key is there; 0: no key */
byte left[N];  /* ticks until it expires */
byte age[N];   /* ticks since the start, up to GUARD */
byte restarts = RESTARTS;
#ifdef STRICT
bool admitted[N];  /* the marker names this incarnation */
byte probation[N]; /* a string that a client watches; 0: none */
byte nonce;
#endif

/* ---- between a client and a node ---- */
#define AT(c, n) ((c) * N + (n))
#define UNCHECKED 15
mtype request[CLIENTS * N] = NOTHING;
byte wait[CLIENTS * N] = UNCHECKED; /* ticks to be watched still; 0: may vote. Of this connection */
#ifdef STRICT
byte watched[CLIENTS * N]; /* the probation that is being watched */
#endif
#ifdef MARKER_FIRST
bool marker_seen[CLIENTS * N];
#endif

/* ---- the clients ---- */
mtype phase[CLIENTS] = IDLE;
byte spent[CLIENTS]; /* own clock since t0, up to TTL */
byte votes[CLIENTS]; /* up to QUORUM */
#if EXTENSIONS > 0
byte extensions;
bool extending;
bool may_repair; /* just proven on a quorum (A8) */
byte extension_spent;
bool carries[N]; /* nodes that had A's key while they could vote, not found without it since */
#endif
#ifdef TOLD_LATER
byte missing; /* nodes of this extension that had no key of A, and count for the loss */
#endif
#ifdef JUDGED
byte gone; /* nodes of this extension that had no key of A */
#endif

#define BELIEVES(c) ((phase[c] == HELD || phase[c] == LOST) && spent[c] < TTL)
/* What is left of a lock that was given up, or that was lost and whose end has come (A10). */
#ifdef SWEEP
#define MAY_DELETE(c) (phase[c] == OVER || phase[c] == LOST)
#else
#define MAY_DELETE(c) (phase[c] == OVER || (phase[c] == LOST && spent[c] == TTL))
#endif

inline vote(c)
{
    if
    :: votes[c] < QUORUM -> votes[c]++
    :: else
    fi
}

/* G1: the first answer on a connection. Old enough, or to be watched. */
inline check(c, n)
{
    wait[AT(c, n)] = (age[n] >= GUARD -> 0 : GUARD);
    printf("%c: connects to node %d, to be watched for %d ticks\n", 65 + c, n + 1, wait[AT(c, n)])
}

#ifdef STRICT
#ifdef MARKER_FIRST
#define COUNTS(c, n) marker_seen[AT(c, n)]
#else
#define COUNTS(c, n) admitted[n] /* G2: as it stands in the step that sets the key */
#endif
#else
#ifdef GUARD_OFF
#define COUNTS(c, n) true
#else
#ifdef IDEAL
#define COUNTS(c, n) (age[n] >= GUARD)
#else
#ifdef REPLAY
#define COUNTS(c, n) (wait[AT(c, n)] == 0 || wait[AT(c, n)] == UNCHECKED)
#else
#define COUNTS(c, n) (wait[AT(c, n)] == 0) /* G3: no vote in quarantine */
#endif
#endif
#endif
#endif

inline note_carrier(c, n)
{
#if EXTENSIONS > 0
    if
    :: c == 0 -> carries[n] = true
    :: else
    fi
#else
    skip
#endif
}

inline serve_acquire(c, n)
{
    request[AT(c, n)] = NOTHING;
    if
    :: owner[n] == 0 ->
        owner[n] = 1 + c;
        left[n] = TTL;
#ifdef ATTESTATION
        request[AT(c, n)] = GRANTED;
        printf("node %d: grants %c, before its attestation\n", n + 1, 65 + c)
#else
        if
        :: phase[c] == TRYING && COUNTS(c, n) ->
            vote(c);
            note_carrier(c, n);
            printf("node %d: grants %c, a vote\n", n + 1, 65 + c)
        :: phase[c] == TRYING && !(COUNTS(c, n)) ->
#ifndef STRICT
            request[AT(c, n)] = GRANTED; /* the reply may arrive when the quarantine is over */
#endif
            printf("node %d: grants %c, no vote: quarantine\n", n + 1, 65 + c)
        :: else ->
            if
            :: phase[c] == HELD && COUNTS(c, n) -> note_carrier(c, n)
            :: else
            fi;
            printf("node %d: grants %c, which has gone on\n", n + 1, 65 + c)
        fi
#endif
    :: else -> printf("node %d: refuses %c\n", n + 1, 65 + c)
    fi
}

#ifdef ATTESTATION
inline attestation(c, n)
{
    request[AT(c, n)] = NOTHING;
    if
    :: admitted[n] && phase[c] == TRYING ->
        vote(c);
        note_carrier(c, n)
    :: admitted[n] && phase[c] == HELD -> note_carrier(c, n)
    :: else
    fi;
    printf("node %d: its attestation says to %c %d\n", n + 1, 65 + c, admitted[n])
}
#endif

/*
 * G3: a renewal counts in quarantine too, where the grant has counted: our key is still there, so
 * nothing was lost. A key that was set in quarantine proves nothing, however often it is renewed.
 */
#ifdef RENEW_ALL
#define RENEWAL_COUNTS(n) true
#else
#ifdef STRICT
#define RENEWAL_COUNTS(n) (carries[n] || admitted[n])
#else
#define RENEWAL_COUNTS(n) (carries[n] || COUNTS(0, n))
#endif
#endif

/* Does a missing key count for the loss? */
#if defined(JUDGED) && !defined(EARLY)
#define PROVES true
#else
#define PROVES extending
#endif

#if EXTENSIONS > 0
inline serve_renew(n)
{
    request[AT(0, n)] = NOTHING;
    if
    :: owner[n] == 1 ->
        left[n] = TTL;
        if
        :: extending && RENEWAL_COUNTS(n) ->
            vote(0);
            carries[n] = true;
            printf("node %d: renews A, a vote\n", n + 1)
        :: else -> printf("node %d: renews A\n", n + 1)
        fi
    :: else ->
        carries[n] = false;
#ifdef TOLD_LATER
        if
        :: PROVES -> missing++
        :: else
        fi;
#ifdef JUDGED
        gone++;
        if
        :: phase[0] == HELD && missing > N - QUORUM -> lose()
        :: else
        fi;
#endif
#endif
        printf("node %d: has no key of A to renew\n", n + 1)
    fi
}
#endif

#if defined(GUARD_OFF) || defined(REPLAY) || defined(STRICT) || defined(IDEAL)
#define CAN_SERVE(c, n) true
#else
#define CAN_SERVE(c, n) (wait[AT(c, n)] != UNCHECKED) /* G1: never ahead of the check */
#endif
#ifdef MARKER_FIRST
#define CAN_ACQUIRE(c, n) marker_seen[AT(c, n)]
#else
#define CAN_ACQUIRE(c, n) CAN_SERVE(c, n)
#endif

inline start(c)
{
    phase[c] = TRYING;
    request[AT(c, 0)] = ASK;
    request[AT(c, 1)] = ASK;
    request[AT(c, 2)] = ASK;
    printf("%c: t0, asks all nodes\n", 65 + c)
}

inline win(c)
{
    phase[c] = HELD;
    votes[c] = 0;
    printf("%c: HOLDS, %d ticks after t0\n", 65 + c, spent[c]);
    assert(!BELIEVES(1 - c))
}

inline stop(c)
{
    phase[c] = OVER;
    votes[c] = 0;
    spent[c] = 0;
#if EXTENSIONS > 0
    if
    :: c == 0 ->
        extending = false;
        may_repair = false;
        extension_spent = 0
    :: else
    fi;
#endif
    printf("%c: gives up or releases\n", 65 + c)
}

#if EXTENSIONS > 0
inline extend()
{
    extensions++;
    extending = true;
    may_repair = false;
    extension_spent = 0;
    votes[0] = 0;
#ifdef TOLD_LATER
    missing = 0;
#endif
#ifdef JUDGED
    assert(gone <= N - QUORUM);
    gone = 0;
#endif
    request[AT(0, 0)] = RENEW;
    request[AT(0, 1)] = RENEW;
    request[AT(0, 2)] = RENEW;
    printf("A: extends, %d ticks after t0\n", spent[0])
}

inline extended()
{
    spent[0] = extension_spent;
    extending = false;
    may_repair = true;
    extension_spent = 0;
    votes[0] = 0;
    printf("A: EXTENDED, %d ticks after its start\n", spent[0]);
    assert(!BELIEVES(1))
}

#ifdef TOLD_LATER
inline lose()
{
    phase[0] = LOST;
    extending = false;
    extension_spent = 0;
    votes[0] = 0;
    missing = 0;
    printf("A: its lock is LOST, %d ticks after t0; its owner does not know yet\n", spent[0])
}
#endif

#ifdef JUDGED
/* The old deadline stands (A7). */
inline failed()
{
    extending = false;
    extension_spent = 0;
    votes[0] = 0;
    printf("A: its extension has failed\n")
}
#endif

#ifdef REPAIR_ALL
#define MAY_REPAIR(n) (may_repair && phase[0] == HELD && BELIEVES(0) && owner[n] == 0)
#else
#define MAY_REPAIR(n) (may_repair && phase[0] == HELD && BELIEVES(0) && owner[n] == 0 && COUNTS(0, n))
#endif

inline repair(n)
{
    owner[n] = 1;
    carries[n] = true;
    left[n] = TTL - spent[0]; /* what is left of its time */
    printf("A: repairs node %d\n", n + 1)
}
#endif

proctype client(byte c)
{
end:
    do
    :: d_step { phase[c] == IDLE -> start(c) }
    :: d_step { phase[c] == TRYING && votes[c] == QUORUM && spent[c] < TTL -> win(c) }
    :: d_step { phase[c] == TRYING || phase[c] == HELD -> stop(c) }
#if EXTENSIONS > 0
    :: d_step { c == 0 && phase[0] == HELD && BELIEVES(0) && !extending && extensions < EXTENSIONS -> extend() }
    :: d_step { c == 0 && phase[0] == HELD && BELIEVES(0) && extending && votes[0] == QUORUM -> extended() }
#ifdef TOLD_LATER
    :: d_step { c == 0 && phase[0] == HELD && extending && missing > N - QUORUM -> lose() }
    :: d_step { c == 0 && phase[0] == LOST -> stop(0) }
#endif
#ifdef JUDGED
    :: d_step { c == 0 && phase[0] == HELD && extending -> failed() }
#endif
    :: d_step { c == 0 && MAY_REPAIR(0) -> repair(0) }
    :: d_step { c == 0 && MAY_REPAIR(1) -> repair(1) }
    :: d_step { c == 0 && MAY_REPAIR(2) -> repair(2) }
#endif
    od
}

#define LATE_VOTE(c, n) (request[AT(c, n)] == GRANTED && COUNTS(c, n))

inline late_vote(c, n)
{
    request[AT(c, n)] = NOTHING;
    if
    :: phase[c] == TRYING ->
        vote(c);
        note_carrier(c, n)
    :: phase[c] == HELD -> note_carrier(c, n)
    :: else
    fi;
    printf("%c: node %d is out of quarantine, its grant counts\n", 65 + c, n + 1)
}

#ifdef STRICT
/* G2: a node without marker gets a probation string, or shows the one that is there. */
inline probe(c, n)
{
    if
    :: probation[n] == 0 ->
        nonce++;
        probation[n] = nonce
    :: else
    fi;
    watched[AT(c, n)] = probation[n];
    wait[AT(c, n)] = GUARD;
    printf("%c: node %d is not admitted, watches its probation %d\n", 65 + c, n + 1, probation[n])
}

#ifdef BLIND_ADMIT
#define SAME_PROBATION(c, n) true
#else
#define SAME_PROBATION(c, n) (probation[n] == watched[AT(c, n)])
#endif

/* Watched for the guard time: the marker, if the probation is still there. */
inline admit(c, n)
{
    if
    :: admitted[n]
    :: !admitted[n] && SAME_PROBATION(c, n) ->
        admitted[n] = true;
        probation[n] = 0;
        printf("%c: admits node %d\n", 65 + c, n + 1)
    :: else -> printf("%c: the probation on node %d was lost\n", 65 + c, n + 1)
    fi;
    watched[AT(c, n)] = 0;
    wait[AT(c, n)] = UNCHECKED
}
#endif

inline restart(n)
{
    restarts--;
    owner[n] = 0;
    left[n] = 0;
    age[n] = 0;
    printf("node %d: restarts with an empty memory\n", n + 1);
#ifdef STRICT
    admitted[n] = false;
    probation[n] = 0;
#endif
#ifndef PROXY
    break_connection(0, n);
    break_connection(1, n)
#endif
}

/* A request that was not served may go out on the next connection, behind the check. */
inline break_connection(c, n)
{
    wait[AT(c, n)] = UNCHECKED;
#ifdef STRICT
    watched[AT(c, n)] = 0;
#endif
    if
    :: request[AT(c, n)] == GRANTED -> request[AT(c, n)] = NOTHING
    :: else
    fi
}

#define OPEN(c, n) (request[AT(c, n)] == ASK || request[AT(c, n)] == RENEW)
#define ABOUT(c, n)                                                                             \
    :: d_step { request[AT(c, n)] == ASK && CAN_ACQUIRE(c, n) -> serve_acquire(c, n) }          \
    :: d_step { MAY_DELETE(c) && owner[n] == 1 + c -> owner[n] = 0; left[n] = 0;                \
                printf("node %d: the key of %c is deleted\n", n + 1, 65 + c) }                  \
    RENEWALS(c, n) CHECKS(c, n) PROBATIONS(c, n) MARKERS(c, n)
#if EXTENSIONS > 0
#define RENEWALS(c, n)                                                                          \
    :: d_step { c == 0 && request[AT(c, n)] == RENEW && CAN_SERVE(c, n) -> serve_renew(n) }
#else
#define RENEWALS(c, n)
#endif
#ifdef STRICT
#define CHECKS(c, n)
#define PROBATIONS(c, n)                                                                        \
    :: d_step { !admitted[n] && wait[AT(c, n)] == UNCHECKED && nonce < 4 -> probe(c, n) }       \
    :: d_step { wait[AT(c, n)] == 0 -> admit(c, n) }
#else
#ifdef IDEAL
#define CHECKS(c, n) :: d_step { LATE_VOTE(c, n) -> late_vote(c, n) }
#else
#define CHECKS(c, n)                                                                            \
    :: d_step { OPEN(c, n) && wait[AT(c, n)] == UNCHECKED -> check(c, n) }                      \
    :: d_step { LATE_VOTE(c, n) -> late_vote(c, n) }
#endif
#define PROBATIONS(c, n)
#endif
#ifdef MARKER_FIRST
#define MARKERS(c, n)                                                                           \
    :: d_step { request[AT(c, n)] == ASK && admitted[n] && !marker_seen[AT(c, n)] ->            \
                marker_seen[AT(c, n)] = true;                                                   \
                printf("%c: sees the marker of node %d\n", 65 + c, n + 1) }
#else
#ifdef ATTESTATION
#define MARKERS(c, n) :: d_step { request[AT(c, n)] == GRANTED -> attestation(c, n) }
#else
#define MARKERS(c, n)
#endif
#endif

proctype node(byte n)
{
end:
    do
    ABOUT(0, n)
    ABOUT(1, n)
    :: d_step { n == 0 && restarts > 0 -> restart(n) }
    od
}

inline age_node(n)
{
    if
    :: left[n] > 1 -> left[n]--
    :: left[n] == 1 ->
        left[n] = 0;
        owner[n] = 0;
        printf("node %d: its key expires\n", n + 1)
    :: else
    fi;
    if
    :: age[n] < GUARD -> age[n]++
    :: else
    fi
}

inline age_wait(c, n)
{
    if
    :: wait[AT(c, n)] > 0 && wait[AT(c, n)] < UNCHECKED -> wait[AT(c, n)]--
    :: else
    fi
}

inline age_client(c)
{
    if
    :: (phase[c] == TRYING || phase[c] == HELD || phase[c] == LOST) && spent[c] < TTL -> spent[c]++
    :: else
    fi;
    age_wait(c, 0);
    age_wait(c, 1);
    age_wait(c, 2)
}

proctype clock()
{
end:
    do
    :: d_step {
            printf("-- tick --\n");
            age_node(0);
            age_node(1);
            age_node(2);
            age_client(0);
            age_client(1);
#if EXTENSIONS > 0
            if
            :: extending && extension_spent < TTL -> extension_spent++
            :: else
            fi
#endif
        }
    od
}

init
{
    atomic {
        age[0] = GUARD;
        age[1] = GUARD;
        age[2] = GUARD;
#ifdef STRICT
        admitted[0] = true;
        admitted[1] = true;
        admitted[2] = true;
#endif
        run node(0);
        run node(1);
        run node(2);
        run client(0);
        run client(1);
        run clock()
    }
}
