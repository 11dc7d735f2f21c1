/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock service: may an answer over HTTP be believed?
 *
 * Modelled: one client, two replicas of the daemon and a rival on one lock. Requests that are
 * late by up to DELAY ticks, lost, or copied by a proxy to either replica; connections that the
 * client or the proxy closes while a request waits or its grant has not been written; answers that
 * are lost; rounds that were executed but judged lost; releases and rollbacks that arrive late or never;
 * replicas that crash and forget; a client that is killed, asks again, renews and deletes through
 * either replica; streams on a unix socket and over TCP, their renewal, drain, and coming back with
 * the grant; an operator that breaks the lock.
 *
 * Abstracted: the nodes are one register with a TTL, since base.pml covers a round on a majority:
 * a round is one step. No fences, kinds or clock drift. The client believes for as long as was
 * left when the round was executed; the deadline that it computes is never later.
 *
 * An exchange is a request to acquire with everything that becomes of it: on its way, waiting,
 * granted, a stream. Each PUT has two, its original and its copy.
 *
 * Bounds: PUTS, COPIES, LOST rounds, CRASHES, DRAINS, BREAKS; one POST and one DELETE with a copy
 * each; ids are not used again unless REUSE_ID says so.
 *
 * Properties: the client and the rival never believe at the same time; while the client believes,
 * the register has the client's value for at least as long; and with BOUND, no value of a client
 * that has gone stays for more than DELAY + WAIT + TTL ticks after its last act.
 *
 * Switches:
 *   FEW               no lost rounds, no POST, no DELETE: for the searches with streams
 *   UNIX, TCP         the client holds a stream; without one of them it holds a lease
 *   SWEEP             a handle is kept after the answer, and sweeps at its deadline
 *   PROLONG           a value that was found by its tag is extended and answered
 *   REPLAY            a granted id is extended and answered again by the replica that granted it
 *   MEMORY            the same from memory, without asking the nodes
 *   LEFT_TO_NEXT      with MEMORY: a request releases nothing once another of its id has come, and
 *                     what is being released is not remembered
 *   SENT_RELEASES     a lease whose client is seen gone is released though its answer was sent
 *   ROLLBACK_EXTENDED an extension that was judged lost is rolled back
 *   RESUMED_RELEASES  a stream that came back with its grant is released when it is closed
 *   TOLD_RELEASES     a stream that was told to reconnect is released when it is closed
 *   POST_STREAM       the grant of a unix stream is told at once, and serves for POST
 *   COMES_BACK_UNTOLD a unix stream that was not told to reconnect comes back with its grant
 *   REUSE_ID          the client goes on with the same id after its DELETE
 *   WAIT_OF_FIRST     after_ms counts from the first request of a wait that was taken over
 *   HIDDEN_PROXY      a proxy talks to a unix listener that does not say so
 *   BLIND_DRAIN       drain renews streams whose client is not seen to live
 */
#ifdef FEW
#define LOST 0
#define POSTS 0
#define DELETES 0
#endif
#ifndef PUTS
#define PUTS 2
#endif
#ifndef COPIES
#define COPIES 1
#endif
#ifndef LOST
#define LOST 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef DRAINS
#define DRAINS 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#ifndef POSTS
#define POSTS 1
#endif
#ifndef DELETES
#define DELETES 1
#endif
#ifndef TTL
#define TTL 2
#endif
#define DELAY 1
#define WAIT 1
#define EXCHANGES (PUTS * 2)
#define RIVAL 15

#if defined(UNIX) || defined(TCP)
#define STREAMS 1
#endif

mtype = { NONE, FLYING, WAITING, GRANTED, RESUMED, STREAM, TOLD }; /* an exchange */
mtype = { GRANT, REFUSAL, RECONNECT };                             /* what it answers */
mtype = { NEW, ASKS, HOLDS, DELETING, STOPPED, GONE };             /* the client */

