/* SPDX-License-Identifier: BSD-2-Clause */
/* The cheap part of the audit: what the greeting shows to be questionable. */
#include "drive/drive.h"

#include <stdio.h>

#include "core/audit.h"
#include "engine/safety.h"

/*
 * Most iterations bring votes and nothing else, and all nodes are compared with each other: a
 * look in every iteration is a fifth of what a blocking cycle computes. During an admission the
 * news are kept for the look after it.
 */
static bool take_news(redlock *client, bool are_sets_settled)
{
    bool has_news = false;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        struct rl_session *session = &client->engine.node[i].session;

        has_news |= session->has_news;
        session->has_news &= !are_sets_settled;
    }
    return has_news;
}

static void warn(redlock *client, uint8_t node, enum redlock_reason reason)
{
    bool is_left_out =
        reason == REDLOCK_REASON_CLUSTER || reason == REDLOCK_REASON_SENTINEL ||
        (reason >= REDLOCK_REASON_OTHER_SET && reason < REDLOCK_REASON_SAME_SERVER);
    char text[RL_WARNING_MAX];

    if (reason == REDLOCK_REASON_MAX_TTL)
        snprintf(text, sizeof text,
                 "initialised with a max_ttl of %lld ms, here it is %lld ms; %s",
                 (long long)client->engine.node[node].session.facts.marker_max_ttl_ms,
                 (long long)client->max_ttl_ms, rl_remedy(reason));
    else
        snprintf(text, sizeof text, "%s%s; %s", redlock_reason_text((int)reason),
                 is_left_out ? ", and does not count while the guard is on" : "",
                 rl_remedy(reason));
    rl_event_warn(client, client->engine.node[node].address, reason, text);
}

/* What one holder rests on is not so: a file was lost or restored, or a group set
 * up anew (E12). */
static void warn_of_electors(redlock *client, uint8_t node)
{
    struct rl_elected *elected = client->engine.node[node].elected;
    char text[RL_WARNING_MAX];

    if (!elected || elected->warned_back_count == elected->electors.went_back_count)
        return;
    elected->warned_back_count = elected->electors.went_back_count;
    snprintf(
        text, sizeof text,
        "its %ss have gone back to an earlier epoch: two may hold a lock meanwhile; see that "
        "they keep their configuration files",
        rl_elected_word(elected));
    rl_event_warn(client, client->engine.node[node].address, REDLOCK_REASON_ELECTORS, text);
}

/* As long as the connections that are up stay so, nothing else shows it. */
static void warn_of_passwords(redlock *client)
{
    if (!client->password.is_changing && !client->sentinel_password.is_changing)
        return;
    for (int i = 0; i < 2; i++) {
        struct rl_secret *secret = i ? &client->sentinel_password : &client->password;
        char text[RL_WARNING_MAX];

        if (!secret->has_news)
            continue;
        secret->has_news = false;
        snprintf(text, sizeof text, "%s; %s", secret->failure,
                 secret->text[0] ? "the last password stays in use"
                                 : "without it there is no connection");
        rl_event_warn(client, secret->path ? "password-file" : "password-command",
                      REDLOCK_REASON_PASSWORD_NEEDED, text);
    }
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_session *session = &client->engine.node[i].session;
        uint64_t finding = session->login_refused ? RL_FINDING(WRONG_PASSWORD) : 0;

        if (finding & ~client->warned[i])
            rl_event_warn(client, client->engine.node[i].address, REDLOCK_REASON_WRONG_PASSWORD,
                          "the password as it is now is refused; the connection goes on with "
                          "its earlier login, and the next one will fail: give server and "
                          "client the same password");
        client->warned[i] = (client->warned[i] & ~RL_FINDING(WRONG_PASSWORD)) | finding;
    }
}

void rl_warn_of_findings(redlock *client)
{
    uint8_t node_count = client->engine.policy.node_count;
    /*
     * An admission changes the nodes' sets one by one: a node that it has not reached yet is no
     * finding.
     */
    bool are_sets_settled = client->jobs.count[RL_CLASS_ADMISSION][RL_SENT] == 0;
    struct rl_audit_node nodes[REDLOCK_NODES_MAX];

    warn_of_passwords(client);
    if (!take_news(client, are_sets_settled))
        return;
    rl_safety_gather(&client->engine, are_sets_settled, nodes);
    for (uint8_t i = 0; i < node_count; i++) {
        uint64_t news = rl_audit_findings(nodes, node_count, i) & ~client->warned[i];

        client->warned[i] |= news;
        warn_of_electors(client, i);
        for (enum redlock_reason reason = 0; news >> reason; reason++)
            if (news >> reason & 1)
                warn(client, i, reason);
    }
}
