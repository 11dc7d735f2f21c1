/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/deployment.h"

#include <string.h>

#include "base/slice.h"
#include "io/clock.h"

/*
 * From the moment that a sentinel finds the master down until a majority names another: 0.8 to
 * 1.5 s were measured.
 */
#define SWITCH_MS 2000

static enum redlock_deployment deployment_of(const struct rl_node *node)
{
    const struct rl_facts *facts = &node->session.facts;

    if (node->elected)
        return node->elected->login.vote_count ? REDLOCK_DEPLOYMENT_CLUSTER
                                               : REDLOCK_DEPLOYMENT_SENTINEL;
    return facts->replica_count > 0 || facts->was_promoted || node->session.has_sentinel ||
                   (facts->has_replication && !facts->master)
               ? REDLOCK_DEPLOYMENT_FAILOVER
               : REDLOCK_DEPLOYMENT_SERVER;
}

static void describe_elector(const struct rl_node *node, uint8_t which, redlock_elector *out)
{
    const struct rl_elector *elector = &node->elected->electors.elector[which];
    const struct rl_session *session = &node->elected->home->session[which];

    memcpy(out->address, node->elected->address[which], sizeof out->address);
    out->state = session->state == RL_SESSION_UP ? REDLOCK_NODE_UP
                 : session->failure_text[0]      ? REDLOCK_NODE_DOWN
                                                 : REDLOCK_NODE_CONNECTING;
    out->reason = rl_elected_reason_of(node, which);
    out->listed = rl_elected_is_listed(node, which);
    out->term = out->age_ms = -1;
    if (!elector->named.owner[0])
        return;
    memcpy(out->server, elector->named.owner, sizeof out->server);
    out->term = elector->named.epoch;
    out->age_ms = (rl_now_ns() - elector->requested_ns) / RL_NS_PER_MS;
}

/* The slowest of them decides: its down-after-milliseconds is what the others wait for. */
static int64_t failover_ms(const struct rl_elected *elected)
{
    int64_t longest_ms = -1;

    for (uint8_t i = 0; i < elected->electors.count; i++) {
        const struct rl_elector_talk *talk = &elected->home->session[i].elector;

        if (talk->id[0] && talk->down_after_ms > longest_ms)
            longest_ms = talk->down_after_ms;
    }
    return longest_ms < 0 ? -1 : longest_ms + SWITCH_MS;
}

/* Term and incarnation in one number; 0: no fresh majority names them. */
static uint64_t tenure_of(const struct rl_node *node)
{
    const char *greeted = node->elected->greeted;
    uint64_t hash;

    if (rl_elected_tenure(node, rl_now_ns()) == 0)
        return 0;
    hash = rl_slice_hash(rl_slice_of(greeted));
    return hash ? hash : 1;
}

static void describe_group(const struct rl_node *node, redlock_node_info *out)
{
    const struct rl_elected *elected = node->elected;
    const struct rl_electors *electors = &elected->electors;

    out->listed_count = electors->listed_count ? electors->listed_count : electors->count;
    out->elector_count = electors->count;
    for (uint8_t i = 0; i < electors->count; i++)
        describe_elector(node, i, &out->elector[i]);
    out->failover_ms = failover_ms(elected);
    if (!electors->term.owner[0])
        return;
    memcpy(out->server, electors->term.owner, sizeof out->server);
    out->term = electors->term.epoch;
    out->voucher_count = rl_elected_count(node, true);
    out->tenure = tenure_of(node);
}

void rl_deployment_describe(const redlock *client, uint8_t node, redlock_node_info *out)
{
    const struct rl_node *at = &client->engine.node[node];

    out->deployment = (int32_t)deployment_of(at);
    out->guard_ms = rl_guard_time_ns(&at->session.guard) / RL_NS_PER_MS;
    /* Before there is a term to be guarded, its guard would be longer by L all the same. */
    if (at->elected && !at->session.guard.term[0])
        out->guard_ms += RL_VOUCH_NS / RL_NS_PER_MS;
    out->term = out->failover_ms = -1;
    if (at->elected)
        describe_group(at, out);
}

bool rl_deployment_is_settled(const redlock *client)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_elected *elected = client->engine.node[i].elected;

        for (uint8_t k = 0; elected && k < elected->electors.count; k++)
            if (!elected->electors.elector[k].id[0] &&
                !elected->home->session[k].failure_text[0])
                return false;
    }
    return true;
}

int64_t rl_deployment_final_ms(const redlock *client, const struct rl_node_vote *votes)
{
    const struct rl_engine *engine = &client->engine;
    int64_t longest_ns = 0;
    uint8_t final_count = 0;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        int64_t guard_ns = rl_guard_time_ns(&engine->node[i].session.guard);

        if (!engine->node[i].elected)
            final_count += votes[i].vote == REDLOCK_VOTE_GRANTED ||
                           votes[i].vote == REDLOCK_VOTE_MISSING ||
                           votes[i].vote == REDLOCK_VOTE_TAKEN;
        else if (guard_ns > longest_ns)
            longest_ns = guard_ns;
    }
    return final_count >= engine->policy.quorum ? 0 : longest_ns / RL_NS_PER_MS;
}

/*
 * A holder renews at a third of its TTL. When a majority names the new server, the last proof
 * must have more than L left, whenever in that third the old one died. Where the work is
 * stopped earlier than L before the end, the renewal must have come by then.
 */
int64_t rl_deployment_least_ttl_ms(int64_t failover_ms, int64_t grace_ms)
{
    int64_t vouch_ms = RL_VOUCH_NS / RL_NS_PER_MS;

    return (failover_ms + (grace_ms > vouch_ms ? grace_ms : vouch_ms) + 1000) * 3 / 2 + 2000;
}