/* ---- the lock ---- */
byte key;       /* the value; 0: free */
byte key_left;  /* ticks until it expires */
byte last;      /* values given so far: each is new (A1) */
byte rival_left; /* the rival believes for so long */
byte late;      /* bit v: a release or rollback of value v is under way */

/* ---- the exchanges ---- */
mtype st[EXCHANGES] = NONE;
byte replica[EXCHANGES];
byte value[EXCHANGES]; /* FLYING: the grant that the request carries, or 0 */
byte ticks[EXCHANGES]; /* FLYING: under way; WAITING: waited; GRANTED, RESUMED: of the value left */
bool releases[EXCHANGES]; /* a stream that is released when it is closed */
#ifdef WAIT_OF_FIRST
byte before[EXCHANGES]; /* ticks that the request whose wait was taken over had waited */
#endif
mtype answer[EXCHANGES] = NONE;
byte answer_value[EXCHANGES];
byte answer_left[EXCHANGES];
#ifdef SWEEP
byte sweep[EXCHANGES]; /* ticks until the kept handle sweeps; 0: none is kept */
byte sweep_value[EXCHANGES];
#endif

/* ---- what a replica remembers of the id ---- */
bool ended[2];   /* granted once, or deleted: it is not granted again */
#if defined(REPLAY) || defined(MEMORY)
byte granted[2]; /* the value that it granted; 0: none */
byte granted_left[2];
bool repeated[2]; /* the id came again after it was granted */
#endif

/* ---- the client ---- */
mtype phase = NEW;
byte puts;          /* PUTs sent; the last one is the one it waits for, or holds by */
bool closed[PUTS];  /* the client has closed the connection of this PUT */
bool copied[PUTS];  /* a proxy copied it, and closes connections as it likes */
bool told;          /* to reconnect */
byte grant;         /* what it may send back; 0: none */
byte left;          /* it believes for so long */
byte believed;      /* in this value */
byte believed_by;   /* through the connection of this PUT */
byte idle;          /* ticks since it has gone */

/* ---- POST and DELETE: an original and a copy each ---- */
mtype post[2] = NONE; /* NONE, FLYING, GRANT or REFUSAL */
byte post_replica[2];
byte post_value[2];
byte post_ticks[2];
byte post_left[2];
bool awaits_post;
mtype del[2] = NONE; /* NONE, FLYING, GRANT */
byte del_replica[2];
byte del_value[2]; /* 0: by tag */
byte del_ticks[2];

byte posts, deletes, copies, lost_rounds, crashes, drains, breaks;

#define PUT_OF(x) ((x) / 2)
#define SEEN_CLOSED(x) (closed[PUT_OF(x)] || copied[PUT_OF(x)])
#define OURS(v) ((v) != 0 && (v) != RIVAL)
#define ALIVE (phase != GONE || idle == 0) /* a TCP stream notices a death within a tick */

#define SOUND                                                                                  \
    (!(left > 0 && rival_left > 0) &&                                                          \
     (left == 0 || (key == believed && key_left >= left)))

inline forget(x)
{
    st[x] = NONE;
    value[x] = 0;
    ticks[x] = 0;
    releases[x] = false;
#ifdef WAIT_OF_FIRST
    before[x] = 0;
#endif
}

inline say(x, what, v, n)
{
    answer[x] = what;
    answer_value[x] = v;
    answer_left[x] = n
}

inline silence(x)
{
    answer[x] = NONE;
    answer_value[x] = 0;
    answer_left[x] = 0
}

inline send_release(v)
{
    late = late | (1 << (v))
}

/* ---- the client's acts ---- */

/* Where closing releases, belief ends with the stream. */
inline close_connection(p)
{
    closed[p] = true;
#ifdef UNIX
    if
    :: left > 0 && believed_by == p && !told -> left = 0; believed = 0; believed_by = 0
    :: else
    fi
#endif
}

