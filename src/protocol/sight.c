/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/sight.h"

#include <stdbool.h>
#include <string.h>

#include "core/answer.h"
#include "core/kind.h"
#include "protocol/value.h"

/* Elements of a reply of look.lua. */
enum {
    FIELDS = 7,
    FIELDS_OF_HOLDER = 3,
    FIELDS_OF_WAITER = 2,
};

static struct rl_slice text_at(const struct rl_reply *reply, uint32_t index)
{
    if (index < reply->element_count && reply->element[index].type == RL_REPLY_BULK)
        return reply->element[index].text;
    return (struct rl_slice){"", 0};
}

static void copy_text(struct rl_slice text, char *out, size_t size)
{
    memcpy(out, text.data, text.size < size ? text.size : size - 1);
    out[text.size < size ? text.size : size - 1] = '\0';
}

static uint32_t at_most(int64_t number, uint32_t limit)
{
    return number < 0 ? 0 : number < limit ? (uint32_t)number : limit;
}

static int64_t believable_ms(int64_t time_ms)
{
    if (time_ms < 0)
        return -1;
    return time_ms < REDLOCK_WAIT_MAX_MS ? time_ms : REDLOCK_WAIT_MAX_MS;
}

void rl_holder_read(struct rl_slice value, redlock_holder *out)
{
    struct rl_value parts;

    *out = (redlock_holder){.remaining_ms = -1};
    rl_value_read(value, &parts);
    rl_text_show(value, out->value, sizeof out->value);
    copy_text(parts.label, out->label, sizeof out->label);
    out->held_ms = parts.stamp_ms;
}

void rl_holder_set_age(redlock_holder *holder, int64_t wall_ms)
{
    if (holder->held_ms < 0) {
        holder->held_at_least = 0;
        return;
    }
    holder->held_at_least |= holder->held_ms > wall_ms;
    holder->held_ms = holder->held_ms > wall_ms ? 0 : wall_ms - holder->held_ms;
}

static void read_waiters(const struct rl_reply *reply, uint32_t first, struct rl_sight *out)
{
    out->shown_waiter_count = at_most(rl_reply_integer(reply, 4, 0), REDLOCK_SHOWN_MAX);
    for (uint32_t i = 0; i < out->shown_waiter_count; i++) {
        struct rl_slice name = text_at(reply, first + FIELDS_OF_WAITER * i);

        rl_text_show(name, out->waiter[i].name, sizeof out->waiter[i].name);
        copy_text(rl_label_of(name), out->waiter[i].label, sizeof out->waiter[i].label);
        out->waiter[i].waited_ms =
            believable_ms(rl_reply_integer(reply, first + FIELDS_OF_WAITER * i + 1, -1));
    }
}

void rl_sight_read(const struct rl_reply *reply, struct rl_sight *out)
{
    uint32_t shown;

    out->kind = -1;
    for (int32_t kind = 0; kind < RL_KIND_COUNT; kind++)
        if (rl_slice_equals(reply->element[0].text, rl_kinds[kind].key_type))
            out->kind = kind;
    out->fence = rl_reply_integer(reply, 2, 0);
    if (!rl_is_token(out->fence))
        out->fence = 0;
    out->waiters = (uint32_t)rl_reply_integer(reply, 3, 0);
    rl_text_show(text_at(reply, 5), out->group, sizeof out->group);
    out->holder_count = (uint32_t)rl_reply_integer(reply, 6, 0);
    shown = at_most(out->holder_count, REDLOCK_SHOWN_MAX);
    for (uint32_t i = 0; i < shown; i++) {
        uint32_t at = FIELDS + FIELDS_OF_HOLDER * i;
        struct rl_slice fingerprint = text_at(reply, at + 2);

        rl_holder_read(text_at(reply, at), &out->holder[i]);
        out->holder[i].remaining_ms = believable_ms(rl_reply_integer(reply, at + 1, -1));
        /* It is hex, whatever the node sends. */
        if (fingerprint.size == REDLOCK_FINGERPRINT_SIZE && rl_text_is_printable(fingerprint))
            copy_text(fingerprint, out->holder[i].fingerprint,
                      sizeof out->holder[i].fingerprint);
        /* The owner's holds: an earlier one may have been given back. */
        if (out->kind >= 0)
            out->holder[i].held_at_least = rl_kinds[out->kind].has_owner;
    }
    read_waiters(reply, FIELDS + FIELDS_OF_HOLDER * shown, out);
}
