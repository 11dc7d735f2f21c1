/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where does a lock live, when there are several quorums? Every quorum draws a weight for the
 * key, and the largest has it (rendezvous hashing). The weight depends on the name of that
 * quorum and on the key alone: the order of the quorums means nothing, one that is added takes
 * its share of the keys from all others, one that is removed leaves its share to them, and no
 * other key moves.
 *
 * All clients of all versions have to agree, in whatever language they are written: two that do
 * not would both hold a lock. So this never changes:
 *
 *     hash(bytes)          FNV-1a of 64 bits
 *     mix(x)               x ^= x >> 30; x *= 0xbf58476d1ce4e5b9;
 *                          x ^= x >> 27; x *= 0x94d049bb133111eb; x ^= x >> 31
 *     weight(quorum, key)  mix(hash(tag(key)) ^ mix(hash(quorum)))
 *
 * tag(key) is what stands between the first { and the next } behind it, if that is not empty,
 * else the whole key, prefix included: as Redis Cluster does it. Of two equal weights the
 * quorum with the name that sorts first has the key. tests/unit/rendezvous.c has vectors.
 *
 * FNV-1a alone spreads badly: keys that differ in their last byte get hashes that differ in few
 * bits. mix, the finaliser of SplitMix64, lets every bit of its argument change each bit of the
 * result with probability 1/2.
 */
#ifndef RL_CORE_RENDEZVOUS_H
#define RL_CORE_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* What a quorum's name comes to: computed once. */
uint64_t rl_rendezvous_quorum(struct rl_slice name);

/* What a key comes to, whatever the quorums are. */
uint64_t rl_rendezvous_key(struct rl_slice key);

uint64_t rl_rendezvous_weight(uint64_t quorum, uint64_t key);

/* The part of the key that counts. */
struct rl_slice rl_rendezvous_tag(struct rl_slice key);

#endif
