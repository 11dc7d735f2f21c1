/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libredlock: a distributed lock over N independent Redis or Valkey masters.
 *
 * This header is the whole public interface and its contract. The part that every program needs
 * comes first; what is for event loops, for looking at the nodes and for experts follows.
 *
 *     // A thread of the library renews the lock while we work; wait 5 s for another holder.
 *     redlock_options options = REDLOCK_OPTIONS(.flags = REDLOCK_THREAD);
 *     // Programs that find it busy see the label.
 *     redlock_request request = REDLOCK_REQUEST(.wait_ms = 5000, .flags = REDLOCK_RENEW,
 *                                               .label = "report on host7");
 *     redlock *client = NULL;
 *     redlock_lock *lock = NULL;
 *
 *     // No options.nodes: those of REDLOCK_NODES or redlock.conf(5), as for the command.
 *     // Else: const char *const nodes[] = {"redis://10.0.0.1", "redis://10.0.0.2", ...};
 *     // and .nodes = nodes, .node_count = 3.
 *     int error = redlock_open(&options, &client);
 *     if (error == REDLOCK_OK)
 *         error = redlock_acquire(client, "nightly-report", 30000, &request, &lock);
 *     if (error == REDLOCK_OK) {
 *         while (there_is_work() && redlock_remaining_ms(lock) > TIME_FOR_ONE_STEP_MS)
 *             do_one_step();
 *         if (there_is_work())
 *             fputs("stopped: too little of the lock was left\n", stderr); // a failure, too
 *         error = redlock_release(lock);
 *     }
 *     if (error != REDLOCK_OK)
 *         fprintf(stderr, "%s\n", redlock_detail());
 *     redlock_lock_free(lock);
 *     redlock_close(client);
 *
 *     cc program.c $(pkg-config --cflags --libs redlock)
 *
 * Conventions, true of every call:
 *
 *  - A call that can fail returns REDLOCK_OK (0) or a negative enum redlock_error (BUSY below
 *    is REDLOCK_BUSY, and so on), and redlock_detail() is a sentence about it. Out-parameters
 *    are untouched on failure. Everything passed in is copied before the call returns, but for
 *    pointers called `data`.
 *  - Structs that a caller fills begin with `size`: use their initialiser (REDLOCK_OPTIONS()
 *    and so on; in C++ without arguments, and assign the fields afterwards). A zero field means
 *    its default. An older library accepts the struct of a newer header as long as what it does
 *    not know is zero.
 *  - What the library returns a pointer to stays the library's, and lives as long as is noted
 *    there.
 *  - Times are milliseconds (`_ms`) or nanoseconds (`_ns`) of CLOCK_BOOTTIME, which goes on
 *    while the machine sleeps: a holder that was suspended or stopped finds its lock expired.
 *  - A client may be used from any number of threads at once. One handle must be used by one
 *    thread at a time, except that redlock_cancel(), redlock_state() and the
 *    redlock_remaining_ms() family may be called from any thread until redlock_lock_free().
 *  - The library calls no function of the program, but for redlock_options.notify.
 *  - After fork() the child gets REDLOCK_FORKED from every call on the parent's client and
 *    handles; only redlock_close() and redlock_lock_free() do something there: they free the
 *    child's copy of the memory and leave the parent's locks and connections alone. A child
 *    opens its own client.
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

typedef struct redlock redlock;           /* a client */
typedef struct redlock_lock redlock_lock; /* a handle of one lock */
typedef struct redlock_options redlock_options;
typedef struct redlock_request redlock_request;

/* ---- what every program needs ----------------------------------------------------------- */

/*
 * Opens a client for the nodes in redlock_options.nodes; if there are none, or the options are
 * NULL, of those that the machine is configured for, as the command is (redlock.conf(5)). Does
 * not wait for the network: nodes that cannot be reached are no error here. INVAL, NOMEM,
 * SYSTEM.
 */
REDLOCK_API int redlock_open(const redlock_options *options, redlock **out);

/*
 * Acquires the lock `name` for ttl_ms (10 to max_ttl_ms, which is 60000 unless set) on a
 * majority of the nodes, or fails. The request may be NULL: a mutex, tried once, not renewed.
 * With wait_ms it tries for so long while another holds it or too few nodes can vote; with
 * REDLOCK_RENEW, and REDLOCK_THREAD of the client, it is renewed at a third of its TTL until it
 * is released. On success *out is a held lock; on failure nothing is held, and there is nothing
 * to free.
 *   BUSY      another holds it, and wait_ms was 0
 *   TIMEOUT   another still held it when wait_ms had passed
 *   NOQUORUM  too few nodes could vote: they are down, hang or cannot be reached
 *   GUARDED   too few nodes may vote yet: they are new, or restarted less than max_ttl_ms and
 *             2 s ago; redlock_detail() has which, and for how long
 * These may pass by themselves. AUTH, PROTO, INVAL and the rest (at struct redlock_request) do
 * not.
 */
REDLOCK_API int redlock_acquire(redlock *client, const char *name, int64_t ttl_ms,
                                const redlock_request *request, redlock_lock **out);

/*
 * How long the lock is still certainly ours, by the local clock alone; 0 when it is not held.
 * This is the answer to trust before acting on what the lock protects.
 */
REDLOCK_API int64_t redlock_remaining_ms(const redlock_lock *lock);

/*
 * The fencing token of a lock acquired with REDLOCK_FENCED, 0 without one. Every acquisition of
 * a name that starts after another one completed has a larger token: a resource that remembers
 * the largest it has seen and refuses smaller ones is safe from holders that were delayed.
 * Tokens are below 2^52.
 */
REDLOCK_API int64_t redlock_fence(const redlock_lock *lock);

/*
 * Renews the lock for ttl_ms from now on a majority, which REDLOCK_RENEW does by itself; by
 * hand it is due at a third of the TTL. Never shortens it, never re-creates it.
 *   NOQUORUM  too few nodes confirmed; the old deadline stands: try again while there is time
 *   LOST      a majority is impossible because nodes no longer have our key, or the validity
 *             had ended: the lock is over. Whether another has it now is redlock_release()'s
 *             to find out
 *   INVAL     also: max_extensions or max_hold_ms of the request forbid it
 */
REDLOCK_API int redlock_extend(redlock_lock *lock, int64_t ttl_ms);

/*
 * Deletes our key on every node where it is still ours. The handle stays valid until
 * redlock_lock_free().
 *   OK        released while it was ours
 *   EXPIRED   its validity had ended, or its key was gone from a majority; no other took it
 *   LOST      the same, and another holds it now
 *   NOQUORUM  too few nodes answered, so whether it was still ours is not known: what
 *             redlock_remaining_ms() was before the call counts. What remains expires
 */
REDLOCK_API int redlock_release(redlock_lock *lock);

/*
 * Frees the handle. A lock still held is given up: its release is sent to every node and its
 * outcome is not reported. An acquire under way is canceled. No event about the lock comes
 * after this. NULL is fine.
 */
REDLOCK_API void redlock_lock_free(redlock_lock *lock);

/*
 * Ends a client: acquires under way are canceled, held locks are given up (released, best
 * effort, for at most node_timeout_ms), connections are closed, the I/O thread is joined. No
 * event comes after this. Handles still have to be freed, before or after. NULL is fine. Not
 * while another thread is inside a call. An event loop that must not stand still for so long
 * releases its locks first, by redlock_start_release(): when nothing is held and no reply is
 * due, there is nothing to wait for.
 */
REDLOCK_API void redlock_close(redlock *client);

/*
 * One sentence about the last redlock call of this thread that failed: what was wrong and,
 * where that is known, what to do. Empty before the first failure. Valid until the next redlock
 * call of this thread. Passwords never appear in it. Of events it is redlock_event.detail.
 */
REDLOCK_API const char *redlock_detail(void);

/* ---- errors ----------------------------------------------------------------------------- */

/* One line per error: name, number, what redlock_strerror() returns. */
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
    X(AUTH, -9, "the nodes refused the credentials, or a right is missing")                    \
    X(PROTO, -10, "the nodes do not speak the Redis protocol")                                 \
    X(NOMEM, -11, "out of memory")                                                             \
    X(SYSTEM, -12, "a system call failed")                                                     \
    X(FORKED, -13, "used in a child of the process that opened it")                            \
    X(YOURS, -14, "held already under the idempotency key of this request")

enum redlock_error {
#define REDLOCK_ERROR_ENUM(name, number, text) REDLOCK_##name = (number),
    REDLOCK_ERRORS(REDLOCK_ERROR_ENUM)
#undef REDLOCK_ERROR_ENUM
};

/* Static text for an error number; "unknown error" for any other. Never NULL. */
REDLOCK_API const char *redlock_strerror(int error);

/* "BUSY" for REDLOCK_BUSY and so on; "UNKNOWN" for any other number. Never NULL. */
REDLOCK_API const char *redlock_error_name(int error);

/* ---- options of a client ---------------------------------------------------------------- */

