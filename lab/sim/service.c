/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/service.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "lab/sim/world.h"

/* How long the handle of a renewal stays, at most. */
#define REST_NS (1000 * RL_NS_PER_MS)
/* A handle that is kept for this long after its deadline would sweep, if it did. */
#define BEYOND_NS (200 * RL_NS_PER_MS)
#define COMMENT_NS (10000 * RL_NS_PER_MS)
#define WRITE_NS                                                                               \
    (5 * RL_NS_PER_MS) /* until a byte of an answer is sent, or the client is seen gone */
#define DRAIN_NS (2000 * RL_NS_PER_MS)
#define CALM_NS (20 * RL_NS_PER_MS)

static struct sim_service *service_of(struct sim_world *world, const struct sim_client *client)
{
    struct sim_service *service = &world->service[client->index];

    if (service->life != client->life)
        *service = (struct sim_service){.life = client->life};
    return service;
}

static enum lease_memory find(struct sim_world *world, const struct sim_client *client,
                              const char *tag, struct sim_worker **worker)
{
    struct sim_service *service = service_of(world, client);

    *worker = NULL;
    for (uint32_t i = 0; i < SIM_IDS_MAX; i++)
        if (strcmp(service->id[i].tag, tag) == 0) {
            *worker = service->id[i].worker;
            return service->id[i].memory;
        }
    return LEASE_UNKNOWN;
}

static void remember(struct sim_world *world, struct sim_worker *worker,
                     enum lease_memory memory)
{
    struct sim_service *service = service_of(world, worker->client);
    bool is_open = memory == LEASE_WAITS || memory == LEASE_STREAMS;
    uint32_t at = 0;

    while (at < SIM_IDS_MAX && strcmp(service->id[at].tag, worker->exchange.grant.tag) != 0)
        at++;
    if (at == SIM_IDS_MAX) {
        do
            at = service->next++ % SIM_IDS_MAX;
        while (service->id[at].worker);
    }
    snprintf(service->id[at].tag, sizeof service->id[at].tag, "%s",
             memory == LEASE_UNKNOWN ? "" : worker->exchange.grant.tag);
    service->id[at].memory = memory;
    service->id[at].worker = is_open ? worker : NULL;
}

static void take_up(struct sim_worker *worker, const struct sim_request *request)
{
    struct sim_lease *lease = request->lease;
    const struct sim_grant *grant = request->grant;

    worker->lease = lease;
    worker->lease_number = grant == &lease->old ? 0 : lease->number;
    worker->names = grant->hold.names;
    worker->kind = grant->hold.kind;
    worker->slots = grant->hold.slots;
    memcpy(worker->owner, grant->hold.owner, sizeof worker->owner);
    worker->fair = lease->fair;
    worker->tag[0] = '\0';
}

/* The value with this tag on some node: what no replica may prolong. */
static const char *find_value(struct sim_world *world, const char *tag)
{
    for (uint8_t i = 0; i < world->options.node_count; i++) {
        const struct fake_store *store = &world->node[i].server.store;

        for (uint32_t k = 0; k < store->count; k++)
            for (uint32_t j = 0; j < store->key[k].item_count; j++) {
                int64_t ends_ms;
                const char *value =
                    sim_read_hold(&store->key[k], &store->key[k].item[j], &ends_ms);

                if (value && strncmp(value, tag, strlen(tag)) == 0)
                    return value;
            }
    }
    return NULL;
}

/* A handle for the value that an answer gave; now and then only the value is known. */
static bool adopt(struct sim_world *world, struct sim_worker *worker)
{
    const struct sim_grant *grant = &worker->exchange.grant;
    const char *value = worker->exchange.by_value
                            ? grant->value
                            : find_value(world, worker->exchange.grant.tag);
    bool knows_kind = sim_chance(&world->rng, 700);
    struct rl_lock_terms terms = {0};

    if (!value || !value[0])
        return false;
    if (knows_kind)
        terms = (struct rl_lock_terms){
            .kind = grant->hold.kind, .slots = grant->hold.slots, .fenced = grant->fence != 0};
    memset(worker->footprint, 0, sizeof worker->footprint);
    worker->missed_ns = 0;
    sim_app_make_handle(world, worker, &terms);
    rl_handle_adopt(worker->client->engine, &worker->handle, value, strlen(value), knows_kind);
    worker->handle.lock.slot = grant->hold.slot;
    worker->handle.lock.token = grant->fence;
    worker->held = worker->leaves = true;
    return true;
}

