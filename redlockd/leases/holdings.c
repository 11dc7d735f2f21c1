/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/holdings.h"

#include <string.h>

#include "base/time.h"
#include "io/clock.h"

#define LOOKS_AT_ONCE 32 /* queries of the nodes under way: others wait for so many ... */
#define LOOKS_EVERY_NS (10 * RL_NS_PER_MS) /* ... in this time */
#define LOOKS_MAX 3                        /* after so many without an answer it is forgotten */
#define LAST_LOOK 16 /* the last look before its time is over: at 1 / 16 of the TTL before */
#define LOOK_AGAIN_NS (2 * RL_NS_PER_S)
#define SLACK_MS 200  /* beyond a TTL: scheduling here, rounding there */
#define CLOCK_RATE 50 /* clocks of nodes may be slower than ours by 1 / 50 */

static int64_t slack_ms(int64_t ttl_ms)
{
    return ttl_ms / CLOCK_RATE + SLACK_MS;
}

/* What the nodes keep of it at most, counted from an answer that came from them. */
static int64_t forgotten_ns(int64_t now_ns, int64_t ttl_ms)
{
    return now_ns + (ttl_ms + slack_ms(ttl_ms)) * RL_NS_PER_MS;
}

struct holding holding_of(const struct lease_request *request, const char *value,
                          int64_t now_ns, char label[REDLOCK_LABEL_MAX + 1])
{
    lease_label_of(value ? value : "", label);
    return (struct holding){.tag = &request->tag,
                            .who = &request->who,
                            .rule = request->rule,
                            .name = request->name,
                            .label = label,
                            .fence = request->fence,
                            .ttl_ms = request->lease.ttl_ms,
                            .at_ns = now_ns,
                            .waited_ns = now_ns - request->lease.received_ns,
                            .valid_ns = request->lock ? redlock_deadline_ns(request->lock) : 0,
                            .peer = request->exchange ? request->exchange->peer : NULL,
                            .is_stream = request->lease.is_stream};
}

struct lease_held *holdings_find(const struct leases *leases, const struct lease_tag *tag,
                                 const char *name)
{
    struct lease_held *held = lease_table_held(&leases->table, tag);

    return held && strcmp(held->name, name) == 0 ? held : NULL;
}

/* ---- entries ----------------------------------------------------------------------------- */

static void count_for(struct lease_held *held, struct access_rule *rule)
{
    held->rule = rule;
    if (rule)
        held->rule->leases++;
}

static void count_no_more(struct lease_held *held)
{
    if (held->rule)
        held->rule->leases--;
    held->rule = NULL;
}

/* What the nodes are about to answer is old. */
static void stop_looking(struct leases *leases, struct lease_held *held)
{
    if (!held->job)
        return;
    redlock_cancel_job(leases->client, held->job);
    leases->looks--;
    held->job = 0;
}

static void forget(struct leases *leases, struct lease_held *held)
{
    stop_looking(leases, held);
    count_no_more(held);
    lease_table_let_go(&leases->table, held);
}

static void look_at(struct leases *leases, struct lease_held *held, int64_t look_ns)
{
    held->look_ns = look_ns;
    lease_table_plan(&leases->table, held->entry);
}

/*
 * The nodes are looked at before the time of a lease is over as well: gone by then, it was
 * ended through another replica; gone afterwards, it was never released. A lease that is
 * renewed in time meets no look.
 */
static void plan_look(struct leases *leases, struct lease_held *held, int64_t now_ns)
{
    int64_t left_ns = held->valid_ns - now_ns;
    int64_t last_ns = held->ttl_ms * RL_NS_PER_MS / LAST_LOOK;
    int64_t look_ns = held->expires_ns;

    if (left_ns > last_ns)
        look_ns = held->valid_ns - (left_ns / 4 > last_ns ? left_ns / 4 : last_ns);
    look_at(leases, held, look_ns);
}

static void keep(struct leases *leases, const struct holding *holding, bool is_granted)
{
    struct lease_held *held = lease_table_held(&leases->table, holding->tag);
    int64_t now_ns = holding->at_ns;

    /* The same id under another name: one id, one acquisition. */
    if (held && strcmp(held->name, holding->name) != 0)
        return;
    if (held) {
        stop_looking(leases, held);
        count_no_more(held);
    } else {
        held = lease_table_hold(&leases->table, holding->tag, holding->name, holding->label);
        if (!held)
            return;
        held->granted_ns = now_ns;
        /* The fence of a renewal is the word of its client. */
        held->fence = is_granted ? holding->fence : 0;
    }
    held->mark = holding->mark;
    held->who = *holding->who;
    held->ttl_ms = holding->ttl_ms;
    held->valid_ns = holding->valid_ns;
    held->expires_ns = holding->is_stream ? RL_NEVER_NS : forgotten_ns(now_ns, holding->ttl_ms);
    held->looks = 0;
    held->is_left = held->is_broken = false;
    count_for(held, holding->rule);
    if (holding->is_stream)
        look_at(leases, held, RL_NEVER_NS);
    else
        plan_look(leases, held, now_ns);
}

void holdings_reload(struct leases *leases)
{
    for (struct lease_held *held = leases->table.held; held; held = held->next) {
        /* The counters of the new rules begin at 0. */
        if (!held->is_broken)
            count_for(held, access_rule_of(leases->access, &held->who, held->name));
    }
}

void holdings_left(struct leases *leases, const struct lease_request *request)
{
    struct lease_held *held = lease_table_held(&leases->table, &request->tag);
    int64_t now_ns = rl_now_ns();

    if (!held)
        return;
    held->is_left = true;
    held->valid_ns = redlock_deadline_ns(request->lock);
    held->expires_ns = forgotten_ns(now_ns, held->ttl_ms);
    plan_look(leases, held, now_ns);
}