#define REDLOCK_NODES_MAX 15   /* nodes of one quorum */
#define REDLOCK_NAME_MAX 512   /* bytes of a lock name, without prefix and terminator */
#define REDLOCK_PREFIX_MAX 64  /* bytes of the key prefix */
#define REDLOCK_VALUE_MAX 160  /* bytes of a lock value, without terminator */
#define REDLOCK_LABEL_MAX 64   /* bytes of a label, without terminator */
#define REDLOCK_OWNER_MAX 64   /* bytes of an owner id, without terminator */
#define REDLOCK_NAMES_MAX 16   /* names of one request */
#define REDLOCK_SLOTS_MAX 1024 /* permits of a semaphore */
#define REDLOCK_TTL_MIN_MS 10
#define REDLOCK_TTL_LIMIT_MS 86400000     /* one day: the most max_ttl_ms may be */
#define REDLOCK_WAIT_FOREVER (-1)         /* request.wait_ms: no deadline */
#define REDLOCK_WAIT_MAX_MS 31536000000LL /* one year: the most a finite wait may be */

enum redlock_flags {
    /*
     * An I/O thread drives the client: locks are renewed and losses are noticed whatever the
     * program does. Of several quorums each has its own.
     */
    REDLOCK_THREAD = 0x1,
    /* Experts, see the end: REDLOCK_NO_NATIVE 0x2, REDLOCK_STRICT 0x4, REDLOCK_NO_GUARD 0x8. */
};

/*
 * What a lock is for. EFFICIENCY: that work is not done twice; two holders would be a nuisance.
 * CORRECTNESS: two holders would be damage. Then
 *   - the node's marker is read with every acquire: FLUSHALL, SWAPDB, promotion in place and
 *     restarts behind a proxy are noticed;
 *   - every lock has a fencing token, as if REDLOCK_FENCED were given, for the resource to
 *     check; kinds that can have none (SHARED, SEMAPHORE) are INVAL;
 *   - a node's grants count only if it passes the safety checks of redlock_audit(): role,
 *     identity, membership, max_ttl, eviction and clock, by what it reports when it is
 *     connected to. Where too few do, an acquire is GUARDED at once, and each node's text names
 *     the check. A node that is down is no failure, as long as a majority is there;
 *   - REDLOCK_NO_GUARD is INVAL.
 */
enum redlock_profile {
    REDLOCK_PROFILE_UNSET,       /* that of the configuration, else EFFICIENCY */
    REDLOCK_PROFILE_EFFICIENCY,  /* "efficiency" */
    REDLOCK_PROFILE_CORRECTNESS, /* "correctness" */
};
/* The printable word; "efficiency" for any other number. Never NULL. */
REDLOCK_API const char *redlock_profile_text(int profile);
/* The number of the profile that has this printable word; -1: none has, or it is NULL. */
REDLOCK_API int redlock_profile_number(const char *text);

struct redlock_options {
    size_t size;
    /* enum redlock_flags */
    uint32_t flags;
    /* enum redlock_profile */
    int32_t profile;

    /*
     * The nodes, 1 to REDLOCK_NODES_MAX URLs; an odd number is best.
     *     redis://[user[:password]@]host[:port][/db]
     *     rediss://[user[:password]@]host[:port][/db]
     *     unix://[user[:password]@]/path/to/socket[?db=N]
     *     host[:port]
     *     sentinel://[user[:password]@]host1+host2+host3/group
     *     cluster://[user[:password]@]host1+host2+host3[/VOTES]
     * rediss:// is over TLS; valkey:// and valkeys:// are the same two. IPv6 addresses go in
     * brackets. Percent-encoding is understood in user, password and path. The same address
     * twice is refused.
     *
     * sentinel:// is a Sentinel group: one vote, by the addresses of all its sentinels (3 to
     * REDLOCK_ELECTORS_MAX, each with a port, or 26379) and its name, behind which ?db=N may
     * stand; one group alone is a quorum. User and password are those of its servers;
     * sentinel_username and the two below it are for the sentinels. sentinels:// is the same
     * over TLS; ?tls=servers and ?tls=sentinels have only those over TLS. It is strict by
     * itself, and counts only after redlock_admit(), which needs every one of the sentinels.
     * docs/elected.md has the rules.
     *
     * cluster:// is a Redis or Valkey Cluster, by 3 to REDLOCK_ELECTORS_MAX of its nodes, each
     * with a port, or 6379. It is as many nodes of the client as it has VOTES, 3 by default, 1,
     * 5 or 7: hash slots, each of which is an elected vote like a Sentinel group. User and
     * password are those of all its servers. clusters:// is the same over TLS.
     *
     * NULL and 0, without quorums: everything that the options leave at zero comes from the
     * configuration of the machine, as with the command: the environment (REDLOCK_NODES,
     * REDLOCK_PASSWORD), then the configuration file (REDLOCK_CONFIG, else the user's, else
     * /etc/redlock.conf). There is no default node: INVAL if none is named anywhere. Nodes
     * given here are used as they are, and neither environment nor file is looked at.
     */
    const char *const *nodes;
    size_t node_count;
    /* Without nodes and quorums: read this configuration file and no other; it must exist. */
    const char *config_file;

    /* Per-node deadline of a request; default 50. A lock uses at most a quarter of its TTL. */
    uint32_t node_timeout_ms;
    /* TCP and TLS set-up of one connection; default 1000. */
    uint32_t connect_timeout_ms;
    /*
     * The longest TTL of any request, of any client of these nodes; default 60000. A node that
     * restarted is kept from voting for this long and two seconds: raise it freely, lower it
     * only after waiting the old value.
     */
    uint32_t max_ttl_ms;
    /* Clock-rate allowance; default 10000 (1 %), plus 2 ms always. */
    uint32_t drift_ppm;
    /* First and last bound of the random delay between attempts; default 10 and 250. */
    uint32_t retry_min_ms;
    uint32_t retry_max_ms;

    /*
     * Put before every name to make the key; default "redlock:". "" for the plain keys of other
     * Redlock clients. Prefix and name together must not begin with "redlock.", as the keys do
     * that stand beside locks: such a name is INVAL.
     */
    const char *prefix;
    /* For nodes whose URL has none. */
    const char *username;
    const char *password;
    /*
     * The first line of this file, instead of password. INVAL if a user other than root and the
     * effective one can write to it; the same for the TLS files. It is read for every
     * connection, so a password may change while the client lives (unless it is a pipe, which
     * is read once). redlock_open() is INVAL if that takes longer than 10 s.
     */
    const char *password_file;
    /*
     * Or the first line that this command prints, for passwords that are issued: the absolute
     * path of a program and its arguments, separated by blanks, run without a shell, for 10 s
     * at most, with the standard error of this process. It is run for the first connection,
     * and then when its last output is older than password_max_age_ms or was refused.
     */
    const char *password_command;
    /*
     * So often a password file or command is read again and every connection logs in with the
     * result (AUTH, in line with its requests); default 300000 (5 minutes), at most one day.
     * Neither is waited for by anything but a login: when they fail or hang, the last password
     * stays in use, with a WARNING. A login that is refused ends no connection that is up.
     */
    uint32_t password_max_age_ms;
    /* The same for the sentinels of Sentinel groups; without them no login there. */
    const char *sentinel_username;
    const char *sentinel_password;
    const char *sentinel_password_file;
    const char *sentinel_password_command;
    /* CLIENT SETNAME; default "redlock". */
    const char *client_name;

    /* PEM; default: the system's store. */
    const char *tls_ca_file;
    /* PEM client certificate (chain); default: none. Its key; default: inside tls_cert_file. */
    const char *tls_cert_file;
    const char *tls_key_file;
    /* The name to verify instead of the URL's host. */
    const char *tls_server_name;

    /*
     * Runs for every lock that is lost or in jeopardy, at that moment and whether events are
     * read or not, with redlock_request.data of the lock; may be NULL. It runs on the thread
     * that drives the client (the I/O thread, or whichever thread is inside a call),
     * which holds no mutex. It may call redlock_state() and the redlock_remaining_ms() family
     * and nothing else of this header, and has to return soon: it holds up renewals.
     * redlock_lock_free() of the lock waits for its end.
     */
    void (*notify)(void *data);

    /*
     * Every request, reply, vote and decision of this client, a line each, appended to this
     * file (made with mode 0600); NULL: to the file that REDLOCK_TRACE names in the
     * environment, else nowhere. A line has the wall clock (UTC), the seconds since the client
     * was opened, process and number of the client, quorum, node, name and round of the lock,
     * and what happened; docs/operations.md shows some. Several clients may use one file. Of
     * what a full disk or pipe does not take lines are lost and counted; nothing waits for it.
     * No password, value, idempotency key or fingerprint appears in it. INVAL if it cannot be
     * opened for writing.
     */
    const char *trace_file;

    /* Experts, see the end. */
    const struct redlock_quorum *quorums;
    size_t quorum_count;
};

