/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/nodes.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "report/report.h"
#include "ui/guarantee.h"
#include "ui/text.h"

const char *node_state_text(int32_t state)
{
    static const char *const names[] = {
#define STATE_NAME(name, text) text,
        REDLOCK_NODE_STATES(STATE_NAME)
#undef STATE_NAME
    };
    return state >= 0 && (size_t)state < sizeof names / sizeof names[0] ? names[state]
                                                                        : "unknown";
}

/* What is known of one node. */
struct node {
    redlock_node_info info;
    const redlock_node_report *ping;
    bool answered;
};

static struct node find_node(redlock *member, const redlock_report *ping, uint32_t index)
{
    struct node n = {.info = REDLOCK_NODE_INFO(), .ping = &ping->node[index]};
    if (redlock_node(member, index, &n.info) != REDLOCK_OK)
        n.info.rtt_us = n.info.clock_error_us = -1;
    n.answered = n.ping->vote == REDLOCK_VOTE_GRANTED;
    return n;
}

/* The words of the server, or of the client; without any: empty. */
static const char *why_of(const struct node *n)
{
    const char *why = n->ping->text[0] ? n->ping->text : n->info.text;
    return *why || n->answered ? why : redlock_vote_text(n->ping->vote);
}

/* "up", "down", "timed out" */
static const char *state_of(const struct node *n)
{
    if (n->ping->vote == REDLOCK_VOTE_SILENT && n->ping->rtt_us >= 0)
        return "late";
    if (n->info.state == REDLOCK_NODE_UP && !n->answered)
        return redlock_vote_text(n->ping->vote);
    /* The next try is under way, but what matters is how the last one ended. */
    if (n->ping->vote == REDLOCK_VOTE_REFUSED || n->ping->vote == REDLOCK_VOTE_UNREACHABLE)
        return node_state_text(REDLOCK_NODE_DOWN);
    return node_state_text(n->info.state);
}

uint32_t nodes_answered(const redlock_report *ping)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ping->node_count; i++)
        count += ping->node[i].vote == REDLOCK_VOTE_GRANTED;
    return count;
}

uint32_t nodes_voting(redlock *member, const redlock_report *ping)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ping->node_count; i++) {
        struct node n = find_node(member, ping, i);
        count += n.answered && !n.info.quarantined;
    }
    return count;
}

enum { QUORUM, NODE, STATE, VOTES, VERSION, RTT, CLOCK, TLS, NATIVE, CONNECTS, WHY };

/* Do its grants count? "yes", "in 12.0 s", "no"; "unchecked" without the guard; "-" if it is
 * down. */
static const char *votes_of(const struct node *n, const struct settings *s,
                            char out[TEXT_TIME_MAX + 4])
{
    char left[TEXT_TIME_MAX];
    if (s->config.guard == REDLOCK_NO_GUARD)
        return "unchecked";
    if (n->info.state != REDLOCK_NODE_UP)
        return "-";
    if (!n->info.quarantined || n->info.quarantine_ms < 0)
        return n->info.quarantined ? "no" : "yes";
    text_time_up(left, n->info.quarantine_ms);
    snprintf(out, TEXT_TIME_MAX + 4, "in %s", left);
    return out;
}

void nodes_begin(struct table *t)
{
    static const char *const heading[] = {"QUORUM",  "NODE",     "STATE", "VOTES",
                                          "VERSION", "RTT",      "CLOCK", "TLS",
                                          "NATIVE",  "CONNECTS", "WHY",   NULL};
    table_begin(t, heading);
    for (size_t column = CONNECTS; column >= VERSION; column--)
        table_spare(t, column);
}

