/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elected votes: may a server that a Sentinel group elected vote? Rules E1 to E13 of
 * docs/elected.md.
 *
 * Modelled: one group with two servers. A server acts as a master for as long as it believes
 * that it is one: an old master that was cut off or stopped executes what is in its buffers at
 * any later moment. Term k is led by server k % 2, so the second failover goes back to the old
 * master. A failover comes at any moment, whether the old master lives or not; what the replica
 * has not copied until then is lost. A deposed master learns of it at any time, or never; it
 * then copies, and can be promoted again. Three electors, each of which says the latest term
 * that it has heard of, learns of others at any later moment or never, and may skip some.
 * Restarts inside a term, with an empty memory or an old one. Breaks. Markers and stamps. Time
 * is in ticks and not bounded.
 *
 * Abstracted: the messages to electors. Clients ask at any time and answers take any time, so a
 * client can have a majority for a term that is at most L old exactly if two electors have been
 * at that term within the last L ticks: an elector is its view and the time since it left each
 * term. All clocks have one rate (the validity is the TTL, E9 needs more than L, Q is TTL + L:
 * the margins are 0). Of the replies only the moment counts at which a client counts it. A
 * client makes one attempt. A run in which an attempt has ended is not followed: two believers
 * need both clients, and a renewal after a break needs A.
 *
 * Bounds: two servers, terms up to FAILOVERS, two clients with one attempt each (one, with
 * BREAK), up to RENEWALS of A, RESTARTS, one break.
 *
 * Properties: P1, no two clients believe at one instant that they hold the lock. With
 * VOTE_LEVEL: that they have a proof of this vote which has not run out, while A's lock lives
 * on by other votes; of N votes each gives this, so majorities of votes exclude as ever. With
 * BREAK instead P2: no renewal that A sent after the break was complete counts.
 *
 * Switches:
 *   THREE          three clients; of these one attempt may end, and the run goes on
 *   VOTE_LEVEL     A's lock lives on while its proof of this vote has run out
 *   BUMP           an old master may win back without ever having been demoted
 *   SLOW_REPLICA   clocks of servers that do not lead, and of snapshots, may stand still
 *   SNAPSHOT       a restart may bring back what was saved at any earlier moment
 *   SENTINEL       the attestation knows the incarnation only, not the term        (E5)
 *   BACK           a client follows any majority, also to an earlier term      (E12)
 *   MARKER         the watch of one client admits the node for all             (E7)
 *   STAMP          no client watches; a stamp of age Q admits                  (E7)
 *   BREAK          A's key is deleted by another, once
 *   WAIT=n         the break is complete n ticks later, in the same term and incarnation
 *   BREAK_MISSING  a server without the key is enough for the break
 *   BREAK_TOLD     the break is complete when a renewal of A has been told "missing"
 * and in place of a rule:
 *   ELECTOR_TWICE  one elector counts as often as it is asked                  (E2)
 *   MASTERS        one of the electors is the master itself                    (E2)
 *   FORGET         an elector forgets, and says term 0 again                   (E2)
 *   WEAK_ORDER     an elector may go to any term that it has not said before   (E3)
 *   NO_TERM        electors name an address, not a term                        (E3)
 *   NO_VOUCH       no majority is needed                                       (E4)
 *   VOUCH_ONE      one elector is enough                                       (E4)
 *   VOUCH_STALE    a majority that said the term at any time is enough         (E4)
 *   VOUCH_SENT     the majority is fresh when the request is sent, not when it counts (E4)
 *   L_A=n          client A has another L than that in Q                       (E4)
 *   NO_ATTESTATION a request was executed by the term that it was sent to      (E5)
 *   RENEW_BLIND    the same of renewals only                                   (E5)
 *   Q=n            quarantine; default TTL + L                                 (E6)
 *   WATCH_ASKED    the watch starts when electors are asked, a tick earlier    (E6)
 *   WATCH_OWN      the watch starts when the client sees the server lead       (E6)
 *   LATE           what was asked for in quarantine counts after it            (E6)
 *   BUMP_SKIP      no quarantine where the same incarnation led shortly before (E6)
 *   UNNAMED_TERM   marker and stamp name the incarnation only                  (E7)
 *   STAMP_ANY      a stamp is set without a majority                           (E7)
 *   RENEW_UNVOUCHED renewals need no majority                                  (E4, E8)
 *   RENEW_FOUND    a renewal counts wherever the key is found                  (E8)
 *   NO_SUCCESSION  E9 is left out
 *   RENEW_LATE     any proof that has not run out is enough for E9             (E9)
 *   LOCK_PROOF     the lock's validity is enough for E9                        (E9)
 *   RIGHT_TERM     the right of E9 is for the term, whatever the incarnation   (E9)
 *   NO_DEADLINE    the server may be greeted after the old proof has ended     (E9)
 *   RESTART_RIGHT  E9 also for another incarnation of the same term
 *   SET_AGAIN      a renewal with the right of E9 sets a key that is missing   (E9)
 *   VOID_PROOF     "missing" ends the proof, but no right of E9                (E13)
 *   VOID_RIGHT     "missing" ends a right of E9, but not the proof             (E13)
 *   VOID_NONE      "missing" ends neither                                      (E13)
 *   BREAK_UNHEARD  the break is sent to a term that no majority has said       (E13)
 */
