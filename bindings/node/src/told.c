/* SPDX-License-Identifier: BSD-2-Clause */
#include "told.h"

#define US_PER_MS 1000.0

static const char *vote_name(int32_t vote)
{
    static const char *const names[] = {
#define VOTE_NAME(name, text) #name,
        REDLOCK_VOTES(VOTE_NAME)
#undef VOTE_NAME
    };
    return vote >= 0 && (size_t)vote < sizeof names / sizeof names[0] ? names[vote] : "UNKNOWN";
}

static void put_us(napi_env env, napi_value object, const char *name, int32_t us)
{
    if (us < 0)
        put_text(env, object, name, NULL);
    else
        put_number(env, object, name, us / US_PER_MS);
}

static napi_value told_holder(napi_env env, const redlock_holder *holder)
{
    napi_value out = new_object(env);

    put_text(env, out, "value", holder->value);
    put_text(env, out, "label", holder->label);
    put_text(env, out, "mark", holder->mark);
    put_ms(env, out, "heldFor", holder->held_ms);
    put_flag(env, out, "heldAtLeast", holder->held_at_least != 0);
    put_number(env, out, "votes", holder->votes);
    put_ms(env, out, "ttl", holder->ttl_ms);
    return out;
}

static napi_value told_vote(napi_env env, const redlock_node_report *node)
{
    napi_value out = new_object(env);

    put_text(env, out, "address", node->address);
    put_text(env, out, "vote", vote_name(node->vote));
    put_text(env, out, "meaning", redlock_vote_text(node->vote));
    put_us(env, out, "rtt", node->rtt_us);
    put_ms(env, out, "keyTtl", node->key_ttl_ms);
    put_text(env, out, "holder", node->holder);
    put_text(env, out, "text", node->text);
    return out;
}

napi_value told_report(napi_env env, const redlock_report *report)
{
    napi_value out = new_object(env);
    napi_value nodes = NULL;

    napi_create_array(env, &nodes);
    for (uint32_t i = 0; report && i < report->node_count; i++)
        napi_set_element(env, nodes, i, told_vote(env, &report->node[i]));
    put(env, out, "nodes", nodes);
    put_text(env, out, "quorum", report ? report->quorum_name : NULL);
    if (report && report->holder.value[0])
        put(env, out, "holder", told_holder(env, &report->holder));
    else
        put_text(env, out, "holder", NULL);
    put_number(env, out, "waiters", report ? report->waiters : 0);
    return out;
}

napi_value told_info(napi_env env, const redlock_info *info)
{
    napi_value out = new_object(env);
    napi_value holders = NULL;
    napi_value waiters = NULL;

    napi_create_array(env, &holders);
    for (uint32_t i = 0; i < info->shown_holder_count; i++)
        napi_set_element(env, holders, i, told_holder(env, &info->shown_holder[i]));
    napi_create_array(env, &waiters);
    for (uint32_t i = 0; i < info->shown_waiter_count; i++) {
        napi_value waiter = new_object(env);

        put_text(env, waiter, "name", info->shown_waiter[i].name);
        put_text(env, waiter, "label", info->shown_waiter[i].label);
        put_ms(env, waiter, "waitedFor", info->shown_waiter[i].waited_ms);
        napi_set_element(env, waiters, i, waiter);
    }
    put_flag(env, out, "held", info->held != 0);
    put_text(env, out, "kind", info->kind < 0 ? NULL : redlock_kind_text(info->kind));
    put_number(env, out, "votes", info->votes);
    put_ms(env, out, "ttl", info->ttl_ms);
    put_flag(env, out, "disagree", info->disagree != 0);
    put_number(env, out, "fence", (double)info->fence);
    put_text(env, out, "label", info->label);
    put_ms(env, out, "heldFor", info->held_ms);
    put_flag(env, out, "heldAtLeast", info->held_at_least != 0);
    put_number(env, out, "slots", info->slots);
    put_text(env, out, "owner", info->owner);
    put_number(env, out, "holderCount", info->holder_count);
    put(env, out, "holders", holders);
    put_number(env, out, "waiterCount", info->waiters);
    put(env, out, "waiters", waiters);
    return out;
}

napi_value told_node(napi_env env, const redlock_node_info *node)
{
    static const char *const states[] = {
#define STATE_TEXT(name, text) text,
        REDLOCK_NODE_STATES(STATE_TEXT)
#undef STATE_TEXT
    };
    napi_value out = new_object(env);

    put_text(env, out, "address", node->address);
    put_text(env, out, "state", states[node->state]);
    put_text(env, out, "quorum", node->quorum_name);
    put_flag(env, out, "tls", node->tls != 0);
    put_flag(env, out, "native", node->native != 0);
    put_us(env, out, "rtt", node->rtt_us);
    put_number(env, out, "connects", node->connects);
    put_number(env, out, "pending", node->pending);
    put_text(env, out, "version", node->version);
    put_flag(env, out, "quarantined", node->quarantined != 0);
    put_ms(env, out, "quarantineFor", node->quarantine_ms);
    put_text(env, out, "text", node->text);
    return out;
}

napi_value told_stats(napi_env env, const redlock_stats *stats)
{
    napi_value out = new_object(env);

    put_number(env, out, "acquired", (double)stats->acquired);
    put_number(env, out, "refusedBusy", (double)stats->refused_busy);
    put_number(env, out, "refusedTimeout", (double)stats->refused_timeout);
    put_number(env, out, "refusedNoQuorum", (double)stats->refused_noquorum);
    put_number(env, out, "refusedGuarded", (double)stats->refused_guarded);
    put_number(env, out, "refusedCanceled", (double)stats->refused_canceled);
    put_number(env, out, "refusedOther", (double)stats->refused_other);
    put_number(env, out, "late", (double)stats->late);
    put_number(env, out, "renewed", (double)stats->renewed);
    put_number(env, out, "renewalsFailed", (double)stats->renewals_failed);
    put_number(env, out, "released", (double)stats->released);
    put_number(env, out, "releasesFailed", (double)stats->releases_failed);
    put_number(env, out, "lostExpired", (double)stats->lost_expired);
    put_number(env, out, "lostMissing", (double)stats->lost_missing);
    put_number(env, out, "lostDoubt", (double)stats->lost_doubt);
    put_number(env, out, "waiting", (double)stats->waiting);
    put_number(env, out, "held", (double)stats->held);
    return out;
}
