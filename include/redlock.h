/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libredlock: a distributed lock over N independent Redis or Valkey masters.
 *
 * This header is the whole public interface and its contract.
 *
 *     redlock *r;
 *     redlock_lock *lock;
 *     if (redlock_open(NULL, &r) != REDLOCK_OK || // nodes as configured for the command
 *         redlock_acquire(r, "nightly-report", 30000, NULL, &lock) != REDLOCK_OK) {
 *         fprintf(stderr, "%s\n", redlock_detail());
 *         exit(EXIT_FAILURE);
 *     }
 *     ... work that ends within redlock_remaining_ms(lock) ...
 *     redlock_release(lock);
 *     redlock_lock_free(lock);
 *     redlock_close(r);
 *
 * Conventions, true of every call:
 *
 *  - A call that can fail returns REDLOCK_OK (0) or a negative enum redlock_error;
 *    redlock_detail() then explains that failure in a sentence. Out-parameters are
 *    untouched on failure. Everything passed in is copied before the call returns.
 *  - Structs start with `size`: set it to sizeof the struct and zero the rest. A zero
 *    field means its default. A larger struct (a newer header) is accepted by an older
 *    library as long as what it does not know is zero.
 *  - Times are milliseconds (`_ms`) or nanoseconds (`_ns`) of CLOCK_BOOTTIME, which goes
 *    on while the machine sleeps: a suspended holder finds its lock expired.
 *  - A client may be used from any number of threads at once. One handle should be used
 *    by one thread at a time, except that redlock_cancel() and the redlock_remaining_ms()
 *    family may be called from any thread until redlock_lock_free().
 *  - After fork() the child gets REDLOCK_FORKED from every call on the parent's client
 *    and handles; only redlock_close() and redlock_lock_free() do something there: they
 *    free the child's copy of the memory and leave the parent's locks and connections
 *    alone. A child opens its own client.
 *  - Blocking calls must not be made from callbacks; they answer REDLOCK_INVAL there.
 */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define REDLOCK_API __attribute__((visibility("default")))
#else
#define REDLOCK_API
#endif

#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0

/* ---- limits ------------------------------------------------------------------------- */

#define REDLOCK_NODES_MAX 15    /* nodes of one quorum */
#define REDLOCK_QUORUMS_MAX 64  /* quorums of one client */
#define REDLOCK_QUORUM_MAX 32   /* bytes of the name of a quorum */
#define REDLOCK_NAME_MAX 512    /* bytes of a lock name, without prefix and terminator */
#define REDLOCK_PREFIX_MAX 64   /* bytes of the key prefix */
#define REDLOCK_VALUE_MAX 160   /* bytes of a lock value, without terminator */
#define REDLOCK_LABEL_MAX 64    /* bytes of a label, without terminator */
#define REDLOCK_TAG_SIZE 22     /* characters of a tag */
#define REDLOCK_TAGGED_MAX 16   /* values that one redlock_release_tagged() deletes on a node */
#define REDLOCK_MARK_SIZE 40    /* characters of a mark, without terminator */
#define REDLOCK_ADDRESS_MAX 128 /* printable node address, with terminator */
#define REDLOCK_TEXT_MAX 160    /* explanation inside a report, with terminator */
#define REDLOCK_OWNER_MAX 64    /* bytes of an owner id, without terminator */
#define REDLOCK_NAMES_MAX 16    /* names of one request */
#define REDLOCK_SLOTS_MAX 1024  /* permits of a semaphore */
#define REDLOCK_LIST_MAX 10000  /* names that redlock_list() tells */
#define REDLOCK_SHOWN_MAX 16 /* holders, and waiters, that redlock_query() tells one by one */
#define REDLOCK_TTL_MIN_MS 10
#define REDLOCK_TTL_LIMIT_MS 86400000     /* one day: the most max_ttl_ms may be */
#define REDLOCK_WAIT_FOREVER (-1)         /* request.wait_ms: no deadline */
#define REDLOCK_WAIT_MAX_MS 31536000000LL /* one year: the most a finite wait may be */

/* ---- errors ------------------------------------------------------------------------- */

/* One line per error: name, number, what redlock_strerror() says. */
#define REDLOCK_ERRORS(X)                                                                      \
    X(OK, 0, "success")                                                                        \
    X(BUSY, -1, "held by another")                                                             \
    X(NOQUORUM, -2, "too few nodes could vote")                                                \
    X(TIMEOUT, -3, "still held by another when the wait ended")                                \
    X(LOST, -4, "the lock is no longer ours")                                                  \
    X(EXPIRED, -5, "the lock had already expired")                                             \
    X(GUARDED, -6, "young or suspect nodes prevent a quorum")                                  \
    X(CANCELED, -7, "canceled")                                                                \
    X(INVAL, -8, "invalid argument")                                                           \
    X(AUTH, -9, "the nodes refused the credentials")                                           \
    X(PROTO, -10, "the nodes do not speak the Redis protocol")                                 \
    X(NOMEM, -11, "out of memory")                                                             \
    X(SYSTEM, -12, "a system call failed")                                                     \
    X(FORKED, -13, "used in a child of the process that opened it")                            \
    X(YOURS, -14, "held already under the tag of this request")

enum redlock_error {
#define REDLOCK_ERROR_ENUM(name, number, text) REDLOCK_##name = (number),
    REDLOCK_ERRORS(REDLOCK_ERROR_ENUM)
#undef REDLOCK_ERROR_ENUM
};

/* Static text for an error number; "unknown error" for any other. Never NULL. */
REDLOCK_API const char *redlock_strerror(int error);

/* "BUSY" for REDLOCK_BUSY and so on; "UNKNOWN" for any other number. Never NULL. */
REDLOCK_API const char *redlock_error_name(int error);

/*
 * One sentence about the last redlock call of this thread that failed: what was wrong and
 * what to do. Empty before the first failure. Inside a `done` or `lost` callback it speaks
 * of the error being delivered. Valid until the next redlock call of this thread.
 * Passwords never appear in it.
 */
REDLOCK_API const char *redlock_detail(void);

/* ---- what a node said --------------------------------------------------------------- */