#define REDLOCK_OPTIONS(...) REDLOCK_INIT(redlock_options, __VA_ARGS__)

/*
 * Password files and commands of the client are read again, and its connections log in with the
 * result, now instead of at password_max_age_ms. Does not wait for it: the driver does it in
 * its next iterations. No effect without files and commands.
 */
REDLOCK_API int redlock_reload_passwords(redlock *client);

/* ---- requests for a lock ---------------------------------------------------------------- */

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
enum redlock_kind_traits {
    REDLOCK_KIND_EXCLUSIVE = 0x1, /* one holder, or owner, at a time: may have a token */
    REDLOCK_KIND_SEVERAL = 0x2,   /* several holders at once; every kind is this or that */
    REDLOCK_KIND_NAMES = 0x4,     /* may be requested with redlock_request.more_names */
    REDLOCK_KIND_OWNER = 0x8,     /* has redlock_request.owner */
    REDLOCK_KIND_SLOTS = 0x10,    /* has redlock_request.slots */
};
REDLOCK_API uint32_t redlock_kind_traits(int kind);

enum redlock_request_flags {
    /*
     * Renew at a third of the TTL while held. Needs a driver: the I/O thread, or a loop that
     * calls redlock_next(). redlock_acquire() returns INVAL on a client without REDLOCK_THREAD
     * as long as neither redlock_fd() nor redlock_next() has been called: nothing would renew.
     */
    REDLOCK_RENEW = 0x1,
    /* With a fencing token, redlock_fence(). */
    REDLOCK_FENCED = 0x2,
    /* Bound to the calling thread: when that ends without releasing, the lock is released. */
    REDLOCK_BOUND = 0x4,
    /*
     * First come, first served: the first attempt respects the waiters. Without it a newcomer
     * may overtake them when the lock happens to be free; no waiter starves either way.
     * (Several names at once may be overtaken by requests for one of them.)
     */
    REDLOCK_FAIR = 0x8,
    /*
     * While it waits, events QUEUED carry its place in the queue; without it redlock_position()
     * alone does. For redlock_start_acquire(): a blocking call has no events.
     */
    REDLOCK_PLACES = 0x20,
    /* Experts, see the end: REDLOCK_KEEP 0x10. */
};

/*
 * What redlock_acquire() and redlock_start_acquire() acquire, and how.
 *
 * A request that has to wait gets a place in a queue on the nodes and is woken when it is at
 * its head and the lock is free. Of several waiters of one client for one name only the first
 * is in that queue; the others follow in the order of their calls.
 *
 *   BUSY      another holds it, and wait_ms was 0
 *   TIMEOUT   another still held it when wait_ms had passed; or it was granted too late, after
 *             that or so that its validity had ended before the caller could learn of it, and
 *             has been given back
 *   NOQUORUM  too few nodes could vote (retried until wait_ms had passed)
 *   AUTH      a majority is impossible because nodes refuse the credentials (not retried,
 *             unless a password file or command has been right before: NOQUORUM then)
 *   PROTO     the same because nodes do not speak the protocol (not retried)
 *   GUARDED   the same because nodes are in quarantine: young, or suspect (retried); or do not
 *             pass the safety checks of the profile CORRECTNESS (not retried)
 *   CANCELED  redlock_close()
 *   INVAL     also: the nodes do not allow so long a TTL (their max_ttl; not retried), or a
 *             combination that makes no sense: REDLOCK_FENCED with SHARED or SEMAPHORE (several
 *             hold at once, so no order of tokens could keep a late one out); or one of these
 *             kinds with the profile CORRECTNESS
 *   YOURS     see idempotency_key
 *   NOMEM, SYSTEM, FORKED
 */
struct redlock_request {
    size_t size;
    /* enum redlock_request_flags */
    uint32_t flags;
    /* enum redlock_kind */
    int32_t kind;
    /* 0: try once. > 0: until so long after the call. REDLOCK_WAIT_FOREVER. */
    int64_t wait_ms;
    /* For redlock_event.data of every event about the lock, and for redlock_options.notify. */
    void *data;

    /*
     * A name for the holder or waiter, for people to read: up to REDLOCK_LABEL_MAX bytes of
     * printable UTF-8 (no controls, line separators or direction marks, else INVAL); NULL or
     * empty: none. It becomes part of the value on the nodes, together with the time of the
     * attempt, so that redlock_query(), and a client that is refused, can name who holds the
     * lock and for how long. It costs bytes, no command, and proves nothing.
     */
    const char *label;

    /* SEMAPHORE: how many may hold at once, the same for every client. */
    uint32_t slots;
    /* Renewals and extensions allowed; 0: no cap. */
    uint32_t max_extensions;
    /* No extension may carry the lock past this age; 0: no cap. */
    int64_t max_hold_ms;
    /*
     * REENTRANT: its owner. Holds of one owner do not exclude each other, in whichever process
     * they are. NULL: this client.
     */
    const char *owner;
    /*
     * MUTEX: further names, acquired together with `name`, all or none; sorted and freed of
     * duplicates here, so callers may name them in any order. With several quorums all have to
     * live in one: {a}x and {a}y do, since only what stands in braces is hashed then.
     */
    const char *const *more_names;
    size_t more_name_count;

    /* Experts, see the end. */
    const char *idempotency_key;
    int64_t fence;
};

#define REDLOCK_REQUEST(...) REDLOCK_INIT(redlock_request, __VA_ARGS__)

/* ---- what a handle answers without a request to the nodes ------------------------------- */

/* End of the validity in CLOCK_BOOTTIME nanoseconds; 0 when it is not held. */
REDLOCK_API int64_t redlock_deadline_ns(const redlock_lock *lock);

enum redlock_state {
    REDLOCK_STATE_WAITING,  /* being acquired, or acquired and the event not handed out yet */
    REDLOCK_STATE_FAILED,   /* it was never acquired */
    REDLOCK_STATE_ADOPTED,  /* adopted and not extended yet: the validity is unknown */
    REDLOCK_STATE_HELD,     /* certainly ours, by the local clock */
    REDLOCK_STATE_JEOPARDY, /* still ours, but the last renewal failed */
    REDLOCK_STATE_LOST,     /* was ours and ended before it was released */
    REDLOCK_STATE_RELEASED,
};

/* What became of the lock, by the local clock at this moment. */
REDLOCK_API int redlock_state(const redlock_lock *lock);

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
 * Ends a started acquire and takes back what it was granted: no event comes of it any more. No
 * effect once its owner knows that it has the lock. From any thread.
 */
REDLOCK_API int redlock_cancel(redlock_lock *lock);

/* ---- events: acquiring without waiting, and what happened since ------------------------- */

/*
 * These begin what their blocking namesakes do, and return at once. Its outcome is an event.
 * The handle is the caller's from the moment redlock_start_acquire() returns OK, and must be
 * freed whatever the outcome. One operation of a handle can be under way at a time (INVAL).
 */
REDLOCK_API int redlock_start_acquire(redlock *client, const char *name, int64_t ttl_ms,
                                      const redlock_request *request, redlock_lock **out);
REDLOCK_API int redlock_start_extend(redlock_lock *lock, int64_t ttl_ms);
REDLOCK_API int redlock_start_release(redlock_lock *lock);

/* One line per type: name, printable word. */
#define REDLOCK_EVENTS(X)                                                                      \
    X(ACQUIRED, "acquired")   /* error: OK, or why it was not */                               \
    X(EXTENDED, "extended")   /* error: as redlock_extend() returns it */                      \
    X(RELEASED, "released")   /* error: as redlock_release() returns it */                     \
    X(LOST, "lost")           /* error LOST: it ended before it was released; once a lock */   \
    X(JEOPARDY, "jeopardy")   /* error: why a renewal failed; the validity runs on */          \
    X(RECOVERED, "recovered") /* a renewal succeeded again */                                  \
    X(QUEUED, "queued")       /* place: of a waiter with REDLOCK_PLACES, known or changed */   \
    X(ANSWERED, "answered")   /* error, answer: of a job */                                    \
    X(WARNING, "warning")     /* address, reason, detail: what is doubtful and what to do */

enum redlock_event_type {
#define REDLOCK_EVENT_ENUM(name, text) REDLOCK_EVENT_##name,
    REDLOCK_EVENTS(REDLOCK_EVENT_ENUM)
#undef REDLOCK_EVENT_ENUM
};

/* The printable word of a type; "unknown" for any other number. Never NULL. */
REDLOCK_API const char *redlock_event_text(int type);

/* A request to the nodes that was started, see redlock_start_query(); never 0. */
typedef uint64_t redlock_job;
typedef struct redlock_answer redlock_answer;