#ifndef TTL
#define TTL 2
#endif
#ifndef L
#define L 1
#endif
#ifndef L_A
#define L_A L
#endif
#ifndef Q
#define Q (TTL + L)
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef RENEWALS
#define RENEWALS 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef WAIT
#define WAIT 0
#endif
#ifdef BREAK
#define CLIENTS 1
#else
#ifdef THREE
#define CLIENTS 3
#else
#define CLIENTS 2
#endif
#endif
#if RESTARTS > 0 || defined(SENTINEL)
#define GREETS /* clients look at the incarnation, after they have heard the term */
#endif
#ifdef GREETS
#define IF_GREETS(x) x
#else
#define IF_GREETS(x)
#endif

mtype = { IDLE, TRYING, HELD };      /* a client */
mtype = { NOTHING, SENT, ANSWERED }; /* its request */
#define NONE 15 /* no term, no incarnation */

/* ---- the servers ---- */
byte latest;          /* the term of the last failover */
byte owner[2];        /* 1 + the client whose key is there; 0: no key */
byte left[2];         /* ticks until it expires */
bool leads[2];        /* as it believes */
byte term[2];         /* in which it leads */
byte incarnation[2];  /* even ones of server 0, odd ones of server 1 */
#if defined(MARKER) || defined(STAMP)
byte named_term[2];   /* by its marker or stamp */
byte named[2] = NONE; /* the incarnation that it names */
#endif
#ifdef STAMP
byte stamp_age[2];    /* up to Q */
#endif
#if RESTARTS > 0
byte restarts;
#endif
#ifdef SNAPSHOT
byte saved_owner[2];
byte saved_left[2];
#endif

/* ---- the electors ---- */
/*
 * The view of an elector, and for each term the ticks since it left it. They are kept in order,
 * because which of them says something makes no difference.
 */
#ifdef BUMP_SKIP
#define LONG_AGO (TTL + 1)
#else
#define LONG_AGO ((L > L_A -> L : L_A) + 1)
#endif
#define NEVER (LONG_AGO + 1)
#define VIEW(e) (elector[e] & 3)
#define SHIFT(t) (2 + 3 * (t))
#define AWAY(e, t) ((elector[e] >> SHIFT(t)) & 7)
short elector[3];

/* ---- the clients ---- */
mtype phase[CLIENTS] = IDLE;
byte spent[CLIENTS];  /* own clock since t0 of the round that counted last, or is under way */
mtype request[CLIENTS] = NOTHING;
byte to[CLIENTS];     /* the term that it was sent to */
byte by[CLIENTS];     /* the term that executed it, as far as the client knows */
byte heard[CLIENTS];  /* the term in use */
byte watch[CLIENTS];  /* ticks of quarantine left */
#ifdef GREETS
byte met[CLIENTS];    /* incarnation greeted after the term was heard; NONE: not yet */
byte by_met[CLIENTS]; /* the incarnation that executed it */
#endif
#if defined(MARKER) || defined(STAMP)
bool admits[CLIENTS]; /* marker or stamp, when it was executed */
#endif
#ifdef VOUCH_SENT
bool vouch_sent[CLIENTS];
#endif

/* ---- what A renews ---- */
#if RENEWALS > 0
byte renewals;
bool renewing;
byte renewal_spent; /* since the start of the renewal */
byte proof = NONE;  /* the term of the last proof; NONE: there is none, or it is void */
bool right;         /* of E9, for the term in use */
#ifdef GREETS
byte proof_met;     /* the incarnation of the last proof */
bool in_time;       /* the term in use was heard while the proof had more than L to run */
#endif
#ifdef SET_AGAIN
bool sets;          /* this renewal sets the key if it is missing */
#endif
#define RENEWING(c) ((c) == 0 && renewing)
#define DONE(c) ((c) != 0 || renewals == RENEWALS)
#else
#define RENEWING(c) false
#define DONE(c) true
#endif

