/* SPDX-License-Identifier: BSD-2-Clause */

#include "hold.h"
#include "random.h"
#include "record.h"
#include "register.h"
#include "rig.h"

#include "clock.h"
#include "helper.h"
#include "unix_socket.h"

#include <pthread.h>
#include <redlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WRITE_MARGIN_MS = 1,   /* little on purpose: looking and acting are never one */
    LAST_WAIT_MS = 30000,  /* a wait under way when the faults end must succeed */
    GROUP_WAIT_MS = 60000, /* sentinels take longer to be well again */
    NODE_TIMEOUT_MS = 150, /* a busy machine is no fault */
    ROUND_POLL_MS = 10,
    PULSE_MS = 10,
    LATE_MS = 30,
    LEAK_BYTES = 16384,
    LONG_HOLDS = 6,
    LOOK_MS = 20,
};

/* Adds one to the register of `name`, the fenced or the plain one, as holders do: read, think,
   look whether the lock is still ours, write. */
static void add_one(struct crew *c, struct hold *h, int name, bool fenced)
{
    struct register_request request = {.worker = (uint16_t)c->index,
                                       .life = (uint16_t)c->life,
                                       .hold = h->number,
                                       .name = (uint8_t)name,
                                       .fenced = fenced,
                                       .token = hold_fence(h)};
    struct register_reply reply;
    if (hold_remaining_ms(h) < WRITE_MARGIN_MS)
        return;
    if (!register_send(c->registers, &request, &reply) || !reply.accepted)
        return;
    sleep_ms(random_between(&c->random, 1, 5));
    if (hold_remaining_ms(h) < WRITE_MARGIN_MS)
        return;
    /* Here nothing can help but the token. */
    if (atomic_exchange(&c->rig->board->stop_writer[c->index], 0))
        raise(SIGSTOP);
    request.write = true;
    request.based_on = reply.value;
    register_send(c->registers, &request, &reply);
}

static void write_registers(struct crew *c, struct hold *h)
{
    for (int name = 0; name < REGISTERS; name++)
        if (h->names >> name & 1) {
            /* In both orders, so that each is now and then the one that comes late. */
            bool first = random_next(&c->random) % 2;
            add_one(c, h, name, first);
            add_one(c, h, name, !first);
        }
}

/* A draw for the whole request: how long, how patient, how polite. */
static struct hold draw_hold(struct crew *c, int kind, unsigned int names)
{
    struct hold h = {.kind = kind,
                     .names = names,
                     .fenced = names < 1u << REGISTERS || names >= 1u << NAME_PARCEL};
    bool elected = c->rig->schedule->elected;
    int64_t max_ttl_ms = c->rig->schedule->max_ttl_ms;
    bool served, unguarded, holds;
    h.ttl_ms = random_between(&c->random, 300, max_ttl_ms);
    if (random_between(&c->random, 0, 3) > 0)
        h.wait_ms = random_between(&c->random, 100, MAX_WAIT_MS);
    h.fair = random_next(&c->random) % 2;
    h.renewed = random_next(&c->random) % 2;
    /* Mostly short; sometimes as long as it lasts, or longer than one TTL. */
    h.stay_ms = random_between(&c->random, 1, 12);
    if (random_between(&c->random, 0, 11) == 0)
        h.stay_ms = random_between(&c->random, 200, h.renewed ? 3000 : h.ttl_ms + 300);
    /* A long hold is in danger, and repeated tries are the danger. */
    unguarded = c->rig->schedule->regime == REGIME_BROKEN_GUARD;
    holds = c->index < (unguarded ? 5 : 2) && (unguarded || random_next(&c->random) % 2);
    if (holds) {
        h.ttl_ms = max_ttl_ms;
        h.renewed = elected;
        h.stay_ms = elected ? random_between(&c->random, 1000, 3 * max_ttl_ms) : max_ttl_ms;
    } else if (unguarded || (c->index >= 5 && random_next(&c->random) % 2)) {
        h.wait_ms = 0;
        h.stay_ms = 1;
    }
    /* What is believed for too long is seen only if it is used to its end, by
     * clients that waited. */
    if (c->rig->schedule->regime == REGIME_BROKEN_DEADLINE) {
        h.ttl_ms = random_between(&c->random, 300, 800);
        h.wait_ms = MAX_WAIT_MS;
        h.renewed = false;
        h.stay_ms = MAX_WAIT_MS;
    }
    served = c->way == WAY_SERVICE || c->way == WAY_GO;
    if (served && c->rig->schedule->regime != REGIME_BROKEN_DEADLINE)
        h.streamed = random_between(&c->random, 0, 2) == 0;
    h.renewed |= c->way == WAY_GO;
    if (h.streamed) {
        h.renewed = true; /* by its replica */
        if (random_between(&c->random, 0, 5) == 0)
            h.stay_ms = random_between(&c->random, 200, 3000);
    }
    h.stream = -1;
    if (c->rig->board->phase >= PHASE_LAST_CALL) {
        h.wait_ms = elected ? GROUP_WAIT_MS : LAST_WAIT_MS;
        h.stay_ms = 1;
    }
    return h;
}