/* One line per answer: name, printable word. A vote is what one node did for one operation. */
#define REDLOCK_VOTES(X)                                                                       \
    X(NONE, "not asked")         /* the operation did not involve this node (yet) */           \
    X(PENDING, "not waited for") /* asked, and the operation was decided without it */         \
    X(GRANTED, "granted")        /* set, renewed, deleted: what was asked */                   \
    X(TAKEN, "held by another")  /* the key exists with another value */                       \
    X(MISSING, "no such key")    /* the key is gone: expired, deleted or never set */          \
    X(TIMEDOUT, "timed out")     /* no answer within the per-node deadline */                  \
    X(REFUSED, "connection refused")                                                           \
    X(UNREACHABLE, "unreachable")    /* resolve, connect, TLS or I/O failure */                \
    X(AUTH, "authentication failed") /* NOAUTH, WRONGPASS, NOPERM */                           \
    X(PROTO, "protocol error")       /* not RESP, or an answer that makes no sense */          \
    X(LOADING, "loading its dataset")                                                          \
    X(READONLY, "read-only replica")                                                           \
    X(ERROR, "server error") /* any other error reply */                                       \
    X(GUARDED, "in quarantine")

enum redlock_vote {
#define REDLOCK_VOTE_ENUM(name, text) REDLOCK_VOTE_##name,
    REDLOCK_VOTES(REDLOCK_VOTE_ENUM)
#undef REDLOCK_VOTE_ENUM
};

/* The printable word of a vote; "unknown" for any other number. Never NULL. */
REDLOCK_API const char *redlock_vote_text(int vote);

/*
 * Values, labels and names of waiters come from the nodes, where any program can write. A label is
 * told only if it is one that redlock_request.label accepts. Other texts are told as they are if
 * they are printable UTF-8; else with \xHH for every byte that is not part of a printable
 * character, and cut at REDLOCK_VALUE_MAX. So none of them ever steers a terminal.
 *
 * Elements of arrays: these two have no `size` and will not grow.
 */
typedef struct redlock_holder {
    char value[REDLOCK_VALUE_MAX + 1]; /* empty: there is none, or it is unknown */
    char label[REDLOCK_LABEL_MAX + 1]; /* empty: none */
    char mark[REDLOCK_MARK_SIZE + 1];  /* for redlock_break(); told by redlock_query() only */
    /*
     * How long it has held the lock: from the wall clock of its machine when the attempt that won
     * began, to the wall clock of this machine now; as right as these two agree. -1: unknown, as
     * always of a value without label.
     */
    int64_t held_ms;
    /*
     * 1: held_ms is a lower bound. In a query of REENTRANT an earlier hold of the owner may have been
     * given back; a clock may be ahead of ours; and of a value without label a waiter knows how long
     * it has been refused for it.
     */
    int32_t held_at_least;
    int32_t votes;  /* on how many nodes it was found */
    int64_t ttl_ms; /* how long it stays on a majority (or on any node, if it never was on one);
                       -1: without expiry, or unknown */
} redlock_holder;

typedef struct redlock_waiter {
    char name[REDLOCK_VALUE_MAX + 1];  /* as the nodes' queues have it, with its label */
    char label[REDLOCK_LABEL_MAX + 1]; /* empty: none */
    int64_t waited_ms; /* since it was queued, by the clock of the node; -1: unknown */
} redlock_waiter;

typedef struct redlock_node_report {
    char address[REDLOCK_ADDRESS_MAX];  /* host:port, [ipv6]:port or path; never credentials */
    int32_t vote;                       /* enum redlock_vote */
    int32_t rtt_us;                     /* time to this node's answer; -1 without one. TIMEDOUT:
                                           what its answers take, if they are known to come late */
    int64_t key_ttl_ms;                 /* remaining life of the key where asked; -1 unknown */
    char holder[REDLOCK_VALUE_MAX + 1]; /* the value that is in the way, as in redlock_holder;
                                           empty: none, or it was not told */
    char text[REDLOCK_TEXT_MAX];        /* the server's or system's words; may be empty */
    int32_t kind;          /* redlock_query(): what is under the key; -1: unknown */
    uint32_t holder_count; /* redlock_query(): how many hold it here */
    uint32_t waiters;      /* redlock_query(): how many wait here */
} redlock_node_report;

/* Node by node, in the order they were configured, what happened. The caller sets size. */
typedef struct redlock_report {
    size_t size;
    uint32_t node_count;
    uint32_t quorum;
    redlock_node_report node[REDLOCK_NODES_MAX];
    uint32_t quorum_index;                    /* of several quorums: which one, from 0 */
    char quorum_name[REDLOCK_QUORUM_MAX + 1]; /* its name; empty: it has none */
    /*
     * The holder that an acquire waits for, or was refused for (BUSY, TIMEOUT); for redlock_query()
     * the same as in redlock_info; for redlock_break() and redlock_release_tagged() the one that was
     * deleted, and in its ttl_ms how long that may still believe that it holds the lock. Of several holders, one of them.
     */
    redlock_holder holder;
    uint32_t waiters; /* how many wait, on the node that told most; 0 also if none told */
} redlock_report;

/* ---- client ------------------------------------------------------------------------- */

typedef struct redlock redlock;
typedef struct redlock_lock redlock_lock;

/* redlock_options.flags */
#define REDLOCK_THREAD                                                                         \
    0x1u /* start an I/O thread: redlock_process() need not be called. With several quorums one
            for each: callbacks of locks of different quorums, and warn, may run at the same
            time, and redlock_lock_free() from one of them does not wait for another. */
#define REDLOCK_NO_NATIVE 0x2u /* always use scripts, even where the server can do without */
#define REDLOCK_STRICT                                                                         \
    0x4u /* read the node's marker with every acquire: catches FLUSHALL,
                                  SWAPDB, promotion in place and restarts behind a proxy */
#define REDLOCK_NO_GUARD                                                                       \
    0x8u /* trust every node, however young or suspect: for tests, and
                                  for clusters whose operator restarts nodes with a delay */

/* One doubt about one node, or about the file at `address` whose secret others can read: what it
 * is and what to do. */
typedef void redlock_warn_fn(const char *address, const char *text, void *data);

/*
 * One of several quorums: nodes that decide by majority about the locks that live on them. The name
 * has 1 to REDLOCK_QUORUM_MAX characters of a-z 0-9 . _ - and is what decides which locks those
 * are: renamed, it is another quorum. An element of an array, it has no `size` and will not grow.
 */
typedef struct redlock_quorum {
    const char *name;
    const char *const *nodes; /* as redlock_options.nodes */
    size_t node_count;
} redlock_quorum;