/* ---- the break ---- */
#ifdef BREAK
mtype = { NOT_YET, DELETED, COMPLETE };
mtype broken = NOT_YET;
byte break_term;
byte break_met;
byte break_age;   /* up to WAIT */
bool after_break; /* the renewal was sent when the break was complete */
#endif

/* ---- what electors have said ---- */
#ifdef NO_TERM
#define SAYS(e, t, age) (IS_AT(e, t, age) || ((t) != 1 && IS_AT(e, 2 - (t), age)))
#else
#define SAYS(e, t, age) IS_AT(e, t, age)
#endif
#define IS_AT(e, t, age) (VIEW(e) == (t) || AWAY(e, t) <= (age))
#define LED(k, t) (leads[k] && term[k] == (t))
#ifdef MASTERS
#define FIRST_SAYS(t, age) (LED(0, t) || LED(1, t))
#define FIRST 1
#else
#define FIRST_SAYS(t, age) SAYS(0, t, age)
#define FIRST 0
#endif
#if defined(VOUCH_ONE) || defined(ELECTOR_TWICE)
#define MAJORITY 1
#else
#define MAJORITY 2
#endif
/* Has a majority of the electors been at this term within so many ticks? */
#ifdef NO_VOUCH
#define SAID(t, age) true
#else
#define SAID(t, age) (FIRST_SAYS(t, age) + SAYS(1, t, age) + SAYS(2, t, age) >= MAJORITY)
#endif
#ifdef VOUCH_STALE
#define FRESH LONG_AGO
#else
#define FRESH L
#endif
#ifdef VOUCH_SENT
#define VOUCHED(c) vouch_sent[c]
#define MAY_SEND(c) SAID(heard[c], L)
#else
#define VOUCHED(c) (((c) == 0 && SAID(by[c], (L_A == L -> FRESH : L_A))) || ((c) != 0 && SAID(by[c], FRESH)))
#define MAY_SEND(c) true
#endif

/* ---- a client hears of a term, and greets its server ---- */
#if defined(WATCH_OWN) || defined(NO_VOUCH)
#define TELLS(t) LED((t) % 2, t)
#else
#ifdef NO_TERM
#define TELLS(t) (LED((t) % 2, t) && SAID(t, L))
#else
#define TELLS(t) SAID(t, L)
#endif
#endif
#ifdef BACK
#define ANOTHER(c, t) ((t) != heard[c])
#else
#define ANOTHER(c, t) ((t) > heard[c])
#endif
/* A client that has asked for the lock need not hear more: that only takes its vote away. */
#define LISTENS(c) (phase[c] == IDLE || (c == 0 && phase[c] == HELD && (!DONE(c) || RENEWING(c))))

#ifdef RENEW_LATE
#define ENOUGH 0
#else
#define ENOUGH L
#endif
#ifdef LOCK_PROOF
#define RUNS(ticks) true
#else
#define RUNS(ticks) (TTL - spent[0] > (ticks))
#endif
#ifdef WATCH_ASKED
#define QUARANTINE (Q - 1)
#else
#define QUARANTINE Q
#endif

inline start_watch(c)
{
#ifdef STAMP
    skip
#else
    watch[c] = QUARANTINE;
#ifdef BUMP_SKIP
    if
    :: heard[c] == 2 && incarnation[0] == 0 && SAID(0, TTL) -> watch[c] = 0
    :: else
    fi
#endif
#endif
}

inline hear(c, t)
{
#if RENEWALS > 0
    if
    :: c == 0 ->
#ifndef NO_SUCCESSION
        right = phase[0] == HELD && proof != NONE && RUNS(ENOUGH) && t > heard[0];
#endif
        IF_GREETS(in_time = right)
    :: else
    fi;
#endif
    heard[c] = t;
#ifdef GREETS
    met[c] = NONE;
    watch[c] = 0;
#else
    start_watch(c);
#endif
#if RENEWALS > 0
    if
    :: c == 0 && right -> printf("A: hears of term %d (server %d), succeeds itself\n", t, t % 2)
    :: else -> printf("%c: hears of term %d (server %d)\n", 65 + c, t, t % 2)
    fi
#else
    printf("%c: hears of term %d (server %d)\n", 65 + c, t, t % 2)
#endif
}

#ifdef GREETS
#ifdef SENTINEL
#define CAN_GREET(c) (leads[heard[c] % 2])
#else
#define CAN_GREET(c) LED(heard[c] % 2, heard[c])
#endif
#ifdef NO_DEADLINE
#define STILL true
#else
#define STILL RUNS(0)
#endif
#ifdef RESTART_RIGHT
#define SAME_TERM_RIGHT true
#else
#define SAME_TERM_RIGHT false
#endif

