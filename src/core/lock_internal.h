/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the lock's state machine share: lock.c, acquire.c, hold.c, release.c. */
#ifndef RL_CORE_LOCK_INTERNAL_H
#define RL_CORE_LOCK_INTERNAL_H

#include "core/lock.h"

/* acquire.c: from the first attempt to the hold */
void rl_acquire_begin(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out);
void rl_acquire_answer(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_actions *out);
void rl_acquire_timer(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out);
void rl_acquire_cancel(struct rl_lock *lock, struct rl_actions *out);
void rl_acquire_node_out(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out);
void rl_acquire_abandon(struct rl_lock *lock, const struct rl_event *event,
                        struct rl_actions *out);

/* hold.c: extension, renewal, loss */
void rl_hold_begin(struct rl_lock *lock, int64_t deadline_ns, int64_t start_ns);
/* When the loss of a hold with this deadline is told: somewhat before. */
int64_t rl_hold_told_ns(const struct rl_lock *lock, int64_t deadline_ns);
void rl_hold_extend(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_hold_answer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_hold_timer(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_hold_node_out(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out);
void rl_hold_abandon(struct rl_lock *lock, const struct rl_event *event,
                     struct rl_actions *out);
/* After a loss: takes back what remains, once the promised end has come. */
void rl_hold_sweep(struct rl_lock *lock, int64_t now_ns, struct rl_actions *out);
int64_t rl_hold_timer_ns(const struct rl_lock *lock);

/* release.c: giving back, and finding out what became of a lost key */
void rl_release_begin(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out);
void rl_release_answer(struct rl_lock *lock, const struct rl_event *event,
                       struct rl_actions *out);
void rl_release_timer(struct rl_lock *lock, const struct rl_event *event,
                      struct rl_actions *out);

/* lock.c */
uint16_t rl_all_nodes(const struct rl_lock *lock);
uint8_t rl_count_nodes(uint16_t nodes);
void rl_send(struct rl_actions *out, enum rl_op op, uint16_t nodes, uint32_t round);
void rl_finish(struct rl_actions *out, int error);
void rl_round_begin(struct rl_lock *lock, int64_t now_ns, int64_t timeout_ns);
void rl_note_answer(struct rl_lock *lock, uint8_t node, struct rl_answer answer,
                    int64_t rtt_ns);
/* Nodes that have not voted vote no, except those that are still warming up. */
void rl_time_out_silent_nodes(struct rl_lock *lock, const struct rl_event *event);
uint8_t rl_votes_of(const struct rl_lock *lock, enum redlock_vote vote);
int rl_no_quorum_error(const struct rl_lock *lock);

#endif
