/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/replace.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "report/report.h"
#include "settings/open_client.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define LOOK_EVERY_MS 500
#define TELL_EVERY_NS (10000 * NS_PER_MS)

/* The nodes as they were when the wait began. */
struct watch {
    redlock *member;
    uint32_t connects[REDLOCK_NODES_MAX];
    int64_t since_ns;
};

/* Is it a node of the list still, by the name that the new server has taken over? */
static bool keeps_name(redlock *member, redlock *old)
{
    redlock_node_info info = REDLOCK_NODE_INFO(), of_old = REDLOCK_NODE_INFO();
    redlock_node(old, 0, &of_old);
    for (size_t i = 0; redlock_node(member, i, &info) == REDLOCK_OK; i++) {
        if (strcmp(info.address, of_old.address) == 0)
            return true;
    }
    return false;
}

/* A server that answers in any way, be it an error, is alive. */
static int check_gone(redlock *old, const char *name)
{
    redlock_report report;
    char shown[TEXT_QUOTE_MAX];
    client_ping(old, &report);
    if (!report_is_answer(report.node[0].vote))
        return 0;
    text_quote(shown, name);
    return message_fail(EXIT_UNAVAILABLE,
                        "%s still answers: stop it for good, so that it never comes back, and "
                        "do it again. Nothing was changed",
                        shown);
}

static int fail_without(const struct settings *s, const redlock_report *report)
{
    struct failure f = {
        .error = REDLOCK_NOQUORUM,
        .status = EXIT_UNAVAILABLE,
        .text = "all nodes have to be there while one is replaced. Nothing was changed",
        .report = report,
    };
    return report_failure(s, &f);
}

/* Begins to watch, or goes on while no connection broke: what a node forgot unseen is not covered. */
static bool is_unbroken(struct watch *w)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    bool unbroken = w->since_ns != 0;
    for (size_t i = 0; redlock_node(w->member, i, &info) == REDLOCK_OK; i++) {
        unbroken = unbroken && info.connects == w->connects[i];
        w->connects[i] = info.connects;
    }
    return unbroken;
}

static void tell(const struct settings *s, int64_t left_ms, bool again)
{
    char left[TEXT_TIME_MAX];
    text_time(left, (left_ms + 999) / 1000 * 1000);
    if (!s->quiet && !s->json)
        message_line("%swaiting %s until no lock leans on the old server any more",
                     again ? "a node was connected to anew: " : "", left);
}

static int watch(const struct settings *s, struct watch *w, redlock *old, const char *name,
                 int64_t guard_ms)
{
    int64_t told_ns = 0;
    for (;;) {
        redlock_report report;
        int status = old ? check_gone(old, name) : 0;
        if (status)
            return status;
        client_ping(w->member, &report);
        for (uint32_t i = 0; i < report.node_count; i++) {
            if (report.node[i].vote != REDLOCK_VOTE_GRANTED)
                return fail_without(s, &report);
        }
        int64_t now_ns = timer_now_ns();
        bool began = w->since_ns == 0;
        if (!is_unbroken(w)) {
            w->since_ns = now_ns;
            told_ns = 0;
        }
        int64_t left_ms = guard_ms - (now_ns - w->since_ns) / NS_PER_MS;
        if (left_ms <= 0)
            return 0;
        if (now_ns - told_ns >= TELL_EVERY_NS) {
            tell(s, left_ms, !began && told_ns == 0);
            told_ns = now_ns;
        }
        poll(NULL, 0, left_ms < LOOK_EVERY_MS ? (int)left_ms : LOOK_EVERY_MS);
    }
}

static int refuse_newcomers(const redlock_admission *found)
{
    return message_fail(EXIT_UNAVAILABLE,
                        "%u of these nodes are new to the set of the others, and one at a time "
                        "can be replaced: name all nodes of the set but the old one, and one "
                        "new node. Nothing was changed",
                        found->newcomers);
}

/* A node that was emptied meanwhile has forgotten locks, and its set with them. */
static int look_again(redlock *member)
{
    redlock_answer *answer = NULL;
    int error = redlock_look_at_admission(member, &answer);
    if (error != REDLOCK_OK)
        return client_fail(error);
    int status = answer->admission->newcomers > 1 ? refuse_newcomers(answer->admission) : 0;
    redlock_answer_free(answer);
    return status;
}

int replace_wait(struct settings *s, redlock *member, const char *old,
                 const redlock_admission *found)
{
    struct watch w = {.member = member};
    redlock *client = NULL;
    if (found->newcomers > 1)
        return refuse_newcomers(found);
    int status = client_open_node(s, old, &client);
    if (status == 0)
        status = watch(s, &w, keeps_name(member, client) ? NULL : client, old, found->guard_ms);
    redlock_close(client);
    if (status == 0)
        status = look_again(member);
    return status;
}
