/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of nodes: do clients with different lists of nodes exclude each other (G8)?
 *
 * Modelled: two clients with lists of three nodes that overlap; inits on either list, and on a third
 * that has nodes of both, one after the other or AT_ONCE, in any order of writes and ending after
 * any of them; what a node says of its set, heard from the step on that grants or refuses. What the
 * nodes heard so far say decides what the grants so far are worth. The first list is a set from the
 * beginning. With FORGETS a node forgets its set, one at a time, and keeps its keys (what it forgets of
 * those is in guard.pml); a client whose list has the names of the set counts it, and tells it the set
 * at any moment, also in the middle of an attempt: what the node has granted stays counted. With
 * EXPELS a client takes the admission of a node of its list back (strict mode: its clock was set, G6); it
 * grants without counting until any client admits it again. What it has granted stays: what a clock
 * that is set does to keys is not modelled. With MUTE one node, any, answers an error when it is asked for
 * its set (a right that is missing, MOVED of a cluster), to all clients: it may be in any set.
 *
 * Abstracted: time, expiry, restarts: an init is run when nothing is held (the operator's
 * statement, G5), so that it finds the nodes without keys and no attempt under way. All sets have
 * three nodes: the number is not needed here.
 *
 * Bounds: five nodes, three lists, INITS inits.
 *
 * Property: no two clients hold the lock.
 *
 * Switches:
 *   SECOND       the nodes of the second list, a bit each: 28 is n3,n4,n5, 14 is n2,n3,n4
 *   THIRD        those of the third: 14, or 11 for n1,n2,n4
 *   NO_SETS      sets are not looked at
 *   NONE_COUNTS  a node without a set counts beside nodes that have one
 *   EARLY        nodes without a set decide before the others of the list were heard
 *   DEAF         a client may give a node up unheard
 *   MIXED        grants of different sets are added up
 *   TAKE_ANY     init takes nodes from any set
 *   ONE_PASS     init puts the set in force node by node
 *   NO_MEMORY    a node whose set is pending does not remember the one before
 *   FORGETS      so often a node forgets its set
 *   TELL_ANY     a client counts and tells any node without a set
 *   EXPELS       so often a client takes the admission of a node back
 *   EXPEL_ALL    and the node's set with it
 *   MUTE         one node does not tell its set
 *   MUTE_NONE    and counts as a node without one
 *   MUTE_BESIDE  and does not count, but nodes without a set decide beside it
 *   ALIAS        the second list has the names of the first: one name means two servers
 *   TWICE        the second client has two names for n1, in one list
 *   COUNT_TWICE  and counts it under both
 *   AT_ONCE      so many inits run at the same time
 *   BLIND_FIRST  init's first pass writes whatever a node says meanwhile
 *   BLIND_SECOND so does the second
 */
#ifndef INITS
#define INITS 3
#endif
#ifndef SECOND
#define SECOND 28
#endif
#define N 5
#define QUORUM 2
#ifndef THIRD
#define THIRD 14
#endif
#define LIST(c) ((c) == 0 -> 7 : ((c) == 1 -> SECOND : THIRD))
#ifndef FORGETS
#define FORGETS 0
#endif
#ifndef EXPELS
#define EXPELS 0
#endif
#ifdef ALIAS
#define NAMES(c) ((c) == 1 -> LIST(0) : LIST(c))
#else
#define NAMES(c) LIST(c)
#endif
#define IN(list, n) (((list) >> (n)) & 1)
#ifndef AT_ONCE
#define AT_ONCE 1
#endif

byte set[N];      /* the id of its set; 0: none */
bool pending[N];  /* it is not in force yet, ... */
byte before[N];   /* ... and this was */
byte owner[N];    /* 1 + the client whose key is there */
byte list_of[INITS + 2]; /* the nodes of each id */
byte inits;
byte at_work; /* inits under way */
#define busy (at_work > 0)
byte forgets;
byte forgetful = N; /* the node that has forgotten its set; N: none */
byte expels;
byte expelled; /* a bit for each node whose admission was taken back */
byte mute; /* and for the one that does not tell its set */

