/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "base/time.h"
#include "core/kind.h"
#include "lab/sim/lease.h"
#include "lab/sim/world.h"

#define PREFIX "redlock:"
#define CALM_HOLD_NS (20 * RL_NS_PER_MS)

static void act(struct sim_world *world, struct sim_worker *worker);
static void finished(struct sim_world *world, struct sim_worker *worker, int error);

static void due(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_worker *worker = subject;

    if (stamp != worker->plan_stamp || world->failed)
        return;
    if (worker->client->paused)
        worker->late = true;
    else
        act(world, worker);
}

void sim_app_plan(struct sim_world *world, struct sim_worker *worker, int64_t delay_ns)
{
    worker->plan_stamp++;
    worker->late = false;
    sim_events_add(&world->events, world->now_ns + delay_ns, due, worker, worker->plan_stamp);
}

void sim_app_note(struct sim_world *world, const struct sim_worker *worker, const char *text)
{
    sim_trace(world, "c%u.%u %s: %s", worker->client->index + 1, worker->index + 1,
              worker->label, text);
}

static void think(struct sim_world *world, struct sim_worker *worker)
{
    if (!world->calm)
        sim_app_plan(world, worker, sim_between(&world->rng, 1, world->options.think_max_ns));
}

void sim_app_drop(struct sim_world *world, struct sim_worker *worker, const char *why)
{
    struct sim_client *client = worker->client;

    sim_app_note(world, worker, why);
    worker->believed_ns = 0;
    rl_handle_drop(client->engine, &worker->handle, !worker->leaves,
                   sim_client_now_ns(world, client));
    worker->has_lock = worker->held = worker->is_unread = false;
    worker->operation = SIM_NO_OPERATION;
    worker->believed_ns = 0;
    worker->lease = NULL;
    worker->leaves = false;
    worker->tag[0] = worker->ends[0] = '\0';
    think(world, worker);
}

void sim_app_begin_operation(struct sim_world *world, struct sim_worker *worker,
                             enum sim_operation operation)
{
    worker->operation = operation;
    worker->begun_ns = sim_client_now_ns(world, worker->client);
    worker->begun_true_ns = world->now_ns;
}

static int64_t draw_wait_deadline_ns(struct sim_world *world, int64_t now_ns)
{
    if (sim_chance(&world->rng, world->options.try_permille))
        return 0;
    if (sim_chance(&world->rng, 500))
        return RL_NEVER_NS;
    return now_ns + sim_spread(&world->rng, 5, 4000) * RL_NS_PER_MS;
}

/* Which names, as which kind of lock. */
void sim_app_draw_wish(struct sim_world *world, struct sim_worker *worker)
{
    const struct sim_options *o = &world->options;
    struct sim_rng *rng = &world->rng;
    uint8_t lock = (uint8_t)sim_below(rng, o->lock_count);
    uint8_t kind = o->use[lock];

    worker->names = (uint8_t)(1u << lock);
    worker->slots = 0;
    worker->owner[0] = '\0';
    if (kind == SIM_USE_ANY)
        kind = (uint8_t)sim_below(rng, RL_KIND_COUNT);
    if (kind == REDLOCK_SHARED && !sim_chance(rng, 600))
        kind = REDLOCK_MUTEX;
    if (rl_kinds[kind].has_owner)
        snprintf(worker->owner, sizeof worker->owner, "o%u",
                 (unsigned)sim_below(rng, o->owner_count) % 10);
    if (rl_kinds[kind].has_slots)
        worker->slots = o->slots[lock];
    if (rl_kinds[kind].single && o->several_permille && sim_chance(rng, o->several_permille))
        worker->names |= (uint8_t)sim_below(rng, 1u << o->lock_count);
    worker->kind = kind;
    worker->fair = sim_chance(rng, o->fair_permille);
}

