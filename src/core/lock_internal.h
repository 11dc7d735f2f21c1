/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the lock's state machine share, file by file. */
#ifndef RL_CORE_LOCK_INTERNAL_H
#define RL_CORE_LOCK_INTERNAL_H

#include "core/lock.h"

/* One event for a lock that is in a state for it. */
typedef void rl_step_fn(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out);

/* acquire.c: from the first attempt to the hold */
rl_step_fn rl_acquire_begin, rl_acquire_answer, rl_acquire_timer;
rl_step_fn rl_acquire_node_out, rl_acquire_sets_known;
void rl_acquire_cancel(struct rl_lock *lock, struct rl_actions *out);
/* One attempt: a fresh value (A1) to every node. */
rl_step_fn rl_acquire_attempt, rl_acquire_new_term;

/* failure.c: after an attempt that failed */
rl_step_fn rl_acquire_fail;
/* The end of the wait in the middle of an attempt. */
void rl_acquire_cut_short(struct rl_lock *lock, struct rl_actions *out);
/* The attempt under way is the last, and is rolled back. */
void rl_acquire_quit(struct rl_lock *lock, struct rl_actions *out, int error);
/* The end of the wait, or of the chance to win, between attempts. */
void rl_acquire_give_up(struct rl_lock *lock, struct rl_actions *out, int error);
int rl_acquire_final_error(const struct rl_lock *lock);
/* Too few nodes answered: another attempt after a random delay (A9). */
void rl_acquire_back_off(struct rl_lock *lock, const struct rl_event *event);

/* token.c: which token the grants of a quorum amount to */
void rl_token_agree(struct rl_lock *lock, const struct rl_event *event, int64_t end_ns,
                    struct rl_actions *out);
rl_step_fn rl_token_aligned, rl_token_straggler;
void rl_token_note_owners(struct rl_lock *lock, uint8_t node, int64_t token);

/* queue.c: waiting for a lock that another holds */
void rl_queue_park(struct rl_lock *lock);
/* Nothing is tried: requests a place in the queue. */
void rl_queue_begin(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out);
rl_step_fn rl_queue_unpark, rl_queue_join, rl_queue_answer, rl_queue_timer, rl_queue_wake;
/* A refusal in a round of a queued lock: sends again where the lock was freed meanwhile. */
rl_step_fn rl_queue_refused;
/* May a lost round still be won, because nodes that refused may become free at any moment? */
bool rl_queue_has_grace(const struct rl_lock *lock, int64_t now_ns);
void rl_queue_forget(struct rl_lock *lock);
/* The lock is held, and was waited for: the places that remain in the queues are given up. */
void rl_queue_served(struct rl_lock *lock, struct rl_actions *out);
/* The same for a node that answered later. */
rl_step_fn rl_queue_straggler;

/* hold.c: a lock that is held, until it is lost or given back */
/* Acquired: held from the start of the round that won. */
void rl_hold_begin(struct rl_lock *lock, int64_t deadline_ns, struct rl_actions *out);
/* When the loss of a hold with this deadline is reported: somewhat before it is. */
int64_t rl_hold_loss_notice_ns(const struct rl_lock *lock, int64_t deadline_ns);
/* May other clients renew this value, or end it? */
bool rl_hold_is_shared(const struct rl_lock *lock);
void rl_hold_lose(struct rl_lock *lock, int64_t now_ns, enum rl_loss loss,
                  struct rl_actions *out);
rl_step_fn rl_hold_answer, rl_hold_timer, rl_hold_node_out;
/* The term of an elected vote, or its server's incarnation, has changed (E8, E9). */
void rl_hold_new_term(struct rl_lock *lock, const struct rl_event *event);
/* The incarnation of the server of the new term is known (E9). */
void rl_hold_succeed(struct rl_lock *lock, const struct rl_event *event);
/* After a loss: takes back what remains, once the promised end has come. */
void rl_hold_sweep(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out);
/* The owner never learnt of the hold: ends it as a failed acquisition, on every
 * node at once. */
rl_step_fn rl_hold_take_back;

/* release.c: giving back, and finding out what became of a lost key */
rl_step_fn rl_release_begin, rl_release_answer, rl_release_timer;

/* renew.c: extension, repair, the watchdog's renewals */
#define RL_RENEWALS_PER_TTL 3
rl_step_fn rl_renew_begin, rl_renew_timer;
/* The votes on an extension have changed. */
void rl_renew_decide(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out);
/* Have so many nodes of the last extension missed our key that no majority can have it? */
bool rl_renew_proves_loss(const struct rl_lock *lock);
void rl_renew_lost(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out);
/* Puts the key back on nodes that an extension, just won, found without it. */
void rl_renew_repair(struct rl_lock *lock, uint16_t nodes, struct rl_actions *out);

/* lock.c */
extern const struct rl_answer rl_no_answer;
void rl_send(struct rl_actions *out, enum rl_op op, uint16_t nodes, uint32_t round);
void rl_finish(struct rl_actions *out, int error);
void rl_round_begin(struct rl_lock *lock, int64_t now_ns, int64_t timeout_ns);
/* rl_no_answer: a request to the node is under way, or is sent once more. */
void rl_note_answer(struct rl_lock *lock, uint8_t node, const struct rl_answer *answer,
                    int64_t rtt_ns);
/* Nodes that have not voted vote no, except those that are still warming up. */
void rl_time_out_silent_nodes(struct rl_lock *lock, const struct rl_event *event);
/* The nodes that gave this vote, a bit each; how many. */
uint16_t rl_nodes_of(const struct rl_lock *lock, enum redlock_vote vote);
uint8_t rl_votes_of(const struct rl_lock *lock, enum redlock_vote vote);
int rl_no_quorum_error(const struct rl_lock *lock);
/* How long nodes have for a round of this lock. */
int64_t rl_round_timeout_ns(const struct rl_lock *lock);
static inline int64_t rl_earlier(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

#endif