typedef struct redlock_options {
    size_t size;

    /*
     * The nodes, 1 to REDLOCK_NODES_MAX URLs; an odd number is best. NULL and 0, without quorums:
     * those of the environment and the configuration file, see redlock_open().
     *     redis://[user[:password]@]host[:port][/db]     also valkey://, or plain host[:port]
     *     rediss://...                                    also valkeys://: the same over TLS
     *     unix:///path/to/socket[?db=N]                   also user[:password]@ before the path
     * IPv6 addresses go in brackets. Percent-encoding is understood in user, password and path.
     * The same address twice is refused.
     */
    const char *const *nodes;
    size_t node_count;

    uint32_t flags; /* REDLOCK_THREAD, _NO_NATIVE, _STRICT or _NO_GUARD */

    uint32_t node_timeout_ms;    /* per-node deadline of one request; default 50.
                                    A lock uses at most a quarter of its TTL. */
    uint32_t connect_timeout_ms; /* TCP and TLS set-up of one connection; default 1000 */
    uint32_t max_ttl_ms;         /* the most any request may ask, of any client of these nodes;
                                    default 60000. A node that restarted is kept from voting
                                    for this long and two seconds: raise it freely, lower it
                                    only after waiting the old value. */
    uint32_t drift_ppm;    /* clock-rate allowance; default 10000 (1 %), plus 2 ms always */
    uint32_t retry_min_ms; /* first bound of the random delay between attempts; default 10 */
    uint32_t retry_max_ms; /* last bound of it; default 250 */

    const char *prefix;        /* put before every name to make the key; default "redlock:".
                                  "" for the plain keys of other Redlock clients. Prefix and
                                  name together must not begin with "redlock.", as the keys
                                  do that stand beside locks: such a name is INVAL. */
    const char *username;      /* for nodes whose URL names none */
    const char *password;      /* for nodes whose URL has none */
    const char *password_file; /* first line of this file, instead of password. INVAL if a
                                  user other than root and the effective one can write to
                                  it; the same for the TLS files. */
    const char *client_name;   /* CLIENT SETNAME; default "redlock" */

    const char *tls_ca_file;     /* PEM; default: the system's store */
    const char *tls_cert_file;   /* PEM client certificate (chain); default none */
    const char *tls_key_file;    /* its private key; default: inside tls_cert_file */
    const char *tls_server_name; /* name to verify instead of the URL's host */

    redlock_warn_fn *warn; /* told what is doubtful about the nodes, a sentence at a time; may
                              be NULL. Runs where callbacks run. */
    void *warn_data;

    /*
     * Instead of `nodes`: up to REDLOCK_QUORUMS_MAX quorums over which the locks are spread, for
     * more of them a second than one quorum can give. Every lock lives in exactly one, by a hash
     * of its key and the names of the quorums; their order means nothing. No address in two.
     *
     * EVERY client must have the same set of names, each with the same nodes. Two with different
     * sets can look for one lock in different quorums, and both hold it. docs/capacity.md has the
     * procedure for changing the set.
     */
    const redlock_quorum *quorums;
    size_t quorum_count;

    const char *config_file; /* without nodes and quorums: read this configuration file and no
                                other; it must exist. Default: as the command finds it */
} redlock_options;

/*
 * Opens a client. If neither nodes nor quorums are given, or options is NULL, everything that the
 * options leave at zero comes from the configuration of the machine, as with the command: the
 * environment (REDLOCK_NODES, REDLOCK_PASSWORD), then the configuration file (REDLOCK_CONFIG, else
 * the user's, else /etc/redlock.conf; redlock.conf(5)). So { .size = sizeof o, .flags =
 * REDLOCK_THREAD } is the fleet's nodes with a thread. There is no default node: INVAL if none is
 * named anywhere, and for what is wrong with the configuration. Nodes given in the options are
 * used as they are, and neither environment nor file is looked at.
 *
 * Connecting goes on in the background: this call does not wait for the
 * network, and unreachable nodes are no error here. On success *out is the caller's, to be
 * ended by redlock_close(). INVAL, NOMEM, SYSTEM.
 */
REDLOCK_API int redlock_open(const redlock_options *options, redlock **out);

/*
 * Ends a client: waiting requests end with CANCELED (their `done` runs before this returns),
 * held locks are given up (released, best effort, for at most node_timeout_ms; adopted ones and those
 * with REDLOCK_KEEP are left), connections
 * are closed, the I/O thread is joined. Handles still have to be freed, before or after.
 * NULL is fine. Not from a callback, and not while another thread is inside a call.
 * An event loop that must not stand still for so long releases its locks first, by
 * redlock_start_release(): when nothing is held and no answer is due, there is nothing to wait for.
 */
REDLOCK_API void redlock_close(redlock *client);

/* ---- locks -------------------------------------------------------------------------- */

/*
 * One line per kind: name, number, printable word. All kinds of one name use one key, so they
 * exclude each other: a mutex is never held together with readers of the same name, whichever
 * request came first.
 */
#define REDLOCK_KINDS(X)                                                                       \
    X(MUTEX, 0, "mutex")         /* one holder; the plain string key of the specification */   \
    X(SHARED, 1, "shared")       /* many readers, never together with the holder of a mutex */ \
    X(REENTRANT, 2, "reentrant") /* one owner, any number of holds */                          \
    X(SEMAPHORE, 3, "semaphore") /* at most `slots` holders */

enum redlock_kind {
#define REDLOCK_KIND_ENUM(name, number, text) REDLOCK_##name = (number),
    REDLOCK_KINDS(REDLOCK_KIND_ENUM)
#undef REDLOCK_KIND_ENUM
};

/* The printable word of a kind; "unknown" for any other number. Never NULL. */
REDLOCK_API const char *redlock_kind_text(int kind);
/* The number of the kind that has this printable word; -1: none has, or it is NULL. */
REDLOCK_API int redlock_kind_number(const char *text);

/* What a kind is, as a sum of these; 0 for a number that is no kind. */
#define REDLOCK_KIND_EXCLUSIVE 0x1u /* one holder, or owner, at a time: may have a token */
#define REDLOCK_KIND_SEVERAL 0x2u   /* several holders at once; every kind is this or that */
#define REDLOCK_KIND_NAMES 0x4u     /* may be asked for with redlock_request.more_names */
#define REDLOCK_KIND_OWNER 0x8u     /* has redlock_request.owner */
#define REDLOCK_KIND_SLOTS 0x10u    /* has redlock_request.slots */
REDLOCK_API uint32_t redlock_kind_traits(int kind);