bool holdings_are_over(const struct leases *leases, int64_t now_ns)
{
    for (const struct lease_held *held = leases->table.held; held; held = held->next)
        if (!held->is_left && held->expires_ns > now_ns)
            return false;
    return !leases->all;
}

/* ---- what is noted ----------------------------------------------------------------------- */

void holdings_held(struct leases *leases, const struct holding *holding, bool is_granted)
{
    keep(leases, holding, is_granted);
    if (is_granted)
        journal_note(leases->journal,
                     &(struct journal_entry){.event = JOURNAL_GRANTED,
                                             .principal = holding->who->principal,
                                             .name = holding->name,
                                             .label = holding->label,
                                             .fence = holding->fence,
                                             .waited_ns = holding->waited_ns,
                                             .peer = holding->peer});
}

void holdings_ended(struct leases *leases, const struct holding *holding,
                    enum journal_event event, const char *reason)
{
    struct lease_held *held = holdings_find(leases, holding->tag, holding->name);
    struct journal_entry line = {.event = event,
                                 .principal = holding->who->principal,
                                 .name = holding->name,
                                 .label = held ? held->label : holding->label,
                                 .fence = held ? held->fence : 0,
                                 .reason = reason,
                                 .peer = holding->peer};

    if (held)
        line.held_ns = rl_now_ns() - held->granted_ns;
    if (event == JOURNAL_LOST && held && held->expires_ns <= rl_now_ns())
        line.event = JOURNAL_EXPIRED;
    journal_note(leases->journal, &line);
    if (!held)
        return;
    if (event == JOURNAL_BROKEN) {
        /* Its holder does not know yet: the renewal that finds it gone is a loss. */
        count_no_more(held);
        held->is_left = held->is_broken = true;
    } else {
        forget(leases, held);
    }
}

void holdings_endangered(struct leases *leases, const struct holding *holding,
                         const char *error)
{
    journal_note(leases->journal,
                 &(struct journal_entry){.event = error ? JOURNAL_JEOPARDY : JOURNAL_RECOVERED,
                                         .principal = holding->who->principal,
                                         .name = holding->name,
                                         .label = holding->label,
                                         .fence = holding->fence,
                                         .reason = error});
}

void holdings_denied(struct leases *leases, const struct http_exchange *exchange,
                     const struct rl_slice *path, const struct access_who *who,
                     const char *name, const char *reason)
{
    journal_note(leases->journal,
                 &(struct journal_entry){.event = JOURNAL_DENIED,
                                         .principal = who ? who->principal : NULL,
                                         .name = name,
                                         .reason = reason,
                                         .peer = exchange->peer,
                                         .path = path ? *path : (struct rl_slice){NULL, 0}});
}

/* ---- looking ----------------------------------------------------------------------------- */

/* How long the nodes keep a value of this tag; 0: they do not have it; -1: they did not
 * answer. */
static int64_t kept_ms(const redlock_event *event, const struct lease_tag *tag)
{
    const redlock_info *info = event->error ? NULL : event->answer->info;

    if (!info)
        return -1;
    for (uint32_t i = 0; i < info->holders_shown; i++)
        if (lease_has_tag(info->holders[i].value, tag))
            return info->holders[i].remaining_ms > 0 ? info->holders[i].remaining_ms : 1;
    return info->holder_count > info->holders_shown ? -1 : 0;
}

/* The nodes do not have it. */
static void note_gone(struct leases *leases, struct lease_held *held)
{
    struct holding holding = {.tag = &held->entry->tag, .who = &held->who, .name = held->name};
    bool is_early = rl_now_ns() < held->valid_ns;

    if (held->is_broken)
        forget(leases, held);
    else
        holdings_ended(leases, &holding, is_early ? JOURNAL_ENDED : JOURNAL_EXPIRED,
                       is_early ? "ELSEWHERE" : NULL);
}

void holdings_looked(struct leases *leases, struct lease_held *held, const redlock_event *event)
{
    int64_t left_ms = kept_ms(event, &held->entry->tag);
    int64_t now_ns = rl_now_ns();

    leases->looks--;
    held->job = 0;
    if (left_ms == 0) {
        note_gone(leases, held);
    } else if (now_ns + (left_ms - slack_ms(held->ttl_ms)) * RL_NS_PER_MS > held->expires_ns) {
        /* Renewed by another replica, which notes its end. */
        forget(leases, held);
    } else if (now_ns < held->valid_ns) {
        plan_look(leases, held, now_ns);
    } else if (left_ms < 0 && ++held->looks >= LOOKS_MAX && !event->error) {
        forget(leases, held);
    } else {
        look_at(leases, held,
                now_ns < held->expires_ns ? held->expires_ns : now_ns + LOOK_AGAIN_NS);
    }
}

void holdings_look(struct leases *leases, struct lease_entry *entry, int64_t now_ns)
{
    struct lease_held *held = entry->held;
    int64_t next_ns = RL_NEVER_NS; /* the answer decides what follows */

    if (!held || held->look_ns > now_ns) {
        lease_table_plan(&leases->table, entry);
        return;
    }
    stop_looking(leases, held);
    if (leases->looks >= LOOKS_AT_ONCE) {
        next_ns = now_ns + (1 + leases->postponed++ / LOOKS_AT_ONCE) * LOOKS_EVERY_NS;
    } else if (redlock_start_query(leases->client, held->name, held, &held->job)) {
        next_ns = now_ns + LOOK_AGAIN_NS;
    } else {
        leases->looks++;
        loop_wake(&leases->library);
    }
    look_at(leases, held, next_ns);
}