/* The keys behind each other, as src/drive/handles.c has them; returns how many. */
static uint8_t write_keys(struct sim_worker *worker, size_t *size)
{
    static const char *const words[] = {
#define WORD(name, number, text) [number] = text,
        REDLOCK_KINDS(WORD)
#undef WORD
    };
    uint8_t count = 0;
    size_t at = 0;
    int label;

    for (uint8_t i = 0; i < SIM_LOCKS_MAX; i++) {
        if (!(worker->names & (1u << i)))
            continue;
        if (count++ > 0)
            worker->key[at++] = RL_KEY_SEPARATOR;
        at +=
            (size_t)snprintf(worker->key + at, sizeof worker->key - at, PREFIX "job%u", i + 1u);
    }
    *size = at;
    label = snprintf(worker->label, sizeof worker->label, "%s%s%s", words[worker->kind],
                     worker->owner[0] ? " of " : "", worker->owner);
    for (uint8_t i = 0; i < SIM_LOCKS_MAX; i++)
        if (worker->names & (1u << i))
            label += snprintf(worker->label + label, sizeof worker->label - (size_t)label,
                              " job%u", i + 1u);
    return count;
}

static void draw_terms(struct sim_world *world, struct sim_worker *worker,
                       struct rl_lock_terms *out)
{
    const struct sim_options *o = &world->options;
    struct sim_rng *rng = &world->rng;

    worker->fenced = sim_chance(rng, o->fenced_permille) && rl_kinds[worker->kind].exclusive;
    worker->renews = sim_chance(rng, o->renew_permille);
    worker->extensions_left = sim_chance(rng, 300) ? (uint32_t)sim_between(rng, 1, 4) : 0;
    *out = (struct rl_lock_terms){
        .kind = worker->kind,
        .slots = worker->slots,
        .fair = worker->fair,
        .fenced = worker->fenced,
        .renew = worker->renews,
        .tagged = worker->tag[0],
        .keep = worker->lease && worker->exchange.is_kept,
        .max_extensions = sim_chance(rng, 100) ? 3 : 0,
    };
    if (worker->lease)
        out->renew = false;
}

void sim_app_make_handle(struct sim_world *world, struct sim_worker *worker,
                         const struct rl_lock_terms *terms)
{
    struct rl_about about;

    about.name_count = write_keys(worker, &about.key.size);
    about.key.data = worker->key;
    about.owner = rl_slice_of(worker->owner);
    about.tag = rl_slice_of(worker->tag);
    /* Half of them have a label, with everything in it that could be taken
     * for something else. */
    about.label =
        (struct rl_slice){"job #7@x: 1", worker->index % 2 ? sizeof "job #7@x: 1" - 1 : 0};
    if (worker->lease)
        about.label.size = 0;
    if (rl_handle_init(worker->client->engine, &worker->handle, &about, terms, worker->vote) <
        0)
        abort();
    worker->has_lock = true;
    (void)world;
}

void sim_app_acquire(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = worker->client;
    const struct sim_options *o = &world->options;
    struct sim_rng *rng = &world->rng;
    int64_t now_ns = sim_client_now_ns(world, client);
    struct rl_lock_terms terms;

    worker->ttl_ns = sim_between(rng, o->ttl_min_ms, o->ttl_max_ms) * RL_NS_PER_MS;
    worker->wait_deadline_ns = draw_wait_deadline_ns(world, now_ns);
    draw_terms(world, worker, &terms);
    memset(worker->footprint, 0, sizeof worker->footprint);
    worker->unserved_ns = worker->missed_ns = 0;
    memset(worker->proof_until_ns, 0, sizeof worker->proof_until_ns);
    memset(worker->proof_of, 0, sizeof worker->proof_of);
    sim_app_make_handle(world, worker, &terms);
    sim_app_begin_operation(world, worker, SIM_ACQUIRE);
    sim_app_note(world, worker,
                 worker->wait_deadline_ns == 0 ? "tries"
                 : worker->wait_deadline_ns == RL_NEVER_NS
                     ? (worker->fair ? "waits for ever, fairly" : "waits for ever")
                     : (worker->fair ? "waits fairly" : "waits"));
    rl_handle_acquire(client->engine, &worker->handle, worker->ttl_ns, worker->wait_deadline_ns,
                      now_ns);
    /* Some workers cancel their wait. */
    worker->will_cancel = sim_chance(rng, 100) && !worker->lease;
    if (worker->will_cancel)
        sim_app_plan(world, worker, sim_spread(rng, 1, 500) * RL_NS_PER_MS);
}

