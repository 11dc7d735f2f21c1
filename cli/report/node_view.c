/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/node_view.h"

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

const char *node_view_state(const struct node_view *v)
{
    if (v->ping->vote == REDLOCK_VOTE_SILENT && v->ping->rtt_us >= 0)
        return "late";
    if (v->info.state == REDLOCK_NODE_UP && !v->answered)
        return redlock_vote_text(v->ping->vote);
    /* The next try is under way, but what matters is how the last one ended. */
    if (v->ping->vote == REDLOCK_VOTE_REFUSED || v->ping->vote == REDLOCK_VOTE_UNREACHABLE)
        return node_state_text(REDLOCK_NODE_DOWN);
    return node_state_text(v->info.state);
}

const char *node_view_votes(const struct node_view *v, const struct settings *s,
                            char out[NODE_VIEW_TEXT_MAX])
{
    char left[TEXT_TIME_MAX];
    if (s->config.guard == REDLOCK_NO_GUARD)
        return "unchecked";
    if (v->info.state != REDLOCK_NODE_UP)
        return "-";
    if (!v->info.quarantined)
        return "yes";
    if (v->info.quarantine_ms < 0)
        return "no";
    text_time(left, (v->info.quarantine_ms + 999) / 1000 * 1000);
    snprintf(out, NODE_VIEW_TEXT_MAX, "in %s", left);
    return out;
}

const char *node_view_clock(const struct node_view *v, char out[NODE_VIEW_TEXT_MAX])
{
    if (v->info.clock_error_us < 0 || v->info.state != REDLOCK_NODE_UP)
        return "-";
    snprintf(out, NODE_VIEW_TEXT_MAX, "%+.3f s", (double)v->info.clock_offset_us / 1e6);
    return out;
}

void node_view_look(struct node_view *v, redlock *client, const redlock_report *report,
                    uint32_t index)
{
    *v = (struct node_view){.info = REDLOCK_NODE_INFO(), .ping = &report->node[index]};
    if (redlock_node(client, index, &v->info) != REDLOCK_OK)
        v->info.rtt_us = v->info.clock_error_us = -1;
    v->answered = v->ping->vote == REDLOCK_VOTE_GRANTED;
    v->rtt_us = report_rtt_us(v->ping);
    v->why = v->ping->text[0] ? v->ping->text : v->info.text;
    if (!*v->why && !v->answered)
        v->why = redlock_vote_text(v->ping->vote);
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

/* An offset may be negative: it is unknown by its error only. */
static void print_json_clock(struct rl_json *j, const struct node_view *v)
{
    rl_json_known(j, "clock_error_us", v->info.clock_error_us);
    if (v->info.clock_error_us >= 0)
        rl_json_integer(j, "clock_offset_us", v->info.clock_offset_us);
    else
        rl_json_known(j, "clock_offset_us", -1);
}

void node_view_json(const struct node_view *v, struct rl_json *j)
{
    rl_json_string(j, "address", v->ping->address);
    rl_json_string(j, "state", node_view_state(v));
    rl_json_bool(j, "answered", v->answered);
    rl_json_bool(j, "quarantined", v->info.quarantined);
    rl_json_known(j, "quarantine_ms", v->info.quarantined ? v->info.quarantine_ms : -1);
    rl_json_string(j, "version", v->info.version[0] ? v->info.version : NULL);
    rl_json_known(j, "rtt_us", v->rtt_us);
    print_json_clock(j, v);
    rl_json_bool(j, "tls", v->info.tls);
    rl_json_bool(j, "native", v->info.native);
    rl_json_integer(j, "connects", v->info.connects);
    rl_json_string(j, "why", v->why);
    guarantee_node_json(&v->info, j);
}
