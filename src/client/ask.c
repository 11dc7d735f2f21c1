/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/ask.h"

#include <string.h>

#include "client/audit.h"
#include "client/list.h"
#include "client/query.h"
#include "client/report.h"
#include "client/request.h"
#include "drive/detail.h"

static int check_fingerprint(const char *fingerprint)
{
    size_t length = fingerprint ? strnlen(fingerprint, REDLOCK_FINGERPRINT_SIZE + 1) : 0;

    if (length == REDLOCK_FINGERPRINT_SIZE && strspn(fingerprint, "0123456789abcdef") == length)
        return REDLOCK_OK;
    return rl_detail(
        REDLOCK_INVAL,
        "a fingerprint has %d hex digits; it is what redlock_query() tells of a holder",
        REDLOCK_FINGERPRINT_SIZE);
}

int rl_question_check(const redlock *client, const struct rl_question_terms *terms)
{
    size_t name_size = 0;
    int error = rl_client_check(client);

    if (!error && terms->ask <= RL_ASK_RELEASE_BY_KEY)
        error = rl_name_check(client, terms->name, &name_size);
    if (!error && terms->ask == RL_ASK_BREAK)
        error = check_fingerprint(terms->holder);
    if (!error && terms->ask == RL_ASK_RELEASE_BY_KEY)
        error = rl_tag_check(terms->holder);
    if (!error && terms->ask == RL_ASK_AUDIT)
        error = rl_ttl_check(client, terms->ttl_ms);
    return error;
}

struct rl_question *rl_question_new(const struct rl_question_terms *terms)
{
    switch (terms->ask) {
    case RL_ASK_LIST:
        return rl_list_new();
    case RL_ASK_AUDIT:
        return rl_audit_new(terms->ttl_ms);
    default:
        return rl_query_new(terms);
    }
}

int rl_client_ask(redlock *client, struct rl_question *q, redlock_answer **out)
{
    int error = rl_question_wait(client, q);

    if (error)
        rl_failure_report_set(q->answer.report);
    if (!error && out)
        *out = &q->answer;
    else
        rl_question_free(q);
    return error;
}
