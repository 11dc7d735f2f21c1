/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/guarantee.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define MS_PER_S 1000

bool guarantee_is_elected(const redlock_node_info *node)
{
    return node->deployment == REDLOCK_DEPLOYMENT_SENTINEL ||
           node->deployment == REDLOCK_DEPLOYMENT_CLUSTER;
}

void guarantee_add(struct guarantee *g, const redlock_node_info *node)
{
    g->nodes++;
    g->failovers += node->deployment == REDLOCK_DEPLOYMENT_FAILOVER;
    g->groups += guarantee_is_elected(node);
    g->cluster += node->deployment == REDLOCK_DEPLOYMENT_CLUSTER;
    if (guarantee_is_elected(node))
        g->sentinels = node->listed_count;
    g->idle += guarantee_is_elected(node) &&
               (!node->server[0] || node->state != REDLOCK_NODE_UP || node->quarantined);
    if (node->guard_ms > g->guard_ms)
        g->guard_ms = node->guard_ms;
    g->profile = node->profile;
    g->safe += node->state == REDLOCK_NODE_UP && !node->unsafe_reason;
    if (!g->unsafe_reason)
        g->unsafe_reason = node->unsafe_reason;
}

struct guarantee guarantee_of(redlock *member)
{
    struct guarantee g = {0};
    redlock_node_info node = REDLOCK_NODE_INFO();
    for (size_t i = 0; redlock_node(member, i, &node) == REDLOCK_OK; i++)
        guarantee_add(&g, &node);
    return g;
}

void guarantee_deployment(const struct guarantee *g, char out[GUARANTEE_TEXT_MAX])
{
    if (g->cluster == g->nodes)
        snprintf(out, GUARANTEE_TEXT_MAX,
                 "%u vote%s of a cluster, of which %u nodes are queried", g->nodes,
                 g->nodes == 1 ? "" : "s", g->sentinels);
    else if (g->cluster)
        snprintf(out, GUARANTEE_TEXT_MAX, "%u nodes, %u of them votes of a cluster%s", g->nodes,
                 g->cluster, g->failovers ? ", others with replicas" : "");
    else if (g->nodes == 1 && g->groups)
        snprintf(out, GUARANTEE_TEXT_MAX, "a Sentinel group with %u sentinels", g->sentinels);
    else if (g->nodes == 1)
        snprintf(out, GUARANTEE_TEXT_MAX, "one server%s",
                 g->failovers ? " with a failover that reports nothing" : "");
    else if (g->groups == g->nodes)
        snprintf(out, GUARANTEE_TEXT_MAX, "%u Sentinel groups", g->nodes);
    else if (g->groups == 1)
        snprintf(out, GUARANTEE_TEXT_MAX, "%u nodes, one of them a Sentinel group%s", g->nodes,
                 g->failovers ? ", others with replicas" : "");
    else if (g->groups)
        snprintf(out, GUARANTEE_TEXT_MAX, "%u nodes, %u of them Sentinel groups%s", g->nodes,
                 g->groups, g->failovers ? ", others with replicas" : "");
    else if (g->failovers)
        snprintf(out, GUARANTEE_TEXT_MAX, "%u servers, %u of them with replicas", g->nodes,
                 g->failovers);
    else
        snprintf(out, GUARANTEE_TEXT_MAX, "%u independent servers", g->nodes);
}

