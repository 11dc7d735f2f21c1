/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/percent.h"
#include "ui/vote.h"

#define LIMIT_MS 10000
#define NAMES_AT_ONCE 1000 /* of a list: as many as the service gives */

/* `member`: what the answer of a redlockd has. */
static int fetch(const struct service *s, const char *path, const char *body,
                 const char *member, struct service_answer *a, char detail[SERVICE_DETAIL_MAX])
{
    struct service_request q = {.method = body ? "POST" : "GET",
                                .path = path,
                                .body = body,
                                .limit_ms = LIMIT_MS,
                                .cancel_fd = -1};
    service_fetch(s, &q, a);
    if (a->error == REDLOCK_OK && rl_json_member(a->body, member).type == RL_JSON_ABSENT)
        service_answer_is_foreign(a);
    snprintf(detail, SERVICE_DETAIL_MAX, "%s", a->detail);
    return a->error;
}

static int32_t read_kind(struct rl_json_value value)
{
    char word[32];
    rl_json_text(value, word, sizeof word);
    return redlock_kind_number(word);
}

static int32_t read_vote(struct rl_json_value value)
{
    char word[32];
    rl_json_text(value, word, sizeof word);
    return vote_number(word);
}

void service_read_nodes(struct rl_json_value body, redlock_report *report)
{
    struct rl_json_value nodes = rl_json_member(body, "nodes"), node;
    report->node_count = 0;
    while (report->node_count < REDLOCK_NODES_MAX && rl_json_element(&nodes, &node)) {
        redlock_node_report *n = &report->node[report->node_count++];
        *n = (redlock_node_report){.kind = -1};
        rl_json_text(rl_json_member(node, "address"), n->address, sizeof n->address);
        n->vote = read_vote(rl_json_member(node, "vote"));
        n->rtt_us = (int32_t)rl_json_number(rl_json_member(node, "rtt_us"), -1);
        n->key_remaining_ms = rl_json_number(rl_json_member(node, "remaining_ms"), -1);
        n->holder_count = (uint32_t)rl_json_number(rl_json_member(node, "holder_count"), 0);
        n->waiter_count = (uint32_t)rl_json_number(rl_json_member(node, "waiters"), 0);
        rl_json_text(rl_json_member(node, "text"), n->text, sizeof n->text);
    }
    report->quorum = report->node_count / 2 + 1;
}

static void read_holders(struct rl_json_value body, redlock_info *info)
{
    struct rl_json_value holders = rl_json_member(body, "holders"), holder;
    while (info->holders_shown < REDLOCK_SHOWN_MAX && rl_json_element(&holders, &holder)) {
        redlock_holder *h = &info->holders[info->holders_shown++];
        *h = (redlock_holder){0};
        rl_json_text(rl_json_member(holder, "label"), h->label, sizeof h->label);
        rl_json_text(rl_json_member(holder, "fingerprint"), h->fingerprint,
                     sizeof h->fingerprint);
        strcpy(h->value, h->fingerprint);
        h->held_ms = rl_json_number(rl_json_member(holder, "held_ms"), -1);
        h->remaining_ms = rl_json_number(rl_json_member(holder, "remaining_ms"), -1);
        h->votes = (int32_t)rl_json_number(rl_json_member(holder, "votes"), 0);
    }
    if (info->holders_shown > 0)
        info->holder = info->holders[0];
}

static void read_queue(struct rl_json_value body, redlock_info *info)
{
    struct rl_json_value queue = rl_json_member(body, "queue"), waiter;
    while (info->waiters_shown < REDLOCK_SHOWN_MAX && rl_json_element(&queue, &waiter)) {
        redlock_waiter *w = &info->waiters[info->waiters_shown++];
        *w = (redlock_waiter){0};
        rl_json_text(rl_json_member(waiter, "label"), w->label, sizeof w->label);
        w->waited_ms = rl_json_number(rl_json_member(waiter, "waited_ms"), -1);
    }
}

static void read_lock(struct rl_json_value body, redlock_info *info)
{
    *info = (redlock_info){.holder = {.remaining_ms = -1, .held_ms = -1}};
    info->held = rl_json_true(rl_json_member(body, "held"));
    info->kind = read_kind(rl_json_member(body, "kind"));
    info->fence = rl_json_number(rl_json_member(body, "fence"), 0);
    info->holder_count = (uint32_t)rl_json_number(rl_json_member(body, "holder_count"), 0);
    info->slots = (uint32_t)rl_json_number(rl_json_member(body, "slots"), 0);
    info->waiter_count = (uint32_t)rl_json_number(rl_json_member(body, "waiters"), 0);
    info->disagree = rl_json_true(rl_json_member(body, "disagree"));
    read_holders(body, info);
    read_queue(body, info);
}