inline greet(c)
{
    met[c] = incarnation[heard[c] % 2];
    start_watch(c);
#if RENEWALS > 0 && !defined(RIGHT_TERM)
    if
    :: c == 0 ->
        right = phase[0] == HELD && proof != NONE && STILL &&
                (proof == heard[0] -> SAME_TERM_RIGHT : in_time)
    :: else
    fi;
#endif
    printf("%c: greets server %d, incarnation %d, in term %d\n", 65 + c, heard[c] % 2, met[c],
           heard[c])
}
#define GREETED(c) (met[c] != NONE)
#else
#define GREETED(c) true
#endif

/* ---- requests ---- */
/* E6: what is asked for in quarantine never counts, so it need not be asked for. */
#if defined(LATE) || defined(MARKER)
#define MAY_ASK(c) true
#else
#define MAY_ASK(c) (watch[c] == 0)
#endif

inline send(c)
{
    request[c] = SENT;
    to[c] = heard[c];
#ifdef VOUCH_SENT
    vouch_sent[c] = true;
#endif
}

inline ask(c)
{
    phase[c] = TRYING;
    send(c);
    printf("%c: t0, asks server %d (term %d)\n", 65 + c, to[c] % 2, to[c])
}

#if RENEWALS > 0
inline renew()
{
    renewing = true;
    renewals++;
    send(0);
#ifdef SET_AGAIN
    sets = right && (proof != heard[0] IF_GREETS(|| proof_met != met[0]));
#endif
#ifdef BREAK
    after_break = broken == COMPLETE;
#endif
    printf("A: renews, %d ticks after t0, asks server %d (term %d)\n", spent[0], to[0] % 2,
           to[0])
}
#endif

#if defined(NO_ATTESTATION) || defined(SENTINEL)
#define EXECUTED_BY(c, k) to[c]
#else
#ifdef RENEW_BLIND
#define EXECUTED_BY(c, k) (RENEWING(c) -> to[c] : term[k])
#else
#define EXECUTED_BY(c, k) term[k]
#endif
#endif
#ifdef NO_ATTESTATION
#define EXECUTED_IN(c, k) met[c]
#else
#define EXECUTED_IN(c, k) incarnation[k]
#endif
#ifdef UNNAMED_TERM
#define NAMES(k, t) (named[k] == incarnation[k])
#else
#define NAMES(k, t) (named[k] == incarnation[k] && named_term[k] == (t))
#endif

inline executed(c, k)
{
    request[c] = ANSWERED;
    owner[k] = 1 + c;
    left[k] = TTL;
    by[c] = EXECUTED_BY(c, k);
    IF_GREETS(by_met[c] = EXECUTED_IN(c, k);)
#ifdef STAMP
    admits[c] = NAMES(k, by[c]) && stamp_age[k] >= Q;
#endif
#ifdef MARKER
    admits[c] = NAMES(k, by[c]);
#endif
}

inline forget_request(c)
{
    request[c] = NOTHING;
    to[c] = 0;
    by[c] = 0;
    IF_GREETS(by_met[c] = 0;)
#if defined(MARKER) || defined(STAMP)
    admits[c] = false;
#endif
#ifdef VOUCH_SENT
    vouch_sent[c] = false;
#endif
}

/* After the last renewal only the end of the validity is of interest. */
inline settle(c)
{
    if
    :: DONE(c) ->
        heard[c] = 0;
        watch[c] = 0;
        IF_GREETS(met[c] = 0;)
#if RENEWALS > 0
        if
        :: c == 0 ->
            proof = NONE;
            right = false;
            IF_GREETS(proof_met = 0; in_time = false;)
        :: else
        fi
#endif
    :: else
    fi
}

inline grant(c, k)
{
    executed(c, k);
    printf("server %d (term %d): grants %c\n", k, term[k], 65 + c)
}

#if RENEWALS > 0
inline end_renewal()
{
    forget_request(0);
    renewing = false;
    renewal_spent = 0;
#ifdef SET_AGAIN
    sets = false;
#endif
#ifdef BREAK
    after_break = false;
#endif
}

#ifdef SET_AGAIN
#define MAY_SET(k) (sets && owner[k] == 0)
#else
#define MAY_SET(k) false
#endif

