/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the calls of a client are made of. Those about locks are public and need no prototype
 * here: a handle knows its client, and a name its quorum (route.c).
 */
#ifndef RL_CLIENT_CALLS_H
#define RL_CLIENT_CALLS_H

#include "drive/drive.h"
#include "engine/survey.h"

/* ---- options.c: defaults, bounds, each mistake with its own complaint ---- */

/* Copies what the caller gave, zero where its header is older; flags are checked. */
int rl_options_read(const redlock_options *given, redlock_options *out);
/* Puts defaults in place of zeros and checks bounds, once nothing is missing any more. */
int rl_options_check(redlock_options *o);

/* ---- open.c: a client of one quorum ---- */

/* What a client is among several quorums; an only one has no name. */
struct rl_member_terms {
    struct rl_reader *reader; /* of the sharded client; NULL: one of its own */
    uint32_t index;
    const char *name;
    uint64_t set; /* fingerprint of all the names */
};

/* The options have been read. */
int rl_client_open(const redlock_options *o, const struct rl_member_terms *terms,
                   redlock **out);
/* The end of one that was closed, apart from the memory of the struct and of its handles. */
void rl_client_tear_down(redlock *client);
bool rl_same_place(const struct rl_url *a, const struct rl_url *b);

/* ---- request.c: what a call takes, each mistake with its own complaint ---- */

/* Structs that callers fill, and structs that are filled for them. */
int rl_struct_read(const char *what, const void *given, size_t given_size, void *out,
                   size_t known_size);
int rl_struct_fill(const char *what, void *out, const void *known, size_t known_size);

int rl_request_read(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *given, redlock_request *out, struct rl_names *names);
/* The arguments of redlock_adopt(). */
int rl_adoption_read(redlock *client, const char *name, const redlock_request *given,
                     redlock_request *out, struct rl_names *names);
/* Does anything drive the client, so that REDLOCK_RENEW renews? */
int rl_renewal_check(redlock *client);
int rl_names_read(const redlock *client, const char *name, const redlock_request *r,
                  struct rl_names *out);

/* Do the prefix and this name make a key of those that stand beside locks? */
bool rl_is_reserved(const redlock *client, const char *name, size_t length);
int rl_name_check(const redlock *client, const char *name, size_t *length);
int rl_tag_check(const char *tag);
int rl_ttl_check(const redlock *client, int64_t ttl_ms);

/* ---- route.c: which of several quorums it is for ---- */

/* The index of the member where a name lives. */
size_t rl_quorum_of(const struct rl_reader *reader, const char *name, size_t name_size);
/*
 * Turn a sharded client into the member that a request, or a job, is for. A member by itself
 * takes no request; an ordinary client takes all of them itself.
 */
int rl_route(redlock **client, const char *name, const redlock_request *request);
int rl_route_job(redlock **client, const char *name);

/* ---- jobs.c: with a blocked caller or started: all take the same way ---- */

/* Are the terms valid? The client need not be the one that the job runs on. */
int rl_job_check(const redlock *client, const struct rl_job_terms *terms);
/* NULL: out of memory. */
struct rl_job *rl_job_new(const struct rl_job_terms *terms);
/*
 * Starts the job and waits. OK: *out is the caller's, for redlock_answer_free(); out may be
 * NULL. Else the job is freed, and the thread's failure report is set.
 */
int rl_job_run(redlock *client, struct rl_job *job, redlock_answer **out);

/* query.c, list.c, audit.c */
extern const struct rl_job_kind rl_query_kind;
extern const struct rl_job_kind rl_admission_kind;
extern const struct rl_job_kind rl_list_kind;
extern const struct rl_job_kind rl_audit_kind;

/* ---- report.c: what each node did for an operation, with the text of its reply ---- */

void rl_report_lock(const redlock_lock *lock, redlock_report *out);
/*
 * info: what the answers amount to together; NULL: too few answered, or nothing was looked at.
 */
void rl_report_survey(const redlock *client, const struct rl_survey *survey,
                      const redlock_info *info, redlock_report *out);
/*
 * redlock_failure_report() of this thread: the room to be filled by the caller, as by
 * rl_report_lock(), or a copy; NULL: nothing was sent to a node.
 */
redlock_report *rl_failure_report_room(void);
void rl_failure_report_set(const redlock_report *report);
void rl_report_clock(const struct rl_guard *guard, redlock_node_info *out);

#endif