inline close_all()
{
    i = 0;
    do
    :: i < PUTS && i < puts -> close_connection(i); i++
    :: else -> break
    od;
    i = 0
}

inline send_put(r, g)
{
    st[puts * 2] = FLYING;
    replica[puts * 2] = r;
    value[puts * 2] = g;
    puts++;
    phase = ASKS;
    awaits_post = false;
    printf("client: PUT%d to R%d, grant %d\n", puts, r + 1, g)
}

inline stop_believing()
{
    left = 0;
    believed = 0;
    believed_by = 0
}

inline leave()
{
    stop_believing();
    close_all();
    phase = GONE;
    idle = 0;
    grant = 0;
    told = false;
    awaits_post = false
}

inline send_delete(r, g)
{
    stop_believing();
    close_all();
    del[0] = FLYING;
    del_replica[0] = r;
    del_value[0] = g;
    del_ticks[0] = 0;
    deletes++;
    phase = DELETING;
    awaits_post = false;
    printf("client: DELETE to R%d, grant %d\n", r + 1, g)
}

inline send_post(r)
{
    post[0] = FLYING;
    post_replica[0] = r;
    post_value[0] = grant;
    post_ticks[0] = 0;
    posts++;
    awaits_post = true;
    printf("client: POST to R%d\n", r + 1)
}

#if defined(UNIX) && !defined(POST_STREAM)
#define GRANT_SERVES told /* where closing releases, the grant is told with `reconnect` only */
#else
#define GRANT_SERVES true
#endif
#define MAY_PUT ((phase == ASKS || phase == HOLDS) && !told && puts < PUTS)
#define MAY_COME_BACK (phase == HOLDS && grant != 0 && puts < PUTS)
#define MAY_POST (phase == HOLDS && left > 0 && grant != 0 && GRANT_SERVES && posts < POSTS && \
                  post[0] == NONE && !awaits_post)
#define MAY_DELETE ((phase == ASKS || phase == HOLDS || phase == STOPPED) && deletes < DELETES && \
                    del[0] == NONE)

inline after_delete()
{
    grant = 0;
    told = false;
#ifdef REUSE_ID
    if
    :: puts < PUTS -> phase = NEW
    :: else -> phase = GONE; idle = 0
    fi;
#else
    phase = GONE;
    idle = 0;
#endif
    printf("client: its DELETE is over\n")
}

proctype client()
{
    byte i;
end:
    do
    :: d_step { phase == NEW && puts < PUTS -> send_put(0, 0) }
    :: d_step { phase == NEW && puts < PUTS && puts > 0 -> send_put(1, 0) }
    /* No answer: it gives the connection up and asks again. */
    :: d_step { MAY_PUT -> close_all(); send_put(0, 0) }
    :: d_step { MAY_PUT -> close_all(); send_put(1, 0) }
#ifdef UNIX
    :: d_step { MAY_PUT -> send_put(0, 0) }
#endif
#ifdef STREAMS
    /* Told to reconnect, it comes back with its grant. */
    :: d_step { MAY_COME_BACK && told -> close_all(); send_put(0, grant) }
    :: d_step { MAY_COME_BACK && told -> close_all(); send_put(1, grant) }
#ifdef COMES_BACK_UNTOLD
    :: d_step { MAY_COME_BACK && !told -> close_all(); told = true; send_put(0, grant) }
#endif
    :: d_step { phase == HOLDS && !closed[puts - 1] ->
            close_all(); printf("client: its stream ends\n") }
#endif
    :: d_step { MAY_POST -> send_post(0) }
    :: d_step { MAY_POST -> send_post(1) }
    :: d_step { awaits_post ->
            awaits_post = false; printf("client: waits no longer for its POST\n") }
    :: d_step { MAY_DELETE -> send_delete(0, 0) }
    :: d_step { MAY_DELETE -> send_delete(1, 0) }
    :: d_step { MAY_DELETE && grant != 0 -> send_delete(0, grant) }
    :: d_step { MAY_DELETE && grant != 0 -> send_delete(1, grant) }
    :: d_step { phase == DELETING -> after_delete() }
    :: d_step { phase != NEW && phase != GONE -> leave(); printf("client: killed\n") }
    od
}

