/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/init.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/quote.h"
#include "report/report.h"
#include "settings/open_client.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/guarantee.h"
#include "ui/message.h"
#include "ui/text.h"

#define LOOK_EVERY_MS 500
/* What guard_ms is longer than the longest TTL. */
#define MARGIN_MS 2000
#define SHOW_EVERY_NS (10000 * RL_NS_PER_MS)

/*
 * Begins to watch, or goes on while no connection broke: what a node forgot unseen is not
 * covered. Returns how long it takes yet.
 */
static int64_t watch(struct init_watch *w, redlock *member, int64_t guard_ms)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    int64_t now_ns = timer_now_ns();
    bool unbroken = w->since_ns != 0;
    for (size_t i = 0; redlock_node(member, i, &info) == REDLOCK_OK; i++) {
        unbroken = unbroken && info.connects == w->connects[i];
        w->connects[i] = info.connects;
    }
    if (!unbroken)
        w->since_ns = now_ns;
    return guard_ms - (now_ns - w->since_ns) / RL_NS_PER_MS;
}

static void show_wait(const struct settings *s, struct init_watch *w, int64_t left_ms,
                      const char *until)
{
    char left[TEXT_TIME_MAX];
    int64_t now_ns = timer_now_ns();
    bool again = w->shown_ns != 0 && w->shown_ns < w->since_ns;
    if (s->quiet || s->json ||
        (w->shown_ns != 0 && !again && now_ns - w->shown_ns < SHOW_EVERY_NS))
        return;
    text_time_up(left, left_ms);
    message_line("%swaiting %s until %s", again ? "a node was connected to anew: " : "", left,
                 until);
    w->shown_ns = now_ns;
}

/* What no wait makes safe. */
static int refuse(const struct settings *s, redlock *member, const redlock_admission *found)
{
    int64_t max_ttl_ms = settings_max_ttl_ms(s);
    char longest[TEXT_TIME_MAX];
    if (guarantee_of(member).groups > 0)
        return message_fail(
            EXIT_UNAVAILABLE,
            "--wait is for servers with an address each: of a Sentinel group, run init without "
            "it while nothing is held. Nothing was changed");
    if (found->regroups)
        return message_fail(
            EXIT_UNAVAILABLE,
            "a node belongs to a set of other nodes, or they had other names in it, and locks "
            "may be held there: stop all clients, wait for the longest TTL, and run init "
            "without --wait; or put one node in the place of another with --replace. Nothing "
            "was changed");
    if (found->guard_ms - MARGIN_MS <= max_ttl_ms)
        return 0;
    text_time(longest, found->guard_ms - MARGIN_MS);
    return message_fail(
        EXIT_UNAVAILABLE,
        "the nodes allow a TTL of %s, and locks of that TTL may be held: use that --max-ttl, "
        "or stop all clients and run init without --wait. Nothing was changed",
        longest);
}

/* A clock that was set, or a restart that this client has seen, takes longer. */
static bool is_trusted(redlock *member)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    for (size_t i = 0; redlock_node(member, i, &info) == REDLOCK_OK; i++) {
        if (info.quarantined && !info.misplaced)
            return false;
    }
    return true;
}

int init_watch_step(const struct settings *s, struct init_watch *w, redlock *client,
                    redlock *member, const redlock_admission *found, int64_t *left_ms)
{
    int status = refuse(s, member, found);
    bool begins = w->since_ns == 0;
    uint32_t node_count = guarantee_of(member).nodes;
    int64_t wait_ms;
    /* Without a set it is not known which nodes the clients use that hold something. */
    if (status == 0 && begins && found->newcomers == node_count)
        status = init_refuse_held(s, client, member);
    if (status)
        return status;
    if (!begins && found->newcomers > w->newcomers)
        w->since_ns = 0;
    w->newcomers = found->newcomers;
    wait_ms = watch(w, member, found->guard_ms);
    if (wait_ms <= 0 && is_trusted(member)) {
        *left_ms = 0;
        return 0;
    }
    show_wait(s, w, wait_ms, "all that a node may have forgotten has expired");
    *left_ms = wait_ms <= 0 || wait_ms > LOOK_EVERY_MS ? LOOK_EVERY_MS : wait_ms;
    return 0;
}

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
    char shown[RL_QUOTE_MAX];
    client_ping(old, &report);
    if (!report_is_answer(report.node[0].vote))
        return 0;
    rl_quote(shown, name);
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

static int watch_without(const struct settings *s, redlock *member, redlock *old,
                         const char *name, int64_t guard_ms)
{
    struct init_watch w = {0};
    for (;;) {
        redlock_report report;
        int status = old ? check_gone(old, name) : 0;
        int64_t left_ms;
        if (status)
            return status;
        client_ping(member, &report);
        for (uint32_t i = 0; i < report.node_count; i++) {
            if (report.node[i].vote != REDLOCK_VOTE_GRANTED)
                return fail_without(s, &report);
        }
        left_ms = watch(&w, member, guard_ms);
        if (left_ms <= 0)
            return 0;
        show_wait(s, &w, left_ms, "no lock leans on the old server any more");
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
    int status;
    if (error != REDLOCK_OK)
        return client_fail(error);
    status = answer->admission->newcomers > 1 ? refuse_newcomers(answer->admission) : 0;
    redlock_answer_free(answer);
    return status;
}

int init_watch_replace(struct settings *s, redlock *member, const char *old,
                       const redlock_admission *found)
{
    redlock *client = NULL;
    int status;
    if (found->electors_changed)
        return message_fail(
            EXIT_UNAVAILABLE,
            "the sentinels of a group are not those that it was initialised with: they cannot "
            "be changed while locks are held. Stop all clients, wait for the longest TTL, and "
            "run init without --replace. Nothing was changed");
    if (found->newcomers == 0 && guarantee_of(member).groups > 0)
        return message_fail(EXIT_USAGE,
                            "none of the nodes is new, so there is nothing to replace: after a "
                            "failover a Sentinel group votes by itself (`redlock nodes` shows "
                            "when). Nothing was changed");
    if (found->newcomers > 1)
        return refuse_newcomers(found);
    status = client_open_node(s, old, &client);
    if (status == 0)
        status = watch_without(s, member, keeps_name(member, client) ? NULL : client, old,
                               found->guard_ms);
    redlock_close(client);
    if (status == 0)
        status = look_again(member);
    return status;
}
