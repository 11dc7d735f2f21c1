/* SPDX-License-Identifier: BSD-2-Clause */
#include "hold.h"

#include "lease.h"
#include "random.h"
#include "record.h"
#include "rig.h"

#include "clock.h"

#include <stdio.h>

enum { LOOK_MS = 20, NOTICES_MAX = 16384 };

struct record hold_record(const struct crew *c, const struct hold *h, struct record r)
{
    r.worker = (uint16_t)c->index;
    r.life = (uint16_t)c->life;
    r.hold = h->number;
    r.kind = (uint8_t)h->kind;
    r.names = h->names;
    r.flags = (uint8_t)((h->fair ? RECORD_FAIR : 0) | (h->renewed ? RECORD_RENEWED : 0) |
                        (c->way == WAY_LIBRARY ? 0 : RECORD_LEASE) |
                        (c->way >= WAY_COMMAND ? RECORD_COMMAND : 0) |
                        (h->command.run ? RECORD_RUN : 0) | (h->streamed ? RECORD_STREAM : 0));
    return r;
}

void hold_note(const struct crew *c, const struct hold *h, struct record r)
{
    record_append(c->rig->history, hold_record(c, h, r));
}

/*
 * Holds of this process of which notify may have to speak: a hold itself lives on the worker's
 * stack and may be gone. Numbers that a worker has at a time are never so far apart.
 */
static struct notice {
    uint32_t number;
    _Atomic(redlock_lock *) lock; /* NULL: not known yet, or freed */
} notice[NOTICES_MAX];
static struct crew *only_crew;

void hold_notify(void *data)
{
    struct notice *t = data;
    redlock_lock *lock = atomic_load(&t->lock);
    if (lock != NULL && redlock_state(lock) == REDLOCK_STATE_LOST)
        hold_note(only_crew, &(struct hold){.number = t->number},
                  (struct record){.what = RECORD_LOST, .error = REDLOCK_LOST});
}

static struct notice *notice_of(const struct hold *h)
{
    return &notice[h->number % NOTICES_MAX];
}

int64_t hold_remaining_ms(const struct hold *h)
{
    return h->lock != NULL ? redlock_remaining_ms(h->lock)
                           : (h->deadline_ns - now_ns()) / RL_NS_PER_MS;
}

int64_t hold_fence(const struct hold *h)
{
    return h->lock != NULL ? redlock_fence(h->lock) : h->fence;
}

void hold_key(uint32_t number, char out[HOLD_KEY_SIZE])
{
    snprintf(out, HOLD_KEY_SIZE, "hold-%017u", number);
}

bool hold_of_value(const char *value, uint32_t *number)
{
    return sscanf(value, "hold-%17u:", number) == 1;
}

bool hold_take(struct crew *c, struct hold *h)
{
    int error;
    struct record r;
    redlock_request q;
    const char *name[NAMES] = {NULL};
    size_t count = 0;
    char key[HOLD_KEY_SIZE];
    only_crew = c;
    h->number = atomic_fetch_add(&c->rig->board->holds, 1) + 1;
    if (c->way == WAY_SERVICE)
        return lease_take(c, h);
    if (c->way >= WAY_COMMAND)
        return command_take(c, h);
    hold_key(h->number, key);
    for (int i = 0; i < NAMES; i++)
        if (h->names >> i & 1)
            name[count++] = name_text[i];
    q = (redlock_request)REDLOCK_REQUEST(
            .kind = h->kind,
            .flags = (h->renewed ? REDLOCK_RENEW : 0) | (h->fenced ? REDLOCK_FENCED : 0) |
                     (h->fair ? REDLOCK_FAIR : 0),
            .wait_ms = h->wait_ms, .data = notice_of(h),
            .slots = redlock_kind_traits(h->kind) & REDLOCK_KIND_SLOTS ? PRINTERS : 0,
            .owner = redlock_kind_traits(h->kind) & REDLOCK_KIND_OWNER ? c->owner : NULL,
            .idempotency_key = h->names == 1u << NAME_EVICTED ? key : NULL,
            .more_names = count > 1 ? name + 1 : NULL, .more_name_count = count - 1);
    notice_of(h)->number = h->number;
    r = (struct record){.what = RECORD_ASK, .at_ns = now_ns(), .value = h->ttl_ms};
    r.deadline_ns = h->wait_ms > 0 ? r.at_ns + h->wait_ms * RL_NS_PER_MS : 0;
    hold_note(c, h, r);
    error = redlock_acquire(c->client, name[0], h->ttl_ms, &q, &h->lock);
    r = (struct record){.what = error == REDLOCK_OK ? RECORD_GRANT : RECORD_DENY,
                        .at_ns = now_ns(),
                        .error = error};
    if (error == REDLOCK_OK) {
        r.deadline_ns = redlock_deadline_ns(h->lock);
        r.token = redlock_fence(h->lock);
        r.slot = (uint8_t)redlock_slot(h->lock);
    }
    hold_note(c, h, r);
    if (error != REDLOCK_OK)
        return false;
    atomic_store(&notice_of(h)->lock, h->lock);
    /* Lost before notify knew the handle? Then it is noted here. */
    if (redlock_state(h->lock) == REDLOCK_STATE_LOST)
        hold_notify(notice_of(h));
    return true;
}

bool hold_look(struct crew *c, const struct hold *h)
{
    int64_t deadline_ns = redlock_deadline_ns(h->lock);
    hold_note(c, h, (struct record){.what = RECORD_SEEN, .deadline_ns = deadline_ns});
    return deadline_ns != 0;
}

void hold_stay(struct crew *c, struct hold *h)
{
    int64_t end_ms;
    bool extend;
    if (c->way == WAY_SERVICE) {
        lease_stay(c, h);
        return;
    }
    if (c->way >= WAY_COMMAND) {
        command_stay(c, h);
        return;
    }
    end_ms = now_ms() + h->stay_ms;
    extend = !h->renewed && random_between(&c->random, 0, 3) == 0;
    for (int64_t left_ms; (left_ms = end_ms - now_ms()) > 0;) {
        sleep_ms(left_ms < LOOK_MS ? left_ms : LOOK_MS);
        if (extend && redlock_remaining_ms(h->lock) < h->ttl_ms / 2) {
            redlock_extend(h->lock, h->ttl_ms);
            extend = false;
        }
        if (!hold_look(c, h))
            return;
    }
}

void hold_end(struct crew *c, struct hold *h)
{
    if (c->way == WAY_SERVICE) {
        lease_end(c, h);
        return;
    }
    if (c->way >= WAY_COMMAND) {
        command_end(c, h);
        return;
    }
    hold_note(c, h, (struct record){.what = RECORD_RELEASE});
    hold_note(c, h,
              (struct record){.what = RECORD_RELEASED, .error = redlock_release(h->lock)});
    atomic_store(&notice_of(h)->lock, NULL);
    redlock_lock_free(h->lock);
    h->lock = NULL;
}