static void use_one(struct crew *c, int kind, unsigned int names)
{
    struct hold h = draw_hold(c, kind, names);
    if (!hold_take(c, &h))
        return;
    write_registers(c, &h);
    hold_stay(c, &h);
    hold_end(c, &h);
}

/* Up to three holds of one owner inside one another. */
static void use_nested(struct crew *c)
{
    struct hold h[3];
    int depth = (int)random_between(&c->random, 1, 3), taken = 0;
    for (; taken < depth; taken++) {
        h[taken] = draw_hold(c, REDLOCK_REENTRANT, 1u << NAME_TREE);
        if (taken > 0)
            h[taken].wait_ms = 0;
        if (!hold_take(c, &h[taken]))
            break;
        if (h[taken].stay_ms > 300)
            h[taken].stay_ms = 300;
        hold_stay(c, &h[taken]);
    }
    while (taken > 0)
        hold_end(c, &h[--taken]);
}

static unsigned int any_parcel(struct crew *c)
{
    return 1u << random_between(&c->random, NAME_PARCEL, NAMES - 1);
}

/* One after the other, each as short as it can be. */
static void use_briefly(struct crew *c)
{
    for (int64_t left = random_between(&c->random, 5, 25); left > 0; left--) {
        struct hold h = draw_hold(c, REDLOCK_MUTEX, any_parcel(c));
        h.wait_ms = 0;
        h.stay_ms = random_between(&c->random, 0, 2);
        if (!hold_take(c, &h))
            continue;
        hold_stay(c, &h);
        hold_end(c, &h);
    }
}

/* Ends the hold of another, as an operator or a second client would: by a break, or a release
 * by its key. */
static void evict(struct crew *c)
{
    const char *name = name_text[NAME_EVICTED];
    redlock_answer *answer = NULL;
    struct record r = {.what = RECORD_EVICT,
                       .worker = (uint16_t)c->index,
                       .life = (uint16_t)c->life,
                       .names = 1u << NAME_EVICTED,
                       .value = now_ns()};
    const redlock_holder *holder;
    if (redlock_query(c->client, name, &answer) != REDLOCK_OK)
        return;
    holder = &answer->info->holder;
    if (answer->info->held && hold_of_value(holder->value, &r.hold)) {
        char key[HOLD_KEY_SIZE];
        hold_key(r.hold, key);
        r.error = random_next(&c->random) % 2
                      ? redlock_break(c->client, name, holder->fingerprint, NULL)
                      : redlock_release_by_key(c->client, name, key, NULL);
        record_append(c->rig->history, r);
    }
    redlock_answer_free(answer);
}

/* Many at once, renewed for so long that failovers fall into it. */
static void use_long(struct crew *c)
{
    struct hold h[LONG_HOLDS];
    int count = 0;
    int64_t max_ttl_ms = c->rig->schedule->max_ttl_ms;
    int64_t end_ms;
    for (int i = 0; i < LONG_HOLDS; i++) {
        h[count] = draw_hold(c, REDLOCK_MUTEX, i == 0 ? 1u << NAME_EVICTED : any_parcel(c));
        h[count].ttl_ms = random_between(&c->random, max_ttl_ms / 2, max_ttl_ms);
        h[count].renewed = true;
        h[count].wait_ms = 0;
        count += hold_take(c, &h[count]);
    }
    end_ms = now_ms() + random_between(&c->random, 1000, 3 * max_ttl_ms);
    for (int held = count; held > 0 && now_ms() < end_ms;) {
        sleep_ms(LOOK_MS);
        held = 0;
        for (int i = 0; i < count; i++)
            held += hold_look(c, &h[i]);
    }
    while (count > 0)
        hold_end(c, &h[--count]);
}