/* redlock_request.flags */
#define REDLOCK_RENEW                                                                          \
    0x1u                    /* renew at a third of the TTL while held. Needs a driver: the I/O
                               thread, or a loop that calls redlock_process(). redlock_acquire()
                               answers INVAL on a client without REDLOCK_THREAD as long as neither
                               redlock_fd() nor redlock_process() has been called: nothing would
                               renew. */
#define REDLOCK_FENCED 0x2u /* with a fencing token, redlock_fence() */
#define REDLOCK_BOUND                                                                          \
    0x4u /* bound to the calling thread: when that ends without releasing,
                               the lock is released */
#define REDLOCK_FAIR                                                                           \
    0x8u /* first come, first served: the first attempt respects the
                               waiters. Without it a newcomer may overtake them when the
                               lock happens to be free; no waiter starves either way. (Several names at
                               once may be overtaken by requests for one of them.) */
#define REDLOCK_KEEP                                                                           \
    0x10u /* once the caller has been told of the grant, only redlock_release() deletes the
                               lock: for one whose value goes to programs that renew it elsewhere
                               (redlock_adopt_as()), so that the end of this handle says nothing
                               about the lock. Its loss, redlock_lock_free() and redlock_close()
                               leave it on the nodes until its TTL ends there. What is still
                               deleted: attempts that failed, were canceled or freed, and a grant
                               of which the caller was not told. Not with REDLOCK_BOUND. */

/*
 * `done` runs exactly once for every operation that was started, `lost` at most once for a
 * lock that was held. `jeopardy` runs when a renewal or extension failed, with its error, and
 * with REDLOCK_OK when a later one succeeded; the validity does not change in between. All run
 * on the I/O thread or, without one, inside redlock_process(), a blocking call or
 * redlock_close(), with no internal lock held: any non-blocking call may be made from them,
 * redlock_lock_free() too.
 *
 * `lost` comes no later than the end of the validity, whatever the network does, as long as the
 * process runs; a process that was stopped learns it from its first call afterwards.
 */
typedef void redlock_done_fn(redlock_lock *lock, int error, void *data);
typedef void redlock_lost_fn(redlock_lock *lock, int error, void *data);
typedef void redlock_jeopardy_fn(redlock_lock *lock, int error, void *data);

/*
 * A request that waits: its place in the queue, 1 is the head, as redlock_position() counts. Runs, as
 * the others do, when the place is first known and when it has changed: at once for the first waiter of
 * this client for the name, at most once a second for those behind it. It costs no request: the nodes
 * tell it with every attempt. Not after `done`. When too few nodes answer, the place is lost; the next
 * place that is known is told.
 */
typedef void redlock_queued_fn(redlock_lock *lock, int place, void *data);

typedef struct redlock_request {
    size_t size;
    int32_t kind;    /* enum redlock_kind */
    uint32_t flags;  /* REDLOCK_RENEW | _FENCED | _BOUND | _FAIR | _KEEP */
    int64_t wait_ms; /* 0: try once. > 0: until so long after the call. REDLOCK_WAIT_FOREVER. */
    size_t name_length;     /* 0: the name is a C string */
    redlock_report *report; /* blocking calls: filled on success and on failure; may be NULL */

    redlock_done_fn *done; /* redlock_start(): needed. redlock_acquire(): must be NULL. */
    redlock_lost_fn *lost; /* the lock ended before it was released; may be NULL */
    void *data;            /* for done and lost */

    uint32_t max_extensions; /* renewals and extensions allowed; 0: no cap */
    int64_t max_hold_ms;     /* no extension may carry the lock past this age; 0: no cap */

    redlock_jeopardy_fn *jeopardy; /* with `data`; may be NULL */

    uint32_t slots;    /* SEMAPHORE: how many may hold at once, the same for every client */
    const char *owner; /* REENTRANT: its owner. Holds of one owner do not exclude each other,
                          in whichever process they are. NULL: this client. */
    const char *const *more_names; /* MUTEX: further names, acquired together with `name`, all
                                      or none; sorted and freed of duplicates here, so callers
                                      may name them in any order. With several quorums all
                                      have to live in one: {a}x and {a}y do, since only what
                                      stands in braces is hashed then. */
    size_t more_name_count;

    /*
     * A name for the holder or waiter, for people to read: up to REDLOCK_LABEL_MAX bytes of printable UTF-8 (no controls, line
     * separators or direction marks, else INVAL); NULL or empty: none. It becomes part of the value
     * on the nodes, together with the time of the attempt, so that redlock_query(), and a client
     * that is refused, can tell who holds the lock and for how long. A waiter has it, too. It costs
     * bytes, no command, and proves nothing.
     */
    const char *label;
    /*
     * The value shall begin with these REDLOCK_TAG_SIZE characters of A-Z a-z 0-9 _ - and a colon,
     * by which a program that did not see the value can recognise it; NULL: none. A tag names one
     * acquisition: while a lock of this tag that another request acquired is on a majority of the
     * nodes, the request is not granted, of no kind, but ends with YOURS.
     */
    const char *tag;

    int64_t fence; /* redlock_adopt_as(): the token that it was granted with; 0: none */

    redlock_queued_fn *queued; /* redlock_start() only, with `data`; may be NULL */
} redlock_request;

/*
 * Acquires the lock `name` for ttl_ms on a majority of the nodes, or fails; request may be
 * NULL (a mutex, tried once). On success *out is a held lock, the caller's, to be ended by
 * redlock_release() and redlock_lock_free(). On failure nothing is held and the rollback is
 * on its way to every node.
 *
 * A request that has to wait gets a place in a queue on the nodes and is woken when it is at its head and
 * the lock is free. Of several waiters of one client for one name only the first is in that
 * queue; the others follow in the order of their calls.
 *
 *   BUSY      another holds it, and wait_ms was 0
 *   TIMEOUT   another still held it when wait_ms had passed, or it was granted only then and
 *             has been given back
 *   NOQUORUM  too few nodes could vote (retried until wait_ms had passed)
 *   AUTH      a majority is impossible because nodes refuse the credentials (not retried)
 *   PROTO     the same because nodes do not speak the protocol (not retried)
 *   GUARDED   the same because nodes are in quarantine: young, or suspect (retried)
 *   YOURS     redlock_request.tag: a majority of the nodes has the lock with this very tag, of another
 *             request; at once, whatever wait_ms (behind another waiter of this client: when it is
 *             the first of them). What attempts of this request left, or fewer nodes have, does not
 *             count. It was granted before, or another program uses the tag:
 *             redlock_release_tagged() ends it, and the next request takes a new tag.
 *   CANCELED  redlock_close()
 *   INVAL     also: the nodes do not allow so long a TTL (their max_ttl; not retried), or a
 *             combination that makes no sense: REDLOCK_FENCED with SHARED or SEMAPHORE (several
 *             hold at once, so no order of tokens could keep a late one out)
 *   NOMEM, SYSTEM, FORKED
 */