/* ---- a PUT arrives ---- */

inline judge_lost(x, v)
{
    lost_rounds++;
#ifdef ROLLBACK_EXTENDED
    send_release(v);
#endif
    forget(x)
}

inline extend(x, v)
{
    key_left = TTL;
    st[x] = RESUMED;
    value[x] = v;
    ticks[x] = TTL;
    releases[x] = false
}

/* Another exchange of the id waits here: the new request takes its wait over. */
inline take_over(x)
{
    i = 0;
    do
    :: i < EXCHANGES && i != x && st[i] == WAITING && replica[i] == replica[x] ->
#ifdef WAIT_OF_FIRST
        before[x] = ticks[i];
#endif
        forget(i);
        say(i, REFUSAL, 0, 0);
        printf("R%d: PUT%d is superseded\n", replica[x] + 1, PUT_OF(i) + 1);
        i++
    :: i < EXCHANGES && !(i != x && st[i] == WAITING && replica[i] == replica[x]) -> i++
    :: else -> break
    od;
    i = 0
}

inline refuse(x)
{
    forget(x);
    say(x, REFUSAL, 0, 0)
}

/* The planted faults: the replica that granted the id answers for it a second time. */
#if defined(REPLAY)
#define ANSWERS_AGAIN(x) \
    (value[x] == 0 && granted[replica[x]] != 0 && key == granted[replica[x]])
#elif defined(MEMORY)
#define ANSWERS_AGAIN(x) \
    (value[x] == 0 && granted[replica[x]] != 0 && granted_left[replica[x]] > 0)
#else
#define ANSWERS_AGAIN(x) false
#endif

#ifdef REUSE_ID
#define MAY_BEGIN(x) true
#else
#define MAY_BEGIN(x) !ended[replica[x]]
#endif

inline receive(x)
{
    printf("R%d: reads PUT%d\n", replica[x] + 1, PUT_OF(x) + 1);
    if
    :: value[x] != 0 -> /* comes back with its grant: exactly that value */
        if
        :: key == value[x] -> extend(x, key)
        :: else -> refuse(x)
        fi
#if defined(REPLAY)
    :: ANSWERS_AGAIN(x) -> extend(x, key)
#elif defined(MEMORY)
    :: ANSWERS_AGAIN(x) ->
        repeated[replica[x]] = true;
        st[x] = RESUMED;
        value[x] = granted[replica[x]];
        ticks[x] = granted_left[replica[x]]
#endif
#ifndef REUSE_ID
    :: value[x] == 0 && !ANSWERS_AGAIN(x) && ended[replica[x]] -> refuse(x)
#endif
    :: value[x] == 0 && !ANSWERS_AGAIN(x) && MAY_BEGIN(x) ->
        if
#ifdef PROLONG
        :: OURS(key) -> extend(x, key)
#else
        :: OURS(key) -> refuse(x) /* 409 YOURS */
#endif
        :: else ->
            take_over(x);
            st[x] = WAITING;
            ticks[x] = 0
        fi
    fi
}

/* ---- a round of a waiting exchange ---- */

inline create(x)
{
    last++;
    key = last;
    key_left = TTL;
    st[x] = GRANTED;
    value[x] = last;
    ticks[x] = TTL;
#ifdef WAIT_OF_FIRST
    ticks[x] = TTL + before[x];
#endif
    ended[replica[x]] = true;
#if defined(REPLAY) || defined(MEMORY)
    granted[replica[x]] = last;
    granted_left[replica[x]] = TTL;
#endif
    printf("R%d: PUT%d sets value %d\n", replica[x] + 1, PUT_OF(x) + 1, last)
}

