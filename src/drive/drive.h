/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this room do for each other, and for the calls above. */
#ifndef RL_DRIVE_DRIVE_H
#define RL_DRIVE_DRIVE_H

#include "base/slice.h"
#include "core/trace.h"
#include "drive/client.h"
#include "drive/detail.h"

/* ---- process.c: forked children must not use the client of their parent ---- */

/*
 * A number that differs between a process and its forked children, without a system call per
 * check, and is never 0. It also notices a bare clone(2) that runs no atfork handlers: the
 * number lives in a page that the kernel wipes in the child.
 */
uint32_t rl_process_stamp(void);

/* ---- entry.c: what every call checks first, and the mutex ---- */

/*
 * May this process use the client, and this thread: is it not inside redlock_options.notify?
 * Without the mutex.
 */
int rl_client_check(const redlock *client);
bool rl_client_is_forked(const redlock *client);
/* The same, and that it is open. On success the mutex is held. */
int rl_client_enter(redlock *client);
/*
 * For what can be read of a handle, also when its client has been closed, and by notify: as
 * rl_client_enter().
 */
int rl_lock_enter(const redlock_lock *lock);
/*
 * Gives the mutex back, and frees the struct if neither its owner nor a handle needs it any
 * more.
 */
void rl_client_leave(redlock *client);

/*
 * ---- iteration.c: one iteration waits, handles what came, adds events, sends what is due ----
 */

/* The mutex is held, and no other thread drives. */
void rl_iterate(redlock *client, int timeout_ms);
/*
 * Writes what has been started. The mutex is held; with an I/O thread by any thread, else no
 * thread drives.
 */
void rl_flush(redlock *client);

/* What is due by now: deadlines, reconnects, renewals. The mutex is held. */
void rl_tick(redlock *client, int64_t now_ns);

/*
 * Makes the driver look at what has been started, or the descriptor readable where there is
 * none.
 */
void rl_wake(redlock *client);

/* Is this thread inside redlock_options.notify? */
bool rl_is_notifying(void);

/* ---- warnings.c: findings about nodes, each reported once, as an event WARNING ---- */

/* Adds an event for each that is new. The mutex is held. */
void rl_warn_of_findings(redlock *client);

/*
 * ---- thread.c: the I/O thread, and the reader that relieves it ----
 *
 * A program that reads events on a thread of its own would pay for two changes of thread in
 * every drain: one to learn of the events, one to have what it started sent. So a caller of
 * redlock_next() that has nothing to read drives while it waits, and the I/O thread stands by.
 * It takes over again when the reader has been away for two milliseconds, and at once when
 * another thread starts something or is blocked in a call.
 */

int rl_thread_start(redlock *client);
/* The reader is about to wait: may it drive? The mutex is held. */
bool rl_thread_relieve(redlock *client);
/* The reader has run an iteration and may stay away now. The mutex is held. */
void rl_thread_watch(redlock *client);
/* No thread drives, and something has to be done now. The mutex is not needed. */
void rl_thread_summon(redlock *client);
/* The mutex is held, and is again afterwards. */
void rl_thread_stop(redlock *client);

/*
 * ---- members.c: driving the members of several quorums without I/O threads ----
 *
 * A blocked call runs the iterations for all callers, until its own is finished. Of several
 * quorums it drives the one where its lock lives; while it waits there, it looks at the
 * descriptors of all, and runs an iteration of each other member that is ready and has no
 * driver of its own. So locks of other quorums are renewed meanwhile, as those of one quorum
 * are.
 */

/*
 * One iteration of every member that has something to do, for redlock_next(). False: a signal.
 */
bool rl_members_iterate(const struct rl_reader *reader, int timeout_ms);
/*
 * One of every member without a driver, so that nothing is sent on a connection that has ended.
 */
void rl_members_catch_up(const struct rl_reader *reader);
/* As rl_reactor_wait() of this member; the others are served meanwhile. No mutex is held. */
int rl_members_wait(redlock *member, struct epoll_event *events, int timeout_ms);

