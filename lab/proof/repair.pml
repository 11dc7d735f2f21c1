/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repair (A8): does what was ended stay ended?
 *
 * Modelled: one value on the nodes, the clients that renew it, each at its own time and by requests that
 * are late as they like, and one request that ends it: an eviction, or a release by another client than
 * those that renew. A renewal that won on a majority may put the key back on nodes that missed it, also on
 * those that answer late. Nodes lose the key (a restart, an expiry). A client whose renewal finds the key
 * gone from so many nodes that no majority can have it has lost the lock and stops.
 *
 * Abstracted: the acquisition. Every node has served it; a request of it that is still on its way could set
 * the key behind the end. Time. No key expires by itself, no hold ends by its deadline, and a tombstone stays: it has
 * to live for longer than any renewal that began before it (max_ttl). Rivals: they only keep repair out.
 *
 * Bounds: N = 3, RENEWERS with ROUNDS renewals each, one end, FORGETS keys lost.
 *
 * Property: once the end was answered with success, which takes a majority of nodes that deleted the key or
 * had none, no majority ever has the key again.
 *
 * Switches:
 *   REPAIR       a renewal that won puts the key back; without it, none does
 *   WHOLE      the end is answered when every node has carried it out, not only a majority
 *   TOMBSTONE  the end leaves a tombstone on each node, and repair looks for it in the same step
 */
#ifndef RENEWERS
#define RENEWERS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef FORGETS
#define FORGETS 1
#endif
#define N 3
#define QUORUM 2
#ifdef WHOLE
#define ANSWERED N
#else
#define ANSWERED QUORUM
#endif

mtype = { NOTHING, RENEW, REPAIR_IT }; /* what is under way between a client and a node */

/* ---- the nodes ---- */
bool key[N] = true;
#ifdef TOMBSTONE
bool tombstone[N];
#endif
bool to_end[N] = true; /* the request that ends it is on its way */
byte ended_on;         /* nodes that have answered it */
bool ended;            /* answered with success */
byte forgets;

/* ---- the clients ---- */
#define AT(c, n) ((c) * N + (n))
mtype request[RENEWERS * N] = NOTHING;
bool missed[RENEWERS * N]; /* this renewal found no key here */
byte rounds[RENEWERS];
bool renewing[RENEWERS];
bool won[RENEWERS]; /* the last renewal */
bool lost[RENEWERS];
byte votes[RENEWERS];
byte missing[RENEWERS];

#define SOUND (!ended || key[0] + key[1] + key[2] < QUORUM)

inline renew_node(c, n)
{
    missed[AT(c, n)] = false;
    if /* On a connection a renewal comes behind the repair before it. */
    :: request[AT(c, n)] == NOTHING -> request[AT(c, n)] = RENEW
    :: else
    fi
}

inline renew(c)
{
    rounds[c]++;
    renewing[c] = true;
    won[c] = false;
    votes[c] = 0;
    missing[c] = 0;
    renew_node(c, 0);
    renew_node(c, 1);
    renew_node(c, 2);
    printf("%c: renews\n", 65 + c)
}

inline serve(c, n)
{
    request[AT(c, n)] = NOTHING;
    if
    :: key[n] ->
        votes[c]++;
        printf("node %d: renews for %c\n", n + 1, 65 + c)
    :: else ->
        missed[AT(c, n)] = true;
        missing[c]++;
        printf("node %d: has no key for %c\n", n + 1, 65 + c)
    fi;
    if
    :: renewing[c] && votes[c] == QUORUM ->
        renewing[c] = false;
        won[c] = true;
        printf("%c: RENEWED\n", 65 + c)
    :: missing[c] > N - QUORUM ->
        renewing[c] = false;
        lost[c] = true;
        printf("%c: its lock is LOST\n", 65 + c)
    :: else
    fi
}

inline repair(n, c)
{
    request[AT(c, n)] = NOTHING;
#ifdef TOMBSTONE
    key[n] = key[n] || !tombstone[n];
#else
    key[n] = true;
#endif
    printf("node %d: repaired for %c, has the key: %d\n", n + 1, 65 + c, key[n]);
    assert(SOUND)
}

inline end_on(n)
{
    to_end[n] = false;
    key[n] = false;
#ifdef TOMBSTONE
    tombstone[n] = true;
#endif
    ended_on++;
    ended = ended_on >= ANSWERED;
    printf("node %d: the key is deleted, answered: %d\n", n + 1, ended);
    assert(SOUND)
}

#define ABOUT(c, n)                                                                             \
    :: d_step { request[AT(c, n)] == RENEW && !lost[c] -> serve(c, n) }                         \
    REPAIRS(c, n)
#ifdef REPAIR
#define REPAIRS(c, n)                                                                           \
    :: d_step { won[c] && missed[AT(c, n)] && !lost[c] && request[AT(c, n)] == NOTHING ->       \
                missed[AT(c, n)] = false; request[AT(c, n)] = REPAIR_IT;                          \
                printf("%c: repairs node %d\n", 65 + c, n + 1) }                                  \
    :: d_step { request[AT(c, n)] == REPAIR_IT -> repair(n, c) }
#else
#define REPAIRS(c, n)
#endif

proctype client(byte c)
{
end:
    do
    :: d_step { !renewing[c] && !lost[c] && rounds[c] < ROUNDS -> renew(c) }
    :: d_step { renewing[c] -> renewing[c] = false; printf("%c: its renewal has failed\n", 65 + c) }
    ABOUT(c, 0)
    ABOUT(c, 1)
    ABOUT(c, 2)
    od
}

proctype node(byte n)
{
end:
    do
    :: d_step { to_end[n] -> end_on(n) }
    :: d_step { key[n] && forgets < FORGETS ->
                forgets++; key[n] = false; printf("node %d: loses the key\n", n + 1) }
    od
}

init
{
    atomic {
        run node(0);
        run node(1);
        run node(2);
        run client(0);
#if RENEWERS > 1
        run client(1)
#endif
    }
}