bool holds[2];
byte votes[2];
byte counted[2]; /* the id of the votes; 0 with votes: of nodes without a set */
byte asked[2];   /* a bit for each node; it has told its set, too */
byte unheard[2]; /* DEAF: those of them that were given up */
bool again;      /* TWICE: n1 was asked by its other name */

#define HEARD(c, n) (IN(asked[c], n) && !IN(unheard[c], n))
#define SAID(n) (IN(mute, n) -> 0 : set[n])
#if defined(MUTE_NONE) || defined(MUTE_BESIDE)
#define MAY_HAVE(c, n) (HEARD(c, n) && SAID(n) != 0)
#else
#define MAY_HAVE(c, n) (HEARD(c, n) && set[n] + IN(mute, n) != 0)
#endif
#ifdef MUTE_NONE
#define TELLS(n) true
#else
#define TELLS(n) (!IN(mute, n))
#endif
#define ANY_SET(c)                                                                              \
    (MAY_HAVE(c, 0) || MAY_HAVE(c, 1) || MAY_HAVE(c, 2) || MAY_HAVE(c, 3) || MAY_HAVE(c, 4))

/* The set that a client takes a node without one to have been in; 0: none. */
#ifdef TELL_ANY
#define HAS_NAMES(c, m) true
#else
#define HAS_NAMES(c, m) (list_of[set[m]] == NAMES(c))
#endif
#define NAMED(c, m) (HEARD(c, m) && SAID(m) != 0 && !pending[m] && HAS_NAMES(c, m))
#define FORGOTTEN(c)                                                                            \
    (NAMED(c, 0) -> set[0] : (NAMED(c, 1) -> set[1] : (NAMED(c, 2) -> set[2] :                  \
    (NAMED(c, 3) -> set[3] : (NAMED(c, 4) -> set[4] : 0)))))
#define SET(c, n) (SAID(n) != 0 -> set[n] : FORGOTTEN(c))

#ifdef NO_SETS
#define COUNTS(c, n) true
#define NONE_MAY(c) true
#else
#ifdef MIXED
#define SAME(c, n) true
#else
#define SAME(c, n) (votes[c] == 0 || counted[c] == SET(c, n))
#endif
#ifdef NONE_COUNTS
#define NONE_MAY(c) true
#else
#define NONE_MAY(c) (!ANY_SET(c))
#endif
#define COUNTS(c, n)                                                                            \
    (!pending[n] && !IN(expelled, n) && TELLS(n) && SAME(c, n) &&                               \
     (SET(c, n) != 0 || NONE_MAY(c)))
#endif

/* A majority of nodes without a set decides once no other can say that there is one. */
#ifdef EARLY
#define MAY_DECIDE(c) true
#else
#define MAY_DECIDE(c) (counted[c] != 0 || (asked[c] == LIST(c) && NONE_MAY(c)))
#endif

/* Grants of nodes without a set, when a node says one: they are nodes of it, or worth nothing. */
inline hear(c, n)
{
#if !defined(NONE_COUNTS) && !defined(NO_SETS)
    if
    :: votes[c] > 0 && counted[c] == 0 && MAY_HAVE(c, n) ->
        if
        :: NAMED(c, n) -> counted[c] = set[n]
        :: else ->
            votes[c] = 0;
            printf("node %d of set %d: what %c was granted is void\n", n + 1, set[n], 65 + c)
        fi
    :: else
    fi
#endif
    skip
}

inline decide(c)
{
    if
    :: votes[c] >= QUORUM && MAY_DECIDE(c) && !holds[c] ->
        holds[c] = true;
        printf("%c: HOLDS\n", 65 + c);
        assert(!holds[1 - c])
    :: else
    fi
}

inline ask(c, n)
{
    asked[c] = asked[c] | (1 << n);
    hear(c, n);
    if
    :: owner[n] == 0 ->
        owner[n] = 1 + c;
        if
        :: COUNTS(c, n) ->
            counted[c] = SET(c, n);
            votes[c]++;
            printf("node %d of set %d: grants %c, a vote\n", n + 1, set[n], 65 + c)
        :: else -> printf("node %d of set %d: grants %c, no vote\n", n + 1, set[n], 65 + c)
        fi
    :: else
    fi;
    decide(c)
}

