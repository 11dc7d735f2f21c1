/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/lock_brief.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ui/kind.h"
#include "ui/record.h"
#include "ui/text.h"

struct lock_brief lock_brief_of(const char *name, const redlock_info *info, int64_t left_ms)
{
    bool record = record_is(name, info);
    struct lock_brief b = {
        .held = info->held,
        .disagree = info->disagree && !record,
        .record = record,
        .kind = info->kind,
        .votes = info->holder.votes,
        .holder_count = info->holder_count,
        .slots = info->slots,
        .waiter_count = info->waiter_count,
        .left_ms = left_ms,
        .fence = info->fence,
        .holder = info->holders,
        .waiter = info->waiters,
        .shown_holders = info->holders_shown,
        .shown_waiters = info->waiters_shown,
    };
    memcpy(b.value, info->holder.value, sizeof b.value);
    memcpy(b.owner, info->owner, sizeof b.owner);
    return b;
}

bool lock_brief_copy(struct lock_brief *out, const char *name, const redlock_info *info,
                     int64_t left_ms)
{
    struct lock_brief b = lock_brief_of(name, info, left_ms);
    size_t holders = b.shown_holders * sizeof *b.holder;
    size_t waiters = b.shown_waiters * sizeof *b.waiter;
    char *memory = malloc(holders + waiters + 1);
    if (!memory)
        return false;
    memcpy(memory, b.holder, holders);
    memcpy(memory + holders, b.waiter, waiters);
    b.holder = (const redlock_holder *)memory;
    b.waiter = (const redlock_waiter *)(memory + holders);
    b.owned = memory;
    *out = b;
    return true;
}

void lock_brief_free(struct lock_brief *b)
{
    free(b->owned);
    *b = (struct lock_brief){0};
}

const redlock_holder *lock_brief_longest(const struct lock_brief *b)
{
    const redlock_holder *longest = NULL;
    for (uint32_t i = 0; i < b->shown_holders && b->held; i++) {
        if (!longest || b->holder[i].held_ms > longest->held_ms)
            longest = &b->holder[i];
    }
    return longest;
}

static void json_holders(const struct lock_brief *b, struct rl_json *j)
{
    rl_json_array(j, "held_by");
    for (uint32_t i = 0; i < b->shown_holders; i++) {
        const redlock_holder *h = &b->holder[i];
        char value[TEXT_HOLDER_MAX];
        text_holder(value, h->value);
        rl_json_object(j, NULL);
        rl_json_string(j, "label", h->label[0] ? h->label : NULL);
        rl_json_string(j, "value", value);
        rl_json_string(j, "fingerprint", h->fingerprint);
        rl_json_known(j, "held_ms", h->held_ms);
        rl_json_bool(j, "held_at_least", h->held_at_least);
        rl_json_known(j, "remaining_ms", h->remaining_ms);
        rl_json_integer(j, "votes", h->votes);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

static void json_waiters(const struct lock_brief *b, struct rl_json *j)
{
    rl_json_array(j, "waiting");
    for (uint32_t i = 0; i < b->shown_waiters; i++) {
        const redlock_waiter *w = &b->waiter[i];
        char name[TEXT_HOLDER_MAX];
        text_holder(name, w->name);
        rl_json_object(j, NULL);
        rl_json_string(j, "label", w->label[0] ? w->label : NULL);
        rl_json_string(j, "waiter", name);
        rl_json_known(j, "waited_ms", w->waited_ms);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

void lock_brief_json(const struct lock_brief *b, struct rl_json *j)
{
    char value[TEXT_HOLDER_MAX], owner[TEXT_OWNER_MAX];
    const redlock_holder *first = b->held && b->shown_holders > 0 ? &b->holder[0] : NULL;
    text_holder(value, b->value);
    text_owner(owner, b->owner);
    rl_json_bool(j, "held", b->held);
    rl_json_string(j, "kind", b->kind < 0 ? NULL : redlock_kind_text(b->kind));
    rl_json_integer(j, "votes", b->votes);
    rl_json_string(j, "label", first && first->label[0] ? first->label : NULL);
    rl_json_string(j, "holder", b->value[0] ? value : NULL);
    rl_json_integer(j, "holders", b->holder_count);
    rl_json_string(j, "owner", b->owner[0] ? owner : NULL);
    rl_json_known(j, "slots", kind_words(b->kind)->has_slots ? (int64_t)b->slots : -1);
    rl_json_known(j, "held_ms", first ? first->held_ms : -1);
    rl_json_bool(j, "held_at_least", first && first->held_at_least);
    rl_json_known(j, "remaining_ms", b->held ? b->left_ms : -1);
    rl_json_known(j, "fence", b->fence > 0 ? b->fence : -1);
    rl_json_integer(j, "waiters", b->waiter_count);
    rl_json_bool(j, "disagree", b->disagree);
    rl_json_bool(j, "record", b->record);
    json_holders(b, j);
    json_waiters(b, j);
}
