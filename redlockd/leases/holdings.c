/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/holdings.h"

#include <string.h>

#include "base/time.h"
#include "io/clock.h"

#define LOOKS_AT_ONCE 32 /* questions to the nodes under way */
#define LOOKS_MAX 3      /* after so many that could not tell, it is forgotten */
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
                          char label[REDLOCK_LABEL_MAX + 1])
{
    lease_label_of(value ? value : "", label);
    return (struct holding){.tag = &request->tag,
                            .who = &request->who,
                            .rule = request->rule,
                            .name = request->name,
                            .label = label,
                            .fence = request->fence,
                            .ttl_ms = request->lease.ttl_ms,
                            .waited_ns = rl_now_ns() - request->lease.received_ns,
                            .valid_ns = request->lock ? redlock_deadline_ns(request->lock) : 0,
                            .peer = request->exchange ? http_exchange_peer(request->exchange)
                                                      : NULL,
                            .is_stream = request->lease.is_stream};
}

struct ledger_entry *holdings_find(const struct leases *leases, const struct lease_tag *tag,
                                   const char *name)
{
    struct ledger_entry *entry = ledger_find(&leases->ledger, tag);

    return entry && strcmp(entry->name, name) == 0 ? entry : NULL;
}

/* ---- entries ----------------------------------------------------------------------------- */

static void count_for(struct ledger_entry *entry, struct access_rule *rule)
{
    entry->rule = rule;
    if (rule)
        entry->rule->leases++;
}

static void count_no_more(struct ledger_entry *entry)
{
    if (entry->rule)
        entry->rule->leases--;
    entry->rule = NULL;
}

/* What the nodes are about to say is old. */
static void stop_asking(struct leases *leases, struct ledger_entry *entry)
{
    if (!entry->job)
        return;
    redlock_cancel_job(leases->client, entry->job);
    leases->looks--;
    entry->job = 0;
}

static void forget(struct leases *leases, struct ledger_entry *entry)
{
    stop_asking(leases, entry);
    count_no_more(entry);
    ledger_remove(&leases->ledger, entry);
}

/*
 * The nodes are looked at before the time of a lease is over as well: gone by then, it was
 * ended through another replica; gone afterwards, it was never released. A lease that is
 * renewed in time meets no look.
 */
static void plan_look(struct leases *leases, struct ledger_entry *entry, int64_t now_ns)
{
    int64_t left_ns = entry->valid_ns - now_ns;
    int64_t last_ns = entry->ttl_ms * RL_NS_PER_MS / LAST_LOOK;
    int64_t due_ns = entry->expires_ns;

    if (left_ns > last_ns)
        due_ns = entry->valid_ns - (left_ns / 4 > last_ns ? left_ns / 4 : last_ns);
    ledger_set_due(&leases->ledger, entry, due_ns);
}

static void keep(struct leases *leases, const struct holding *holding, bool is_granted)
{
    struct ledger_entry *entry = ledger_find(&leases->ledger, holding->tag);
    int64_t now_ns = rl_now_ns();

    /* The same id under another name: one id, one acquisition. */
    if (entry && strcmp(entry->name, holding->name) != 0)
        return;
    if (entry) {
        stop_asking(leases, entry);
        count_no_more(entry);
    } else {
        entry = ledger_add(&leases->ledger, holding->tag, holding->name, holding->label,
                           RL_NEVER_NS);
        if (!entry)
            return;
        entry->granted_ns = now_ns;
        /* The fence of a renewal is what its client says. */
        entry->fence = is_granted ? holding->fence : 0;
    }
    entry->who = *holding->who;
    entry->ttl_ms = holding->ttl_ms;
    entry->valid_ns = holding->valid_ns;
    entry->expires_ns =
        holding->is_stream ? RL_NEVER_NS : forgotten_ns(now_ns, holding->ttl_ms);
    entry->looks = 0;
    entry->is_left = entry->is_broken = false;
    count_for(entry, holding->rule);
    if (holding->is_stream)
        ledger_set_due(&leases->ledger, entry, RL_NEVER_NS);
    else
        plan_look(leases, entry, now_ns);
}

void holdings_reload(struct leases *leases)
{
    for (size_t i = 0; i < leases->ledger.count; i++) {
        struct ledger_entry *entry = ledger_at(&leases->ledger, i);

        /* The counters of the new rules begin at 0. */
        if (!entry->is_broken)
            count_for(entry, access_rule_of(leases->access, &entry->who, entry->name));
    }
}