/* E13: "missing" ends the proof, and a right already won. */
inline missing(k)
{
    end_renewal();
#if !defined(VOID_NONE) && !defined(VOID_RIGHT)
    proof = NONE;
    IF_GREETS(proof_met = 0;)
#endif
#if !defined(VOID_NONE) && !defined(VOID_PROOF)
    right = false;
    IF_GREETS(in_time = false;)
#endif
#ifdef BREAK_TOLD
    if
    :: broken == DELETED && break_term == term[k] && break_met == incarnation[k] -> complete()
    :: else
    fi;
#endif
    settle(0);
    printf("server %d (term %d): has no key of A\n", k, term[k])
}

inline serve_renewal(k)
{
    if
    :: !leads[k] ->
        end_renewal();
        settle(0);
        printf("server %d: refuses A, it is a replica\n", k)
    :: leads[k] && owner[k] == 1 ->
        executed(0, k);
        printf("server %d (term %d): renews A\n", k, term[k])
    :: leads[k] && owner[k] != 1 && MAY_SET(k) ->
        executed(0, k);
        printf("server %d (term %d): sets the key of A again\n", k, term[k])
    :: else -> missing(k)
    fi
}
#endif

/* ---- what counts ---- */
#define SELF(c) (true IF_GREETS(&& met[c] == by_met[c]))
#define WATCHED(c) (heard[c] == by[c] && watch[c] == 0 && SELF(c))
#ifdef STAMP
#define ADMITTED(c) admits[c]
#else
#ifdef MARKER
#define ADMITTED(c) (admits[c] || WATCHED(c))
#else
#define ADMITTED(c) WATCHED(c)
#endif
#endif
#define COUNTS(c) (VOUCHED(c) && ADMITTED(c))

#ifdef RENEW_UNVOUCHED
#define RENEWAL_VOUCHED true
#else
#define RENEWAL_VOUCHED VOUCHED(0)
#endif
#ifdef RENEW_FOUND
#define FOUND (proof != NONE)
#else
#define FOUND false
#endif
#ifdef RIGHT_TERM
#define RIGHT_HERE true
#else
#define RIGHT_HERE SELF(0)
#endif
#define SAME (proof == by[0] IF_GREETS(&& proof_met == by_met[0]))
#define SUCCEEDS (right && heard[0] == by[0] && RIGHT_HERE)
#define RENEWAL_COUNTS (RENEWAL_VOUCHED && (SAME || ADMITTED(0) || SUCCEEDS || FOUND))

#define BELIEVES(c) (phase[c] == HELD && spent[c] < TTL)
#if CLIENTS > 2
#define ALONE(c) (BELIEVES(0) + BELIEVES(1) + BELIEVES(2) <= 1)
#else
#define ALONE(c) (!BELIEVES(1 - (c)))
#endif

inline win(c)
{
    phase[c] = HELD;
    printf("%c: HOLDS by term %d, %d ticks after t0\n", 65 + c, by[c], spent[c]);
#ifndef BREAK
    assert(ALONE(c));
#endif
#if RENEWALS > 0
    if
    :: c == 0 ->
        proof = by[0];
        IF_GREETS(proof_met = by_met[0];)
    :: else
    fi;
#endif
    forget_request(c);
    settle(c)
}

#if RENEWALS > 0
inline renewed()
{
    printf("A: RENEWED by term %d, %d ticks after it began\n", by[0], renewal_spent);
#ifdef BREAK
    assert(!after_break); /* P2 */
#else
    assert(ALONE(0)); /* P1 */
#endif
    spent[0] = renewal_spent;
    proof = by[0];
    IF_GREETS(proof_met = by_met[0];)
    end_renewal();
    settle(0)
}
#endif

/* ---- the group ---- */
inline promote(k)
{
    latest++;
    leads[k] = true;
    term[k] = latest;
    incarnation[k] = incarnation[k] + 2;
    printf("server %d: is promoted, term %d, with the key of %d\n", k, latest, owner[k])
}

inline win_back(k)
{
    latest++;
    term[k] = latest;
    printf("server %d: was never demoted, takes term %d\n", k, latest)
}

inline clear(k)
{
    owner[k] = 0;
    left[k] = 0;
#if defined(MARKER) || defined(STAMP)
    named_term[k] = 0;
    named[k] = NONE;
#endif
#ifdef STAMP
    stamp_age[k] = 0;
#endif
}

inline demote(k)
{
    leads[k] = false;
    term[k] = 0;
    if
    :: latest == FAILOVERS -> /* it is never promoted again */
        clear(k);
        incarnation[k] = 0;
#ifdef SNAPSHOT
        saved_owner[k] = 0;
        saved_left[k] = 0
#endif
    :: else
    fi;
    printf("server %d: learns that it was deposed, is a replica now\n", k)
}

