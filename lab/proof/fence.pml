/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing tokens: a counter per node, the largest of the granting nodes, and ALIGN.
 *
 * Modelled: an acquisition collects grants in any order, each of which increments the node's
 * counter in the same step; it takes the largest as its token; unless a quorum of the granting
 * nodes has exactly that, it raises counters (docs/guards.md, "Fencing") and is done when a
 * quorum has it. Requests are served at any moment; every step may be the last of an acquisition.
 *
 * There is no time in this model: a lock may expire, or be released, at any step, also while
 * its holder collects grants or aligns. That is the point: the order of tokens may not rest on
 * clocks. Attempts of others that failed leave counters that differ (NOISE increments).
 *
 * Abstracted: counters are never lost (the guard and the clock seed are for that).
 *
 * Bounds: N = 3, ACQUISITIONS of as many clients, one each, NOISE.
 *
 * Properties: no two completed acquisitions have one token; one that starts after another has
 * completed has a larger token.
 *
 * Switches:
 *   NO_ALIGN     the largest token is used as it is
 *   ALIGN_ANY    counters are raised on any majority, also where we hold nothing
 *   ALIGN_BLIND  they are raised on granting nodes without looking whether we still hold there
 */
#ifndef ACQUISITIONS
#define ACQUISITIONS 2
#endif
#ifndef NOISE
#define NOISE 2
#endif
#define N 3
#define QUORUM 2
#define NO_OWNER 7

byte owner[N] = NO_OWNER;
byte counter[N];
byte noise = NOISE;

byte token[ACQUISITIONS]; /* 0: not completed */

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define GRANTS ((grant[0] > 0) + (grant[1] > 0) + (grant[2] > 0))
#define ALIGNED (aligned[0] + aligned[1] + aligned[2])

/* acquire.lua: the grant and its increment are one step. */
#define GRANT(n)                                                                                \
    d_step {                                                                                    \
        grant[n] == 0 && owner[n] == NO_OWNER ->                                                \
        owner[n] = me;                                                                          \
        counter[n]++;                                                                           \
        grant[n] = counter[n];                                                                  \
        printf("node %d: grants %c, counter %d\n", n + 1, 65 + me, counter[n])                  \
    }

/* align.lua: only on granting nodes, only while the lock there is still ours. */
#ifdef ALIGN_ANY
#define MAY_ALIGN(n) true
#else
#ifdef ALIGN_BLIND
#define MAY_ALIGN(n) (grant[n] > 0)
#else
#define MAY_ALIGN(n) (grant[n] > 0 && owner[n] == me)
#endif
#endif
#define ALIGN(n)                                                                                \
    d_step {                                                                                    \
        !aligned[n] && MAY_ALIGN(n) ->                                                          \
        counter[n] = MAX(counter[n], mine);                                                     \
        aligned[n] = true;                                                                      \
        printf("node %d: aligned for %c, counter %d\n", n + 1, 65 + me, counter[n])             \
    }

inline compare(other)
{
    if
    :: other != me && token[other] > 0 ->
        assert(token[other] != mine);
        assert(!(before & (1 << other)) || token[other] < mine)
    :: else
    fi
}

proctype acquisition(byte me)
{
    byte grant[N];   /* the counter as this node granted; 0: it has not */
    bool aligned[N]; /* its counter is known to be the token */
    byte mine;
    byte before; /* acquisitions that had completed when this one started, a bit each */

    atomic {
        printf("%c: starts\n", 65 + me);
        before = (token[0] > 0) | ((token[1] > 0) << 1);
#if ACQUISITIONS > 2
        before = before | ((token[2] > 0) << 2);
#endif
    }
    do
    :: GRANT(0)
    :: GRANT(1)
    :: GRANT(2)
    :: d_step {
            GRANTS >= QUORUM ->
            mine = MAX(MAX(grant[0], grant[1]), grant[2]);
            aligned[0] = grant[0] == mine;
            aligned[1] = grant[1] == mine;
            aligned[2] = grant[2] == mine;
            printf("%c: a quorum granted, the largest is %d\n", 65 + me, mine)
        };
        break
    :: goto given_up
    od;
    do
    :: ALIGN(0)
    :: ALIGN(1)
    :: ALIGN(2)
#ifdef NO_ALIGN
    :: break
#else
    :: ALIGNED >= QUORUM -> break
#endif
    :: goto given_up
    od;
    atomic {
        printf("%c: COMPLETED with token %d\n", 65 + me, mine);
        compare(0);
        compare(1);
#if ACQUISITIONS > 2
        compare(2);
#endif
        token[me] = mine
    }
given_up:
    skip
}

/* A lock ends at any moment, by its time or by release; others leave increments behind. */
#define WORLD(n)                                                                                \
    :: d_step { owner[n] != NO_OWNER -> owner[n] = NO_OWNER;                                    \
                printf("node %d: the lock expires or is released\n", n + 1) }                   \
    :: d_step { noise > 0 && owner[n] == NO_OWNER -> noise--; counter[n]++;                     \
                printf("node %d: counts a failed attempt of another, counter %d\n", n + 1,      \
                       counter[n]) }

proctype world()
{
end:
    do
    WORLD(0)
    WORLD(1)
    WORLD(2)
    od
}

init
{
    atomic {
        run acquisition(0);
        run acquisition(1);
#if ACQUISITIONS > 2
        run acquisition(2);
#endif
        run world()
    }
}