static void extend(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = worker->client;
    const struct sim_options *o = &world->options;
    int64_t ttl_ns =
        sim_chance(&world->rng, 500)
            ? worker->ttl_ns
            : sim_between(&world->rng, o->ttl_min_ms, o->ttl_max_ms) * RL_NS_PER_MS;

    worker->extensions_left--;
    sim_app_begin_operation(world, worker, SIM_EXTEND);
    sim_app_note(world, worker, "extends");
    rl_handle_extend(client->engine, &worker->handle, ttl_ns, sim_client_now_ns(world, client));
}

void sim_app_release(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = worker->client;

    worker->believed_ns = 0;
    sim_app_begin_operation(world, worker, SIM_RELEASE);
    worker->held = false;
    sim_app_note(world, worker, "releases");
    rl_handle_release(client->engine, &worker->handle, sim_client_now_ns(world, client));
}

void sim_app_evict(struct sim_world *world, struct sim_worker *worker, bool by_tag)
{
    struct sim_client *client = worker->client;
    struct rl_slice wanted = {worker->wanted, strlen(worker->wanted)};
    struct rl_slice nothing = {"", 0};
    struct rl_lock_terms terms = {0};

    sim_app_make_handle(world, worker, &terms);
    worker->evicted = (redlock_holder){0};
    worker->survey = (struct rl_survey){.tag = by_tag ? wanted : nothing,
                                        .fingerprint = by_tag ? nothing : wanted,
                                        .evicted = &worker->evicted};
    worker->leaves = true;
    sim_app_begin_operation(world, worker, SIM_RELEASE);
    sim_app_note(world, worker, by_tag ? "releases by tag" : "breaks");
    rl_handle_survey(client->engine, &worker->handle, RL_OP_BREAK, &worker->survey,
                     sim_client_now_ns(world, client));
}

/* Some worker that holds a lock of one name; NULL: none was met. */
static struct sim_worker *find_holder(struct sim_world *world)
{
    const struct sim_options *o = &world->options;
    uint64_t from = sim_below(&world->rng, o->client_count * o->worker_count);

    for (uint64_t i = from; i < from + o->client_count * o->worker_count; i++) {
        struct sim_client *client = &world->client[i / o->worker_count % o->client_count];
        struct sim_worker *worker = &client->worker[i % o->worker_count];

        if (client->alive && worker->held && !(worker->names & (worker->names - 1)))
            return worker;
    }
    return NULL;
}

/* An operator evicts a holder, if there is one. */
static bool break_one(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_worker *holder = find_holder(world);
    char text[SIM_HOLD_SIZE];
    struct rl_slice value;

    if (!holder)
        return false;
    value = rl_attempt_value(holder->handle.attempt);
    fake_copy_text(text, sizeof text, value);
    sim_ended_begin(world, worker, text);
    fake_digest(value.data, value.size, worker->wanted);
    worker->names = holder->names;
    worker->kind = REDLOCK_MUTEX;
    worker->owner[0] = '\0';
    sim_app_evict(world, worker, false);
    return true;
}

static bool is_operator(struct sim_world *world)
{
    uint32_t permille = world->options.break_permille;

    return permille && sim_chance(&world->rng, permille);
}

struct sim_client *sim_app_find_holder(struct sim_world *world)
{
    struct sim_worker *holder = find_holder(world);

    return holder ? holder->client : NULL;
}

void sim_app_break(struct sim_world *world, const struct sim_client *except)
{
    for (uint8_t i = 0; i < world->options.client_count; i++) {
        struct sim_client *client = &world->client[i];

        for (uint8_t j = 0; j < world->options.worker_count; j++) {
            if (client == except || !client->alive || client->paused ||
                client->worker[j].has_lock || !break_one(world, &client->worker[j]))
                continue;
            sim_client_turn(world, client);
            return;
        }
    }
}