/* The library sets `size` to that of its own version of this struct. */
typedef struct redlock_event {
    size_t size;
    /* enum redlock_event_type */
    int32_t type;
    /* enum redlock_error */
    int32_t error;
    /* About the error, or the warning; never NULL. */
    const char *detail;
    /* NULL: of a job, or a warning. */
    redlock_lock *lock;
    /* ANSWERED; else 0. */
    redlock_job job;
    /* redlock_request.data of the lock, or what the job was started with. */
    void *data;
    /*
     * QUEUED: the place, 1 is the head, as redlock_position() counts. It comes at once for the
     * first waiter of this client for the name, at most once a second for those behind it, and
     * costs no request.
     */
    int32_t place;
    /* WARNING: how many before this one were dropped, because they were not read in time. */
    uint32_t dropped;
    /* WARNING: the node, or the file whose secret others can read; else empty. */
    const char *address;
    /* WARNING: enum redlock_reason; else REDLOCK_REASON_NONE. */
    int32_t reason;
    /* ANSWERED; else NULL. */
    const redlock_answer *answer;
} redlock_event;

/*
 * The next thing that happened: 1 and *event; 0 when nothing is left, within timeout_ms (a
 * signal that is handled may end the wait earlier, also with -1); negative: an error. What
 * *event points to belongs to the library and is valid until the next redlock_next() of this
 * client.
 *
 * Draining. Call it until it returns 0. Without REDLOCK_THREAD this is what drives the client:
 * with no event waiting, it waits for the sockets up to timeout_ms (0: not at all, for event
 * loops; -1: for ever), reads what came and does what is due: one iteration. It then returns
 * the events of that iteration one by one, and makes no system call for it. Requests started
 * meanwhile are written when it returns 0, or else with the next iteration. With a timeout of 0
 * a drain ends with the events of one iteration, also where their handling causes further
 * events at once: these come with the next drain. With REDLOCK_THREAD the I/O thread drives and
 * this returns what happened; a caller that waits here drives in its place, and it takes over
 * again when the caller stays away. A thread that is cancelled in here ends when the call
 * returns.
 *
 * Order. Of one lock as it happened. LOST and JEOPARDY overtake the events of other locks.
 * Every operation that was started ends in exactly one event, or in none once its handle was
 * freed or canceled or the client closed; that also takes back events that are waiting, from
 * whichever thread. The outcome of a blocking call is never an event; the loss of its lock is.
 *
 * Hand-out. A lock counts as acquired for its owner when ACQUIRED is returned. A grant that is
 * found lost then, or past the end of the wait, is taken back and returned as TIMEOUT. The
 * validity, and the renewal by REDLOCK_RENEW, count from the grant.
 *
 * Bounds. Of one lock at most one event of each kind waits, and the latest place and jeopardy
 * replace earlier ones; of warnings the last REDLOCK_WARNINGS_KEPT wait. A program that never
 * calls this accumulates nothing.
 *
 * Threads. One thread at a time: a second one gets BUSY. A loss is an event at the latest when
 * the validity ends, as long as the client is driven, and redlock_options.notify has run by
 * then; a process that was stopped learns of it from its first call afterwards. A program that
 * reads its events late learns of it late, from them alone: redlock_remaining_ms() is never
 * late.
 */
REDLOCK_API int redlock_next(redlock *client, const redlock_event **event, int timeout_ms);

#define REDLOCK_WARNINGS_KEPT 16

/*
 * A descriptor that is readable while redlock_next() has something to return or to do: events,
 * requests to write, data, a timer, in whichever quorum; with REDLOCK_THREAD while events wait.
 * Watch it for input with poll, epoll or any loop; never read it. It belongs to the client.
 */
REDLOCK_API int redlock_fd(redlock *client);

/* ---- what the nodes did ----------------------------------------------------------------- */

#define REDLOCK_ADDRESS_MAX 128     /* printable node address, with terminator */
#define REDLOCK_TEXT_MAX 160        /* explanation inside a report, with terminator */
#define REDLOCK_FINGERPRINT_SIZE 40 /* characters of a fingerprint, without terminator */
#define REDLOCK_QUORUM_MAX 32       /* bytes of the name of a quorum */

/* One line per vote: name, printable word. A vote is what one node did for one operation. */
#define REDLOCK_VOTES(X)                                                                       \
    X(NONE, "not asked")        /* the operation did not involve this node (yet) */            \
    X(PENDING, "no answer yet") /* asked, and the operation was decided without it */          \
    X(GRANTED, "granted")       /* set, renewed, deleted: what was asked */                    \
    X(TAKEN, "held by another") /* the key exists with another value */                        \
    X(MISSING, "no such key")   /* the key is gone: expired, deleted or never set */           \
    X(SILENT, "timed out")      /* no answer within the per-node deadline */                   \
    X(REFUSED, "connection refused")                                                           \
    X(UNREACHABLE, "unreachable")    /* resolve, connect, TLS or I/O failure */                \
    X(AUTH, "authentication failed") /* NOAUTH, WRONGPASS, protected mode */                   \
    X(PROTO, "protocol error")       /* not RESP, or an answer that makes no sense */          \
    X(LOADING, "loading its dataset")                                                          \
    X(READONLY, "read-only replica")                                                           \
    X(ERROR, "server error") /* any other error reply */                                       \
    X(GUARDED, "in quarantine")                                                                \
    X(NOPERM, "not permitted") /* the user lacks a right */

enum redlock_vote {
#define REDLOCK_VOTE_ENUM(name, text) REDLOCK_VOTE_##name,
    REDLOCK_VOTES(REDLOCK_VOTE_ENUM)
#undef REDLOCK_VOTE_ENUM
};

/* The printable word of a vote; "unknown" for any other number. Never NULL. */
REDLOCK_API const char *redlock_vote_text(int vote);

/*
 * One line per reason: name, printable words. Why a node does not vote or did not answer, or
 * what is doubtful about it, as far as it makes a difference to what is to be done about it;
 * `text` beside it has the particulars.
 */
#define REDLOCK_REASONS(X)                                                                     \
    X(NONE, "none")                                                                            \
    /* There is no connection, or no answer. */                                                \
    X(UNRESOLVED, "its name cannot be resolved")                                               \
    X(REFUSED, "connection refused")                                                           \
    X(UNREACHABLE, "unreachable")           /* no route, or the connection ended */            \
    X(RESOURCES, "a limit of this machine") /* memory, descriptors, threads */                 \
    X(SILENT, "no answer")                  /* it hangs, or no packet reaches it */            \
    X(LATE, "answers too late")             /* its replies come after node_timeout_ms */       \
    /* TLS. Of the first two also: nothing ever came back, which looks like it. */             \
    X(TLS_PORT, "a port with TLS")                      /* addressed by redis:// */            \
    X(PLAIN_PORT, "a port without TLS")                 /* addressed by rediss:// */           \
    X(AUTHORITY, "certificate of an unknown authority") /* or self-signed */                   \
    X(SERVER_NAME, "certificate for another name")                                             \
    X(CERTIFICATE, "certificate not valid")     /* expired, not valid yet, or unfit */         \
    X(CLIENT_CERTIFICATE, "client certificate") /* it wants one, or refused ours */            \
    X(TLS, "TLS failed")                        /* versions, ciphers, anything else */         \
    /* It refuses us, or cannot serve. */                                                      \
    X(PASSWORD_NEEDED, "a password is needed")                                                 \
    X(WRONG_PASSWORD, "wrong user or password")                                                \
    X(PROTECTED_MODE, "protected mode") /* no password: it serves its own machine only */      \
    X(RIGHTS, "a right is missing")                                                            \
    X(PROTOCOL, "not the Redis protocol")                                                      \
    X(LOADING, "loading its dataset")                                                          \
    X(REPLICA, "a replica, not a master")                                                      \
    X(CLUSTER, "this is a Redis Cluster, not an independent server")                           \
    X(SENTINEL, "this is a Sentinel, not a server")                                            \
    X(SERVER_ERROR, "server error") /* any other error reply */                                \
    X(COUNTER, "impossible fence counter")                                                     \
    /* Its votes do not count: quarantine. */                                                  \
    X(UNCHECKED, "not checked yet")                                                            \
    X(YOUNG, "restarted not long ago")                                                         \
    X(INFO, "its age is unknown (INFO is forbidden)") /* or its identity */                    \
    X(PROMOTED, "it was a replica: what its master granted may still be held")                 \
    X(NOT_ADMITTED, "not admitted (no marker, or that of another incarnation)")                \
    X(MAX_TTL, "its max_ttl is smaller than the TTL asked for")                                \
    X(CLOCK, "its clock was set")                                                              \
    X(OTHER_SET, "it belongs to another set of nodes")                                         \
    X(OTHER_NUMBER, "it belongs to a set of another number of nodes than this client has")     \
    X(OTHER_QUORUM, "it belongs to another quorum, or to another set of quorums")              \
    X(NO_SET, "it belongs to no set of nodes, and others do, or do not report theirs")         \
    X(SET_PENDING, "the admission of its set of nodes has not finished; do it again")          \
    X(SET_CHANGED, "its set of nodes has just changed")                                        \
    X(SET_UNREADABLE, "its key redlock.admit cannot be read, so its set of nodes is unknown")  \
    X(VERSION, "its set was made for another version of the protocol than this client speaks") \
    X(SAME_SERVER,                                                                             \
      "the same server as another node of the list (same run_id): it counts once")             \
    /* Of a Sentinel group, or a vote of a cluster: */                                         \
    X(NEW_TERM,                                                                                \
      "another master, or the same after a restart: what was granted before may still be "     \
      "held")                                                                                  \
    X(NO_TERM,                                                                                 \
      "no majority of its sentinels (or cluster nodes) names one server as the master")        \
    X(NOT_VOUCHED,                                                                             \
      "no majority of its sentinels (or cluster nodes) has named this server in the last 2 s") \
    X(NO_GROUP, "a sentinel knows no group of this name")                                      \
    X(NO_SENTINEL, "this is a server, not a sentinel")                                         \
    X(SENTINEL_LOGIN, "a sentinel refuses our user or password")                               \
    X(SENTINEL_TWICE,                                                                          \
      "two of the sentinels are one, or of the cluster nodes: the same id at both addresses")  \
    X(ELECTORS, "its sentinels (or cluster nodes) are not those that the set was made with")   \
    /* What audits and warnings find beside that: less may be relied on. */                    \
    X(FAILOVER, "a replica can take over without the locks that had not reached it")           \
    X(EVICTION,                                                                                \
      "maxmemory is set and its policy evicts keys with an expiry, locks among them")          \
    X(PERSISTENCE, "no append-only file")                                                      \
    X(SKEW, "its clock differs from the other nodes' by more than half a second")              \
    X(SET_BY_NAME, "it had forgotten its set of nodes, and clients know it by its name alone") \
    X(NO_SETS, "not initialised: neither it nor the others belong to a set of nodes")          \
    X(GUARD_OFF, "the restart guard is off")                                                   \
    X(TOO_FEW, "too few nodes are reachable")                                                  \
    X(EVEN_NUMBER, "with an even number of nodes no more may fail than with one less")         \
    X(ONE_NODE, "one node cannot promise what several do")                                     \
    X(SHORT_TTL, "the TTL is too short for a holder to renew through a failover")              \
    X(ONE_HOST, "too many nodes are on one machine")                                           \
    X(VERSIONS, "the nodes run different versions")                                            \
    X(PLACEMENT, "locks are where no client of this configuration looks for them")             \
    X(EXPOSED, "others can read a secret")                                                     \
    /* Of a vote of a cluster: */                                                              \
    X(SLOT, "its server does not serve the slot: moved, being moved, or the cluster is down")  \
    X(NO_CLUSTER, "this is no node of a Redis Cluster, or it hides the nodes and their epochs")