/*
 * Where masters are elected: some have much to lose, the others are after it. In a trap for a
 * rule that is switched off the former are on the side that is cut off.
 */
static void use_parcels(struct crew *c)
{
    bool trapped = c->rig->schedule->trap != TRAP_ANY;
    bool holds =
        trapped ? c->index < 2 : c->index % (WORKERS / 2) < 2 && random_next(&c->random) % 2;
    if (c->way == WAY_LIBRARY && holds)
        use_long(c);
    else if (c->way == WAY_LIBRARY && !trapped && random_between(&c->random, 0, 9) == 0)
        evict(c);
    else if (c->way == WAY_LIBRARY)
        use_briefly(c);
    else
        use_one(c, REDLOCK_MUTEX, any_parcel(c));
}

/* Two names at once; by HTTP one. */
static unsigned int several(const struct crew *c)
{
    bool by_http = c->way == WAY_SERVICE || c->way == WAY_GO;
    return !by_http ? 1u << NAME_ORDERS | 1u << NAME_STOCK : 1u << NAME_STOCK;
}

static void use_something(struct crew *c)
{
    const struct schedule *s = c->rig->schedule;
    if (s->elected && (s->trap != TRAP_ANY || random_between(&c->random, 0, 3) > 0)) {
        use_parcels(c);
        return;
    }
    switch (random_between(&c->random, 0, 9)) {
    case 0:
    case 1:
    case 2:
    case 3:
        use_one(c, REDLOCK_MUTEX, 1u << random_between(&c->random, NAME_ORDERS, NAME_LEDGER));
        return;
    case 4:
        use_one(c, REDLOCK_MUTEX, several(c));
        return;
    case 5:
    case 6:
        use_one(c, REDLOCK_SHARED, 1u << NAME_CATALOG);
        return;
    case 7:
        use_one(c, REDLOCK_MUTEX, 1u << NAME_CATALOG);
        return;
    case 8:
        use_one(c, REDLOCK_SEMAPHORE, 1u << NAME_PRINTERS);
        return;
    default:
        use_nested(c);
    }
}

/* When all is well again: every worker takes every name once more. */
static void use_everything(struct crew *c)
{
    for (int name = NAME_ORDERS; name <= NAME_LEDGER; name++)
        use_one(c, REDLOCK_MUTEX, 1u << name);
    use_one(c, REDLOCK_MUTEX, several(c));
    use_one(c, REDLOCK_SHARED, 1u << NAME_CATALOG);
    use_one(c, REDLOCK_MUTEX, 1u << NAME_CATALOG);
    use_one(c, REDLOCK_SEMAPHORE, 1u << NAME_PRINTERS);
    use_nested(c);
}

static void open_client(struct crew *c)
{
    const struct rig *r = c->rig;
    redlock_options o =
        REDLOCK_OPTIONS(.nodes = r->cluster.urls, .node_count = r->cluster.count,
                        .flags = REDLOCK_THREAD, .node_timeout_ms = NODE_TIMEOUT_MS,
                        .max_ttl_ms = (uint32_t)r->schedule->max_ttl_ms, .client_name = "chaos",
                        .notify = hold_notify);
    int error;
    if (r->schedule->regime == REGIME_STRICT)
        o.flags |= REDLOCK_STRICT;
    if (r->schedule->regime == REGIME_BROKEN_GUARD)
        o.flags |= REDLOCK_NO_GUARD;
    if (r->schedule->regime == REGIME_BROKEN_NODES) {
        /* Three of the five each, and only one of them known to all. */
        o.nodes = &r->cluster.urls[c->index % 2 == 0 ? 0 : 2];
        o.node_count = 3;
    }
    error = redlock_open(&o, &c->client);
    if (error != REDLOCK_OK) {
        fprintf(stderr, "worker %d: %s\n", c->index + 1, redlock_detail());
        _exit(2);
    }
}