static void start(struct sim_world *world, struct sim_worker *worker, bool is_kept)
{
    snprintf(worker->tag, sizeof worker->tag, "%s", worker->exchange.grant.tag);
    worker->exchange.is_kept = is_kept;
    if (worker->exchange.client_gone)
        sim_fail(world, "for a client", "c%u.%u begins for one that has closed",
                 worker->client->index + 1, worker->index + 1);
    sim_app_acquire(world, worker);
    worker->exchange.rules.ttl_ms = worker->ttl_ns / RL_NS_PER_MS;
}

/* False: there is no such value. */
static bool extend(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = worker->client;

    if (!worker->has_lock && !adopt(world, worker))
        return false;
    sim_app_begin_operation(world, worker, SIM_EXTEND);
    sim_app_note(world, worker, worker->exchange.is_copy ? "extends for a copy" : "extends");
    rl_handle_extend(client->engine, &worker->handle, worker->ttl_ns,
                     sim_client_now_ns(world, client));
    return true;
}

static void end(struct sim_world *world, struct sim_worker *worker)
{
    bool by_tag = !worker->has_lock && !worker->exchange.by_value;

    if (worker->exchange.rules.verb == LEASE_ACQUIRE &&
        worker->lease_number == worker->lease->number)
        worker->lease->ended = true;
    /* What a DELETE has confirmed stays ended. */
    if (worker->exchange.rules.verb == LEASE_RELEASE && worker->exchange.grant.value[0])
        sim_ended_begin(world, worker, worker->exchange.grant.value);
    if (by_tag) {
        snprintf(worker->wanted, sizeof worker->wanted, "%s:", worker->exchange.grant.tag);
        sim_app_evict(world, worker, true);
    } else {
        if (!worker->has_lock)
            adopt(world, worker);
        sim_app_release(world, worker);
    }
}

static void set_fate(struct sim_world *world, struct sim_worker *worker, enum sim_fate fate,
                     int64_t within_ns)
{
    worker->exchange.fate = fate;
    worker->exchange.fate_ns = world->now_ns + sim_spread(&world->rng, 1, within_ns);
}

/* Of a request that has just been begun, or has taken a wait over. */
static void draw_fate(struct sim_world *world, struct sim_worker *worker)
{
    worker->exchange.fate = SIM_STAYS;
    if (sim_chance(&world->rng, worker->exchange.is_copy ? 500 : 150))
        set_fate(world, worker, SIM_CLOSES, 2000 * RL_NS_PER_MS);
}

/* 201 is written. In calm no lock is left to its TTL. */
static void draw_delivery(struct sim_world *world, struct sim_worker *worker)
{
    bool is_sent = !world->calm && sim_chance(&world->rng, 700);

    set_fate(world, worker,
             is_sent                        ? SIM_SENDS
             : sim_chance(&world->rng, 800) ? SIM_CLOSES
                                            : SIM_CUTS,
             WRITE_NS);
}

/* `granted` is written to a stream. */
static void draw_stream(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_exchange *exchange = &worker->exchange;
    uint64_t way = sim_below(&world->rng, 10);

    exchange->was_sent = !world->calm && sim_chance(&world->rng, 900);
    set_fate(world, worker,
             way < 6                               ? SIM_CLOSES
             : way < 8 || exchange->rules.is_local ? SIM_CUTS
                                                   : SIM_VANISHES,
             exchange->was_sent ? world->options.hold_max_ns : WRITE_NS);
}

static void plan(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_exchange *exchange = &worker->exchange;
    int64_t due_ns = lease_due_ns(&exchange->rules), at_ns = RL_NEVER_NS;

    if (due_ns != RL_NEVER_NS)
        at_ns = sim_client_when_ns(worker->client, due_ns);
    if (exchange->fate != SIM_STAYS && exchange->fate_ns < at_ns)
        at_ns = exchange->fate_ns;
    if (exchange->older_ns && exchange->older_ns < at_ns)
        at_ns = exchange->older_ns;
    if (at_ns != RL_NEVER_NS)
        sim_app_plan(world, worker, at_ns > world->now_ns ? at_ns - world->now_ns : 1);
}

static void answer(struct sim_world *world, struct sim_worker *worker,
                   const struct lease_action *action, const struct lease_actions *actions)
{
    struct sim_exchange *exchange = &worker->exchange;

    if (action->answer == LEASE_HELD && exchange->rules.state == LEASE_ANSWERED) {
        exchange->sent = actions->deadline;
        draw_delivery(world, worker);
    } else if (exchange->client_gone) {
        return;
    } else if (action->answer == LEASE_HELD) {
        sim_lease_held(world, worker, &actions->deadline, false);
    } else {
        sim_lease_refused(world, worker, action->answer, action->error);
    }
}