inline ask_again()
{
    again = true;
#ifdef COUNT_TWICE
    votes[1]++;
#endif
    printf("node 1, by another name: grants B\n");
    decide(1)
}

inline give_up_on(c, n)
{
    asked[c] = asked[c] | (1 << n);
    unheard[c] = unheard[c] | (1 << n);
    printf("%c: does not hear node %d\n", 65 + c, n + 1);
    decide(c)
}

inline give_up(c)
{
    byte k;
    for (k : 0 .. N - 1) {
        if
        :: owner[k] == 1 + c -> owner[k] = 0
        :: else
        fi
    }
    votes[c] = 0;
    counted[c] = 0;
    asked[c] = 0;
    unheard[c] = 0;
    again = again && c == 0;
    holds[c] = false
}

/* A node loses its set, and a client that knows it by name tells it again. */
inline forget(n)
{
    forgets++;
    forgetful = n;
    set[n] = 0;
    printf("node %d: forgets its set\n", n + 1)
}

inline tell(c, n)
{
    set[n] = FORGOTTEN(c);
    if
    :: forgetful == n -> forgetful = N
    :: else
    fi;
    printf("%c: tells node %d that it is in set %d\n", 65 + c, n + 1, set[n])
}

/* EXPEL deletes two fields of the marker and leaves the one that names the set. */
inline expel(c, n)
{
    expels++;
    expelled = expelled | (1 << n);
#ifdef EXPEL_ALL
    set[n] = 0;
    pending[n] = false;
    before[n] = 0;
#endif
    printf("%c: takes the admission of node %d back\n", 65 + c, n + 1)
}

inline admit(c, n)
{
    expelled = expelled & ~(1 << n);
    printf("%c: admits node %d\n", 65 + c, n + 1)
}

#define FORGET(n)                                                                               \
    :: d_step {                                                                                 \
        !busy && forgets < FORGETS && forgetful == N && set[n] != 0 && !pending[n] -> forget(n) \
    }
#define TELL(n)                                                                                 \
    :: d_step { !busy && IN(LIST(c), n) && set[n] == 0 && FORGOTTEN(c) != 0 -> tell(c, n) }
#define EXPEL(n)                                                                                \
    :: d_step { !busy && IN(LIST(c), n) && expels < EXPELS && !IN(expelled, n) -> expel(c, n) } \
    :: d_step { !busy && IN(LIST(c), n) && IN(expelled, n) -> admit(c, n) }

proctype memory()
{
end:
    do
    FORGET(0) FORGET(1) FORGET(2) FORGET(3) FORGET(4)
    od
}

#ifdef DEAF
#define SKIP(n)                                                                                 \
    :: d_step { !busy && IN(LIST(c), n) && !IN(asked[c], n) && set[n] == 1 -> give_up_on(c, n) }
#else
#define SKIP(n)
#endif

proctype client(byte c)
{
end:
    do
    :: d_step { !busy && IN(LIST(c), 0) && !IN(asked[c], 0) -> ask(c, 0) }
    :: d_step { !busy && IN(LIST(c), 1) && !IN(asked[c], 1) -> ask(c, 1) }
    :: d_step { !busy && IN(LIST(c), 2) && !IN(asked[c], 2) -> ask(c, 2) }
    :: d_step { !busy && IN(LIST(c), 3) && !IN(asked[c], 3) -> ask(c, 3) }
    :: d_step { !busy && IN(LIST(c), 4) && !IN(asked[c], 4) -> ask(c, 4) }
    :: d_step { !busy && asked[c] != 0 -> give_up(c) }
    TELL(0) TELL(1) TELL(2) TELL(3) TELL(4)
    SKIP(0) SKIP(1) SKIP(2) SKIP(3) SKIP(4)
    EXPEL(0) EXPEL(1) EXPEL(2) EXPEL(3) EXPEL(4)
#ifdef TWICE
    :: d_step { !busy && c == 1 && votes[1] > 0 && owner[0] == 2 && !again -> ask_again() }
#endif
    od
}

/* How many of the nodes of init's list are in this set, or were until it became pending. */
inline count_taken(list, id)
{
    taken = 0;
    for (j : 0 .. N - 1) {
        if
        :: IN(list, j) && (set[j] == id || (pending[j] && before[j] == id)) -> taken++
        :: else
        fi
    }
}