/* Library, service and command in the proportion 4 : 2 : 2; where masters are elected, a
 * command on each side. */
static enum way way_of(const struct schedule *s, int index)
{
    if (s->elected && s->trap == TRAP_ANY && index % (WORKERS / 2) == WORKERS / 2 - 1)
        return WAY_COMMAND;
    if (!s->service)
        return WAY_LIBRARY;
    if (!s->mixed) {
        bool go = index == WORKERS - 1 && command_go() && s->regime != REGIME_BROKEN_DEADLINE;
        return go ? WAY_GO : WAY_SERVICE;
    }
    return index < WORKERS / 2       ? WAY_LIBRARY
           : index < WORKERS * 3 / 4 ? WAY_SERVICE
                                     : WAY_COMMAND;
}

/* Planted, so that the judgement of a soak can be seen to fail. */
static void leak(enum leak kind, enum way way)
{
    static void *volatile last;
    if (kind == LEAK_NONE || way != WAY_LIBRARY)
        return;
    if (kind == LEAK_DESCRIPTOR) {
        (void)!dup(STDERR_FILENO);
        return;
    }
    last = malloc(LEAK_BYTES);
    if (last != NULL)
        memset(last, 1, LEAK_BYTES);
}

/*
 * The machine does not serve all processes alike: a thread that wants to run every few
 * milliseconds notes when this one did not get the CPU. What the library's own threads do does
 * not delay it.
 */
static void *feel_pulse(void *data)
{
    const struct crew *c = data;
    for (;;) {
        int64_t before_ns = now_ns();
        int64_t late_ns;
        sleep_ms(PULSE_MS);
        late_ns = now_ns() - before_ns - PULSE_MS * RL_NS_PER_MS;
        if (late_ns >= LATE_MS * RL_NS_PER_MS)
            record_append(c->rig->history, (struct record){.what = RECORD_LATE,
                                                           .worker = (uint16_t)(c->index + 1),
                                                           .value = late_ns});
    }
    return NULL;
}

/* The round is over for this worker. False: it was the last one. */
static bool await_round(struct crew *c)
{
    struct board *b = c->rig->board;
    int round = b->round;
    b->done[c->index] = round + 1;
    if (b->last_round)
        return false;
    while (b->round == round)
        sleep_ms(ROUND_POLL_MS);
    close(c->registers);
    c->registers = unix_connect(c->rig->register_path, REGISTER_SOCKET);
    if (c->registers < 0)
        _exit(3);
    return true;
}

void worker_run(void *data)
{
    static const char *const ways[] = {[WAY_LIBRARY] = "library",
                                       [WAY_SERVICE] = "HTTP",
                                       [WAY_COMMAND] = "command",
                                       [WAY_GO] = "Go"};
    const struct worker_job *job = data;
    struct rig *r = job->rig;
    char name[32];
    struct crew c = {.rig = r, .index = job->index, .life = r->worker[job->index].life};
    pthread_t pulse;
    c.random = r->schedule->seed ^ ((uint64_t)(c.index + 1) << 32 | (uint64_t)c.life << 48);
    snprintf(c.owner, sizeof c.owner, "w%d.%d", c.index + 1, c.life);
    c.registers = unix_connect(r->register_path, REGISTER_SOCKET);
    if (c.registers < 0)
        _exit(3);
    c.way = way_of(r->schedule, c.index);
    snprintf(name, sizeof name, "%s %d", ways[c.way], c.index + 1);
    helper_name(name);
    if ((r->schedule->mixed || r->schedule->elected) &&
        pthread_create(&pulse, NULL, feel_pulse, &c) != 0)
        _exit(3);
    if (c.way == WAY_LIBRARY)
        open_client(&c);
    record_append(r->history, (struct record){.what = RECORD_BORN,
                                              .worker = (uint16_t)c.index,
                                              .life = (uint16_t)c.life});
    do {
        while (r->board->phase < PHASE_QUIET) {
            use_something(&c);
            leak(r->schedule->leak, c.way);
            sleep_ms(random_between(&c.random, 1, 15));
        }
        use_everything(&c);
    } while (await_round(&c));
    redlock_close(c.client); /* NULL is fine */
}
