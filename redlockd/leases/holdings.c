/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/holdings.h"

#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "io/clock.h"

#define LOOKS_AT_ONCE 32 /* questions to the nodes under way */
#define LOOKS_MAX 3      /* after so many that could not tell, it is forgotten */
#define LOOK_AGAIN_NS (2 * RL_NS_PER_S)
#define SLACK_MS 200  /* beyond a TTL: scheduling here, rounding there */
#define CLOCK_RATE 50 /* clocks of nodes may be slower than ours by 1 / 50 */

/* What the nodes keep of it at most, counted from an answer that came from them. */
static int64_t forgotten_ns(int64_t now_ns, int64_t ttl_ms)
{
    return now_ns + (ttl_ms + ttl_ms / CLOCK_RATE + SLACK_MS) * RL_NS_PER_MS;
}

struct holding holding_of(const struct lease *lease, const char *name, const char *value,
                          char label[REDLOCK_LABEL_MAX + 1])
{
    lease_label_of(value ? value : "", label);
    return (struct holding){.tag = &lease->tag,
                            .who = &lease->who,
                            .name = name,
                            .label = label,
                            .fence = lease->fence,
                            .ttl_ms = lease->ttl_ms,
                            .is_stream = lease->stream != NULL};
}

/* ---- entries ----------------------------------------------------------------------------- */

static void count_for(struct leases *leases, struct ledger_entry *entry)
{
    entry->rule = access_rule_of(leases->access, &entry->who, entry->name);
    if (entry->rule)
        entry->rule->leases++;
}

static void count_no_more(struct ledger_entry *entry)
{
    if (entry->rule)
        entry->rule->leases--;
    entry->rule = NULL;
}

static void forget(struct leases *leases, struct ledger_entry *entry)
{
    count_no_more(entry);
    ledger_remove(&leases->ledger, entry);
}

static void keep(struct leases *leases, const struct holding *holding)
{
    struct ledger_entry *entry = ledger_find(&leases->ledger, holding->tag);
    int64_t now_ns = rl_now_ns();
    int64_t due_ns = holding->is_stream ? RL_NEVER_NS : forgotten_ns(now_ns, holding->ttl_ms);

    if (entry) {
        count_no_more(entry);
        ledger_set_due(&leases->ledger, entry, due_ns);
    } else {
        entry =
            ledger_add(&leases->ledger, holding->tag, holding->name, holding->label, due_ns);
        if (!entry)
            return;
        entry->granted_ns = now_ns;
        entry->fence = holding->fence;
    }
    entry->who = *holding->who;
    entry->ttl_ms = holding->ttl_ms;
    entry->expires_ns = due_ns;
    entry->looks = 0;
    entry->is_asked = entry->is_left = false;
    count_for(leases, entry);
}

void holdings_reload(struct leases *leases)
{
    for (size_t i = 0; i < leases->ledger.count; i++) {
        struct ledger_entry *entry = ledger_at(&leases->ledger, i);

        /* The counters of the new rules begin at 0. */
        count_for(leases, entry);
    }
}

void holdings_left(struct leases *leases, const struct lease_tag *tag)
{
    struct ledger_entry *entry = ledger_find(&leases->ledger, tag);

    if (!entry)
        return;
    entry->is_left = true;
    entry->expires_ns = forgotten_ns(rl_now_ns(), entry->ttl_ms);
    ledger_set_due(&leases->ledger, entry, entry->expires_ns);
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
    keep(leases, holding);
    if (is_granted)
        audit_write(leases->audit, &(struct audit_line){.event = AUDIT_GRANTED,
                                                        .principal = holding->who->principal,
                                                        .name = holding->name,
                                                        .label = holding->label,
                                                        .fence = holding->fence});
}

void holdings_begin(struct lease *lease, bool is_granted)
{
    char label[REDLOCK_LABEL_MAX + 1];
    struct holding holding =
        holding_of(lease, redlock_name(lease->lock), redlock_value(lease->lock), label);

    holdings_held(lease->leases, &holding, is_granted);
}

void holdings_end(struct lease *lease, enum audit_event event, const char *reason)
{
    char label[REDLOCK_LABEL_MAX + 1];
    struct holding holding =
        holding_of(lease, redlock_name(lease->lock), redlock_value(lease->lock), label);

    holdings_ended(lease->leases, &holding, event, reason);
}