#if defined(MARKER) || defined(STAMP)
#define SAME_NAMED(k) (named[k] == named[1 - k] && named_term[k] == named_term[1 - k])
#else
#define SAME_NAMED(k) true
#endif
#define MAY_COPY(k)                                                                             \
    (!leads[k] && latest < FAILOVERS && LED(1 - k, latest) &&                                   \
     !(owner[k] == owner[1 - k] && left[k] == left[1 - k] && SAME_NAMED(k)))

inline copy(k)
{
    owner[k] = owner[1 - k];
    left[k] = left[1 - k];
#if defined(MARKER) || defined(STAMP)
    named_term[k] = named_term[1 - k];
    named[k] = named[1 - k];
#endif
#ifdef STAMP
    stamp_age[k] = stamp_age[1 - k];
#endif
    printf("server %d: copies server %d\n", k, 1 - k)
}

#if RESTARTS > 0
inline restart(k)
{
    restarts++;
    incarnation[k] = incarnation[k] + 2;
#ifdef SNAPSHOT
    if
    :: restarts == RESTARTS ->
        saved_owner[0] = 0;
        saved_owner[1] = 0;
        saved_left[0] = 0;
        saved_left[1] = 0
    :: else
    fi;
#endif
    printf("server %d: restarts inside term %d with the key of %d\n", k, term[k], owner[k])
}
#endif

#ifdef MARKER
/* E7: a client that has watched for Q turns its watch into the marker. */
#ifdef GREETS
#define FOUND_AGAIN(c) (CAN_GREET(c) && met[c] == incarnation[heard[c] % 2])
#else
#define FOUND_AGAIN(c) LED(heard[c] % 2, heard[c])
#endif
#define MAY_MARK(c)                                                                             \
    (LISTENS(c) && watch[c] == 0 && FOUND_AGAIN(c) && !NAMES(heard[c] % 2, heard[c]))
inline mark(c)
{
    named_term[heard[c] % 2] = heard[c];
    named[heard[c] % 2] = incarnation[heard[c] % 2];
    printf("%c: writes the marker of term %d on server %d\n", 65 + c, heard[c], heard[c] % 2)
}
#endif

#ifdef STAMP
/* E7: by a client that has had a majority for the term at any time before. */
#ifdef STAMP_ANY
#define MAY_NAME(t) true
#else
#define MAY_NAME(t) SAID(t, LONG_AGO)
#endif
#ifdef SENTINEL
#define STAMPS(k, t) (leads[k] && (t) <= latest && !NAMES(k, t) && MAY_NAME(t))
#else
#define STAMPS(k, t) (LED(k, t) && !NAMES(k, t) && MAY_NAME(t))
#endif
inline stamp(k, t)
{
    named_term[k] = t;
    named[k] = incarnation[k];
    stamp_age[k] = 0;
    printf("server %d: is stamped, term %d, incarnation %d\n", k, t, incarnation[k])
}
#endif

#ifdef BREAK
#ifdef BREAK_UNHEARD
#define BREAK_HEARD(k) true
#else
#define BREAK_HEARD(k) SAID(term[k], L)
#endif
#ifdef BREAK_MISSING
#define BREAKABLE(k) true
#else
#define BREAKABLE(k) (owner[k] == 1)
#endif
#define MAY_BREAK(k)                                                                            \
    (broken == NOT_YET && phase[0] == HELD && leads[k] && BREAKABLE(k) && BREAK_HEARD(k))
#ifdef BREAK_TOLD
#define MAY_COMPLETE false
#else
#if WAIT > 0
#define UNCHANGED (LED(break_term % 2, break_term) && incarnation[break_term % 2] == break_met)
#else
#define UNCHANGED true
#endif
#define MAY_COMPLETE                                                                            \
    (broken == DELETED && break_age == WAIT && SAID(break_term, L) && UNCHANGED)
#endif

inline break_lock(k)
{
    owner[k] = 0;
    left[k] = 0;
    broken = DELETED;
    break_term = term[k];
    break_met = incarnation[k];
    printf("server %d (term %d): the BREAK deletes the key of A\n", k, term[k])
}

inline complete()
{
    broken = COMPLETE;
    break_term = 0;
    break_met = 0;
    break_age = 0;
    printf("the BREAK is complete\n")
}
#endif

/* ---- the electors ---- */
inline exchange(a, b)
{
    if
    :: elector[a] > elector[b] ->
        elector[a] = elector[a] ^ elector[b];
        elector[b] = elector[a] ^ elector[b];
        elector[a] = elector[a] ^ elector[b]
    :: else
    fi
}

inline order()
{
#ifndef MASTERS
    exchange(0, 1);
#endif
    exchange(1, 2);
#ifndef MASTERS
    exchange(0, 1)
#endif
}

