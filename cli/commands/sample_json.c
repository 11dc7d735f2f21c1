/* SPDX-License-Identifier: BSD-2-Clause */
/* What `redlock top --json` prints for every look at the nodes. */
#include <redlock.h>

#include "base/json.h"
#include "commands/sample.h"
#include "report/node_view.h"
#include "ui/exit.h"
#include "ui/message.h"

static void write_nodes(const struct sample *s, size_t quorum, struct rl_json *j)
{
    const redlock_report *ping = &s->pings[quorum];
    for (uint32_t i = 0; i < ping->node_count; i++) {
        struct node_view v;
        node_view_look(&v, redlock_member(s->client, quorum), ping, i);
        rl_json_object(j, NULL);
        if (ping->quorum_name[0])
            rl_json_string(j, "quorum_name", ping->quorum_name);
        node_view_json(&v, j);
        rl_json_end_object(j);
    }
}

void sample_json(const struct sample *s)
{
    struct rl_json j = {.out = stdout};
    if (s->error == REDLOCK_OK)
        message_json_success(&j);
    else
        message_json_failure(&j, redlock_error_name(s->error), s->detail,
                             exit_status_of(s->error));
    if (s->quorum_count == 1)
        rl_json_integer(&j, "quorum", s->pings[0].quorum);
    rl_json_array(&j, "nodes");
    for (size_t quorum = 0; quorum < s->quorum_count; quorum++)
        write_nodes(s, quorum, &j);
    rl_json_end_array(&j);
    rl_json_array(&j, "locks");
    for (size_t i = 0; i < s->count && sample_has_locks(s); i++) {
        const struct sample_lock *lock = &s->locks[i];
        if (!lock->asked_ns)
            continue;
        rl_json_object(&j, NULL);
        rl_json_string(&j, "name", lock->name);
        lock_brief_json(&lock->brief, &j);
        rl_json_known(&j, "changes", lock->changes);
        rl_json_known(&j, "span_ms", lock->changes < 0 ? -1 : lock->span_ms);
        rl_json_end_object(&j);
    }
    rl_json_end_array(&j);
    rl_json_integer(&j, "unasked", (int64_t)s->unasked);
    rl_json_finish(&j);
}
