/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests that decide whether a node may vote: its identity, its age, its marker and its
 * clock (core/guard.c judges the answers). They are sent in the greeting, so in front of the
 * first request of a connection, and again while it lives.
 */
#ifndef RL_PROTOCOL_VETTING_H
#define RL_PROTOCOL_VETTING_H

#include "base/slice.h"
#include "protocol/session.h"

/* Requests the facts and the marker. -1: out of memory. */
int rl_vetting_check(struct rl_session *session, int64_t now_ns);

/* Requests the time, unless that request is already out. */
int rl_vetting_sample_clock(struct rl_session *session, int64_t now_ns);

/* Reads which set the node belongs to (G8); and writes it where the node has none. */
int rl_vetting_request_set(struct rl_session *session);
int rl_vetting_restore_set(struct rl_session *session, const char *set);
/* Its answer has come. */
void rl_vetting_note_set(struct rl_session *session, struct rl_slice set);

/* Strict: the node's identity and its marker, behind the grants that need them (G2). */
int rl_vetting_attestation(struct rl_session *session);

/* Since when the server is what it is: notes it, or admits the server once it is old enough. */
int rl_vetting_stamp(struct rl_session *session, int64_t now_ns);
/* Strict: begin the probation, turn it into a marker, take the marker away (G2, G6). */
int rl_vetting_probe(struct rl_session *session, const char *nonce, int64_t now_ns);
int rl_vetting_admit(struct rl_session *session, int64_t now_ns);
int rl_vetting_expel(struct rl_session *session);
/*
 * Does a Sentinel watch this node? Where the command is not allowed, none is seen
 * (has_sentinel).
 */
int rl_vetting_request_sentinel(struct rl_session *session);

/* Understands a reply. False: that was no answer to the request. */
bool rl_vetting_answer(struct rl_session *session, enum rl_step step,
                       const struct rl_reply *reply, int64_t now_ns);

#endif