static void send_event(struct sim_world *world, struct sim_worker *worker,
                       const struct lease_action *action, const struct lease_actions *actions)
{
    switch (action->word) {
    case LEASE_SENDS_GRANTED:
        draw_stream(world, worker);
        if (worker->exchange.was_sent)
            sim_lease_held(world, worker, &actions->deadline, action->with_grant);
        break;
    case LEASE_SENDS_RENEWED:
    case LEASE_SENDS_JEOPARDY:
    case LEASE_SENDS_RECOVERED:
        if (worker->lease->connection == worker)
            sim_lease_held(world, worker, &actions->deadline, false);
        break;
    case LEASE_SENDS_RECONNECT:
        worker->exchange.was_sent = true;
        set_fate(world, worker, SIM_CLOSES, 200 * RL_NS_PER_MS); /* that of both sides */
        sim_lease_reconnects(world, worker, &actions->deadline);
        break;
    default:
        break;
    }
}

/* The wait goes on for the newer request; the end of the older one's connection comes later. */
static void take(struct sim_world *world, struct sim_worker *worker,
                 const struct sim_worker *newer)
{
    struct sim_exchange *exchange = &worker->exchange;

    exchange->older_ns = world->now_ns + sim_spread(&world->rng, 1, 200 * RL_NS_PER_MS);
    exchange->is_copy = newer->exchange.is_copy;
    exchange->is_other = newer->exchange.is_other;
    exchange->sent_ns = newer->exchange.sent_ns;
    exchange->holder_rate_ppb = newer->exchange.holder_rate_ppb;
    draw_fate(world, worker);
}

/* False: an order found nothing to be carried out on: *failed says so. */
static bool carry_out(struct sim_world *world, struct sim_worker *worker,
                      const struct lease_actions *actions, struct sim_worker *newer,
                      struct lease_event *failed)
{
    for (unsigned i = 0; i < actions->count && !world->failed; i++) {
        const struct lease_action *action = &actions->list[i];

        switch (action->type) {
        case LEASE_REMEMBER:
            remember(world, worker, action->memory);
            break;
        case LEASE_START:
            start(world, worker, action->is_kept);
            break;
        case LEASE_EXTEND:
            *failed = (struct lease_event){.type = LEASE_EXTENDED, .error = REDLOCK_INVAL};
            if (!extend(world, worker))
                return false;
            break;
        case LEASE_END:
            end(world, worker);
            break;
        case LEASE_ANSWER:
            answer(world, worker, action, actions);
            break;
        case LEASE_SEND:
            send_event(world, worker, action, actions);
            break;
        case LEASE_REFUSE:
            newer->exchange.is_settled = true;
            sim_lease_refused(world, newer, action->answer, 0);
            break;
        case LEASE_TAKE:
            newer->exchange.is_settled = true;
            take(world, worker, newer);
            break;
        case LEASE_DROP:
            if (newer)
                newer->exchange.is_settled = true;
            break;
        case LEASE_NOTE:
            break;
        }
    }
    return true;
}

static void rest(struct sim_world *world, struct sim_worker *worker, int64_t for_ns)
{
    worker->exchange.rests = true;
    sim_app_plan(world, worker, for_ns);
}

/* Its request is over. The handle is freed, or rests for a while, as those of the library
 * do: one that was kept deletes nothing by itself, whatever becomes of the lock. */
static void finish(struct sim_world *world, struct sim_worker *worker)
{
    bool was_granted = worker->has_lock && worker->held;

    sim_lease_closed(world, worker);
    worker->leaves = worker->exchange.rules.verb != LEASE_ACQUIRE ||
                     (worker->exchange.was_granted && worker->exchange.is_kept);
    if (!worker->has_lock) {
        worker->lease = NULL;
        if (!world->calm)
            sim_app_plan(world, worker,
                         sim_between(&world->rng, 1, world->options.think_max_ns));
    } else if (was_granted && !world->calm && worker->exchange.rules.verb == LEASE_RENEW) {
        rest(world, worker, sim_between(&world->rng, 1, REST_NS));
    } else if (was_granted && !world->calm && worker->leaves && sim_chance(&world->rng, 500)) {
        rest(world, worker, worker->ttl_ns + BEYOND_NS);
    } else {
        sim_app_drop(world, worker, "is free again");
    }
}