REDLOCK_API int redlock_acquire(redlock *client, const char *name, int64_t ttl_ms,
                                const redlock_request *request, redlock_lock **out);

/*
 * The same without waiting: *out is a handle in progress and request->done gets the outcome,
 * one of the codes above. The handle is the caller's from the moment this returns success and
 * must be freed whatever the outcome. Nothing is sent before redlock_process() runs (or the
 * I/O thread is told).
 */
REDLOCK_API int redlock_start(redlock *client, const char *name, int64_t ttl_ms,
                              const redlock_request *request, redlock_lock **out);

/*
 * A handle for a lock that another process acquired and whose value it handed over (the
 * command line does this between `redlock lock` and `redlock unlock`). Nothing is sent. Its
 * validity is unknown (redlock_remaining_ms() is 0) until redlock_extend() has succeeded.
 * Freeing it, or closing the client, does not give the lock up: only redlock_release() does.
 */
REDLOCK_API int redlock_adopt(redlock *client, const char *name, const char *value,
                              redlock_lock **out);

/*
 * The same for a lock of which the caller knows more than the value: `request` says what it was
 * acquired with, and has to say it right. redlock_adopt() treats every lock as one of unknown kind,
 * so that
 *  - extending it puts the key back on no node that lacks it; with the kind, nodes that miss the key
 *    after an extension that a majority confirmed get it back, as with the handle that acquired it;
 *  - releasing it says LOST when another holds the name, even beside it; with the kind, LOST is said
 *    of a mutex only.
 *
 * Of the request count: kind, slots, owner (needed for REENTRANT), more_names, fence (for
 * redlock_fence(), and for the token of an owner on nodes that get the key back), lost, jeopardy and
 * data, max_extensions, and of the flags REDLOCK_RENEW (from the first extension on, which says for
 * how long). The rest has to be zero (INVAL). As with redlock_adopt() nothing is sent, and only
 * redlock_release() gives the lock up: its loss deletes nothing.
 *   INVAL     also: the value cannot be of that kind (the slot of a semaphore is part of it)
 */
REDLOCK_API int redlock_adopt_as(redlock *client, const char *name, const char *value,
                                 const redlock_request *request, redlock_lock **out);

/*
 * Renews the lock for ttl_ms from now on a majority. Never shortens it, never re-creates it.
 *   NOQUORUM  too few nodes confirmed; the old deadline stands
 *   LOST      a majority is impossible because nodes no longer have our key, or the validity
 *             had ended: the lock is over
 *   INVAL     also: a cap of the request forbids it
 */
REDLOCK_API int redlock_extend(redlock_lock *lock, int64_t ttl_ms);
REDLOCK_API int redlock_start_extend(redlock_lock *lock, int64_t ttl_ms, redlock_done_fn *done,
                                     void *data);

/*
 * Deletes our key on every node where it is still ours. The handle stays valid until
 * redlock_lock_free().
 *   OK        released while it was ours
 *   EXPIRED   its validity had ended, or its key was gone from a majority; no other holder took it
 *   LOST      the same, and another holds it now
 *   NOQUORUM  too few nodes confirmed; what remains expires with its TTL
 */
REDLOCK_API int redlock_release(redlock_lock *lock);
REDLOCK_API int redlock_start_release(redlock_lock *lock, redlock_done_fn *done, void *data);

/*
 * Ends a waiting acquire: it finishes with CANCELED and its rollback is sent. No effect on
 * a handle that is not waiting. From any thread.
 */
REDLOCK_API int redlock_cancel(redlock_lock *lock);

/*
 * Frees the handle. A lock still held is given up: its release is sent to every node, and
 * its outcome is not told (an adopted lock and REDLOCK_KEEP: it is left); a waiting acquire is
 * canceled without calling `done`. NULL is fine.
 */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/*
 * Frees the handle of a held lock and leaves the lock as it is: on the nodes until its TTL
 * ends, or until a program that was given its value releases it through redlock_adopt(). An acquire
 * whose outcome has not been told is canceled, as by redlock_lock_free().
 */
REDLOCK_API void redlock_lock_leave(redlock_lock *lock);

/*
 * How long the lock is still certainly ours, by the local clock alone; 0 when it is not held.
 * This is the answer to trust before acting on the protected resource.
 */
REDLOCK_API int64_t redlock_remaining_ms(const redlock_lock *lock);

/* End of the validity in CLOCK_BOOTTIME nanoseconds; 0 when it is not held. */
REDLOCK_API int64_t redlock_deadline_ns(const redlock_lock *lock);

enum redlock_state {
    REDLOCK_STATE_IDLE,     /* waiting for it, failed, or adopted and not extended yet */
    REDLOCK_STATE_HELD,     /* certainly ours, by the local clock */
    REDLOCK_STATE_JEOPARDY, /* still ours, but the last renewal failed */
    REDLOCK_STATE_LOST,     /* was ours and ended before it was released */
    REDLOCK_STATE_RELEASED,
};

/* What became of the lock, asked of the local clock at this moment. */
REDLOCK_API int redlock_state(const redlock_lock *lock);

/*
 * A descriptor that becomes readable when redlock_state() has changed to or from JEOPARDY or to
 * LOST, for threads that poll. Read eight bytes to rearm it. It belongs to the handle and is
 * closed with it. A negative error when there are no descriptors left.
 */
REDLOCK_API int redlock_event_fd(redlock_lock *lock);

/*
 * The fencing token of a lock acquired with REDLOCK_FENCED, 0 without one. Every acquisition of
 * a name that starts after another one completed has a larger token: a resource that remembers
 * the largest it has seen and refuses smaller ones is safe from holders that were delayed. Tokens
 * are below 2^52.
 */
REDLOCK_API int64_t redlock_fence(const redlock_lock *lock);

/*
 * The place in the queue of a lock that is being waited for: 1 is the head. Counts the waiters
 * of this client that are ahead, and the nodes' queue as far as it is known. 0: not in a queue.
 */
