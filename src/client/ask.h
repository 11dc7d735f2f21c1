/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions to the nodes of one client, blocking or not: all take the same way. A blocking call is a
 * question whose asker copies the answer to where the caller wants it.
 */
#ifndef RL_CLIENT_ASK_H
#define RL_CLIENT_ASK_H

#include "drive/question.h"

enum rl_ask {
    RL_ASK_QUERY, /* these three are about a name */
    RL_ASK_BREAK,
    RL_ASK_RELEASE_TAGGED,
    RL_ASK_PING,
    RL_ASK_ADMIT,
    RL_ASK_LIST,
    RL_ASK_AUDIT,
};

/* What the caller asks for. The texts are its own. */
struct rl_question_terms {
    enum rl_ask ask;
    const char *name;
    const char *holder;     /* BREAK: its mark; RELEASE_TAGGED: its tag */
    int64_t ttl_ms;         /* AUDIT */
    redlock_check_fn *each; /* AUDIT: gets the checks before the asker, with its data */
    struct rl_asker asker;
};

/* Are the terms such as can be asked? The client need not be the one that is asked. */
int rl_question_check(const redlock *client, const struct rl_question_terms *terms);
/* To be started. NULL: out of memory, which is explained. */
struct rl_question *rl_question_new(const struct rl_question_terms *terms);

int rl_client_ask(redlock *client, const struct rl_question_terms *terms, bool blocks);

#endif