static void happened(struct sim_world *world, struct sim_worker *worker,
                     const struct lease_event *event, struct sim_worker *newer)
{
    struct lease before = worker->exchange.rules;
    struct lease_actions actions;
    struct lease_event failed;
    bool is_done;

    do {
        lease_step(&worker->exchange.rules, event, sim_client_now_ns(world, worker->client),
                   &actions);
        if (event != &failed)
            sim_lease_check(world, worker, &before, event, &actions);
        is_done = carry_out(world, worker, &actions, newer, &failed);
        event = &failed;
    } while (!is_done && !world->failed);
    if (world->failed)
        return;
    if (worker->exchange.rules.state == LEASE_OVER)
        finish(world, worker);
    else
        plan(world, worker);
}

/* What the library and the rules of access say at any moment. */
static struct lease_event event_of(struct sim_world *world, const struct sim_worker *worker,
                                   enum lease_event_type type)
{
    const struct rl_lock *lock = &worker->handle.lock;
    bool is_held = worker->has_lock && lock->state == RL_HELD;

    return (struct lease_event){.type = type,
                                .is_draining = service_of(world, worker->client)->draining_ns >
                                               world->now_ns,
                                .may = worker->lease->may,
                                .has_room = true,
                                .is_seen = !worker->exchange.has_vanished,
                                .was_sent = worker->exchange.was_sent,
                                .deadline_ns = is_held ? lock->deadline_ns : 0};
}

/* How the clock of its client runs: of a local one as that of the replica. */
static int64_t draw_rate(struct sim_world *world, const struct sim_worker *worker)
{
    int64_t most = (int64_t)world->options.drift_ppm * 1000 * 49 / 100;

    if (worker->exchange.rules.is_local)
        return worker->client->clock.rate_ppb;
    return sim_chance(&world->rng, 500) ? -most : sim_between(&world->rng, -most, most);
}

static void receive(struct sim_world *world, struct sim_worker *worker,
                    const struct sim_request *request)
{
    const struct sim_grant *grant = request->grant;
    bool is_local = !grant->is_remote && request->verb != LEASE_RENEW;

    take_up(worker, request);
    worker->exchange = (struct sim_exchange){
        .rules = {.is_stream = grant->is_stream && request->verb <= LEASE_RESUME,
                  .is_local = is_local,
                  .leaves = grant->leaves,
                  .drift_ppm = world->options.drift_ppm,
                  .received_ns = sim_client_now_ns(world, worker->client),
                  .comment_every_ns = COMMENT_NS},
        .grant = *request->grant,
        .is_copy = request->is_copy,
        .is_other = request->is_other,
        .by_value = request->by_value,
        .client_gone = request->eof,
        .sent_ns = world->now_ns,
    };
    worker->exchange.holder_rate_ppb = draw_rate(world, worker);
    worker->ttl_ns =
        sim_between(&world->rng, world->options.ttl_min_ms, world->options.ttl_max_ms) *
        RL_NS_PER_MS;
    worker->exchange.rules.ttl_ms = worker->ttl_ns / RL_NS_PER_MS;
}

void sim_service_serve(struct sim_world *world, struct sim_worker *worker,
                       const struct sim_request *request)
{
    struct sim_client *client = worker->client;
    struct sim_worker *other;
    struct lease_event event;
    enum lease_memory memory = find(world, client, request->grant->tag, &other);

    receive(world, worker, request);
    sim_app_note(world, worker,
                 request->verb == LEASE_ACQUIRE  ? "serves a PUT"
                 : request->verb == LEASE_RESUME ? "serves a stream that comes back"
                 : request->verb == LEASE_RENEW  ? "serves a POST"
                                                 : "serves a DELETE");
    event = event_of(world, worker, LEASE_REPEATED);
    event.verb = request->verb;
    event.eof = request->eof;
    event.has_grant = request->by_value;
    event.is_streams_grant = request->grant->is_stream;
    event.is_local = worker->exchange.rules.is_local;
    event.is_same = !request->is_other;
    event.received_ns = worker->exchange.rules.received_ns;
    event.had_wait = memory == LEASE_WAITS;
    if (request->verb == LEASE_RELEASE)
        sim_lease_spent(worker);
    if (other) {
        happened(world, other, &event, worker);
        if (worker->exchange.is_settled || world->failed) {
            worker->exchange.rules.state = LEASE_OVER;
            finish(world, worker);
            return;
        }
        memory = find(world, client, request->grant->tag, &other);
    }
    worker->exchange.is_other = false;
    event.type = LEASE_REQUESTED;
    event.is_same = true;
    event.memory = memory;
    draw_fate(world, worker);
    happened(world, worker, &event, NULL);
}

