/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to the nodes of one client, blocking or as jobs: all take the same way. */
#ifndef RL_CLIENT_ASK_H
#define RL_CLIENT_ASK_H

#include "drive/question.h"

enum rl_ask {
    RL_ASK_QUERY, /* these three are about a name */
    RL_ASK_BREAK,
    RL_ASK_RELEASE_BY_KEY,
    RL_ASK_PING,
    RL_ASK_ADMIT,
    RL_ASK_LOOK_AT_ADMISSION,
    RL_ASK_LIST,
    RL_ASK_AUDIT,
};

/* What the caller asks for. The texts are its own. */
struct rl_question_terms {
    enum rl_ask ask;
    const char *name;
    const char *holder; /* BREAK: its fingerprint; RELEASE_BY_KEY: its idempotency key */
    int64_t ttl_ms;     /* AUDIT */
};

/* Are the terms such as can be asked? The client need not be the one that is asked. */
int rl_question_check(const redlock *client, const struct rl_question_terms *terms);
/* NULL: out of memory. */
struct rl_question *rl_question_new(const struct rl_question_terms *terms);

/*
 * Asks and waits. OK: *out is the caller's, for redlock_answer_free(); out may be NULL. Else
 * the question is freed, and the thread's failure report is set.
 */
int rl_client_ask(redlock *client, struct rl_question *q, redlock_answer **out);

#endif