void nodes_rows(struct table *t, const struct settings *s, redlock *member,
                const redlock_report *ping, bool brief)
{
    for (uint32_t i = 0; i < ping->node_count; i++) {
        struct node n = find_node(member, ping, i);
        char rtt[TEXT_TIME_MAX], connects[16], votes[TEXT_TIME_MAX + 4];
        char clock[TEXT_TIME_MAX] = "-"; /* how far it is from ours; unknown */
        text_rtt(rtt, report_rtt_us(n.ping));
        snprintf(connects, sizeof connects, "%u", n.info.connects);
        if (n.info.clock_error_us >= 0 && n.info.state == REDLOCK_NODE_UP)
            snprintf(clock, sizeof clock, "%+.3f s", (double)n.info.clock_offset_us / 1e6);
        table_row(t, TEXT_PLAIN,
                  (const char *[]){
                      [QUORUM] = brief ? ping->quorum_name : "",
                      [NODE] = n.ping->address,
                      [STATE] = state_of(&n),
                      [VOTES] = votes_of(&n, s, votes),
                      [VERSION] = n.info.version[0] ? n.info.version : "-",
                      [RTT] = rtt,
                      [CLOCK] = clock,
                      [TLS] = brief        ? ""
                              : n.info.tls ? "yes"
                                           : "no",
                      [NATIVE] = brief           ? ""
                                 : n.info.native ? "yes"
                                                 : "no",
                      [CONNECTS] = brief ? "" : connects,
                      [WHY] = why_of(&n),
                  });
        if (!n.answered || n.info.quarantined)
            table_colour(t, QUORUM, n.answered ? TEXT_WAIT : TEXT_BAD);
        table_colour(t, STATE, n.answered ? TEXT_GOOD : TEXT_BAD);
        if (n.info.quarantined)
            table_colour(t, VOTES, TEXT_WAIT);
    }
}

void nodes_json(redlock *member, const redlock_report *ping, bool named, struct rl_json *j)
{
    for (uint32_t i = 0; i < ping->node_count; i++) {
        struct node n = find_node(member, ping, i);
        rl_json_object(j, NULL);
        if (named)
            rl_json_string(j, "quorum_name", ping->quorum_name);
        rl_json_string(j, "address", n.ping->address);
        rl_json_string(j, "state", state_of(&n));
        rl_json_bool(j, "answered", n.answered);
        rl_json_bool(j, "quarantined", n.info.quarantined);
        rl_json_known(j, "quarantine_ms", n.info.quarantined ? n.info.quarantine_ms : -1);
        rl_json_string(j, "version", n.info.version[0] ? n.info.version : NULL);
        rl_json_known(j, "rtt_us", report_rtt_us(n.ping));
        rl_json_known(j, "clock_error_us", n.info.clock_error_us);
        if (n.info.clock_error_us >= 0) /* a known offset may be negative */
            rl_json_integer(j, "clock_offset_us", n.info.clock_offset_us);
        else
            rl_json_known(j, "clock_offset_us", -1);
        rl_json_bool(j, "tls", n.info.tls);
        rl_json_bool(j, "native", n.info.native);
        rl_json_integer(j, "connects", n.info.connects);
        rl_json_string(j, "why", why_of(&n));
        guarantee_node_json(&n.info, j);
        rl_json_end_object(j);
    }
}

void guarantee_print(const struct settings *s, redlock *member, FILE *out)
{
    bool guarded = s->config.guard != REDLOCK_NO_GUARD;
    struct guarantee g = guarantee_of(member);
    char deployment[GUARANTEE_TEXT_MAX], text[GUARANTEE_TEXT_MAX],
        line[2 * GUARANTEE_TEXT_MAX + sizeof ", profile correctness: "];
    guarantee_deployment(&g, deployment);
    guarantee_text(&g, guarded, text);
    snprintf(line, sizeof line, "%s, profile %s: %s", deployment,
             redlock_profile_text(g.profile), text);
    text_wrap(out, line, 0, 2, text_line_columns(fileno(out)));
    fputc('\n', out);
}

void sentinels_print(const redlock_node_info *node, FILE *out)
{
    bool is_cluster = node->deployment == REDLOCK_DEPLOYMENT_CLUSTER;
    if (is_cluster)
        fprintf(out, "  %.*s:", (int)strcspn(node->address, "@"), node->address);
    fprintf(out, "%s%s, term %lld: named by %u of %u %s\n", is_cluster ? " " : "  ",
            node->server[0] ? node->server : "no server", (long long)node->term,
            node->voucher_count, node->listed_count,
            is_cluster ? "cluster nodes" : "sentinels");
    for (uint32_t i = 0; i < node->elector_count; i++) {
        const redlock_elector *e = &node->elector[i];
        fprintf(out, "  %s: ", e->address);
        if (e->server[0])
            fprintf(out, "%s, term %lld%s", e->server, (long long)e->term,
                    e->reason ? "; " : "");
        fprintf(out, "%s\n",
                e->reason      ? redlock_reason_text(e->reason)
                : e->server[0] ? ""
                               : "no answer yet");
    }
}