#ifdef WEAK_ORDER
#define MAY_LEARN(e, t) (t <= latest && VIEW(e) != t && AWAY(e, t) == NEVER)
#else
#define MAY_LEARN(e, t) (t <= latest && VIEW(e) < t)
#endif
/* From now on it has left its view for 0 ticks. */
#define LEAVE(e) elector[e] = (elector[e] & ~(7 << SHIFT(VIEW(e))) & ~3)

inline learn(e, t)
{
    printf("elector %d: goes from term %d to term %d\n", e + 1, VIEW(e), t);
    LEAVE(e) | t;
    order()
}

/* ---- time ---- */
inline age_server(k)
{
    if
    :: left[k] > 1 -> left[k]--
    :: left[k] == 1 ->
        left[k] = 0;
        owner[k] = 0
    :: else
    fi
}

#ifdef SNAPSHOT
inline age_saved(k)
{
    if
    :: saved_left[k] > 1 -> saved_left[k]--
    :: saved_left[k] == 1 ->
        saved_left[k] = 0;
        saved_owner[k] = 0
    :: else
    fi
}
#endif

#ifdef STAMP
inline age_stamp(k)
{
    if
    :: named[k] != NONE && stamp_age[k] < Q -> stamp_age[k]++
    :: else
    fi
}
#endif

inline age_away(e, t)
{
    if
    :: AWAY(e, t) < LONG_AGO -> elector[e] = elector[e] + (1 << SHIFT(t))
    :: else
    fi
}

inline age_elector(e)
{
    age_away(e, 0);
    age_away(e, 1);
    age_away(e, 2)
}

inline age_client(c)
{
    if
    :: phase[c] != IDLE && spent[c] < TTL -> spent[c]++
    :: else
    fi;
    if
    :: watch[c] > 0 -> watch[c]--
    :: else
    fi
}

/* Its attempt has not ended with this tick. */
#ifdef VOTE_LEVEL
#define OUTLIVES(c) (c == 0 && phase[c] == HELD && (RENEWING(c) || !DONE(c)))
#else
#define OUTLIVES(c) false
#endif
#if RENEWALS > 0
#define GOES_ON(c)                                                                              \
    ((phase[c] == IDLE || spent[c] + 1 < TTL || OUTLIVES(c)) &&                                 \
     !(RENEWING(c) && renewal_spent + 1 == TTL))
#else
#define GOES_ON(c) (phase[c] == IDLE || spent[c] + 1 < TTL)
#endif
#if CLIENTS > 2
/* Two believers need not be A and B: the attempt of one of the three may end. */
#define ENDED(c) (!GOES_ON(c))
#define ALL_GO_ON (ENDED(0) + ENDED(1) + ENDED(2) <= 1)
#elif CLIENTS > 1
#define ALL_GO_ON (GOES_ON(0) && GOES_ON(1))
#else
#define ALL_GO_ON GOES_ON(0)
#endif

inline tick(slow)
{
    if
    :: slow -> printf("-- tick, but not for a clock of a replica --\n")
    :: else -> printf("-- tick --\n")
    fi;
    if
    :: !slow || leads[0] -> age_server(0)
    :: else
    fi;
    if
    :: !slow || leads[1] -> age_server(1)
    :: else
    fi;
#ifdef SNAPSHOT
    if
    :: !slow ->
        age_saved(0);
        age_saved(1)
    :: else
    fi;
#endif
#ifdef STAMP
    age_stamp(0);
    age_stamp(1);
#endif
    age_elector(0);
    age_elector(1);
    age_elector(2);
    order();
    age_client(0);
#if CLIENTS > 1
    age_client(1);
#endif
#if CLIENTS > 2
    age_client(2);
#endif
#ifdef BREAK
    if
    :: broken == DELETED && break_age < WAIT -> break_age++
    :: else
    fi;
#endif
#if RENEWALS > 0
    if
    :: renewing -> renewal_spent++
    :: else
    fi
#endif
}

/* ---- what may happen ---- */
#define CLIENT(c)                                                                               \
    HEARS(c, 0) HEARS(c, 1) HEARS(c, 2) MEETS(c) MARKS(c)                                       \
    :: d_step { phase[c] == IDLE && GREETED(c) && MAY_ASK(c) && MAY_SEND(c) -> ask(c) }         \
    :: d_step { phase[c] == TRYING && request[c] == SENT && leads[to[c] % 2] &&                 \
                owner[to[c] % 2] == 0 -> grant(c, to[c] % 2) }                                  \
    :: d_step { phase[c] == TRYING && request[c] == ANSWERED && COUNTS(c) -> win(c) }