REDLOCK_API int redlock_position(const redlock_lock *lock);

/* Which of the slots of a semaphore is held, from 1 to `slots`; 0: none, or another kind. */
REDLOCK_API int redlock_slot(const redlock_lock *lock);

/* The value stored under the key of the last attempt. Valid until the handle is freed. */
REDLOCK_API const char *redlock_value(const redlock_lock *lock);

/* The name as given, terminated; of several, the first in order. Valid until it is freed. */
REDLOCK_API const char *redlock_name(const redlock_lock *lock);

/* On how many nodes the lock is known to be set beyond a bare majority; negative: fewer. */
REDLOCK_API int redlock_margin(const redlock_lock *lock);

/*
 * Node by node, the last operation on this handle. The caller sets out->size. While it waits, and
 * after BUSY and TIMEOUT, out->holder is the holder that is in the way, as far as the nodes told.
 */
REDLOCK_API int redlock_lock_report(const redlock_lock *lock, redlock_report *out);

/* ---- driving the client from an event loop ------------------------------------------ */

/*
 * A descriptor that becomes readable when redlock_process() has something to do (data, a
 * timer, a new request), in whichever quorum. Watch it for input with poll, epoll or any loop;
 * never read it.
 * With REDLOCK_THREAD the thread does the watching and this answers REDLOCK_INVAL.
 */
REDLOCK_API int redlock_fd(redlock *client);

/*
 * Does what is due and runs callbacks. timeout_ms: how long to wait for something to do;
 * 0 returns at once (event loops), -1 waits for ever. Returns the number of callbacks run or
 * a negative error. Not from a callback.
 */
REDLOCK_API int redlock_process(redlock *client, int timeout_ms);

/* ---- looking ------------------------------------------------------------------------ */

typedef struct redlock_info {
    size_t size;
    int32_t held;  /* 1: some value is on a majority of the nodes; 0: none is */
    int32_t votes; /* on how many nodes the most frequent value was found */
    char holder[REDLOCK_VALUE_MAX + 1]; /* that value; empty when no node has one */
    int64_t ttl_ms;   /* how long that value stays on a majority (on any node, if it never was
                       on one); -1: a key without expiry, or unknown */
    int64_t fence;    /* the fence counter that a majority has reached; 0: none */
    int32_t kind;     /* enum redlock_kind of what is held; -1: nothing is, or it is unknown */
    int32_t disagree; /* 1: the nodes that answered do not all say the same */
    uint32_t holder_count;             /* holders that a majority of the nodes names */
    uint32_t slots;                    /* SEMAPHORE: of this many */
    char owner[REDLOCK_OWNER_MAX + 1]; /* REENTRANT: whose it is; else empty */
    uint32_t waiters;                  /* in the queue, on the node with the longest one */
    char head[REDLOCK_VALUE_MAX +
              1]; /* the first waiter in the queue, on most nodes; or empty */

    char label[REDLOCK_LABEL_MAX + 1]; /* of `holder`, as the next two; see redlock_holder */
    int64_t held_ms;
    int32_t held_at_least;
    uint32_t shown_holder_count; /* of holder_count, how many follow: those on most nodes first,
                                    and of these the one that has held for longest */
    redlock_holder shown_holder[REDLOCK_SHOWN_MAX];
    uint32_t shown_waiter_count; /* of the node with the longest queue, from its head */
    redlock_waiter shown_waiter[REDLOCK_SHOWN_MAX];
} redlock_info;

/*
 * The holder of `name`, asked of every node at this moment. Advice, never a basis for acting: the
 * answer is old when it arrives. report may be NULL. OK when a majority answered, else
 * NOQUORUM (AUTH, PROTO), with *info untouched and the report filled.
 */
REDLOCK_API int redlock_query(redlock *client, const char *name, redlock_info *info,
                              redlock_report *report);

/*
 * Evicts the holder of `name` that has this mark (redlock_holder.mark, of an earlier
 * redlock_query()), and never one that came after it: its value is compared on the node in the step
 * that deletes it. A reader or a slot goes alone; of REENTRANT all holds of its owner go; of several
 * names locked together only this one, and the holder loses the others with it. Wakes waiters, as a
 * release does. report may be NULL.
 *
 *   OK        evicted: it is on no majority of the nodes any more
 *   EXPIRED   no node that answered had it, and a majority did: it was gone already
 *   NOQUORUM  (AUTH, PROTO) too few nodes answered; the report says which did. What is left
 *             expires, or goes when this is called again.
 *
 * The holder is not asked, and may act on: it learns of it at its next renewal (LOST), and without
 * one when its validity ends. report->holder.ttl_ms is the longest that it may still believe in the
 * lock. Only a resource that checks fencing tokens is safe from it meanwhile.
 */
REDLOCK_API int redlock_break(redlock *client, const char *name, const char *mark,
                              redlock_report *report);

/*
 * Deletes whatever holds `name` with a value that begins with this tag (redlock_request.tag): of any
 * kind, of whichever client, also what attempts that failed have left. The tag is compared on the node
 * in the step that deletes, so nothing else goes. Of several names locked together only this one goes.
 * Wakes waiters, as a release does. report may be NULL.
 *
 * A request with this tag that waits has no value yet: it waits on, and may be granted afterwards. Its
 * place in the queue stays, because a waiter whose entry is taken out enters again with its next
 * heartbeat: only its own client can end the wait (redlock_cancel(), or the end of the client).
 *
 * At most REDLOCK_TAGGED_MAX values of the tag go on each node; a tag that names one acquisition has
 * fewer, and a second call finds more.
 *
 * Only a program that knows that its holder wants the lock gone may call it; then it is safe at any
 * time. What a late acquire with this tag sets afterwards stays: a tag should be used for one
 * acquisition only.
 *
 *   OK        released: a node had it, and a majority of the nodes does not have it now. The report
 *             tells in holder.votes how many nodes had it.
 *   EXPIRED   no node that answered had it, and a majority did: it was gone already
 *   NOQUORUM  (AUTH, PROTO) too few nodes answered; the report says which did. What is left
 *             expires, or goes when this is called again.
 */
REDLOCK_API int redlock_release_tagged(redlock *client, const char *name, const char *tag,
                                       redlock_report *report);

/* The name of a lock, terminated; valid during the call only. */
typedef void redlock_name_fn(const char *name, void *data);

