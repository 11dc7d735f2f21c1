/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/calls.h"

#include <string.h>

int rl_job_check(const redlock *client, const struct rl_job_terms *terms)
{
    const char *holder = terms->holder ? terms->holder : "";
    size_t name_size = 0;
    int error = rl_client_check(client);

    if (!error && terms->type <= RL_JOB_RELEASE_BY_KEY)
        error = rl_name_check(client, terms->name, &name_size);
    if (!error && terms->type == RL_JOB_BREAK &&
        (strnlen(holder, REDLOCK_FINGERPRINT_SIZE + 1) != REDLOCK_FINGERPRINT_SIZE ||
         strspn(holder, "0123456789abcdef") != REDLOCK_FINGERPRINT_SIZE))
        error = rl_detail(
            REDLOCK_INVAL,
            "a fingerprint has %d hex digits; it is what redlock_query() tells of a holder",
            REDLOCK_FINGERPRINT_SIZE);
    if (!error && terms->type == RL_JOB_RELEASE_BY_KEY)
        error = rl_tag_check(terms->holder);
    if (!error && terms->type == RL_JOB_AUDIT)
        error = rl_ttl_check(client, terms->ttl_ms);
    return error;
}

struct rl_job *rl_job_new(const struct rl_job_terms *terms)
{
    static const struct rl_job_kind *const kinds[RL_JOB_TYPES] = {
        [RL_JOB_QUERY] = &rl_query_kind,
        [RL_JOB_BREAK] = &rl_query_kind,
        [RL_JOB_RELEASE_BY_KEY] = &rl_query_kind,
        [RL_JOB_REPLICATE] = &rl_query_kind,
        [RL_JOB_PING] = &rl_query_kind,
        [RL_JOB_ADMIT] = &rl_admission_kind,
        [RL_JOB_LOOK_AT_ADMISSION] = &rl_admission_kind,
        [RL_JOB_LIST] = &rl_list_kind,
        [RL_JOB_AUDIT] = &rl_audit_kind,
    };

    return rl_job_new_as(kinds[terms->type], terms);
}

int rl_job_run(redlock *client, struct rl_job *job, redlock_answer **out)
{
    int error = rl_job_wait(client, job);

    if (error)
        rl_failure_report_set(job->answer.report);
    if (!error && out)
        *out = &job->answer;
    else
        rl_job_free(job);
    return error;
}