/* Holding, or done with it: what next, and when? */
static void plan_hold(struct sim_world *world, struct sim_worker *worker)
{
    int64_t left_ns = worker->hold_until_ns - world->now_ns;

    if (left_ns > 0 && worker->extensions_left > 0)
        left_ns = sim_between(&world->rng, 1, left_ns);
    sim_app_plan(world, worker, left_ns > 0 ? left_ns : 1);
}

static void end_hold(struct sim_world *world, struct sim_worker *worker)
{
    uint64_t way = sim_below(&world->rng, 10);

    if (way == 0)
        sim_app_drop(world, worker, "is dropped");
    else if (way == 1 && worker->held && !worker->renews && !world->calm)
        sim_app_plan(world, worker, worker->ttl_ns); /* forgets it: it runs out */
    else
        sim_app_release(world, worker);
}

/* As redlock_next() hands an event out, or redlock_cancel() takes it back unread. */
static void read_grant(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = worker->client;
    int64_t now_ns = sim_client_now_ns(world, client);
    int error = REDLOCK_CANCELED;

    worker->is_unread = false;
    if (worker->will_cancel)
        rl_handle_take_back(client->engine, &worker->handle, now_ns);
    else
        error = rl_handle_hand_out(client->engine, &worker->handle, worker->wait_deadline_ns,
                                   now_ns);
    finished(world, worker, error);
}

static void act(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_client *client = worker->client;

    if (!client->alive)
        return;
    if (!worker->has_lock) {
        if (!world->calm && world->options.lease_count) {
            sim_lease_serve(world, worker);
        } else if (!world->calm && !(is_operator(world) && break_one(world, worker))) {
            sim_app_draw_wish(world, worker);
            sim_app_acquire(world, worker);
        }
    } else if (worker->lease) {
        sim_service_act(world, worker);
    } else if (worker->is_unread) {
        read_grant(world, worker);
    } else if (worker->operation == SIM_ACQUIRE) {
        if (worker->will_cancel && sim_chance(&world->rng, 500)) {
            sim_app_drop(world, worker, "is dropped while waiting");
        } else if (worker->will_cancel) {
            sim_app_note(world, worker, "is canceled");
            rl_handle_cancel(client->engine, &worker->handle, sim_client_now_ns(world, client));
        }
    } else if (worker->operation == SIM_NO_OPERATION) {
        if (worker->held && worker->extensions_left > 0 &&
            world->now_ns < worker->hold_until_ns)
            extend(world, worker);
        else
            end_hold(world, worker);
    }
    sim_client_turn(world, client);
}

static void granted(struct sim_world *world, struct sim_worker *worker)
{
    int64_t hold_ns = world->calm ? sim_between(&world->rng, 1, CALM_HOLD_NS)
                                  : sim_spread(&world->rng, 1000, world->options.hold_max_ns);

    /* Through failovers, and quarantines: most would be too short for that. */
    if (world->options.elected_count && !world->calm && sim_chance(&world->rng, 400))
        hold_ns = sim_between(&world->rng, world->options.hold_max_ns / 4,
                              world->options.hold_max_ns);
    worker->held = true;
    worker->hold_until_ns = world->now_ns + hold_ns;
    world->grants++;
    sim_oracle_granted(world, worker);
    plan_hold(world, worker);
}