enum redlock_reason {
#define REDLOCK_REASON_ENUM(name, text) REDLOCK_REASON_##name,
    REDLOCK_REASONS(REDLOCK_REASON_ENUM)
#undef REDLOCK_REASON_ENUM
};

/* The printable words of a reason; "unknown" for any other number. Never NULL. */
REDLOCK_API const char *redlock_reason_text(int reason);
/* "YOUNG" for REDLOCK_REASON_YOUNG and so on; "UNKNOWN" for any other number. Never NULL. */
REDLOCK_API const char *redlock_reason_name(int reason);

/*
 * Values, labels and names of waiters come from the nodes, where any program can write. A label
 * is shown only if it is one that redlock_request.label accepts. Other texts are shown as they
 * are if they are printable UTF-8; else with \xHH for every byte that is not part of a
 * printable character, and cut at REDLOCK_VALUE_MAX. So none of them ever steers a terminal.
 */
typedef struct redlock_holder {
    /* Empty: there is none, or it is unknown. */
    char value[REDLOCK_VALUE_MAX + 1];
    /* Empty: none. */
    char label[REDLOCK_LABEL_MAX + 1];
    /* For redlock_break(); only redlock_query() has it. */
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];
    /*
     * How long it has held the lock: from the wall clock of its machine when the attempt that
     * won began, to the wall clock of this machine now; as right as these two agree. -1:
     * unknown, as always of a value without label.
     */
    int64_t held_ms;
    /*
     * 1: held_ms is a lower bound. In a query of REENTRANT an earlier hold of the owner may
     * have been given back; a clock may be ahead of ours; and of a value without label a waiter
     * knows how long it has been refused for it.
     */
    int32_t held_at_least;
    /* On how many nodes it was found. */
    int32_t votes;
    /*
     * How long it stays on a majority (or on any node, if it never was on one); -1: without
     * expiry, or unknown.
     */
    int64_t remaining_ms;
} redlock_holder;

typedef struct redlock_waiter {
    /* As the nodes' queues have it, with its label. */
    char name[REDLOCK_VALUE_MAX + 1];
    /* Empty: none. */
    char label[REDLOCK_LABEL_MAX + 1];
    /* Since it was queued, by the clock of the node; -1: unknown. */
    int64_t waited_ms;
} redlock_waiter;

typedef struct redlock_node_report {
    /* host:port, [ipv6]:port or path; never credentials. */
    char address[REDLOCK_ADDRESS_MAX];
    /* enum redlock_vote */
    int32_t vote;
    /* enum redlock_reason */
    int32_t reason;
    /*
     * Time to this node's reply; -1 without one. SILENT: what its replies take, if they are
     * known to come late.
     */
    int32_t rtt_us;
    /* Remaining life of the key where it was requested; -1: unknown. */
    int64_t key_remaining_ms;
    /* The value that is in the way; empty: none, or it is unknown. */
    char value[REDLOCK_VALUE_MAX + 1];
    /* The server's or system's words; may be empty. */
    char text[REDLOCK_TEXT_MAX];
    /* redlock_query(): what is under the key; -1: unknown. How many hold it, and wait, here. */
    int32_t kind;
    uint32_t holder_count;
    uint32_t waiter_count;
} redlock_node_report;

/* Node by node, in the order they were configured, what happened. */
typedef struct redlock_report {
    size_t size;
    /* The nodes of the quorum, and how many of them are a majority. */
    uint32_t node_count;
    uint32_t quorum;
    /* Of several quorums: which one, from 0, and its name; empty: it has none. */
    uint32_t quorum_index;
    char quorum_name[REDLOCK_QUORUM_MAX + 1];
    /*
     * The holder that an acquire waits for, or was refused for (BUSY, TIMEOUT); of
     * redlock_query() the same as in redlock_info; of redlock_break() and
     * redlock_release_by_key() the one that was deleted, and in its remaining_ms how long that
     * may still believe that it holds the lock. Of several holders, one of them.
     */
    redlock_holder holder;
    /* How many wait, on the node that has most; 0 also if none reports it. */
    uint32_t waiter_count;
    /* The first node_count of them. */
    redlock_node_report node[REDLOCK_NODES_MAX];
    /*
     * Of a deletion (redlock_break(), redlock_release_by_key(), redlock_release()): 0: it is
     * final. Else it rests on Sentinel groups, and a failover that loses it can bring the lock
     * back to a client that renews it; it is final once the same server has been the master,
     * in the same tenure (redlock_node_info), for so long, on a majority of the nodes.
     */
    int64_t final_ms;
} redlock_report;

/*
 * The last operation on this handle. While it waits, and after BUSY and TIMEOUT, its holder is
 * the one that is in the way, as far as the nodes reported it. Valid until the next
 * redlock_lock_report() of this thread. NULL: FORKED, or the lock is NULL.
 */
REDLOCK_API const redlock_report *redlock_lock_report(const redlock_lock *lock);

/*
 * What the nodes did in the last blocking call of this thread that failed. Valid until the next
 * one fails. NULL: there was none, or it sent nothing to any node.
 */
REDLOCK_API const redlock_report *redlock_failure_report(void);

/* ---- looking at locks and nodes --------------------------------------------------------- */

#define REDLOCK_SHOWN_MAX 16   /* holders, and waiters, that redlock_query() shows one by one */
#define REDLOCK_LIST_MAX 10000 /* names that redlock_list() returns */

typedef struct redlock_info {
    /* 1: some value is on a majority of the nodes; 0: none is. */
    int32_t held;
    /* enum redlock_kind of what is held; -1: nothing is, or it is unknown. */
    int32_t kind;
    /* The value that most nodes have; empty when no node has one. */
    redlock_holder holder;
    /* The fence counter that a majority has reached; 0: none. */
    int64_t fence;
    /* 1: the nodes that answered do not all agree. */
    int32_t disagree;
    /* SEMAPHORE: of this many. */
    uint32_t slots;
    /* REENTRANT: whose it is; else empty. */
    char owner[REDLOCK_OWNER_MAX + 1];
    /* Holders that a majority of the nodes names. */
    uint32_t holder_count;
    /*
     * How many of them follow: those on most nodes first, and of these the one that has held
     * for longest.
     */
    uint32_t holders_shown;
    redlock_holder holders[REDLOCK_SHOWN_MAX];
    /* In the queue, on the node with the longest one; its first ones follow, from the head. */
    uint32_t waiter_count;
    uint32_t waiters_shown;
    redlock_waiter waiters[REDLOCK_SHOWN_MAX];
    /* The first waiter on most nodes; or empty. */
    char head[REDLOCK_VALUE_MAX + 1];
} redlock_info;