int service_look(const struct service *s, const char *name, redlock_info *info,
                 redlock_report *report, char detail[SERVICE_DETAIL_MAX])
{
    char path[SERVICE_PATH_MAX];
    struct service_answer a;
    int error;

    service_path(path, SERVICE_LOCKS, name);
    error = fetch(s, path, NULL, "held", &a, detail);
    *report = (redlock_report){0};
    service_read_nodes(a.body, report);
    if (error == REDLOCK_OK)
        read_lock(a.body, info);
    /* Of a node the service reports numbers alone: where all agree, it has what is held. */
    for (uint32_t i = 0; error == REDLOCK_OK && !info->disagree && i < report->node_count;
         i++) {
        redlock_node_report *n = &report->node[i];
        if (n->vote != REDLOCK_VOTE_TAKEN)
            continue;
        n->kind = info->kind;
        strcpy(n->value, info->holder.value);
    }
    service_answer_free(&a);
    return error;
}

int service_look_tenures(const struct service *s, const char *name, struct service_tenures *out,
                         char detail[SERVICE_DETAIL_MAX])
{
    char path[SERVICE_PATH_MAX], text[32];
    struct service_answer a;
    struct rl_json_value nodes, node;
    int error;

    service_path(path, SERVICE_LOCKS, name);
    error = fetch(s, path, NULL, "held", &a, detail);
    nodes = rl_json_member(a.body, "nodes");
    out->count = 0;
    while (error == REDLOCK_OK && out->count < REDLOCK_NODES_MAX &&
           rl_json_element(&nodes, &node)) {
        struct rl_json_value tenure = rl_json_member(node, "tenure");
        if (tenure.type == RL_JSON_ABSENT)
            continue;
        rl_json_text(tenure, text, sizeof text);
        out->tenure[out->count++] = strtoull(text, NULL, 16);
    }
    service_answer_free(&a);
    return error;
}

int service_list(const struct service *s, service_name_fn *each, void *data,
                 char detail[SERVICE_DETAIL_MAX])
{
    char after[REDLOCK_NAME_MAX + 1] = "";
    int error = REDLOCK_OK;
    bool more = true;
    for (size_t seen = 0; more && error == REDLOCK_OK && seen < REDLOCK_LIST_MAX;) {
        char path[SERVICE_PATH_MAX], name[REDLOCK_NAME_MAX + 1];
        struct service_answer a;
        struct rl_json_value names, value;
        int size = snprintf(path, sizeof path, "/v1/locks?limit=%d", NAMES_AT_ONCE);
        if (after[0])
            rl_percent_encode(stpcpy(path + size, "&after="), after, "._-");
        error = fetch(s, path, NULL, "names", &a, detail);
        more = rl_json_true(rl_json_member(a.body, "more"));
        names = rl_json_member(a.body, "names");
        while (error == REDLOCK_OK && rl_json_element(&names, &value)) {
            rl_json_text(value, name, sizeof name);
            each(name, data);
            strcpy(after, name);
            seen++;
        }
        service_answer_free(&a);
    }
    return error;
}

int service_break(const struct service *s, const char *name, const char *fingerprint,
                  redlock_report *report, char detail[SERVICE_DETAIL_MAX])
{
    char path[SERVICE_PATH_MAX],
        body[sizeof "{\"fingerprint\":\"\"}" + REDLOCK_FINGERPRINT_SIZE];
    struct service_answer a;
    int error;

    service_path(path, SERVICE_BREAKS, name);
    snprintf(body, sizeof body, "{\"fingerprint\":\"%s\"}", fingerprint);
    error = fetch(s, path, body, "final", &a, detail);
    *report = (redlock_report){0};
    rl_json_text(rl_json_member(a.body, "label"), report->holder.label,
                 sizeof report->holder.label);
    report->holder.remaining_ms = rl_json_number(rl_json_member(a.body, "remaining_ms"), -1);
    report->final_ms = rl_json_number(rl_json_member(a.body, "final_ms"), 0);
    service_answer_free(&a);
    return error;
}
