/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit: what it gathers (audit.c) and judges (checks.c). */
#ifndef RL_CLIENT_AUDIT_H
#define RL_CLIENT_AUDIT_H

#include "client/check_list.h"
#include "core/audit.h"
#include "core/kind.h"
#include "drive/client.h"
#include "engine/survey.h"

/* The first of the kinds that are tried apart: the mutex is what the user's rights are tried with. */
#define RL_AUDIT_FIRST_KIND (REDLOCK_MUTEX + 1)

/* A node's fence counters. */
struct rl_audit_counters {
    bool complete;                  /* all keys were looked at */
    uint32_t bad_count;             /* counters that no clock can have reached */
    char example[REDLOCK_TEXT_MAX]; /* the key of one of them */
};

/*
 * What an audit needs once its turn has come. It goes through phases, each with a lock of its own
 * that no other client uses, and asks one question after another.
 */
struct rl_audit {
    redlock *client;
    int64_t ttl_ms;
    int phase; /* of audit.c */
    int step;  /* questions of this phase that were answered */
    uint8_t kind;
    int64_t settled_by_ns;             /* how long subscriber connections may take to come up */
    struct rl_check_list *checks;      /* the verdicts */
    struct rl_survey ping;             /* of the last ping */
    int32_t rtt_us[REDLOCK_NODES_MAX]; /* the quickest; -1: no answer */
    struct rl_survey rights[3];        /* acquire, extend, release */
    struct rl_survey fencing[3];       /* acquire with a token, release, forget the counter */
    struct rl_survey search;           /* for counters: */
    struct rl_audit_counters counters[REDLOCK_NODES_MAX];
    struct rl_survey kinds[RL_KIND_COUNT][3]; /* acquire, extend, release; not of the mutex */
    struct rl_survey queue[3];                /* a ticket, acquire from the queue, release */
    struct rl_survey look;                    /* the holder */
    struct rl_survey meanwhile;               /* pings until the subscribers are up */
    bool woken[REDLOCK_NODES_MAX];            /* the node lets us subscribe */
    struct rl_audit_node nodes[REDLOCK_NODES_MAX];
    char refusal[REDLOCK_NODES_MAX][REDLOCK_TEXT_MAX]; /* in the node's words, of a right */
};

/* NULL: out of memory. */
struct rl_question *rl_audit_new(int64_t ttl_ms);

/* counters.c: looks at every fence counter of every node, `search` by `search`. */
void rl_audit_begin_counters(struct rl_audit *audit);
/* After one: is there more to look at? */
bool rl_audit_heard_counters(struct rl_audit *audit);

/* Says of everything that was gathered what it means. */
void rl_audit_judge(const struct rl_audit *audit);

#define RL_SENTENCE_MAX 256

#define RL_AUDIT_ALL_NODES UINT8_MAX

/*
 * One verdict on a node, or on all of them together; copied. What to do about it follows from
 * the reason, unless a remedy is given.
 */
void rl_audit_say(const struct rl_audit *audit, uint8_t node, const char *name, int verdict,
                  enum redlock_reason reason, const char *text, const char *remedy);
/* Nothing is wrong, and nothing has to be done. */
void rl_audit_pass(const struct rl_audit *audit, uint8_t node, const char *name,
                   const char *text);

/* check_rights.c: what the user of the audit may do on a node. */
void rl_check_rights(const struct rl_audit *audit, uint8_t i, uint64_t doubts);

#endif