enum redlock_verdict {
    REDLOCK_CHECK_OK,
    REDLOCK_CHECK_WARN,    /* works, but an assumption of the algorithm is at risk */
    REDLOCK_CHECK_FAIL,    /* mutual exclusion or availability is broken */
    REDLOCK_CHECK_UNKNOWN, /* the server does not report it */
};

/* One line of an audit. */
typedef struct redlock_check {
    /* The node; empty: all of them together. */
    const char *address;
    /*
     * reachable, role, identity, eviction, persistence, clock, latency, rights, fencing,
     * waiting, kinds, guard, number, versions, membership, placement, max_ttl
     */
    const char *name;
    /* enum redlock_verdict */
    int32_t verdict;
    /* enum redlock_reason; NONE with REDLOCK_CHECK_OK, and only then. */
    int32_t reason;
    /* What was found; what to do, empty when nothing has to be done. */
    const char *text;
    const char *remedy;
    /* The name of the quorum that it is about; empty: it has none. */
    const char *quorum;
} redlock_check;

/* What redlock_admit() would find, and do. */
typedef struct redlock_admission {
    /* 1: it would write; 0: all is as it would leave it. */
    int32_t writes;
    /* Nodes that are not in the set, of as many nodes, of most others. */
    uint32_t newcomers;
    /*
     * The longest TTL of this client and of what the nodes report, and two seconds: after that
     * time nothing is held that is forgotten now.
     */
    int64_t guard_ms;
    /*
     * 1: a Sentinel group has other sentinels than its set was made with. Majorities of the two
     * lists need not meet: stop all clients, and wait for guard_ms, before it is admitted.
     */
    int32_t electors_changed;
    /*
     * 1: a node is, or was before an admission that has not finished, in a set that may have
     * other nodes than these. Locks may be held with those, and no wait ends that.
     */
    int32_t regroups;
} redlock_admission;

/* What the nodes answered. What does not belong to the request is NULL or 0. */
struct redlock_answer {
    size_t size;
    /* query, break, release_by_key: the one in the request. */
    const char *name;
    /* query, with OK. */
    const redlock_info *info;
    /* Not of list and audit; NULL: nothing was sent to a node. */
    const redlock_report *report;
    /* list, with OK: in the order of the bytes, each once. */
    const char *const *names;
    size_t name_count;
    /* audit, with OK: node by node. */
    const redlock_check *checks;
    size_t check_count;
    /* look_at_admission, with OK. */
    const redlock_admission *admission;
};

/* Frees what a blocking call returned. NULL is fine. */
REDLOCK_API void redlock_answer_free(redlock_answer *answer);

/*
 * Each of these sends a request to every node, and returns OK, or the error;
 * redlock_failure_report() then shows which node did what. With OK *out is the caller's, for
 * redlock_answer_free(); out may be NULL. Most have a twin below that does not wait.
 */

/*
 * The holder of `name` at this moment. Advice, never a basis for acting: the answer is old when
 * it arrives. OK when a majority answered, else NOQUORUM (AUTH, PROTO).
 */
REDLOCK_API int redlock_query(redlock *client, const char *name, redlock_answer **out);

/*
 * Which locks are there? Every name that any node has a key for, the first REDLOCK_LIST_MAX
 * that were found. Advice, as with redlock_query(): names come and go meanwhile. With an empty
 * prefix every key of the database is a name, but for those that begin with "redlock.". Nodes
 * with very many keys of other programs take their time; more than about ten million are not
 * searched. OK when a majority has listed, else NOQUORUM (AUTH, PROTO). Several quorums: a
 * majority of each.
 */
REDLOCK_API int redlock_list(redlock *client, redlock_answer **out);

/*
 * Evicts the holder of `name` that has this fingerprint (redlock_holder.fingerprint, of an
 * earlier redlock_query()), and never one that came after it: its value is compared on the node
 * in the step that deletes it. A reader or a slot goes alone; of REENTRANT all holds of its
 * owner go; of several names locked together only this one, and the holder loses the others
 * with it. Wakes waiters, as a release does.
 *
 *   OK        evicted: it is on no majority of the nodes any more
 *   EXPIRED   no node that answered had it, and a majority did: it was gone already
 *   NOQUORUM  (AUTH, PROTO) too few nodes answered; the report shows which did. What is left
 *             expires, or goes when this is called again.
 *
 * The holder has no say in it, and may act on: it learns of it at its next renewal (LOST), and
 * without one when its validity ends. report->holder.remaining_ms is the longest that it may
 * still believe in the lock. Only a resource that checks fencing tokens is safe from it
 * meanwhile.
 *
 * On Sentinel groups it is done now and final report->final_ms later: a failover before that
 * can lose the deletion, and the holder goes on with the key that it finds. To be sure, do it
 * again whenever the tenure of a node (redlock_node_info) has changed, and count from there;
 * EXPIRED is as good as OK then. `redlock break --wait` does that.
 */
REDLOCK_API int redlock_break(redlock *client, const char *name, const char *fingerprint,
                              redlock_answer **out);

/*
 * Waits, for half of the per-node deadline and for 300 ms at most, until a replica of each
 * Sentinel group has what this client has written on it: a failover then loses it only
 * together with that replica. It is for what has to outlive a failover and no lock depends on,
 * as records of periodic runs: locks need it not. Nodes that are no Sentinel groups have no
 * part in it.
 *
 *   OK        a majority of the nodes has made it sure
 *   TIMEOUT   no replica has confirmed it in time; it may have it all the same
 *   NOQUORUM  (AUTH, PROTO) too few nodes answered, or do not allow it (WAIT)
 */
REDLOCK_API int redlock_replicate(redlock *client, redlock_answer **out);

/*
 * Pings every node and waits for the replies or the per-node deadline. OK when a majority
 * replied, else NOQUORUM (AUTH, PROTO). Several quorums: OK when each has a majority. The
 * report, here and of redlock_admit(), is that of the first quorum that failed, or else of the
 * first; redlock_member() gives each its own.
 */
REDLOCK_API int redlock_ping(redlock *client, redlock_answer **out);

/*
 * States that nothing is held on these nodes: each reachable one gets the marker that lets it
 * vote at once (`redlock init`). Only an operator can know that. Brand-new nodes look exactly
 * like nodes that have just lost everything.
 *
 * It also makes them a set: each learns an id and how many they are, and of several quorums
 * which one it is in. From then on a client counts no node of another set, nor of a set that
 * has another number of nodes than the client (GUARDED), unless REDLOCK_NO_GUARD. Done again
 * for the same nodes, it keeps their set, unless one has forgotten it or was given it by a
 * client and all are there: then they become a new one. OK when every node took it, else
 * NOQUORUM (AUTH, PROTO) and the report shows which did not. A new set needs all its nodes
 * (NOQUORUM), and takes none from another set most of whose nodes stay behind (GUARDED): then
 * nothing is changed. Of several at the same moment whose lists share a node at most one is OK,
 * and the others are BUSY: look, and try again. docs/operations.md describes how to change the
 * nodes.
 *
 * A Sentinel group is admitted with all sentinels of its URL, by the ids that they report of
 * themselves: each has to answer, and to be another one (NOQUORUM, and nothing is changed).
 */
REDLOCK_API int redlock_admit(redlock *client, redlock_answer **out);

/*
 * Looks what redlock_admit() would do, and changes nothing. OK, or the error that
 * redlock_admit() would give before it writes. Several quorums: of each by itself,
 * redlock_member(); of all together INVAL.
 */
REDLOCK_API int redlock_look_at_admission(redlock *client, redlock_answer **out);

/*
 * Examines the nodes: are they independent masters that keep locks, with clocks that agree,
 * fast enough for ttl_ms, and do we have the rights we need? Takes and releases one lock of a
 * random name. OK when the audit could be made, whatever it found.
 */
REDLOCK_API int redlock_audit(redlock *client, int64_t ttl_ms, redlock_answer **out);

/* Jobs of a quorum, under way or with an unread event; how many of them are sent at a time. */
#define REDLOCK_JOBS_MAX 10000
#define REDLOCK_JOBS_SENT 64
/* Lists and audits of a quorum that are under way at a time. */
#define REDLOCK_SEARCHES_SENT 4

/*
 * The same without waiting. OK: *job is under way, and will end in one event ANSWERED with this
 * job and `data`, and with the error that the blocking call would have returned. They are
 * answered in no particular order. Past REDLOCK_JOBS_MAX: NOMEM. REDLOCK_JOBS_SENT of them are
 * sent at a time, so that nodes are not late because of their number; the others wait for their
 * iteration, and the per-node deadline of each counts from there.
 */
REDLOCK_API int redlock_start_query(redlock *client, const char *name, void *data,
                                    redlock_job *job);