void holdings_left(struct leases *leases, const struct lease_request *request)
{
    struct ledger_entry *entry = ledger_find(&leases->ledger, &request->tag);
    int64_t now_ns = rl_now_ns();

    if (!entry)
        return;
    entry->is_left = true;
    entry->valid_ns = redlock_deadline_ns(request->lock);
    entry->expires_ns = forgotten_ns(now_ns, entry->ttl_ms);
    plan_look(leases, entry, now_ns);
}

bool holdings_are_over(const struct leases *leases, int64_t now_ns)
{
    for (size_t i = 0; i < leases->ledger.count; i++) {
        const struct ledger_entry *entry = ledger_at(&leases->ledger, i);

        if (!entry->is_left && entry->expires_ns > now_ns)
            return false;
    }
    return true;
}

/* ---- what is told ------------------------------------------------------------------------ */

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
    struct ledger_entry *entry = holdings_find(leases, holding->tag, holding->name);
    struct journal_entry line = {.event = event,
                                 .principal = holding->who->principal,
                                 .name = holding->name,
                                 .label = entry ? entry->label : holding->label,
                                 .fence = entry ? entry->fence : 0,
                                 .reason = reason,
                                 .peer = holding->peer};

    if (entry)
        line.held_ns = rl_now_ns() - entry->granted_ns;
    if (event == JOURNAL_LOST && entry && entry->expires_ns <= rl_now_ns())
        line.event = JOURNAL_EXPIRED;
    journal_note(leases->journal, &line);
    if (!entry)
        return;
    if (event == JOURNAL_BROKEN) {
        /* Its holder does not know yet: the renewal that finds it gone is a loss. */
        count_no_more(entry);
        entry->is_left = entry->is_broken = true;
    } else {
        forget(leases, entry);
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
                                         .peer = http_exchange_peer(exchange),
                                         .path = path ? *path : (struct rl_slice){NULL, 0}});
}

/* ---- looking ----------------------------------------------------------------------------- */

/* How long the nodes keep a value of this tag; 0: they do not have it; -1: they could not
 * tell. */
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
static void tell_gone(struct leases *leases, struct ledger_entry *entry)
{
    struct holding holding = {.tag = &entry->tag, .who = &entry->who, .name = entry->name};
    bool is_early = rl_now_ns() < entry->valid_ns;

    if (entry->is_broken)
        forget(leases, entry);
    else
        holdings_ended(leases, &holding, is_early ? JOURNAL_ENDED : JOURNAL_EXPIRED,
                       is_early ? "ELSEWHERE" : NULL);
}

void holdings_looked(struct leases *leases, struct ledger_entry *entry,
                     const redlock_event *event)
{
    int64_t left_ms = kept_ms(event, &entry->tag);
    int64_t now_ns = rl_now_ns();

    leases->looks--;
    entry->job = 0;
    if (left_ms == 0) {
        tell_gone(leases, entry);
    } else if (now_ns + (left_ms - slack_ms(entry->ttl_ms)) * RL_NS_PER_MS >
               entry->expires_ns) {
        /* Renewed by another replica, which tells its end. */
        forget(leases, entry);
    } else if (now_ns < entry->valid_ns) {
        plan_look(leases, entry, now_ns);
    } else if (left_ms < 0 && ++entry->looks >= LOOKS_MAX && !event->error) {
        forget(leases, entry);
    } else {
        ledger_set_due(&leases->ledger, entry,
                       now_ns < entry->expires_ns ? entry->expires_ns : now_ns + LOOK_AGAIN_NS);
    }
}

int64_t holdings_turn(struct leases *leases, int64_t now_ns)
{
    struct ledger_entry *entry = ledger_first(&leases->ledger);

    while (entry && entry->due_ns <= now_ns && leases->looks < LOOKS_AT_ONCE) {
        bool is_asked;

        stop_asking(leases, entry);
        is_asked =
            redlock_start_query(leases->client, entry->name, entry, &entry->job) == REDLOCK_OK;
        leases->looks += is_asked;
        /* The answer says what follows. */
        ledger_set_due(&leases->ledger, entry, is_asked ? RL_NEVER_NS : now_ns + LOOK_AGAIN_NS);
        leases_wake(leases);
        entry = ledger_first(&leases->ledger);
    }
    if (!entry)
        return RL_NEVER_NS;
    return entry->due_ns > now_ns ? entry->due_ns : now_ns + LOOK_AGAIN_NS;
}