static void finished(struct sim_world *world, struct sim_worker *worker, int error)
{
    enum sim_operation operation = worker->operation;

    if (worker->ends[0] && operation == SIM_RELEASE &&
        (error == REDLOCK_OK || error == REDLOCK_EXPIRED || error == REDLOCK_LOST)) {
        if (world->options.elected_count)
            sim_elected_evicted(world, worker);
        else
            sim_ended_note(world, worker);
    }
    worker->operation = SIM_NO_OPERATION;
    sim_trace(world, "c%u.%u %s: %s %s", worker->client->index + 1, worker->index + 1,
              worker->label,
              operation == SIM_ACQUIRE  ? "acquire"
              : operation == SIM_EXTEND ? "extend"
                                        : "release",
              sim_error_name(error));
    if (worker->lease) {
        sim_service_finished(world, worker, operation, error);
        return;
    }
    switch (operation) {
    case SIM_NO_OPERATION:
        return;
    case SIM_ACQUIRE:
        if (error == REDLOCK_OK)
            granted(world, worker);
        else
            sim_app_drop(world, worker, "is free again");
        return;
    case SIM_EXTEND:
        plan_hold(world, worker);
        return;
    case SIM_RELEASE:
        sim_app_drop(world, worker, "is free again");
        return;
    }
}

static void told_lost(struct sim_world *world, struct sim_worker *worker)
{
    sim_app_note(world, worker, "is LOST");
    sim_oracle_lost(world, worker);
    worker->held = false;
    if (worker->lease)
        sim_service_lost(world, worker);
    else if (worker->operation == SIM_NO_OPERATION)
        sim_app_plan(world, worker, sim_spread(&world->rng, 1000, world->options.hold_max_ns));
}

/* A program that is busy, and reads its events when it has time, even when they are old. */
static bool reads_late(struct sim_world *world, struct sim_worker *worker)
{
    uint32_t permille = world->options.late_permille;

    if (!permille || worker->lease || world->calm || !sim_chance(&world->rng, permille))
        return false;
    worker->is_unread = true;
    sim_app_plan(world, worker, sim_spread(&world->rng, 1000, 2 * worker->ttl_ns));
    return true;
}

void sim_app_news(struct sim_world *world, struct sim_worker *worker)
{
    struct rl_handle *handle = &worker->handle;
    bool done = handle->done;
    bool lost = handle->lost;
    bool acquired = done && worker->operation == SIM_ACQUIRE;
    int error = handle->done_error;

    handle->done = handle->lost = handle->jeopardy = handle->recovered = false;
    if (done)
        sim_calls_done(world, worker);
    if (acquired && !error && reads_late(world, worker))
        return;
    /* A lock acquired and lost in one turn is reported in that order. */
    if (acquired)
        finished(world, worker, error);
    /* What is lost before its event is read is taken back then. */
    if (lost && worker->has_lock && !worker->is_unread)
        told_lost(world, worker);
    if (done && !acquired)
        finished(world, worker, error);
}

void sim_app_begin(struct sim_world *world, struct sim_worker *worker,
                   struct sim_client *client, uint8_t index)
{
    uint64_t stamp = worker->plan_stamp;

    *worker = (struct sim_worker){.client = client, .index = index, .plan_stamp = stamp};
    think(world, worker);
}

void sim_app_end(struct sim_world *world, struct sim_worker *worker)
{
    if (worker->lease)
        sim_lease_closed(world, worker);
    if (worker->has_lock)
        rl_handle_drop(worker->client->engine, &worker->handle, false, 0);
    worker->lease = NULL;
    worker->has_lock = worker->held = worker->is_unread = false;
    worker->operation = SIM_NO_OPERATION;
    worker->believed_ns = 0;
    worker->plan_stamp++;
}

void sim_app_resume(struct sim_world *world, struct sim_worker *worker)
{
    if (worker->late)
        sim_app_plan(world, worker, 0);
}

void sim_app_calm(struct sim_world *world, struct sim_worker *worker)
{
    worker->extensions_left = 0;
    worker->hold_until_ns = world->now_ns;
    worker->will_cancel = false;
    if (worker->has_lock && worker->lease)
        sim_service_calm(world, worker);
    else if (worker->has_lock && (worker->operation == SIM_NO_OPERATION || worker->is_unread))
        sim_app_plan(world, worker, sim_between(&world->rng, 1, CALM_HOLD_NS));
}

bool sim_app_is_idle(const struct sim_worker *worker)
{
    return !worker->has_lock;
}