REDLOCK_API int redlock_start_list(redlock *client, void *data, redlock_job *job);
REDLOCK_API int redlock_start_break(redlock *client, const char *name, const char *fingerprint,
                                    void *data, redlock_job *job);
REDLOCK_API int redlock_start_replicate(redlock *client, void *data, redlock_job *job);
REDLOCK_API int redlock_start_ping(redlock *client, void *data, redlock_job *job);
REDLOCK_API int redlock_start_admit(redlock *client, void *data, redlock_job *job);
REDLOCK_API int redlock_start_audit(redlock *client, int64_t ttl_ms, void *data,
                                    redlock_job *job);

/*
 * Ends a job: no event comes of it any more. What has been sent to nodes they may still do; the
 * lock that an audit took expires. INVAL: it is no job of this client, or its event was
 * returned. From any thread.
 */
REDLOCK_API int redlock_cancel_job(redlock *client, redlock_job job);

/* State of a connection, redlock_node_info.state */
#define REDLOCK_NODE_STATES(X)                                                                 \
    X(DOWN, "down")             /* no connection that answers; new tries go on */              \
    X(CONNECTING, "connecting") /* the first try: resolving, TCP, TLS or greeting */           \
    X(UP, "up")

enum redlock_node_state {
#define REDLOCK_NODE_ENUM(name, text) REDLOCK_NODE_##name,
    REDLOCK_NODE_STATES(REDLOCK_NODE_ENUM)
#undef REDLOCK_NODE_ENUM
};

/*
 * What a node is, as far as this client knows, redlock_node_info.deployment. It decides what
 * may be relied on; docs/guarantees.md has a line for each.
 */
#define REDLOCK_DEPLOYMENTS(X)                                                                 \
    X(SERVER, "server")     /* one server; whether another can take its place is not seen */   \
    X(FAILOVER, "failover") /* it has replicas, was one, or is watched by a Sentinel */        \
    X(SENTINEL, "sentinel") /* a Sentinel group: its sentinels name the server */              \
    X(CLUSTER, "cluster")   /* a vote of a cluster: its nodes name the server */

enum redlock_deployment {
#define REDLOCK_DEPLOYMENT_ENUM(name, text) REDLOCK_DEPLOYMENT_##name,
    REDLOCK_DEPLOYMENTS(REDLOCK_DEPLOYMENT_ENUM)
#undef REDLOCK_DEPLOYMENT_ENUM
};

#define REDLOCK_ELECTORS_MAX 7 /* sentinels of a group, or nodes that name a cluster */

/* A sentinel, or a node of a cluster, and what it reported last. */
typedef struct redlock_elector {
    /* As in redlock_node_report. */
    char address[REDLOCK_ADDRESS_MAX];
    /* enum redlock_node_state */
    int32_t state;
    /* enum redlock_reason: why it is down, or does not count. */
    int32_t reason;
    /* 1: it is one of those that the set was made with, or the set is not known yet. */
    int32_t listed;
    /* The server that it names, and with which epoch; empty and -1: nothing yet. */
    char server[REDLOCK_ADDRESS_MAX];
    int64_t term;
    /* Since the request was sent that this answers; -1: it has not answered. */
    int64_t age_ms;
} redlock_elector;

typedef struct redlock_node_info {
    size_t size;
    /* As in redlock_node_report. */
    char address[REDLOCK_ADDRESS_MAX];
    /* enum redlock_node_state */
    int32_t state;
    /* enum redlock_reason: why it is down, late or in quarantine; and in words, else empty. */
    int32_t reason;
    char text[REDLOCK_TEXT_MAX];
    /* 1: the connection is encrypted and verified. */
    int32_t tls;
    /* 1: compare-and-delete without scripts is in use. */
    int32_t native;
    /* Smoothed round trip; -1: unknown. */
    int32_t rtt_us;
    /* Connections made so far; requests without a reply. */
    uint32_t connects;
    uint32_t pending;
    /* "redis 7.0.15", "valkey 8.1.1"; empty: unknown. */
    char version[32];
    /* 1: its grants are not counted. */
    int32_t quarantined;
    /*
     * 1: quarantined since it belongs to another set of nodes, or to none while others do; see
     * redlock_admit().
     */
    int32_t misplaced;
    /*
     * Until this client counts it, if nothing happens: it watches for the guard time, a later
     * one may go by the uptime; -1: not by itself, or it may already.
     */
    int64_t quarantine_ms;
    /* Its clock minus ours (CLOCK_REALTIME), and how wrong that may be; -1: unknown. */
    int64_t clock_offset_us;
    int64_t clock_error_us;
    /* Since its last reply to this client; -1: none yet. */
    int64_t answered_ms;
    /* Of several quorums: which one it belongs to, from 0, and its name; empty: it has none. */
    uint32_t quorum_index;
    char quorum_name[REDLOCK_QUORUM_MAX + 1];
    /* enum redlock_deployment */
    int32_t deployment;
    /*
     * For how long new locks have to wait when another server, or another incarnation of it,
     * takes over: the quarantine.
     */
    int64_t guard_ms;
    /* enum redlock_profile: of the client. */
    int32_t profile;
    /*
     * enum redlock_reason: the first safety check that it does not pass (see
     * enum redlock_profile), whatever the profile; NONE: it passes all, or is not connected.
     */
    int32_t unsafe_reason;

    /* The rest is of a SENTINEL or CLUSTER; else zero, or -1 where it is a time or a term. */

    /*
     * The server that a majority of the sentinels (or nodes) named last; empty: none yet. Its
     * epoch.
     */
    char server[REDLOCK_ADDRESS_MAX];
    int64_t term;
    /*
     * A number that is another one whenever server, term or incarnation change; 0: unknown, or
     * too few sentinels have confirmed it in the last seconds.
     */
    uint64_t tenure;
    /*
     * Of how many sentinels a majority is needed (those that the set was made with; before
     * that is known, those of the URL), and how many of them named this term last.
     */
    uint32_t listed_count;
    uint32_t voucher_count;
    /*
     * About how long a failover takes from the death of the server until a majority of the
     * sentinels names another: down-after-milliseconds, and some.
     */
    int64_t failover_ms;
    /* The sentinels of the URL. */
    uint32_t elector_count;
    redlock_elector elector[REDLOCK_ELECTORS_MAX];
} redlock_node_info;

#define REDLOCK_NODE_INFO(...) REDLOCK_INIT(redlock_node_info, __VA_ARGS__)

/*
 * The state of node `index`, as known: the call waits for no node. INVAL past the last node.
 * The nodes of several quorums are counted through, in the order they were configured.
 *
 * From the first call on, the client sends a node that has been silent for 4 s something small,
 * also while it holds nothing, and a node that owes a reply for longer than two node timeouts,
 * at least a second, is DOWN until it replies again. So a server that hangs, or that no packet
 * reaches any more, is shown as such within 10 s (longer with a node timeout above 3 s). That
 * needs a driver: REDLOCK_THREAD, or redlock_next() whenever redlock_fd() is readable. Between
 * blocking calls alone nothing is sent, and the state is that of the last call: see
 * answered_ms.
 */
REDLOCK_API int redlock_node(redlock *client, size_t index, redlock_node_info *out);

/* ---- counters --------------------------------------------------------------------------- */

/*
 * Upper bounds, inclusive, of the buckets of a histogram, in microseconds; the last bucket has
 * none. As seconds they are what Prometheus calls `le`; its buckets are the sums of these up to
 * there.
 */
#define REDLOCK_BUCKET_BOUNDS_US                                                               \
    {                                                                                          \
        100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, \
            2500000, 5000000, 10000000, 30000000, 60000000, 300000000, 3600000000              \
    }
#define REDLOCK_BUCKETS 21

typedef struct redlock_histogram {
    uint64_t count;  /* how many were measured */
    uint64_t sum_us; /* all of them together */
    uint64_t bucket[REDLOCK_BUCKETS];
} redlock_histogram;

/*
 * What a client has done since it was opened. Counters only grow; `waiting` and `held` are of
 * this moment. Every acquisition that was begun is waiting, acquired or refused. Every lock
 * that was acquired or adopted is held, late, released, lost or left.
 */
