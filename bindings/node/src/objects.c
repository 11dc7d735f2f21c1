/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects.h"

#define US_PER_MS 1000.0

#define NAME_OF(name, text) #name,
#define TEXT_OF(name, text) text,
static const char *const vote_names[] = {REDLOCK_VOTES(NAME_OF)};
static const char *const state_texts[] = {REDLOCK_NODE_STATES(TEXT_OF)};

static void put_reason(napi_env env, napi_value object, int32_t reason)
{
    put_text(env, object, "reason",
             reason == REDLOCK_REASON_NONE ? NULL : redlock_reason_name(reason));
}

/* null: there is none. */
static napi_value new_holder(napi_env env, const redlock_holder *holder)
{
    napi_value out;

    if (!holder->value[0])
        return new_text(env, NULL);
    out = new_object(env);
    put_text(env, out, "value", holder->value);
    put_text(env, out, "label", holder->label);
    put_text(env, out, "fingerprint", holder->fingerprint);
    put_ms(env, out, "heldFor", (double)holder->held_ms);
    put_flag(env, out, "heldAtLeast", holder->held_at_least != 0);
    put_number(env, out, "votes", holder->votes);
    put_ms(env, out, "remaining", (double)holder->remaining_ms);
    return out;
}

static napi_value new_node_report(napi_env env, const redlock_node_report *node)
{
    napi_value out = new_object(env);

    put_text(env, out, "address", node->address);
    put_text(env, out, "vote", vote_names[node->vote]);
    put_text(env, out, "meaning", redlock_vote_text(node->vote));
    put_reason(env, out, node->reason);
    put_ms(env, out, "rtt", node->rtt_us / US_PER_MS);
    put_ms(env, out, "keyRemaining", (double)node->key_remaining_ms);
    put_text(env, out, "value", node->value);
    put_text(env, out, "text", node->text);
    return out;
}

napi_value new_report(napi_env env, const redlock_report *report)
{
    static const redlock_report none;
    napi_value out = new_object(env);
    napi_value nodes = NULL;

    if (!report)
        report = &none;
    napi_create_array(env, &nodes);
    for (uint32_t i = 0; i < report->node_count; i++)
        napi_set_element(env, nodes, i, new_node_report(env, &report->node[i]));
    put(env, out, "nodes", nodes);
    put_text(env, out, "quorum", report->quorum_name);
    put(env, out, "holder", new_holder(env, &report->holder));
    put_number(env, out, "waiterCount", report->waiter_count);
    return out;
}

static napi_value new_info(napi_env env, const redlock_info *info)
{
    napi_value out = new_object(env);
    napi_value holders = NULL;
    napi_value waiters = NULL;

    napi_create_array(env, &holders);
    for (uint32_t i = 0; i < info->holders_shown; i++)
        napi_set_element(env, holders, i, new_holder(env, &info->holders[i]));
    napi_create_array(env, &waiters);
    for (uint32_t i = 0; i < info->waiters_shown; i++) {
        napi_value waiter = new_object(env);

        put_text(env, waiter, "name", info->waiters[i].name);
        put_text(env, waiter, "label", info->waiters[i].label);
        put_ms(env, waiter, "waitedFor", (double)info->waiters[i].waited_ms);
        napi_set_element(env, waiters, i, waiter);
    }
    put_flag(env, out, "held", info->held != 0);
    put_text(env, out, "kind", info->kind < 0 ? NULL : redlock_kind_text(info->kind));
    put(env, out, "holder", new_holder(env, &info->holder));
    put_flag(env, out, "disagree", info->disagree != 0);
    put_number(env, out, "fence", (double)info->fence);
    put_number(env, out, "slots", info->slots);
    put_text(env, out, "owner", info->owner);
    put_number(env, out, "holderCount", info->holder_count);
    put(env, out, "holders", holders);
    put_number(env, out, "waiterCount", info->waiter_count);
    put(env, out, "waiters", waiters);
    return out;
}

napi_value new_event(napi_env env, const redlock_event *event)
{
    const redlock_answer *answer = event->answer;
    napi_value out;

    if (!event->error && !answer && event->type != REDLOCK_EVENT_WARNING)
        return new_text(env, NULL);
    out = new_report(env, event->lock ? redlock_lock_report(event->lock)
                          : answer    ? answer->report
                                      : NULL);
    put_text(env, out, "detail", event->detail);
    put_text(env, out, "address", event->address);
    if (answer && answer->info)
        put(env, out, "info", new_info(env, answer->info));
    if (answer && !event->error)
        put(env, out, "names", new_texts(env, answer->names, answer->name_count));
    return out;
}

static const char *const deployment_texts[] = {
#define DEPLOYMENT_TEXT(name, text) text,
    REDLOCK_DEPLOYMENTS(DEPLOYMENT_TEXT)
#undef DEPLOYMENT_TEXT
};

napi_value new_node(napi_env env, const redlock_node_info *node)
{
    napi_value out = new_object(env);

    put_text(env, out, "address", node->address);
    put_text(env, out, "state", state_texts[node->state]);
    put_reason(env, out, node->reason);
    put_text(env, out, "text", node->text);
    put_text(env, out, "quorum", node->quorum_name);
    put_flag(env, out, "tls", node->tls != 0);
    put_flag(env, out, "native", node->native != 0);
    put_ms(env, out, "rtt", node->rtt_us / US_PER_MS);
    put_number(env, out, "connects", node->connects);
    put_number(env, out, "pending", node->pending);
    put_text(env, out, "version", node->version);
    put_flag(env, out, "quarantined", node->quarantined != 0);
    put_flag(env, out, "misplaced", node->misplaced != 0);
    put_ms(env, out, "quarantineFor", (double)node->quarantine_ms);
    put_text(env, out, "deployment", deployment_texts[node->deployment]);
    put_text(env, out, "server", node->server);
    if (node->term < 0)
        put_text(env, out, "term", NULL);
    else
        put_number(env, out, "term", (double)node->term);
    return out;
}

napi_value new_counters(napi_env env, const redlock_counters *counters)
{
    napi_value out = new_object(env);

    put_number(env, out, "acquired", (double)counters->acquired);
    put_number(env, out, "refusedBusy", (double)counters->refused_busy);
    put_number(env, out, "refusedTimeout", (double)counters->refused_timeout);
    put_number(env, out, "refusedNoQuorum", (double)counters->refused_noquorum);
    put_number(env, out, "refusedGuarded", (double)counters->refused_guarded);
    put_number(env, out, "refusedCanceled", (double)counters->refused_canceled);
    put_number(env, out, "refusedOther", (double)counters->refused_other);
    put_number(env, out, "late", (double)counters->late);
    put_number(env, out, "renewed", (double)counters->renewed);
    put_number(env, out, "renewalsFailed", (double)counters->renewals_failed);
    put_number(env, out, "released", (double)counters->released);
    put_number(env, out, "releasesFailed", (double)counters->releases_failed);
    put_number(env, out, "lostExpired", (double)counters->lost_expired);
    put_number(env, out, "lostMissing", (double)counters->lost_missing);
    put_number(env, out, "lostDoubt", (double)counters->lost_doubt);
    put_number(env, out, "waiting", (double)counters->waiting);
    put_number(env, out, "held", (double)counters->held);
    return out;
}