inline create_judged_lost(x)
{
    last++;
    lost_rounds++;
    key = last;
    key_left = TTL;
    send_release(last);
    printf("R%d: PUT%d sets value %d, judged lost\n", replica[x] + 1, PUT_OF(x) + 1, last)
}

inline write_answer(x)
{
    printf("R%d: answers PUT%d, value %d, %d left\n",
           replica[x] + 1, PUT_OF(x) + 1, value[x], ticks[x]);
    say(x, GRANT, value[x], ticks[x]);
#ifdef STREAMS
#ifdef UNIX
    releases[x] = (st[x] == GRANTED);
#ifdef RESUMED_RELEASES
    releases[x] = true;
#endif
#endif
    st[x] = STREAM;
    ticks[x] = 0
#else
#ifdef SWEEP
    sweep[x] = ticks[x];
    sweep_value[x] = value[x];
#endif
#ifdef SENT_RELEASES
    st[x] = TOLD;
    releases[x] = true;
    ticks[x] = 0
#else
    forget(x)
#endif
#endif
}

/* The connection is closed before a byte of the grant was sent. */
inline unanswered(x)
{
    if
#ifdef RESUMED_RELEASES
    :: st[x] == RESUMED -> send_release(value[x])
#endif
#ifdef LEFT_TO_NEXT
    :: st[x] == GRANTED && !repeated[replica[x]] ->
        send_release(value[x]);
        granted[replica[x]] = 0
#else
    :: st[x] == GRANTED -> send_release(value[x]) /* what this request created */
#endif
    :: else
    fi;
    printf("R%d: PUT%d is closed before its answer\n", replica[x] + 1, PUT_OF(x) + 1);
    forget(x)
}

inline stream_closed(x)
{
    if
    :: releases[x] -> send_release(value[x])
    :: else
    fi;
    printf("R%d: the stream of PUT%d is closed\n", replica[x] + 1, PUT_OF(x) + 1);
    forget(x)
}

inline drain(x)
{
    drains++;
    if
#ifdef BLIND_DRAIN
    :: true -> key_left = TTL
#else
    :: ALIVE -> key_left = TTL
    :: else
#endif
    fi;
    say(x, RECONNECT, value[x], key_left);
    printf("R%d: drains, tells PUT%d to reconnect\n", replica[x] + 1, PUT_OF(x) + 1);
#ifdef TOLD_RELEASES
    st[x] = TOLD
#else
    forget(x)
#endif
}

/* ---- its answer reaches the client ---- */

inline believe(v, n, p)
{
    if
    :: left > n && believed == v
    :: else -> left = n
    fi;
    believed = v;
    believed_by = p
}

inline hear(x)
{
    if
    :: closed[PUT_OF(x)] || PUT_OF(x) + 1 != puts -> skip /* lost with its connection */
    :: else ->
        if
        :: answer[x] == GRANT && answer_left[x] > 0 && phase == ASKS ->
            phase = HOLDS;
            grant = answer_value[x];
            believe(answer_value[x], answer_left[x], PUT_OF(x));
            printf("client: PUT%d granted value %d for %d\n",
                   PUT_OF(x) + 1, answer_value[x], answer_left[x])
#ifdef STREAMS
        :: answer[x] == GRANT && answer_left[x] > 0 && phase == HOLDS &&
           grant == answer_value[x] ->
            believe(answer_value[x], answer_left[x], PUT_OF(x));
            printf("client: renewed for %d\n", answer_left[x])
        :: answer[x] == RECONNECT &&
           (phase == HOLDS && grant == answer_value[x] ||
            phase == ASKS && (left == 0 || believed == answer_value[x])) ->
            phase = HOLDS;
            told = true;
            grant = answer_value[x];
            if
            :: answer_left[x] > 0 -> believe(answer_value[x], answer_left[x], PUT_OF(x))
            :: else
            fi;
            printf("client: told to reconnect\n")
#endif
        :: answer[x] == REFUSAL && (phase == ASKS || phase == HOLDS) ->
            stop_believing();
            phase = STOPPED;
            grant = 0;
            told = false;
            awaits_post = false;
            printf("client: refused or lost, stops\n")
        :: else
        fi
    fi;
    silence(x)
}