#define HEARS(c, t) :: d_step { t <= latest && LISTENS(c) && ANOTHER(c, t) && TELLS(t) -> hear(c, t) }
#ifdef GREETS
#define MEETS(c)                                                                                \
    :: d_step { LISTENS(c) && CAN_GREET(c) && met[c] != incarnation[heard[c] % 2] -> greet(c) }
#else
#define MEETS(c)
#endif
#ifdef MARKER
#define MARKS(c) :: d_step { MAY_MARK(c) -> mark(c) }
#else
#define MARKS(c)
#endif

#define SERVER(k)                                                                               \
    :: d_step { latest < FAILOVERS && (latest + 1) % 2 == k && !leads[k] -> promote(k) }        \
    :: d_step { leads[k] && term[k] < latest -> demote(k) }                                     \
    :: d_step { MAY_COPY(k) -> copy(k) }                                                        \
    WINS_BACK(k) RESTARTED(k) SAVES(k) STAMPED(k) BREAKS(k)
#ifdef BUMP
#define WINS_BACK(k)                                                                            \
    :: d_step { latest < FAILOVERS && (latest + 1) % 2 == k && leads[k] -> win_back(k) }
#else
#define WINS_BACK(k)
#endif
#if RESTARTS > 0
#define RESTARTED(k)                                                                            \
    :: d_step { leads[k] && restarts < RESTARTS -> owner[k] = 0; left[k] = 0; restart(k) }
#else
#define RESTARTED(k)
#endif
#ifdef SNAPSHOT
#define SAVES(k)                                                                                \
    :: d_step { leads[k] && restarts < RESTARTS && owner[k] != 0 &&                             \
                !(saved_owner[k] == owner[k] && saved_left[k] == left[k]) ->                    \
                saved_owner[k] = owner[k]; saved_left[k] = left[k];                             \
                printf("server %d: saves a snapshot, with the key of %d\n", k, owner[k]) }      \
    :: d_step { leads[k] && restarts < RESTARTS && saved_owner[k] != 0 ->                       \
                owner[k] = saved_owner[k]; left[k] = saved_left[k]; restart(k) }
#else
#define SAVES(k)
#endif
#ifdef STAMP
#define STAMPED(k)                                                                              \
    :: d_step { STAMPS(k, k) -> stamp(k, k) }                                                   \
    :: d_step { k == 0 && STAMPS(k, 2) -> stamp(k, 2) }
#else
#define STAMPED(k)
#endif
#ifdef BREAK
#define BREAKS(k) :: d_step { MAY_BREAK(k) -> break_lock(k) }
#else
#define BREAKS(k)
#endif

#ifdef FORGET
#define FORGETS(e) :: d_step { VIEW(e) != 0 -> learn(e, 0) }
#else
#define FORGETS(e)
#endif
#ifdef WEAK_ORDER
#define ELECTOR(e) LEARNS(e, 0) LEARNS(e, 1) LEARNS(e, 2)
#else
#define ELECTOR(e) LEARNS(e, 1) LEARNS(e, 2) FORGETS(e)
#endif
#define LEARNS(e, t) :: d_step { e >= FIRST && MAY_LEARN(e, t) -> learn(e, t) }

active proctype group()
{
    d_step {
        leads[0] = true;
        incarnation[1] = 1;
#if defined(MARKER) || defined(STAMP)
        named[0] = 0;
#endif
#ifdef STAMP
        stamp_age[0] = Q;
#endif
        elector[0] = (NEVER << SHIFT(0)) + (NEVER << SHIFT(1)) + (NEVER << SHIFT(2));
        elector[1] = elector[0];
        elector[2] = elector[0]
    }
end:
    do
    CLIENT(0)
#if CLIENTS > 1
    CLIENT(1)
#endif
#if CLIENTS > 2
    CLIENT(2)
#endif
    SERVER(0)
    SERVER(1)
    ELECTOR(0)
    ELECTOR(1)
    ELECTOR(2)
#if RENEWALS > 0
    :: d_step { phase[0] == HELD && !renewing && renewals < RENEWALS && GREETED(0) &&
                MAY_SEND(0) -> renew() }
    :: d_step { RENEWING(0) && request[0] == SENT -> serve_renewal(to[0] % 2) }
    :: d_step { RENEWING(0) && request[0] == ANSWERED && RENEWAL_COUNTS -> renewed() }
#endif
#ifdef BREAK
    :: d_step { MAY_COMPLETE -> complete() }
#endif
    :: d_step { ALL_GO_ON -> tick(false) }
#ifdef SLOW_REPLICA
    :: d_step { ALL_GO_ON -> tick(true) }
#endif
    od
}