/*
 * ---- next.c: redlock_next() and redlock_fd(), of one client or of several quorums ----
 *
 * Without an I/O thread the caller drives: an iteration adds events, the drain that follows
 * returns them one by one, and its end writes what was started meanwhile. With an I/O thread
 * the caller drives in its place, where it can, or waits for the bell, which I/O threads ring.
 * redlock_fd() is the bell, and without threads an epoll set of the bell and of what an
 * iteration waits for: one set would not do, as a thread that is blocked in a call and drives
 * would be woken by events which are not for it.
 */

/* NULL with errno. */
struct rl_reader *rl_reader_new(void);
void rl_reader_free(struct rl_reader *reader);
/* Events wait. */
void rl_reader_ring(struct rl_reader *reader);

/*
 * What a thread starts while it drains. With more events to read it is written later, with the
 * rest; with the last one the thread writes all of it itself. Else a driver is woken.
 */
enum rl_drain { RL_NO_DRAIN, RL_DRAIN_GOES_ON, RL_DRAIN_ENDS };
enum rl_drain rl_reader_drain(const struct rl_reader *reader);

/* ---- handles.c: allocating them, the client's lists of them, freeing them ---- */

/* Names as they are requested: sorted, each once. Points to the caller's strings. */
struct rl_names {
    size_t count;
    struct rl_slice name[REDLOCK_NAMES_MAX];
    struct rl_slice owner; /* REENTRANT */
    struct rl_slice tag;   /* of its values, as the label; of size 0: none */
    struct rl_slice label;
};

/* NULL: out of memory. */
redlock_lock *rl_lock_new(redlock *client, const struct rl_names *names,
                          const struct rl_lock_terms *terms);
/* For one name; NULL: for none. */
redlock_lock *rl_lock_new_for(redlock *client, const char *name,
                              const struct rl_lock_terms *terms);
void rl_lock_discard(redlock *client, redlock_lock *lock, bool give_up);

/*
 * The client's own decision to release or to stop trying, because it is closed or the owning
 * thread has ended. A caller that waits for an operation of this lock gets CANCELED.
 */
void rl_give_up(redlock *client, redlock_lock *lock, int64_t now_ns);

/*
 * ---- bound.c: locks that end with the thread that acquired them (REDLOCK_BOUND) ----
 *
 * Each thread that binds locks has a struct with an eventfd. When the thread ends, a destructor
 * marks it and signals the eventfd, which every client with locks of that thread watches; the
 * driver of the client then releases what was left behind. The ending thread takes no client's
 * mutex, so it does not matter what else it was doing.
 */

struct rl_thread;

/* The calling thread's own; NULL: no memory or descriptor is left. */
struct rl_thread *rl_thread_own(void);
/* The mutex is held. -1: no memory, or the thread cannot be watched. */
int rl_bind(redlock *client, redlock_lock *lock, struct rl_thread *thread);
/* For a lock that is bound. */
void rl_unbind(redlock *client, redlock_lock *lock);
/* A thread has ended: gives up what is bound to it. */
void rl_release_bound(redlock *client, int64_t now_ns);

/* ---- explain.c: what redlock_detail() returns for an operation that the nodes decided ---- */

int rl_explain(const redlock_lock *lock, enum rl_operation operation, int error);
/* The holder that an acquire waits for or was refused for. False: no node has reported one. */
bool rl_lock_holder(const redlock_lock *lock, redlock_holder *out);

/*
 * ---- trace.c: a client's trace in a file (redlock_options.trace_file) ----
 *
 * Lines are gathered in memory and appended with one write, so that several clients may use one
 * file. What the file does not take, because the disk or a pipe is full, is kept for the next
 * write; lines for which there is no room then are dropped and counted. No lock waits for them.
 */

/* For this client. OK, with client->engine.trace; or INVAL, NOMEM with rl_detail(). */
int rl_trace_open(redlock *client, const char *path);
/* Appends what has been gathered. */
void rl_trace_flush(struct rl_trace *trace);
/* The same, and the end; in a child of the process only the end. NULL is fine. */
void rl_trace_close(struct rl_trace *trace);

#endif
