/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/ask.h"

#include <string.h>

#include "client/audit.h"
#include "client/list.h"
#include "client/query.h"
#include "client/request.h"
#include "drive/detail.h"

static int check_mark(const char *mark)
{
    size_t length = mark ? strnlen(mark, REDLOCK_MARK_SIZE + 1) : 0;

    if (length == REDLOCK_MARK_SIZE && strspn(mark, "0123456789abcdef") == length)
        return REDLOCK_OK;
    return rl_detail(REDLOCK_INVAL,
                     "a mark has %d hex digits; it is what redlock_query() tells of a holder",
                     REDLOCK_MARK_SIZE);
}

int rl_question_check(const redlock *client, const struct rl_question_terms *terms)
{
    size_t name_size = 0;
    int error = rl_client_check(client);

    if (!error && terms->ask <= RL_ASK_RELEASE_TAGGED)
        error = rl_name_check(client, terms->name, &name_size);
    if (!error && terms->ask == RL_ASK_BREAK)
        error = check_mark(terms->holder);
    if (!error && terms->ask == RL_ASK_RELEASE_TAGGED)
        error = rl_tag_check(terms->holder);
    if (!error && terms->ask == RL_ASK_AUDIT)
        error = rl_ttl_check(client, terms->ttl_ms);
    if (!error && terms->ask == RL_ASK_AUDIT && !terms->each)
        error = rl_detail(REDLOCK_INVAL, "there is no function to tell the checks to");
    return error;
}

struct rl_question *rl_question_new(const struct rl_question_terms *terms)
{
    struct rl_question *question;

    switch (terms->ask) {
    case RL_ASK_LIST:
        question = rl_list_new();
        break;
    case RL_ASK_AUDIT:
        question = rl_audit_new(terms->ttl_ms, terms->each);
        break;
    default:
        question = rl_query_new(terms);
    }
    if (question)
        question->asker = terms->asker;
    else
        rl_detail(REDLOCK_NOMEM, "out of memory");
    return question;
}

int rl_client_ask(redlock *client, const struct rl_question_terms *terms, bool blocks)
{
    struct rl_question *question;
    int error = rl_question_check(client, terms);

    if (error)
        return error;
    question = rl_question_new(terms);
    if (!question)
        return REDLOCK_NOMEM;
    return blocks ? rl_question_wait(client, question) : rl_question_start(client, question);
}