/* What the nodes are good for, whatever the profile. */
static void describe_nodes(const struct guarantee *g, bool guarded,
                           char out[GUARANTEE_TEXT_MAX])
{
    long long guard_s = (g->guard_ms + MS_PER_S - 1) / MS_PER_S;
    if (!guarded)
        snprintf(out, GUARANTEE_TEXT_MAX,
                 "without the guard: may be held twice after a restart or a failover");
    else if (g->failovers)
        snprintf(out, GUARANTEE_TEXT_MAX, "may be held twice after a failover");
    else if (g->nodes == 1 && !g->groups)
        snprintf(
            out, GUARANTEE_TEXT_MAX,
            "one holder while it does not restart unseen, after which new locks wait %lld s; "
            "if another server can take its place: may be held twice after a failover",
            guard_s);
    else if (g->nodes == 1)
        snprintf(out, GUARANTEE_TEXT_MAX,
                 "one holder, through any failover, loss of writes, split brain or pause, if "
                 "the %s keep their files; new locks wait %lld s after each failover%s",
                 g->cluster ? "nodes" : "sentinels", guard_s,
                 g->idle ? "; now none can be had" : "");
    else if (g->groups)
        snprintf(
            out, GUARANTEE_TEXT_MAX,
            "one holder, through any failover%s, if %s keep their files; %u of %u nodes may be "
            "away, or wait %lld s after a failover or restart",
            g->cluster ? "" : " of the groups",
            g->cluster ? "the nodes that are queried" : "their sentinels",
            g->nodes - (g->nodes / 2 + 1), g->nodes, guard_s);
    else
        snprintf(out, GUARANTEE_TEXT_MAX,
                 "one holder; %u of %u may be away, or wait %lld s after a restart",
                 g->nodes - (g->nodes / 2 + 1), g->nodes, guard_s);
}

void guarantee_text(const struct guarantee *g, bool guarded, char out[GUARANTEE_TEXT_MAX])
{
    bool is_correct = g->profile == REDLOCK_PROFILE_CORRECTNESS;
    describe_nodes(g, guarded, out);
    if (is_correct && g->unsafe_reason && g->safe < g->nodes / 2 + 1)
        snprintf(out, GUARANTEE_TEXT_MAX,
                 "no lock is granted, as %u of %u nodes pass the safety checks: %s", g->safe,
                 g->nodes, redlock_reason_text(g->unsafe_reason));
    else if (is_correct)
        strncat(out, "; every lock has a token", GUARANTEE_TEXT_MAX - strlen(out) - 1);
}

const char *guarantee_deployment_word(int32_t deployment)
{
    static const char *const words[] = {
#define DEPLOYMENT_WORD(name, text) text,
        REDLOCK_DEPLOYMENTS(DEPLOYMENT_WORD)
#undef DEPLOYMENT_WORD
    };
    return deployment >= 0 && (size_t)deployment < sizeof words / sizeof words[0]
               ? words[deployment]
               : "unknown";
}

void guarantee_json(const struct guarantee *g, bool guarded, struct rl_json *j)
{
    char text[GUARANTEE_TEXT_MAX];
    guarantee_deployment(g, text);
    rl_json_string(j, "deployment", text);
    rl_json_string(j, "profile", redlock_profile_text(g->profile));
    guarantee_text(g, guarded, text);
    rl_json_string(j, "guarantee", text);
}

static void elector_json(const redlock_elector *e, struct rl_json *j)
{
    rl_json_object(j, NULL);
    rl_json_string(j, "address", e->address);
    rl_json_bool(j, "up", e->state == REDLOCK_NODE_UP);
    rl_json_bool(j, "counts", e->listed && !e->reason);
    rl_json_string(j, "server", e->server[0] ? e->server : NULL);
    rl_json_known(j, "term", e->term);
    rl_json_known(j, "age_ms", e->age_ms);
    rl_json_string(j, "why", e->reason ? redlock_reason_text(e->reason) : "");
    rl_json_end_object(j);
}

void guarantee_node_json(const redlock_node_info *node, struct rl_json *j)
{
    bool is_group = guarantee_is_elected(node);
    rl_json_string(j, "deployment", guarantee_deployment_word(node->deployment));
    if (!is_group)
        return;
    rl_json_string(j, "server", node->server[0] ? node->server : NULL);
    rl_json_known(j, "term", node->term);
    rl_json_integer(j, "vouchers", node->voucher_count);
    rl_json_integer(j, "sentinels_listed", node->listed_count);
    rl_json_known(j, "failover_ms", node->failover_ms);
    rl_json_array(j, "sentinels");
    for (uint32_t i = 0; i < node->elector_count; i++)
        elector_json(&node->elector[i], j);
    rl_json_end_array(j);
}