/* Only a unix stream is known to have no proxy in its way, unless it comes back with its grant. */
#if defined(UNIX) && !defined(HIDDEN_PROXY)
#define PROXY_SEES(x) (value[x] != 0)
#else
#define PROXY_SEES(x) true
#endif
#define MAY_COPY(x)                                                                            \
    (st[x] == FLYING && x % 2 == 0 && st[x + 1 - x % 2] == NONE && copies < COPIES &&          \
     PROXY_SEES(x))

inline copy(x, r)
{
    st[x + 1] = FLYING;
    replica[x + 1] = r;
    value[x + 1] = value[x];
    ticks[x + 1] = ticks[x];
    copied[PUT_OF(x)] = true;
    copies++;
    printf("proxy: copies PUT%d to R%d\n", PUT_OF(x) + 1, r + 1)
}

proctype exchange(byte x)
{
    byte i;
end:
    do
    :: d_step { st[x] == FLYING -> receive(x) }
    :: d_step { st[x] == FLYING && closed[PUT_OF(x)] -> forget(x) } /* EOF behind it: not begun */
    :: d_step { MAY_COPY(x) -> copy(x, 0) }
    :: d_step { MAY_COPY(x) -> copy(x, 1) }
    :: d_step { st[x] == WAITING && SEEN_CLOSED(x) ->
            forget(x); printf("R%d: PUT%d is canceled\n", replica[x] + 1, PUT_OF(x) + 1) }
    :: d_step { st[x] == WAITING && key == 0 -> create(x) }
    :: d_step { st[x] == WAITING && key == 0 && lost_rounds < LOST -> create_judged_lost(x) }
    :: d_step { st[x] == WAITING && key == 0 && lost_rounds < LOST ->
            create_judged_lost(x); forget(x) }
#ifdef PROLONG
    :: d_step { st[x] == WAITING && OURS(key) ->
            extend(x, key);
            printf("R%d: PUT%d prolongs what it finds\n", replica[x] + 1, PUT_OF(x) + 1) }
#else
    :: d_step { st[x] == WAITING && OURS(key) -> refuse(x) }
#endif
    :: d_step { (st[x] == GRANTED || st[x] == RESUMED) && ticks[x] > 0 -> write_answer(x) }
    :: d_step { (st[x] == GRANTED || st[x] == RESUMED) && SEEN_CLOSED(x) -> unanswered(x) }
    :: d_step { st[x] == RESUMED && lost_rounds < LOST -> judge_lost(x, value[x]) }
    :: d_step { (st[x] == STREAM || st[x] == TOLD) && SEEN_CLOSED(x) -> stream_closed(x) }
#ifdef STREAMS
    :: d_step { st[x] == STREAM && key == value[x] && ALIVE ->
            key_left = TTL; say(x, GRANT, value[x], TTL) }
    :: d_step { st[x] == STREAM && key != value[x] -> forget(x); say(x, REFUSAL, 0, 0) }
    :: d_step { st[x] == STREAM && key == value[x] && drains < DRAINS -> drain(x) }
#endif
    :: d_step { answer[x] != NONE -> hear(x); assert(SOUND) }
    :: d_step { answer[x] != NONE -> silence(x) }
    od
}

/* ---- POST and DELETE at a replica ---- */