void holdings_ended(struct leases *leases, const struct holding *holding,
                    enum audit_event event, const char *reason)
{
    struct ledger_entry *entry = ledger_find(&leases->ledger, holding->tag);
    struct audit_line line = {.event = event,
                              .principal = holding->who->principal,
                              .name = holding->name,
                              .label = entry ? entry->label : holding->label,
                              .fence = entry ? entry->fence : holding->fence,
                              .reason = reason};

    if (entry)
        line.held_ns = rl_now_ns() - entry->granted_ns;
    if (event == AUDIT_LOST && entry && entry->expires_ns <= rl_now_ns())
        line.event = AUDIT_EXPIRED;
    audit_write(leases->audit, &line);
    if (entry)
        forget(leases, entry);
}

void holdings_endangered(struct lease *lease, int error)
{
    char label[REDLOCK_LABEL_MAX + 1];
    struct holding holding =
        holding_of(lease, redlock_name(lease->lock), redlock_value(lease->lock), label);

    audit_write(lease->leases->audit,
                &(struct audit_line){.event = error ? AUDIT_JEOPARDY : AUDIT_RECOVERED,
                                     .principal = holding.who->principal,
                                     .name = holding.name,
                                     .label = holding.label,
                                     .fence = holding.fence,
                                     .reason = error ? redlock_error_name(error) : NULL});
}

void holdings_denied(struct leases *leases, const struct access_who *who, const char *name,
                     const char *reason)
{
    audit_write(leases->audit, &(struct audit_line){.event = AUDIT_DENIED,
                                                    .principal = who ? who->principal : NULL,
                                                    .name = name,
                                                    .reason = reason});
}

/* ---- looking ----------------------------------------------------------------------------- */

struct look {
    struct leases *leases;
    struct lease_tag tag;
};

/* How long the nodes keep a value of this tag; 0: they do not have it; -1: they could not tell. */
static int64_t kept_ms(int error, const redlock_answer *answer, const struct lease_tag *tag)
{
    const redlock_info *info = answer->info;

    if (error || !info)
        return -1;
    for (uint32_t i = 0; i < info->shown_holder_count; i++)
        if (lease_has_tag(info->shown_holder[i].value, tag))
            return info->shown_holder[i].ttl_ms > 0 ? info->shown_holder[i].ttl_ms : 1;
    return info->holder_count > info->shown_holder_count ? -1 : 0;
}

static void on_looked(int error, const redlock_answer *answer, void *data)
{
    struct look *look = data;
    struct leases *leases = look->leases;
    struct ledger_entry *entry = ledger_find(&leases->ledger, &look->tag);
    int64_t left_ms = kept_ms(error, answer, &look->tag);

    free(look);
    leases->looks--;
    /* Renewed or released meanwhile. */
    if (!entry || !entry->is_asked)
        return;
    entry->is_asked = false;
    if (left_ms == 0) {
        struct holding holding = {.tag = &entry->tag, .who = &entry->who, .name = entry->name};

        holdings_ended(leases, &holding, AUDIT_EXPIRED, NULL);
    } else if (left_ms > entry->ttl_ms / CLOCK_RATE + SLACK_MS) {
        /* Renewed by another replica, which tells its end. */
        forget(leases, entry);
    } else if (left_ms < 0 && ++entry->looks >= LOOKS_MAX && !error) {
        forget(leases, entry);
    } else {
        ledger_set_due(&leases->ledger, entry, rl_now_ns() + LOOK_AGAIN_NS);
    }
}

static bool ask(struct leases *leases, struct ledger_entry *entry)
{
    struct look *look = malloc(sizeof *look);

    if (!look)
        return false;
    *look = (struct look){leases, entry->tag};
    if (redlock_start_query(leases->client, entry->name, on_looked, look) != REDLOCK_OK) {
        free(look);
        return false;
    }
    leases->looks++;
    leases_wake(leases);
    return true;
}

int64_t holdings_turn(struct leases *leases, int64_t now_ns)
{
    struct ledger_entry *entry = ledger_first(&leases->ledger);

    while (entry && entry->due_ns <= now_ns && leases->looks < LOOKS_AT_ONCE) {
        entry->is_asked = ask(leases, entry);
        /* Asked: the answer says what follows; the time is for an answer that never comes. */
        ledger_set_due(&leases->ledger, entry,
                       now_ns + LOOK_AGAIN_NS * (entry->is_asked ? 30 : 1));
        entry = ledger_first(&leases->ledger);
    }
    if (!entry)
        return RL_NEVER_NS;
    return entry->due_ns > now_ns ? entry->due_ns : now_ns + LOOK_AGAIN_NS;
}