/*
 * Which locks are there? `each` is called for every name that any node has a key for, once, in
 * the order of the bytes, before this returns; for the first REDLOCK_LIST_MAX that were found.
 * Advice, as with redlock_query(): names come and go meanwhile. With an empty prefix every key of
 * the database is a name, but for those that begin with "redlock.". Nodes with very many keys of
 * other programs take their time; more than about ten million are not searched. OK when a majority
 * has listed, else NOQUORUM (AUTH, PROTO), and `each` was not called. Several quorums: a majority
 * of each.
 */
REDLOCK_API int redlock_list(redlock *client, redlock_name_fn *each, void *data);

/* State of a connection, redlock_node_info.state */
#define REDLOCK_NODE_STATES(X)                                                                 \
    X(DOWN, "down")             /* not connected; a new try follows */                         \
    X(CONNECTING, "connecting") /* resolving, TCP, TLS or greeting under way */                \
    X(UP, "up")

enum redlock_node_state {
#define REDLOCK_NODE_ENUM(name, text) REDLOCK_NODE_##name,
    REDLOCK_NODE_STATES(REDLOCK_NODE_ENUM)
#undef REDLOCK_NODE_ENUM
};

typedef struct redlock_node_info {
    size_t size;
    char address[REDLOCK_ADDRESS_MAX];
    int32_t state;               /* enum redlock_node_state */
    int32_t tls;                 /* 1: the connection is encrypted and verified */
    int32_t native;              /* 1: compare-and-delete without scripts is in use */
    int32_t rtt_us;              /* smoothed round trip; -1 unknown */
    uint32_t connects;           /* connections made so far */
    uint32_t pending;            /* requests without an answer */
    char version[32];            /* "redis 7.0.15", "valkey 8.1.1"; empty: unknown */
    char text[REDLOCK_TEXT_MAX]; /* why it is down, late or in quarantine; else empty */
    int32_t quarantined;         /* 1: its grants are not counted */
    int64_t quarantine_ms;   /* until this client counts it, if nothing happens: it watches for
                              the guard time, a later one may go by the uptime; -1: not by itself,
                              or it may already */
    int64_t clock_offset_us; /* its clock minus ours (CLOCK_REALTIME); see clock_error_us */
    int64_t clock_error_us;  /* how wrong that may be; -1: unknown */
    uint32_t quorum_index;   /* of several quorums: which one it belongs to, from 0 */
    char quorum_name[REDLOCK_QUORUM_MAX + 1]; /* its name; empty: it has none */
    int32_t
        misplaced; /* 1: quarantined since it belongs to another set of nodes, or to none while
                        others do; see redlock_admit() */
} redlock_node_info;

/*
 * The state of node `index`, without asking it. INVAL past the last node. The nodes of several
 * quorums are counted through, in the order they were configured.
 */
REDLOCK_API int redlock_node(redlock *client, size_t index, redlock_node_info *out);

/*
 * Pings every node and waits for the answers or the per-node deadline.
 * OK when a majority answered, else NOQUORUM (AUTH, PROTO); the report is filled either way.
 * Several quorums: OK when each has a majority. The report, here and in redlock_admit(), is that
 * of the first quorum that failed, or else of the first; redlock_member() gives each its own.
 */
REDLOCK_API int redlock_ping(redlock *client, redlock_report *report);

/*
 * States that nothing is held on these nodes: each reachable one gets the marker that lets it
 * vote at once (`redlock init`). Only an operator can know that. Brand-new nodes look exactly
 * like nodes that have just lost everything.
 *
 * It also makes them a set: each learns an id and how many they are, and of several quorums which
 * one it is in. From then on a client counts no node of another set, nor of a set that has another
 * number of nodes than the client (GUARDED), unless REDLOCK_NO_GUARD. Done again for the same nodes,
 * it keeps their set, unless one has forgotten it or was told it by a client and all are there: then
 * they become a new one. OK when every node took it, else NOQUORUM (AUTH, PROTO) and the report says
 * which did not. A new set needs all its nodes (NOQUORUM), and takes none from another set most of
 * whose nodes stay behind (GUARDED): then nothing is changed. Of several at the same moment whose
 * lists share a node at most one is OK, and the others are BUSY: look, and try again.
 * docs/operations.md says how to change the nodes.
 */
REDLOCK_API int redlock_admit(redlock *client, redlock_report *report);

/* ---- several quorums ---------------------------------------------------------------- */

/*
 * In which quorum does `name` live? Its index, from 0, in the order they were configured; always
 * 0 without redlock_options.quorums. Asks no node. INVAL for what is no name, FORKED.
 */
REDLOCK_API int redlock_quorum_of(redlock *client, const char *name);

/*
 * One quorum by itself, as a client for redlock_ping(), redlock_admit(), redlock_audit(),
 * redlock_list(), redlock_query(), their redlock_start twins, redlock_node() and
 * redlock_stats_get(); NULL past the last one. It is `client`
 * itself when that has one quorum only. It takes no locks (INVAL): `client` knows where they
 * live. It belongs to `client` and ends with it.
 */
REDLOCK_API redlock *redlock_member(redlock *client, size_t index);

/* ---- audit -------------------------------------------------------------------------- */

enum redlock_verdict {
    REDLOCK_CHECK_OK,
    REDLOCK_CHECK_WARN,    /* works, but an assumption of the algorithm is at risk */
    REDLOCK_CHECK_FAIL,    /* mutual exclusion or availability is broken */
    REDLOCK_CHECK_UNKNOWN, /* the server does not tell */
};

/* One line of the audit. The strings are valid during the call only. */
typedef struct redlock_check {
    size_t size;
    const char *address; /* the node; empty: all of them together */
    const char *name;    /* reachable, role, identity, eviction, persistence, clock, latency,
                            rights, fencing, waiting, kinds, guard, number,
                            versions, membership, placement, max_ttl */
    int32_t verdict;     /* enum redlock_verdict */
    const char *text;    /* what was found */
    const char *remedy;  /* what to do; empty when nothing has to be done */
    const char *quorum;  /* the name of the quorum that it is about; empty: it has none */
} redlock_check;

typedef void redlock_check_fn(const redlock_check *check, void *data);

/*
 * Examines the nodes: are they independent masters that keep locks, with clocks that agree,
 * fast enough for ttl_ms, and do we have the rights we need? `each` is called for every check,
 * node by node, before this returns. Takes and releases one lock of a random name. OK when the
 * audit could be made, whatever it found.
 */
REDLOCK_API int redlock_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each,
                              void *data);

/* ---- asking without waiting --------------------------------------------------------- */