inline renew(k)
{
    if
    :: key == post_value[k] ->
        key_left = TTL;
        post[k] = GRANT;
        post_left[k] = TTL;
        printf("R%d: POST renews value %d\n", post_replica[k] + 1, key)
    :: else ->
        post[k] = REFUSAL;
        post_left[k] = 0;
        printf("R%d: POST finds nothing\n", post_replica[k] + 1)
    fi;
    post_ticks[k] = 0
}

inline renew_judged_lost(k)
{
    lost_rounds++;
    key_left = TTL;
#ifdef ROLLBACK_EXTENDED
    send_release(key);
#endif
    post[k] = NONE;
    post_value[k] = 0;
    post_ticks[k] = 0;
    printf("R%d: POST renews value %d, judged lost\n", post_replica[k] + 1, key)
}

inline hear_post(k)
{
    if
    :: awaits_post && post[k] == GRANT && post_left[k] > 0 && phase == HOLDS ->
        believe(post_value[k], post_left[k], puts - 1);
        awaits_post = false;
        printf("client: renewed by POST for %d\n", post_left[k])
    :: awaits_post && post[k] == REFUSAL && phase == HOLDS ->
        stop_believing();
        phase = STOPPED;
        grant = 0;
        told = false;
        awaits_post = false
    :: else
    fi;
    post[k] = NONE;
    post_value[k] = 0;
    post_left[k] = 0
}

inline end_id(r)
{
    i = 0;
    do
    :: i < EXCHANGES ->
        if
        :: st[i] != NONE && st[i] != FLYING && replica[i] == r -> forget(i)
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
#ifdef LEFT_TO_NEXT
    granted[r] = 0;
#endif
    ended[r] = true
}

inline release(k)
{
    if
    :: del_value[k] != 0 && key == del_value[k] || del_value[k] == 0 && OURS(key) ->
        key = 0;
        key_left = 0;
        printf("R%d: DELETE releases\n", del_replica[k] + 1)
    :: else -> printf("R%d: DELETE finds nothing\n", del_replica[k] + 1)
    fi;
    end_id(del_replica[k]);
    del[k] = NONE;
    del_value[k] = 0;
    del_ticks[k] = 0
}

inline crash(r)
{
    crashes++;
    i = 0;
    do
    :: i < EXCHANGES ->
        if
        :: st[i] != NONE && st[i] != FLYING && replica[i] == r -> forget(i)
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    ended[r] = false;
#if defined(REPLAY) || defined(MEMORY)
    granted[r] = 0;
    granted_left[r] = 0;
    repeated[r] = false;
#endif
    printf("R%d: crashes and is back\n", r + 1)
}

proctype others()
{
    byte i;
end:
    do
    :: d_step { post[0] == FLYING -> renew(0) }
    :: d_step { post[1] == FLYING -> renew(1) }
    :: d_step { post[0] == FLYING && key == post_value[0] && lost_rounds < LOST ->
            renew_judged_lost(0) }
    :: d_step { (post[0] == GRANT || post[0] == REFUSAL) -> hear_post(0); assert(SOUND) }
    :: d_step { (post[1] == GRANT || post[1] == REFUSAL) -> hear_post(1); assert(SOUND) }
    :: d_step { post[0] == FLYING && post[1] == NONE && copies < COPIES ->
            copies++; post[1] = FLYING; post_replica[1] = 1; post_value[1] = post_value[0];
            post_ticks[1] = post_ticks[0] }
    :: d_step { del[0] == FLYING -> release(0) }
    :: d_step { del[1] == FLYING -> release(1) }
    :: d_step { del[0] == FLYING && del[1] == NONE && copies < COPIES ->
            copies++; del[1] = FLYING; del_replica[1] = 1; del_value[1] = del_value[0];
            del_ticks[1] = del_ticks[0] }
    :: d_step { key == 0 && rival_left == 0 ->
            key = RIVAL; key_left = TTL; rival_left = TTL;
            printf("rival: acquires\n"); assert(SOUND) }
    :: d_step { key == RIVAL && rival_left > 0 -> key = 0; key_left = 0; rival_left = 0 }
    :: d_step { OURS(key) && (late & (1 << key)) -> late = late & ~(1 << key);
            printf("a late release deletes value %d\n", key); key = 0; key_left = 0; assert(SOUND) }
#if CRASHES > 0
    :: d_step { crashes < CRASHES -> crash(0) }
    :: d_step { crashes < CRASHES -> crash(1) }
#endif
#if BREAKS > 0
    /* The holder is evicted: what was answered before says nothing of afterwards. */
    :: d_step { OURS(key) && breaks < BREAKS -> breaks++; key = 0; key_left = 0; stop_believing();
            i = 0;
            do
            :: i < EXCHANGES ->
                if
                :: answer[i] == GRANT -> silence(i)
                :: else
                fi;
                if
                :: st[i] == GRANTED || st[i] == RESUMED -> forget(i)
                :: else
                fi;
                i++
            :: else -> break
            od;
            i = 0;
            printf("operator: breaks the lock\n") }
#endif
    od
}

