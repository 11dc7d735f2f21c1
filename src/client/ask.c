/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/calls.h"

#include <string.h>

int rl_ask_check(const redlock *client, const struct rl_question_terms *terms)
{
    const char *holder = terms->holder ? terms->holder : "";
    size_t name_size = 0;
    int error = rl_client_check(client);

    if (!error && terms->ask <= RL_ASK_RELEASE_BY_KEY)
        error = rl_name_check(client, terms->name, &name_size);
    if (!error && terms->ask == RL_ASK_BREAK &&
        (strnlen(holder, REDLOCK_FINGERPRINT_SIZE + 1) != REDLOCK_FINGERPRINT_SIZE ||
         strspn(holder, "0123456789abcdef") != REDLOCK_FINGERPRINT_SIZE))
        error = rl_detail(
            REDLOCK_INVAL,
            "a fingerprint has %d hex digits; it is what redlock_query() tells of a holder",
            REDLOCK_FINGERPRINT_SIZE);
    if (!error && terms->ask == RL_ASK_RELEASE_BY_KEY)
        error = rl_tag_check(terms->holder);
    if (!error && terms->ask == RL_ASK_AUDIT)
        error = rl_ttl_check(client, terms->ttl_ms);
    return error;
}

struct rl_question *rl_ask_new(const struct rl_question_terms *terms)
{
    static const struct rl_question_kind *const kinds[RL_ASKS] = {
        [RL_ASK_QUERY] = &rl_query_kind,
        [RL_ASK_BREAK] = &rl_query_kind,
        [RL_ASK_RELEASE_BY_KEY] = &rl_query_kind,
        [RL_ASK_REPLICATE] = &rl_query_kind,
        [RL_ASK_PING] = &rl_query_kind,
        [RL_ASK_ADMIT] = &rl_admission_kind,
        [RL_ASK_LOOK_AT_ADMISSION] = &rl_admission_kind,
        [RL_ASK_LIST] = &rl_list_kind,
        [RL_ASK_AUDIT] = &rl_audit_kind,
    };

    return rl_question_new(kinds[terms->ask], terms);
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
