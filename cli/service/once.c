/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/once.h"

#include <stdio.h>
#include <string.h>

#include "service/hold.h"
#include "system/timer.h"

#define LIMIT_MS 5000 /* of a PUT: the lock is not turned meanwhile */

/* As a record counts, its run begins after the sending, and before that and both of these. */
static bool take_time(struct service_run *run, const struct service_answer *a)
{
    int64_t after_ms = rl_json_number(rl_json_member(a->body, "after_ms"), -1);
    int64_t remaining_ms = rl_json_number(rl_json_member(a->body, "remaining_ms"), -1);

    if (after_ms < 0 || remaining_ms < 0 || after_ms > LIMIT_MS ||
        remaining_ms > REDLOCK_TTL_LIMIT_MS)
        return false;
    run->start_by_ns = a->sent_ns + (after_ms + remaining_ms) * RL_NS_PER_MS;
    run->is_sure = rl_json_true(rl_json_member(a->body, "sure"));
    return true;
}

/* Only some refusals say that nothing was recorded. */
static bool is_refusal(const struct service_answer *a)
{
    return a->outcome == SERVICE_UNREACHABLE ||
           (a->outcome == SERVICE_ANSWERED && a->status >= 400 && a->status < 500 &&
            a->status != 409 && a->status != 410);
}

int service_once_record(const struct service *s, const char *name, const char *lease,
                        int64_t period_ms, struct service_run *run)
{
    char path[SERVICE_PATH_MAX], body[64];
    struct service_request q = {.method = "PUT",
                                .path = path,
                                .lease = lease,
                                .body = body,
                                .limit_ms = LIMIT_MS,
                                .cancel_fd = -1};
    struct service_answer a;
    int error;

    *run = (struct service_run){.next_ms = -1};
    service_path(path, SERVICE_ONCE, name);
    snprintf(body, sizeof body, "{\"every_ms\":%lld}", (long long)period_ms);
    service_fetch(s, &q, &a);
    if (a.error == REDLOCK_OK && (a.status != 201 || !take_time(run, &a)))
        service_answer_is_foreign(&a);
    run->may_be_recorded = !is_refusal(&a);
    error = a.error;
    if (strcmp(a.code, "LATE") == 0)
        error = REDLOCK_EXPIRED;
    else if (a.outcome == SERVICE_ANSWERED && a.status == 410)
        error = REDLOCK_LOST;
    if (error == REDLOCK_BUSY) {
        rl_json_text(rl_json_member(a.body, "label"), run->label, sizeof run->label);
        run->next_ms = rl_json_number(rl_json_member(a.body, "next_ms"), -1);
    }
    snprintf(run->detail, sizeof run->detail, "%s", a.detail);
    service_answer_free(&a);
    return error;
}

void service_once_take_back(const struct service *s, const char *name, const char *lease)
{
    char path[SERVICE_PATH_MAX];
    struct service_request q = {.method = "DELETE",
                                .path = path,
                                .lease = lease,
                                .limit_ms = SERVICE_END_TRY_MS,
                                .cancel_fd = -1};
    bool is_known = false;

    service_path(path, SERVICE_ONCE, name);
    for (int i = 0; i < SERVICE_END_TRIES && !is_known; i++) {
        struct service_answer a;

        service_fetch(s, &q, &a);
        is_known = a.outcome == SERVICE_ANSWERED && a.status != 503 && a.status != 502;
        service_answer_free(&a);
    }
}