/* ---- time ---- */

inline age_exchange(x)
{
    if
    :: st[x] == FLYING ->
        if
        :: ticks[x] == DELAY -> forget(x)
        :: else -> ticks[x]++
        fi
    :: st[x] == WAITING ->
        if
        :: ticks[x] == WAIT -> forget(x)
        :: else -> ticks[x]++
        fi
    :: (st[x] == GRANTED || st[x] == RESUMED) && ticks[x] > 0 -> ticks[x]--
    :: else
    fi;
    if
    :: answer_left[x] > 0 -> answer_left[x]--
    :: else
    fi;
#ifdef SWEEP
    if
    :: sweep[x] == 1 -> sweep[x] = 0; send_release(sweep_value[x]); sweep_value[x] = 0
    :: sweep[x] > 1 -> sweep[x]--
    :: else
    fi
#endif
}

inline tick()
{
    printf("tick\n");
    if
    :: key_left == 1 -> key = 0; key_left = 0
    :: key_left > 1 -> key_left--
    :: else
    fi;
    if
    :: left > 0 -> left--
    :: else
    fi;
    if
    :: left == 0 -> believed = 0; believed_by = 0
    :: else
    fi;
    if
    :: rival_left > 0 -> rival_left--
    :: else
    fi;
    i = 0;
    do
    :: i < EXCHANGES -> age_exchange(i); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < 2 ->
        if
        :: post[i] == FLYING && post_ticks[i] == DELAY ->
            post[i] = NONE; post_value[i] = 0; post_ticks[i] = 0
        :: post[i] == FLYING && post_ticks[i] < DELAY -> post_ticks[i]++
        :: else
        fi;
        if
        :: post_left[i] > 0 -> post_left[i]--
        :: else
        fi;
        if
        :: del[i] == FLYING && del_ticks[i] == DELAY ->
            del[i] = NONE; del_value[i] = 0; del_ticks[i] = 0
        :: del[i] == FLYING && del_ticks[i] < DELAY -> del_ticks[i]++
        :: else
        fi;
#if defined(REPLAY) || defined(MEMORY)
        if
        :: granted_left[i] > 0 -> granted_left[i]--
        :: else
        fi;
#endif
        i++
    :: else -> break
    od;
    i = 0;
#ifdef BOUND
    if
    :: phase == GONE && idle < BOUND -> idle++
    :: else
    fi;
    assert(!(phase == GONE && idle >= BOUND && OURS(key)))
#else
    if
    :: phase == GONE && idle < 1 -> idle++
    :: else
    fi
#endif
}

proctype clock()
{
    byte i;
end:
    do
    :: d_step { true -> tick() }
    od
}

init
{
    byte x;
    atomic {
        run client();
        run others();
        run clock();
        x = 0;
        do
        :: x < EXCHANGES -> run exchange(x); x++
        :: else -> break
        od;
        x = 0
    }
}