typedef struct redlock_counters {
    size_t size;
    /* Granted by a majority; `late` of them after the end of the wait. */
    uint64_t acquired;
    /*
     * Acquisitions that ended with BUSY, with TIMEOUT (but for those that are counted as late),
     * NOQUORUM, GUARDED, CANCELED (or whose handle was freed meanwhile), and with AUTH, PROTO,
     * YOURS, INVAL of the nodes, NOMEM or SYSTEM.
     */
    uint64_t refused_busy;
    uint64_t refused_timeout;
    uint64_t refused_noquorum;
    uint64_t refused_guarded;
    uint64_t refused_canceled;
    uint64_t refused_other;
    /* Granted, but the wait had ended: given back, reported as TIMEOUT. */
    uint64_t late;
    /* Taken over by redlock_adopt(). */
    uint64_t adopted;
    /* Renewals and extensions that succeeded; those that a majority did not confirm in time. */
    uint64_t renewed;
    uint64_t renewals_failed;
    /* Given back: by a release, by freeing, by the end of a thread. */
    uint64_t released;
    /* Releases that ended with EXPIRED, LOST or NOQUORUM. */
    uint64_t releases_failed;
    /* redlock_lock_leave(), and adopted or kept ones that were freed. */
    uint64_t left;
    /*
     * Lost because the validity ended; because it was found gone from so many nodes that no
     * majority can have it; because nodes or clocks that it rested on could not be trusted.
     */
    uint64_t lost_expired;
    uint64_t lost_missing;
    uint64_t lost_doubt;
    /* Acquisitions under way; locks held by handles of this client, adopted ones too. */
    uint64_t waiting;
    uint64_t held;
    /* Of what was acquired: from the request to the grant. */
    redlock_histogram wait;
    /* From the attempt that was granted to the end of the hold. */
    redlock_histogram hold;
} redlock_counters;

#define REDLOCK_COUNTERS(...) REDLOCK_INIT(redlock_counters, __VA_ARGS__)

/*
 * The counters, of all quorums together; redlock_member() gives those of one. Sends nothing to
 * a node. From any thread.
 */
REDLOCK_API int redlock_stats(redlock *client, redlock_counters *out);

#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0

/* "0.1.0": the library in use, which may differ from the header's numbers. */
REDLOCK_API const char *redlock_version(void);

/* ---- for experts: locks that several programs share ------------------------------------- */

/*
 * redlock_request.flags: once the caller knows of the grant, only redlock_release() deletes the
 * lock: for one whose value goes to programs that renew it elsewhere (redlock_adopt()), so that
 * the end of this handle means nothing for the lock. Its loss, redlock_lock_free() and
 * redlock_close() leave it on the nodes until its TTL ends there. What is still deleted:
 * attempts that failed, were canceled or freed, and a grant of which the caller never learned.
 * As others may be releasing it, it is put back on no node that has lost it. Not with
 * REDLOCK_BOUND.
 */
#define REDLOCK_KEEP 0x10

/*
 * redlock_request.idempotency_key: the value shall begin with these
 * REDLOCK_IDEMPOTENCY_KEY_SIZE characters of A-Z a-z 0-9 _ - and a colon, by which a program
 * that did not see the value can recognise it; NULL: none. It names one acquisition: while a
 * lock of this key that another request acquired is on a majority of the nodes, the request is
 * not granted, of no kind, but ends with YOURS; at once, whatever wait_ms (behind another
 * waiter of this client: when it is the first of them). What attempts of this request left, or
 * fewer nodes have, does not count. It was granted before, or another program uses the key:
 * redlock_release_by_key() ends it, and the next request takes a new one. As others may release
 * the lock by its key, extending it puts it back on no node that has lost it.
 */
#define REDLOCK_IDEMPOTENCY_KEY_SIZE 22

/* Values that one redlock_release_by_key() deletes on a node. */
#define REDLOCK_RELEASED_MAX 16

/*
 * A handle for a lock that another process acquired and whose value it handed over (the command
 * does this between `redlock lock` and `redlock unlock`). Nothing is sent. Its validity is
 * unknown (redlock_remaining_ms() is 0) until redlock_extend() has succeeded. Freeing it, or
 * closing the client, does not give the lock up, and its loss deletes nothing: only
 * redlock_release() does. Extending it puts the key back on no node that lacks it: the process
 * that acquired it, or another that was given the value, may be releasing it.
 *
 * Without a request it is a lock of unknown kind, so that releasing it returns LOST when
 * another holds the name, even beside it. A request states what it was acquired with, and has
 * to state it right; with the kind, LOST is returned of a mutex only. Of it count: kind, slots,
 * owner (needed for REENTRANT), more_names, fence (the token that it was granted with, for
 * redlock_fence(); 0: none), data, max_extensions, and of the flags REDLOCK_RENEW (from the
 * first extension on, which sets for how long). The rest has to be zero (INVAL).
 *   INVAL     also: the value cannot be of that kind (the slot of a semaphore is part of it)
 */
REDLOCK_API int redlock_adopt(redlock *client, const char *name, const char *value,
                              const redlock_request *request, redlock_lock **out);

/*
 * Frees the handle of a held lock and leaves the lock as it is: on the nodes until its TTL
 * ends, or until a program that was given its value releases it through redlock_adopt(). An
 * acquire whose outcome has not been handed out is canceled, as by redlock_lock_free().
 */
REDLOCK_API void redlock_lock_leave(redlock_lock *lock);

/*
 * Deletes whatever holds `name` with a value that begins with this idempotency key: of any
 * kind, of whichever client, also what attempts that failed have left. The key is compared on
 * the node in the step that deletes, so nothing else goes. Of several names locked together
 * only this one goes. Wakes waiters, as a release does.
 *
 * A request with this key that waits has no value yet: it waits on, and may be granted
 * afterwards. Its place in the queue stays, because a waiter whose entry is taken out enters
 * again with its next heartbeat: only its own client can end the wait (redlock_cancel(), or the
 * end of the client). At most REDLOCK_RELEASED_MAX values of the key go on each node; a key
 * that names one acquisition has fewer, and a second call finds more.
 *
 * Only a program that knows that its holder wants the lock gone may call it; then it is safe at
 * any time. What a late acquire with this key sets afterwards stays: a key should be used for
 * one acquisition only.
 *
 *   OK        released: a node had it, and a majority of the nodes does not have it now. The
 *             report has in holder.votes how many nodes had it.
 *   EXPIRED   no node that answered had it, and a majority did: it was gone already
 *   NOQUORUM  (AUTH, PROTO) too few nodes answered; the report shows which did. What is left
 *             expires, or goes when this is called again.
 */
REDLOCK_API int redlock_release_by_key(redlock *client, const char *name,
                                       const char *idempotency_key, redlock_answer **out);
REDLOCK_API int redlock_start_release_by_key(redlock *client, const char *name,
                                             const char *idempotency_key, void *data,
                                             redlock_job *job);

/* ---- for experts: several quorums ------------------------------------------------------- */

#define REDLOCK_QUORUMS_MAX 64 /* quorums of one client */

/*
 * One of several quorums: nodes that decide by majority about the locks that live on them. The
 * name has 1 to REDLOCK_QUORUM_MAX characters of a-z 0-9 . _ - and is what decides which locks
 * those are: renamed, it is another quorum. An element of an array, it has no `size` and will
 * not grow.
 *
 * redlock_options.quorums, instead of `nodes`: up to REDLOCK_QUORUMS_MAX quorums over which the
 * locks are spread, for more of them a second than one quorum can give. Every lock lives in
 * exactly one, by a hash of its key and the names of the quorums; their order means nothing. No
 * address in two.
 *
 * EVERY client must have the same set of names, each with the same nodes. Two with different
 * sets can look for one lock in different quorums, and both hold it. docs/capacity.md has the
 * procedure for changing the set.
 */
typedef struct redlock_quorum {
    const char *name;
    /* As redlock_options.nodes. */
    const char *const *nodes;
    size_t node_count;
} redlock_quorum;

/*
 * In which quorum does `name` live? Its index, from 0, in the order they were configured;
 * always 0 without redlock_options.quorums. Sends nothing to a node. INVAL for what is no name,
 * FORKED.
 */
REDLOCK_API int redlock_quorum_of(redlock *client, const char *name);

/*
 * One quorum by itself, as a client for the calls of "looking at locks and nodes" and for
 * redlock_stats(); NULL past the last one. It is `client` itself when that has one quorum only.
 * It takes no locks (INVAL), and the jobs that it starts end in events of `client`. It belongs
 * to `client` and ends with it.
 */
REDLOCK_API redlock *redlock_member(redlock *client, size_t index);

/* ---- for experts: switches of redlock_options.flags -------------------------------------- */

/* Always use scripts, even where the server can do without. */
#define REDLOCK_NO_NATIVE 0x2
/* Of the profile CORRECTNESS the first point alone: the marker is read with every acquire. */
#define REDLOCK_STRICT 0x4
/*
 * Trust every node, however young or suspect: for tests, and for clusters whose operator
 * restarts nodes with a delay.
 */
#define REDLOCK_NO_GUARD 0x8

#ifdef __cplusplus
}
#endif

/* What the initialisers of structs are made of; C++ assigns the fields afterwards. */
#ifdef __cplusplus
#define REDLOCK_INIT(type, ...)                                                                \
    ([] {                                                                                      \
        static_assert(sizeof(#__VA_ARGS__) == 1, "in C++, assign the fields afterwards");      \
        type made = type();                                                                    \
        made.size = sizeof made;                                                               \
        return made;                                                                           \
    }())
#else
#define REDLOCK_INIT(type, ...)                                                                \
    {                                                                                          \
        .size = sizeof(type), __VA_ARGS__                                                      \
    }
#endif

#endif
