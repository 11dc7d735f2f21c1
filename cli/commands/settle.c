/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/settle.h"

#include <poll.h>
#include <stdbool.h>

#include "service/look.h"
#include "system/timer.h"
#include "ui/guarantee.h"
#include "ui/message.h"
#include "ui/text.h"

#define LOOK_EVERY_MS 500
#define PLAIN UINT64_C(1) /* the tenure of what is no Sentinel group, and stays what it is */
#define SHOW_EVERY_NS (10000 * RL_NS_PER_MS)

static void read_tenures(redlock *member, uint64_t tenure[REDLOCK_NODES_MAX])
{
    redlock_node_info node = REDLOCK_NODE_INFO();
    for (size_t i = 0; i < REDLOCK_NODES_MAX; i++) {
        bool is_known = redlock_node(member, i, &node) == REDLOCK_OK;
        tenure[i] = !is_known ? 0 : guarantee_is_elected(&node) ? node.tenure : PLAIN;
    }
}

void settle_begin(struct settle *s, redlock *client, const char *name)
{
    int home = redlock_quorum_of(client, name);
    s->member = redlock_member(client, home < 0 ? 0 : (size_t)home);
    read_tenures(s->member, s->before);
}

/*
 * A deletion counts in the tenure that the node had before it and has behind it, from its
 * answer on: the node may have been slow. A node that lacks the holder while its tenure is not
 * known, for a moment, is what it was.
 */
void settle_note(struct settle *s, const redlock_report *report)
{
    uint64_t after[REDLOCK_NODES_MAX];
    int64_t now_ns = timer_now_ns();
    read_tenures(s->member, after);
    for (uint32_t i = 0; i < report->node_count; i++) {
        int vote = report->node[i].vote;
        bool was_there = vote == REDLOCK_VOTE_GRANTED;
        bool is_gone = was_there || vote == REDLOCK_VOTE_MISSING || vote == REDLOCK_VOTE_TAKEN;
        if (is_gone && !was_there && (s->before[i] == 0 || after[i] == 0))
            continue;
        if (!is_gone || after[i] == 0 || after[i] != s->before[i]) {
            s->tenure[i] = 0;
        } else if (was_there || s->tenure[i] != after[i]) {
            s->changed = s->changed || (s->last[i] != 0 && s->last[i] != after[i]);
            s->tenure[i] = s->last[i] = after[i];
            s->since_ns[i] = now_ns;
        }
    }
}

/* How long it takes yet, if nothing changes; 0: a majority of the nodes is final. */
static int64_t left_ms(const struct settle *s, const redlock_report *report, int64_t final_ms)
{
    uint64_t tenure[REDLOCK_NODES_MAX];
    int64_t now_ns = timer_now_ns(), longest_ms = 0;
    uint32_t final = 0;
    read_tenures(s->member, tenure);
    for (uint32_t i = 0; i < report->node_count; i++) {
        bool holds = s->tenure[i] != 0 && s->tenure[i] == tenure[i];
        int64_t wait_ms = !holds ? final_ms
                          : tenure[i] == PLAIN
                              ? 0
                              : final_ms - (now_ns - s->since_ns[i]) / RL_NS_PER_MS;
        final += wait_ms <= 0;
        if (wait_ms > longest_ms)
            longest_ms = wait_ms;
    }
    return final >= report->quorum ? 0 : longest_ms;
}

/* The client reads what its sentinels send meanwhile. */
static void pause_a_moment(redlock *client)
{
    const redlock_event *event;
    int64_t end_ns = timer_now_ns() + LOOK_EVERY_MS * RL_NS_PER_MS;
    for (;;) {
        int64_t left_ns = end_ns - timer_now_ns();
        if (left_ns <= 0 ||
            redlock_next(client, &event, (int)((left_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS)) <
                0)
            return;
    }
}

static void show_wait(const struct settings *settings, int64_t wait_ms, bool again)
{
    char left[TEXT_TIME_MAX];
    text_time_up(left, wait_ms);
    if (!settings->quiet && !settings->json)
        message_line("%swaiting %s until no failover can bring it back",
                     again ? "another server was promoted, and it is deleted there as well: "
                           : "",
                     left);
}

int settle_wait(struct settle *s, struct look *look, const char *name, const char *fingerprint,
                int64_t final_ms)
{
    redlock_report report = {.size = sizeof report};
    int64_t shown_ns = 0;
    for (;;) {
        int64_t wait_ms, now_ns;
        settle_begin(s, look->client, name);
        look_break(look, name, fingerprint, &report);
        settle_note(s, &report);
        wait_ms = left_ms(s, &report, final_ms);
        now_ns = timer_now_ns();
        if (wait_ms == 0)
            return 0;
        if (s->changed || shown_ns == 0 || now_ns - shown_ns >= SHOW_EVERY_NS) {
            show_wait(&look->settings, wait_ms, s->changed);
            s->changed = false;
            shown_ns = now_ns;
        }
        pause_a_moment(look->client);
    }
}

/*
 * Has a tenure changed since the last look? *vouched: all groups are sure of theirs. A service
 * that reports none is never sure.
 */
static bool note_tenures(const struct service_tenures *now, uint64_t last[REDLOCK_NODES_MAX],
                         bool *vouched)
{
    bool changed = false;
    *vouched = now->count > 0;
    for (uint32_t i = 0; i < now->count; i++) {
        if (now->tenure[i] == 0) {
            *vouched = false;
        } else if (now->tenure[i] != last[i]) {
            last[i] = now->tenure[i];
            changed = true;
        }
    }
    return changed;
}

/*
 * A service does not report which nodes have deleted it, so all groups have to stay what they
 * are, not only a majority. A deletion between two looks that saw the same was done in what
 * they saw, and there nothing sets the key again.
 */
void settle_wait_service(struct look *look, const char *name, const char *fingerprint,
                         int64_t final_ms)
{
    uint64_t last[REDLOCK_NODES_MAX] = {0};
    int64_t since_ns = -1, shown_ns = 0;
    for (bool again = false;; poll(NULL, 0, LOOK_EVERY_MS)) {
        redlock_report report;
        struct service_tenures now;
        bool vouched, changed, is_gone;
        int error = look_break(look, name, fingerprint, &report);
        int64_t answered_ns = timer_now_ns();
        int64_t now_ns, passed_ms;
        if (service_look_tenures(&look->service, name, &now, look->detail) != REDLOCK_OK)
            continue;
        changed = note_tenures(&now, last, &vouched);
        is_gone = error == REDLOCK_OK || error == REDLOCK_EXPIRED;
        again = again || (changed && since_ns >= 0);
        if (changed || error == REDLOCK_OK)
            since_ns = -1;
        if (!changed && is_gone && since_ns < 0)
            since_ns = answered_ns;
        now_ns = timer_now_ns();
        passed_ms = since_ns < 0 ? 0 : (now_ns - since_ns) / RL_NS_PER_MS;
        if (passed_ms >= final_ms && vouched)
            return;
        if (again || shown_ns == 0 || now_ns - shown_ns >= SHOW_EVERY_NS) {
            show_wait(&look->settings,
                      passed_ms < final_ms ? final_ms - passed_ms : LOOK_EVERY_MS, again);
            again = false;
            shown_ns = now_ns;
        }
    }
}
