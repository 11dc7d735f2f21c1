/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit: what it gathers (audit.c) and judges (checks.c). */
#ifndef RL_CLIENT_AUDIT_H
#define RL_CLIENT_AUDIT_H

#include "core/audit.h"
#include "core/kind.h"
#include "drive/client.h"
#include "engine/survey.h"

/* The first kind that is tried apart: the user's rights are tried with the mutex. */
#define RL_AUDIT_FIRST_KIND (REDLOCK_MUTEX + 1)

/* A node's fence counters. */
struct rl_audit_counters {
    bool complete;                  /* all keys were looked at */
    uint32_t bad_count;             /* counters that no clock can have reached */
    char example[REDLOCK_TEXT_MAX]; /* the key of one of them */
};

/*
 * What an audit needs once it is sent. It goes through phases, each with a lock of its
 * own that no other client uses, and makes one survey after another.
 */
struct rl_audit {
    redlock *client;
    struct rl_job *job; /* whose work it is, and to which the verdicts go */
    int phase;          /* of audit.c */
    int step;           /* surveys of this phase that are complete */
    uint8_t kind;
    int64_t settled_by_ns;             /* how long subscriber connections may take to come up */
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

/* Judges everything that was gathered. */
void rl_audit_judge(const struct rl_audit *audit);

#define RL_SENTENCE_MAX 256

/* One check of a node, or of all of them together, until its verdict is known. */
struct rl_check {
    const struct rl_audit *audit;
    const struct rl_engine *engine;
    const char *name;
    uint8_t i;                    /* the node */
    const struct rl_node *node;   /* NULL: all of them, and so for what follows */
    const struct rl_facts *facts; /* about it */
    uint64_t findings;            /* RL_FINDING() each */
};

/*
 * The verdict, with what was found. What to do about it follows from the reason, unless a
 * remedy is given.
 */
void rl_check_report(const struct rl_check *c, enum redlock_verdict verdict,
                     enum redlock_reason reason, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#define RL_SAY(check, VERDICT, REASON, ...)                                                    \
    rl_check_report(check, REDLOCK_CHECK_##VERDICT, REDLOCK_REASON_##REASON, NULL, __VA_ARGS__)
/* Nothing is wrong, and nothing has to be done. */
#define RL_PASS(check, ...) RL_SAY(check, OK, NONE, __VA_ARGS__)

/* check_rights.c: what the user of the audit may do on a node. */
void rl_check_rights(const struct rl_check *c);
void rl_check_fencing(const struct rl_check *c);
void rl_check_waiting(const struct rl_check *c);
void rl_check_kinds(const struct rl_check *c);

#endif
