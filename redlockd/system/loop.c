/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"

#define NO_SLOT UINT32_MAX
#define SLOTS_FIRST 64
#define UNARMED_WAIT_MS 10
/* Above every tag that the reactor uses itself. */
#define TAG_FIRST 0x1000u
#define PASSES_MAX 4
#define BATCHES_MAX 4     /* of RL_REACTOR_EVENTS_MAX events, in a turn */
#define LOOP_AT_ONCE_NS 1 /* behind the next look at what is ready */

int loop_init(struct loop *loop)
{
    memset(loop, 0, sizeof *loop);
    loop->free_slot = loop->freed_slot = NO_SLOT;
    loop->last_later = &loop->later;
    loop->now_ns = rl_now_ns();
    return rl_reactor_init(&loop->reactor);
}

void loop_free(struct loop *loop)
{
    rl_reactor_free(&loop->reactor);
    free(loop->slots);
    loop->slots = NULL;
}

/* ---- sources --------------------------------------------------------------------------- */

static bool grow(struct loop *loop)
{
    uint32_t count = loop->slot_count ? 2 * loop->slot_count : SLOTS_FIRST;
    struct loop_slot *slots = realloc(loop->slots, count * sizeof *slots);

    if (!slots)
        return false;
    for (uint32_t i = loop->slot_count; i < count; i++)
        slots[i] = (struct loop_slot){NULL, i + 1 < count ? i + 1 : loop->free_slot};
    loop->free_slot = loop->slot_count;
    loop->slots = slots;
    loop->slot_count = count;
    return true;
}

int loop_add(struct loop *loop, struct loop_source *source, int fd, uint32_t events)
{
    uint32_t slot;

    if (loop->free_slot == NO_SLOT && !grow(loop)) {
        errno = ENOMEM;
        return -1;
    }
    slot = loop->free_slot;
    if (rl_reactor_add(&loop->reactor, fd, events, TAG_FIRST + slot) != 0)
        return -1;
    loop->free_slot = loop->slots[slot].next_free;
    loop->slots[slot].source = source;
    source->fd = fd;
    source->slot = slot;
    source->is_later = false;
    return 0;
}

int loop_change(struct loop *loop, struct loop_source *source, uint32_t events)
{
    return rl_reactor_change(&loop->reactor, source->fd, events, TAG_FIRST + source->slot);
}

void loop_later(struct loop *loop, struct loop_source *source)
{
    if (source->is_later)
        return;
    source->is_later = true;
    source->next_later = NULL;
    source->previous_later = loop->last_later;
    *loop->last_later = source;
    loop->last_later = &source->next_later;
    loop->later_count++;
}

static void take_later(struct loop *loop, struct loop_source *source)
{
    source->is_later = false;
    loop->later_count--;
    *source->previous_later = source->next_later;
    if (source->next_later)
        source->next_later->previous_later = source->previous_later;
    else
        loop->last_later = source->previous_later;
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
    struct loop_slot *slot = &loop->slots[source->slot];

    assert(slot->source == source);
    if (source->is_later)
        take_later(loop, source);
    rl_reactor_remove(&loop->reactor, source->fd);
    slot->source = NULL;
    slot->next_free = loop->freed_slot;
    loop->freed_slot = source->slot;
}

/* ---- turns ----------------------------------------------------------------------------- */

void loop_add_part(struct loop *loop, struct loop_part *part, void *context,
                   int64_t (*turn)(void *context, int64_t now_ns))
{
    struct loop_part **end = &loop->parts;

    while (*end)
        end = &(*end)->next;
    *part = (struct loop_part){.context = context, .turn = turn};
    *end = part;
}

static void dispatch(struct loop *loop, const struct epoll_event *event)
{
    uint32_t tag = event->data.u32;
    struct loop_source *source;

    if (tag == RL_REACTOR_TIMER)
        loop->reactor.armed_ns = RL_NEVER_NS;
    if (tag < TAG_FIRST)
        return;
    source = loop->slots[tag - TAG_FIRST].source;
    if (source)
        source->ready(source, event->events);
}

/* What was freed in this turn can be used from the next on. */
static void release_slots(struct loop *loop)
{
    while (loop->freed_slot != NO_SLOT) {
        uint32_t slot = loop->freed_slot;

        loop->freed_slot = loop->slots[slot].next_free;
        loop->slots[slot].next_free = loop->free_slot;
        loop->free_slot = slot;
    }
}

/* Each once that is due by then. The earliest time at which a part is due; 0: one was woken. */
static int64_t run_due(struct loop *loop, int64_t until_ns)
{
    int64_t next_ns = RL_NEVER_NS;

    for (struct loop_part *part = loop->parts; part; part = part->next) {
        if (part->due_ns <= until_ns || part->is_watching) {
            int64_t wanted_ns;

            part->due_ns = RL_NEVER_NS;
            wanted_ns = part->turn(part->context, loop->now_ns);
            loop_due(part, wanted_ns > 0 ? wanted_ns : LOOP_AT_ONCE_NS);
        }
    }
    for (const struct loop_part *part = loop->parts; part; part = part->next)
        if (part->due_ns < next_ns)
            next_ns = part->due_ns;
    return next_ns;
}

/* Those that were left with work before; what they leave again comes behind them. */
static void run_later(struct loop *loop)
{
    for (unsigned count = loop->later_count; count > 0 && loop->later; count--) {
        struct loop_source *source = loop->later;

        take_later(loop, source);
        source->ready(source, 0);
    }
}

/* Parts and sources give each other work: those that have some are called again. */
static int64_t run_parts(struct loop *loop)
{
    int64_t next_ns;

    loop->now_ns = rl_now_ns();
    run_later(loop);
    next_ns = run_due(loop, loop->now_ns);
    for (int pass = 1; pass < PASSES_MAX && (next_ns == 0 || loop->later); pass++) {
        run_later(loop);
        next_ns = run_due(loop, 0);
    }
    return loop->later ? 0 : next_ns;
}

void loop_turn(struct loop *loop, int timeout_ms)
{
    struct epoll_event events[RL_REACTOR_EVENTS_MAX];
    int64_t next_ns;
    int count;

    loop->turns++;
    /* Parts first: what they were given since the last turn may be due. */
    next_ns = run_parts(loop);
    if (loop->stopped)
        return;
    if (next_ns <= LOOP_AT_ONCE_NS) {
        timeout_ms = 0;
    } else if (next_ns != RL_NEVER_NS) {
        rl_reactor_arm(&loop->reactor, next_ns);
        /* Nothing would end the wait for a deadline: look at the clock instead. */
        if (loop->reactor.unarmed && (timeout_ms < 0 || timeout_ms > UNARMED_WAIT_MS))
            timeout_ms = UNARMED_WAIT_MS;
    }
    /* All that is ready, up to a bound: what it gives the parts to do leaves together. */
    for (int batch = 0; batch < BATCHES_MAX; batch++) {
        count = rl_reactor_wait(&loop->reactor, events, timeout_ms);
        loop->now_ns = rl_now_ns();
        for (int i = 0; i < count; i++)
            dispatch(loop, &events[i]);
        if (count < RL_REACTOR_EVENTS_MAX)
            break;
        timeout_ms = 0;
    }
    release_slots(loop);
}

void loop_run(struct loop *loop)
{
    while (!loop->stopped)
        loop_turn(loop, -1);
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}
