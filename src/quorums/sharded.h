/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several quorums behind one client. The caller has a *sharded client*, of which only prefix,
 * stamp, mutex and reader are used. The reader (drive/events.h) has an ordinary client per
 * quorum, the *members*, which share it. A call about one lock goes straight to the member
 * where that lives (core/rendezvous.h) and takes no mutex but that member's: members share
 * nothing else, which is why they scale. Handles belong to their member.
 *
 * With REDLOCK_THREAD each member has its thread. Without, the reader has an epoll set with the
 * members' descriptors in it. The members stay as they are between open and close, so they need
 * no lock.
 */
#ifndef RL_QUORUMS_SHARDED_H
#define RL_QUORUMS_SHARDED_H

#include "client/calls.h"

/* sharded_open.c */
int rl_sharded_check(const redlock_options *o);
uint64_t rl_sharded_fingerprint(const redlock_options *o);
int rl_sharded_open(const redlock_options *o, redlock **out);

/*
 * gather.c: a job for all quorums, carried out by the first member; NULL: out of memory. It
 * sends nothing itself. Its *parts* are jobs of the members, begun at once. A part belongs
 * to its member's driver until it has ended; the last one to end submits to the first
 * member, which makes one answer of all. So no thread ever holds two mutexes.
 */
struct rl_job *rl_gather_new(const struct rl_reader *reader, const struct rl_job_terms *terms);

#endif
