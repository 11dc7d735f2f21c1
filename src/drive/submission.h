/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a public call is carried out.
 *
 * Every public call that starts or ends something is a submission: a function that runs with
 * the mutex held. One driver at a time reads the sockets, runs timers, carries out the
 * submissions of blocked callers, and writes: the I/O thread, the caller of redlock_next(), or
 * one of the blocked callers. Only a thread that drains events also writes what it started
 * (rl_flush()).
 *
 *   rl_call_wait()  A blocking call puts its submission into the inbox, without the mutex, and
 *                   sleeps until the driver has the outcome. Without an I/O thread the caller
 *                   drives as soon as no other thread does, and hands over to another blocked
 *                   caller when its own call is finished.
 *   rl_call_now()   A call that does not block has its submission carried out at once, by its
 *                   own thread with the mutex held, and wakes the driver, which writes what
 *                   came of it.
 *
 * A blocked caller sleeps on a word of its own and learns from it that all went well. It does
 * not queue for the mutex that the driver still holds, unless there is more to read: an error
 * to explain, a report, a loss. That is two futex calls an operation, however many threads
 * share the client.
 */
#ifndef RL_DRIVE_SUBMISSION_H
#define RL_DRIVE_SUBMISSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "redlock.h"

struct rl_submission {
    struct rl_submission *next;
    void (*carry_out)(redlock *client, struct rl_submission *submission);
};

enum rl_call_state {
    RL_CALL_AWAKE,
    RL_CALL_ASLEEP,
    RL_CALL_DRIVES, /* no other thread drives: it is this caller's turn */
    RL_CALL_FINISHED,
};

/* A call and its outcome; on the stack of the thread that makes it. */
struct rl_call {
    struct rl_submission submission; /* first */
    atomic_uint state;               /* enum rl_call_state; what the caller sleeps on */
    int result;                      /* once it is FINISHED */
    int64_t deadline_ns; /* of an acquisition that succeeded: the end of its validity then */
    bool is_listed;      /* among the callers that could drive */
    LIST_ENTRY(rl_call) callers;
};

LIST_HEAD(rl_callers, rl_call);

/* Waits for the outcome. The mutex is not held. */
int rl_call_wait(redlock *client, struct rl_call *call);
/* The mutex is not held. Returns what carry_out() left in `result`. */
int rl_call_now(redlock *client, struct rl_call *call);

/* Gives the caller the outcome. Its stack, and so the call, may be gone afterwards. */
void rl_call_finish(struct rl_call *call, int result);

/* Puts a submission into the inbox. The mutex is not needed. */
void rl_submit(redlock *client, struct rl_submission *submission);
/* For the driver: carries out all submissions, in the order in which they came. */
void rl_submissions_carry_out(redlock *client);

/* Is there an I/O thread that carries out the submissions of this process? */
bool rl_submits_to_thread(const redlock *client);

/* This thread does not drive any more: a blocked caller takes over. The mutex is held. */
void rl_stop_driving(redlock *client);

#endif