/*
 * The twins of redlock_query(), redlock_list(), redlock_break(), redlock_release_tagged(),
 * redlock_ping(), redlock_admit() and redlock_audit() that do not wait. With redlock_start() and the other redlock_start calls above, every call that
 * waits for the nodes has one.
 *
 *  - OK: `done` runs exactly once, later, with the outcome that the blocking call would have
 *    returned; where and how callbacks run is told at redlock_done_fn. Any other result: nothing
 *    was started, and `done` does not run. May be called from callbacks.
 *  - There is no handle: `data` is the name of what was started. redlock_forget() ends it.
 *  - redlock_close() ends what is not answered yet with CANCELED, before it returns.
 *  - Any number may be started at once, up to REDLOCK_QUESTIONS_MAX of each quorum (NOMEM past that).
 *    They are answered in no particular order. REDLOCK_QUESTIONS_SENT of them are asked at a time,
 *    so that nodes are not late because of their number; the others wait for their turn, and the
 *    per-node deadline of each counts from there. Of lists and audits, REDLOCK_SEARCHES_SENT are
 *    under way at a time.
 */
#define REDLOCK_QUESTIONS_MAX 10000
#define REDLOCK_QUESTIONS_SENT 64
#define REDLOCK_SEARCHES_SENT 4

/*
 * What was found. The library fills in `size` and what belongs to the question; the rest is NULL
 * or 0. It belongs to the library and is valid during the call only.
 */
typedef struct redlock_answer {
    size_t size;
    const char *name;             /* query, break, release: the one that was asked for */
    const redlock_info *info;     /* query, with OK */
    const redlock_report *report; /* not of list and audit; NULL: no node was asked */
    const char *const *names;     /* list, with OK: in the order of the bytes, each once */
    size_t name_count;
} redlock_answer;

typedef void redlock_answer_fn(int error, const redlock_answer *answer, void *data);

REDLOCK_API int redlock_start_query(redlock *client, const char *name, redlock_answer_fn *done,
                                    void *data);
REDLOCK_API int redlock_start_break(redlock *client, const char *name, const char *mark,
                                    redlock_answer_fn *done, void *data);
REDLOCK_API int redlock_start_release_tagged(redlock *client, const char *name, const char *tag,
                                             redlock_answer_fn *done, void *data);
REDLOCK_API int redlock_start_list(redlock *client, redlock_answer_fn *done, void *data);
REDLOCK_API int redlock_start_ping(redlock *client, redlock_answer_fn *done, void *data);
REDLOCK_API int redlock_start_admit(redlock *client, redlock_answer_fn *done, void *data);

/* `each` gets every check, right before `done` and with the same `data`; with an error, none. */
REDLOCK_API int redlock_start_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each,
                                    redlock_answer_fn *done, void *data);

/*
 * Forgets what was started with this `data` by the calls of this section and is not answered yet:
 * once this returns, no `done` runs with it. If one is running on another thread, this waits for its
 * end, unless it is called from a callback itself. Returns the number of those that were forgotten, or
 * INVAL, FORKED. What nodes have been asked to do they may still do; the lock that an audit took
 * expires.
 */
REDLOCK_API int redlock_forget(redlock *client, const void *data);

/* ---- counters ----------------------------------------------------------------------- */

/*
 * Upper bounds, inclusive, of the buckets of a histogram, in microseconds; the last bucket has none.
 * As seconds they are what Prometheus calls `le`; its buckets are the sums of these up to there.
 */
#define REDLOCK_BUCKET_BOUNDS_US                                                               \
    {                                                                                          \
        100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, \
            2500000, 5000000, 10000000, 30000000, 60000000, 300000000, 3600000000              \
    }
#define REDLOCK_BUCKETS 21

/* An element of redlock_stats, it has no `size` and will not grow. */
typedef struct redlock_histogram {
    uint64_t count;  /* how many were measured */
    uint64_t sum_us; /* all of them together */
    uint64_t bucket[REDLOCK_BUCKETS];
} redlock_histogram;

/*
 * What a client has done since it was opened. Counters only grow; `waiting` and `held` tell of this
 * moment. Every acquisition that was begun is waiting, acquired or refused. Every lock that was
 * acquired or adopted is held, late, released, lost or left.
 */
typedef struct redlock_stats {
    size_t size;
    uint64_t acquired;     /* granted by a majority; `late` of them after the end of the wait */
    uint64_t refused_busy; /* acquisitions that ended with BUSY ... */
    uint64_t refused_timeout;  /* ... TIMEOUT, but for those that are counted as late ... */
    uint64_t refused_noquorum; /* ... NOQUORUM ... */
    uint64_t refused_guarded;  /* ... GUARDED ... */
    uint64_t refused_canceled; /* ... CANCELED, or whose handle was freed meanwhile ... */
    uint64_t refused_other;    /* ... AUTH, PROTO, YOURS, INVAL of the nodes, NOMEM, SYSTEM */
    uint64_t late;            /* granted, but the wait had ended: given back, told as TIMEOUT */
    uint64_t adopted;         /* taken over by redlock_adopt() and redlock_adopt_as() */
    uint64_t renewed;         /* renewals and extensions that succeeded */
    uint64_t renewals_failed; /* those that a majority did not confirm, or not in time */
    uint64_t released;        /* given back: by a release, by freeing, by the end of a thread */
    uint64_t releases_failed; /* releases that ended with EXPIRED, LOST or NOQUORUM */
    uint64_t left;         /* redlock_lock_leave(), and adopted or kept ones that were freed */
    uint64_t lost_expired; /* the validity ended */
    uint64_t lost_missing; /* found gone from so many nodes that no majority can have it */
    uint64_t lost_doubt;   /* nodes or clocks that it rested on could not be trusted any more */
    uint64_t waiting;      /* acquisitions under way */
    uint64_t held;         /* locks held by handles of this client, adopted ones too */
    redlock_histogram wait; /* of what was acquired: from the request to the grant */
    redlock_histogram hold; /* from the request that was granted to the end of the hold */
} redlock_stats;

/*
 * The counters, of all quorums together; redlock_member() gives those of one. Asks no node. From any
 * thread, also from callbacks. The caller sets out->size.
 */
REDLOCK_API int redlock_stats_get(redlock *client, redlock_stats *out);

/* "0.1.0": the library in use, which may differ from the header's numbers. */
REDLOCK_API const char *redlock_version(void);

#ifdef __cplusplus
}
#endif

#endif