void sim_service_finished(struct sim_world *world, struct sim_worker *worker,
                          enum sim_operation operation, int error)
{
    struct lease_event event = event_of(world, worker,
                                        operation == SIM_ACQUIRE  ? LEASE_ACQUIRED
                                        : operation == SIM_EXTEND ? LEASE_EXTENDED
                                                                  : LEASE_RELEASED);

    event.error = error;
    if (operation == SIM_ACQUIRE && error == REDLOCK_OK) {
        worker->held = worker->exchange.was_granted = true;
        world->grants++;
        sim_oracle_granted(world, worker);
        sim_lease_granted(world, worker);
    }
    if (operation != SIM_RELEASE && error == REDLOCK_OK)
        sim_lease_note_held(world, worker);
    happened(world, worker, &event, NULL);
}

void sim_service_lost(struct sim_world *world, struct sim_worker *worker)
{
    struct lease_event event = event_of(world, worker, LEASE_LOST);

    if (worker->exchange.rests)
        return; /* nothing of it is left but its handle */
    event.error = REDLOCK_LOST;
    happened(world, worker, &event, NULL);
}

/* What its connection was to do next. */
static void meet_fate(struct sim_world *world, struct sim_worker *worker)
{
    static const enum lease_event_type types[] = {
        [SIM_SENDS] = LEASE_SENT, [SIM_CLOSES] = LEASE_GONE, [SIM_CUTS] = LEASE_CUT};
    struct sim_exchange *exchange = &worker->exchange;
    enum sim_fate fate = exchange->fate;
    struct lease_event event;

    exchange->fate = SIM_STAYS;
    if (fate == SIM_VANISHES) {
        sim_lease_dies(world, worker);
        exchange->has_vanished = true;
        set_fate(world, worker, SIM_CLOSES, 3 * worker->ttl_ns);
        plan(world, worker);
        return;
    }
    if (fate == SIM_SENDS)
        sim_lease_held(world, worker, &exchange->sent, true);
    else if (fate == SIM_CUTS)
        sim_lease_cut(worker);
    else
        sim_lease_closed(world, worker);
    exchange->client_gone = exchange->client_gone || fate != SIM_SENDS;
    event = event_of(world, worker, types[fate]);
    happened(world, worker, &event, NULL);
}

void sim_service_act(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_exchange *exchange = &worker->exchange;
    struct lease_event event;

    if (exchange->rests) {
        if (worker->operation == SIM_NO_OPERATION)
            sim_app_drop(world, worker, "is left");
    } else if (exchange->older_ns && world->now_ns >= exchange->older_ns) {
        exchange->older_ns = 0;
        event = event_of(world, worker, LEASE_GONE);
        event.is_older = true;
        happened(world, worker, &event, NULL);
    } else if (exchange->fate != SIM_STAYS && world->now_ns >= exchange->fate_ns) {
        meet_fate(world, worker);
    } else {
        event = event_of(world, worker, LEASE_TICK);
        happened(world, worker, &event, NULL);
    }
}

void sim_service_calm(struct sim_world *world, struct sim_worker *worker)
{
    enum lease_state state = worker->exchange.rules.state;

    if (worker->exchange.rests) {
        rest(world, worker, sim_between(&world->rng, 1, CALM_NS));
    } else if (state == LEASE_ANSWERED || state == LEASE_STREAMING || state == LEASE_RESUMING) {
        set_fate(world, worker, SIM_CLOSES, CALM_NS);
        plan(world, worker);
    }
}

void sim_service_drain(struct sim_world *world, struct sim_client *client)
{
    service_of(world, client)->draining_ns =
        world->now_ns + sim_spread(&world->rng, 1, DRAIN_NS);
    for (uint8_t i = 0; i < world->options.worker_count && !world->failed; i++) {
        struct sim_worker *worker = &client->worker[i];
        struct lease_event event;

        if (!worker->lease || !worker->has_lock || worker->exchange.rests)
            continue;
        event = event_of(world, worker, LEASE_DRAIN);
        happened(world, worker, &event, NULL);
    }
}

void sim_service_rule(struct sim_world *world, const struct sim_lease *lease)
{
    for (uint8_t i = 0; i < world->options.client_count; i++) {
        struct sim_client *client = &world->client[i];

        for (uint8_t j = 0; client->alive && !client->paused &&
                            j < world->options.worker_count && !world->failed;
             j++) {
            struct sim_worker *worker = &client->worker[j];
            struct lease_event event;

            if (worker->lease != lease || !worker->has_lock || worker->exchange.rests)
                continue;
            event = event_of(world, worker, LEASE_RULED);
            happened(world, worker, &event, NULL);
            sim_client_turn(world, client);
        }
    }
}