inline look_at(list, id)
{
    if
    :: id != 0 && list_of[id] != list ->
        count_taken(list, id);
        if
        :: taken < QUORUM -> refused = true
        :: else
        fi
    :: else
    fi
}

/* Is a set that is pending here in force on another node of the list? */
inline look_for(list, id)
{
    in_force = false;
    for (j : 0 .. N - 1) {
        if
        :: IN(list, j) && set[j] == id && !pending[j] -> in_force = true
        :: else
        fi
    }
}

inline plan(list)
{
    refused = false;
#ifndef TAKE_ANY
    for (i : 0 .. N - 1) {
        if
        :: IN(list, i) ->
            look_at(list, set[i]);
            look_for(list, set[i]);
            if
            :: pending[i] && !in_force -> look_at(list, before[i])
            :: else
            fi
        :: else
        fi
    }
#endif
}

inline write_pending(n, id)
{
#ifndef NO_MEMORY
    if
    :: !pending[n] -> before[n] = set[n]
    :: else
    fi;
#endif
    set[n] = id;
    pending[n] = true;
    printf("init: node %d is to be in set %d\n", n + 1, id)
}

inline write_set(n, id)
{
    set[n] = id;
    pending[n] = false;
    before[n] = 0;
    expelled = expelled & ~(1 << n);
    printf("init: node %d is in set %d\n", n + 1, id)
}

#define LEFT(n) (IN(LIST(c), n) && !IN(written, n))
#define SAYS(n) (set[n] << 1 | pending[n])
/* It is written where the node still says what it said: what the plan has read, our own mark. */
#ifdef BLIND_FIRST
#define MAY_MARK(n) true
#else
#define MAY_MARK(n) (SAYS(n) == seen[n])
#endif
#ifdef BLIND_SECOND
#define MAY_SET(n) true
#else
#define MAY_SET(n) (SAYS(n) == (id << 1 | 1))
#endif
#define PENDING(n)                                                                              \
    :: d_step {                                                                                 \
        LEFT(n) && MAY_MARK(n) -> write_pending(n, id); written = written | (1 << n)            \
    }
#define IN_FORCE(n)                                                                             \
    :: d_step { LEFT(n) && MAY_SET(n) -> write_set(n, id); written = written | (1 << n) }

proctype operator(byte c)
{
    byte i, j, taken, written;
    byte seen[N];
    byte id;
    bool refused, in_force;

end:
    do
    :: d_step {
            at_work < AT_ONCE && inits < INITS ->
            inits++;
            give_up(0);
            give_up(1);
            plan(LIST(c));
            id = 0;
            if
            :: !refused ->
                at_work++;
                id = inits + 1;
                list_of[id] = LIST(c);
                for (i : 0 .. N - 1) {
                    seen[i] = SAYS(i)
                }
            :: else
            fi;
            i = 0; j = 0; taken = 0; in_force = false; refused = false
        };
        if
        :: id == 0 -> goto next
        :: else
        fi;
#ifndef ONE_PASS
        written = 0;
        do
        PENDING(0) PENDING(1) PENDING(2) PENDING(3) PENDING(4)
        :: written == LIST(c) -> break
        :: goto failed
        od;
#endif
        written = 0;
        do
        IN_FORCE(0) IN_FORCE(1) IN_FORCE(2) IN_FORCE(3) IN_FORCE(4)
        :: written == LIST(c) -> break
        :: goto failed
        od;
failed:
        skip;
        d_step {
            at_work--;
            written = 0;
            id = 0;
            for (i : 0 .. N - 1) {
                seen[i] = 0
            }
            i = 0
        };
next:
        skip
    od
}

init
{
    atomic {
        set[0] = 1;
        set[1] = 1;
        set[2] = 1;
        list_of[1] = 7;
#ifdef MUTE
        if
        :: mute = 1 << 0
        :: mute = 1 << 1
        :: mute = 1 << 2
        :: mute = 1 << 3
        fi;
#endif
        if
        :: FORGETS > 0 -> run memory()
        :: else
        fi;
        run client(0);
        run client(1);
        run operator(0);
        run operator(1);
        run operator(2)
    }
}
