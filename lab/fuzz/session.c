/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine against servers that answer what they like. The input is a script: requests of
 * users, answers and raw bytes of servers, connections that break, time that passes. Checked
 * after every step: `done` once per operation and `lost` at most once per hold; a lock is held
 * only while a majority has really delivered grants of its value that reach to its deadline;
 * nothing lasts longer than was requested; and a driver that sleeps until what is due next
 * would not spin.
 */
#include "session.h"

#include <string.h>

#include "engine/receive.h"

#define STEPS_MAX 600
#define START_NS ((int64_t)1000 * 1000 * RL_NS_PER_MS)
#define END_STEP_NS (250 * (int64_t)RL_NS_PER_MS)
#define END_TURNS_MAX 20000

static int draw_secret(void *data, void *bytes, size_t size)
{
    struct world *world = data;
    uint8_t *out = bytes;

    /* Never the same twice: values must differ, that is all the engine needs here. */
    for (size_t i = 0; i < size; i++) {
        world->random = world->random * 6364136223846793005u + 1442695040888963407u;
        out[i] = (uint8_t)(world->random >> 56);
    }
    return 0;
}

static uint32_t draw_number(void *data)
{
    uint32_t number;

    draw_secret(data, &number, sizeof number);
    return number;
}

static int64_t read_wall_ms(void *data)
{
    (void)data;
    return 1790000000000;
}

static void check_held(struct world *world, struct slot *slot)
{
    const struct rl_lock *lock = &slot->handle.lock;
    struct ledger_entry *entry;
    uint8_t count = 0;

    if (lock->state != RL_HELD || lock->adopted)
        return;
    FUZZ_CHECK(slot->handle.attempt && lock->deadline_ns > 0);
    FUZZ_CHECK(lock->deadline_ns - world->now_ns < slot->longest_ttl_ns);
    entry = ledger_find(&world->ledger, rl_attempt_value(slot->handle.attempt).data,
                        slot->handle.attempt->value_size);
    if (world->ledger.full)
        return;
    entry->was_held = true;
    for (uint8_t i = 0; i < world->engine.policy.node_count; i++)
        count += entry->granted_until_ns[i] >= lock->deadline_ns;
    FUZZ_CHECK(2 * count > world->engine.policy.node_count);
}

static void take_news(struct slot *slot)
{
    struct rl_handle *handle = &slot->handle;

    if (handle->done) {
        FUZZ_CHECK(slot->operation != IDLE);
        FUZZ_CHECK(handle->done_error <= 0 && handle->done_error >= REDLOCK_FORKED);
        if (handle->done_error == REDLOCK_OK && slot->operation == ACQUIRING)
            slot->was_held = true;
        if (handle->done_error == REDLOCK_OK && slot->operation == EXTENDING)
            FUZZ_CHECK(!slot->lost);
        if (handle->done_error == REDLOCK_OK && slot->operation == RELEASING)
            slot->released = true;
        slot->operation = IDLE;
    }
    if (handle->lost) {
        FUZZ_CHECK((slot->was_held || slot->adopted) && !slot->lost && !slot->released);
        slot->lost = true;
    }
    handle->done = handle->lost = handle->jeopardy = handle->recovered = false;
}

void world_look(struct world *world)
{
    struct rl_handle *handle;

    for (uint8_t i = 0; i < world->engine.policy.node_count; i++)
        evil_read(&world->node[i], &world->engine.node[i].session, &world->ledger,
                  world->now_ns);
    while ((handle = TAILQ_FIRST(&world->engine.ready)) != NULL) {
        rl_engine_remove_ready(&world->engine, handle);
        take_news((struct slot *)((char *)handle - offsetof(struct slot, handle)));
    }
    for (int i = 0; i < SLOTS; i++)
        if (world->slot[i].used)
            check_held(world, &world->slot[i]);
}

static void disconnect(struct world *world, uint8_t node, enum redlock_vote vote,
                       const char *text)
{
    rl_link_failed(&world->link[node], vote, REDLOCK_REASON_NONE, text, world->now_ns);
    evil_connect(&world->node[node]);
    world_look(world);
}

static void connect_further(struct world *world, uint8_t node)
{
    struct rl_link *link = &world->link[node];

    if (link->state == RL_LINK_UP)
        return;
    if (link->state == RL_LINK_CONNECTING) {
        rl_link_connected(link, world->now_ns);
    } else {
        evil_connect(&world->node[node]);
        rl_link_connecting(link, world->now_ns);
    }
    world_look(world);
}

static void send_some(struct world *world, uint8_t node, size_t most)
{
    struct rl_session *session = &world->engine.node[node].session;
    const char *bytes;
    size_t size;

    if (!world->engine.node[node].connected)
        return;
    size = rl_session_output(session, &bytes);
    if (size > most)
        size = most;
    if (size == 0)
        return;
    rl_session_sent(session, size, world->now_ns);
    evil_took(&world->node[node], size);
}

/* Gives bytes to the session as a socket would; a session that refuses them is disconnected. */
static void deliver(struct world *world, uint8_t node, const char *bytes, size_t size)
{
    struct rl_session *session = &world->engine.node[node].session;
    bool guarded = world->engine.guard_mode != RL_GUARD_OFF;

    while (size > 0 && world->engine.node[node].connected) {
        char *room;
        size_t part = rl_session_room(session, &room);

        FUZZ_CHECK(part > 0);
        if (part > size)
            part = size;
        memcpy(room, bytes, part);
        evil_deliver(&world->node[node], bytes, part, &world->ledger, guarded);
        if (rl_link_received(&world->link[node], part, world->now_ns) < 0) {
            FUZZ_CHECK(session->failure_text[0] != '\0' || session->failure);
            disconnect(world, node, session->failure, session->failure_text);
            return;
        }
        world_look(world);
        bytes += part;
        size -= part;
    }
}

/* Connections are made when the input says so, and given up when the link says so. */
static int64_t next_ns(const struct world *world)
{
    int64_t next_ns = rl_engine_next_ns(&world->engine);

    for (uint8_t i = 0; i < world->engine.policy.node_count; i++)
        if (world->link[i].state == RL_LINK_UP && rl_link_due_ns(&world->link[i]) < next_ns)
            next_ns = rl_link_due_ns(&world->link[i]);
    return next_ns;
}

static void pass_time(struct world *world, int64_t by_ns)
{
    world->now_ns += by_ns;
    for (uint8_t i = 0; i < world->engine.policy.node_count; i++)
        if (world->link[i].state == RL_LINK_UP &&
            world->now_ns >= rl_link_due_ns(&world->link[i]))
            disconnect(world, i, REDLOCK_VOTE_SILENT, "no answer");
    rl_engine_tick(&world->engine, world->now_ns);
    world_look(world);
    FUZZ_CHECK(next_ns(world) > world->now_ns);
}

/* To the next moment that matters, or `least_ns` further if that is later. */
static void pass_to_next(struct world *world, int64_t least_ns)
{
    int64_t at_ns = next_ns(world);

    if (at_ns != RL_NEVER_NS)
        pass_time(world, at_ns - world->now_ns > least_ns ? at_ns - world->now_ns : least_ns);
}

static void answer(struct world *world, uint8_t node, struct fuzz_input *input, unsigned count)
{
    char bytes[4096];
    size_t used = 0;

    while (count-- > 0 && used < sizeof bytes / 2)
        used += evil_answer(&world->node[node], input, world->now_ns, bytes + used,
                            sizeof bytes - used);
    deliver(world, node, bytes, used);
}

/* Everything that is asked of every node, answered as a good server does. */
static void answer_well(struct world *world)
{
    struct fuzz_input zeros = {NULL, 0};

    for (uint8_t i = 0; i < world->engine.policy.node_count; i++) {
        send_some(world, i, SIZE_MAX);
        for (int turn = 0; turn < 40 && world->node[i].answered < world->node[i].request_count;
             turn++)
            answer(world, i, &zeros, 1);
    }
}

static void server_step(struct world *world, struct fuzz_input *input, uint8_t choice)
{
    uint8_t node = fuzz_byte(input) % world->engine.policy.node_count;
    const uint8_t *bytes;
    size_t size;

    switch (choice) {
    case 0:
        connect_further(world, node);
        break;
    case 1:
        send_some(world, node, fuzz_number(input, 2));
        break;
    case 2:
        if (world->link[node].state != RL_LINK_DOWN)
            disconnect(world, node, REDLOCK_VOTE_UNREACHABLE, "it broke");
        break;
    case 3:
        size = fuzz_stretch(input, 512, &bytes);
        deliver(world, node, (const char *)bytes, size);
        break;
    case 4:
        world->node[node].clock_step_us += (int16_t)fuzz_number(input, 2) * 1000;
        break;
    case 5:
        world->node[node].incarnation = fuzz_byte(input);
        world->node[node].young = fuzz_byte(input) & 1;
        break;
    case 6:
        send_some(world, node, SIZE_MAX);
        answer(world, node, input, (fuzz_byte(input) & 15) + 1u);
        break;
    default:
        send_some(world, node, SIZE_MAX);
        answer(world, node, input, 1);
        break;
    }
}

static void connect_all(struct world *world)
{
    for (uint8_t i = 0; i < world->engine.policy.node_count; i++) {
        connect_further(world, i);
        connect_further(world, i);
    }
}

static void world_step(struct world *world, struct fuzz_input *input)
{
    uint8_t choice = fuzz_byte(input);

    switch (choice >> 5) {
    case 0:
    case 1:
        server_step(world, input, choice & 7);
        return;
    case 2:
    case 3:
        user_step(world, input, (choice & 31) % 7);
        return;
    case 4:
        pass_time(world, (int64_t)(choice & 31) * RL_NS_PER_MS);
        return;
    case 5:
        if (choice & 16)
            pass_time(world, (int64_t)fuzz_number(input, 2) * RL_NS_PER_MS);
        else
            pass_to_next(world, 0);
        return;
    case 6:
        connect_all(world);
        return;
    default:
        answer_well(world);
        return;
    }
}

static void begin(struct world *world, struct fuzz_input *input)
{
    uint8_t choice = fuzz_byte(input);
    struct rl_engine *engine = &world->engine;
    uint8_t count = (uint8_t)(1 + choice % NODES_MAX);

    world->now_ns = START_NS;
    world->random = choice;
    engine->policy = (struct rl_policy){
        .node_count = count,
        .quorum = rl_quorum(count),
        .all_nodes = rl_all_nodes(count),
        .drift_ppm = 10000,
        .node_timeout_ns = 50 * RL_NS_PER_MS,
        .retry_min_ns = 10 * RL_NS_PER_MS,
        .retry_max_ns = 250 * RL_NS_PER_MS,
    };
    choice = fuzz_byte(input);
    engine->guard_mode = (enum rl_guard_mode)(choice % 3);
    engine->max_ttl_ns = 80000 * (int64_t)RL_NS_PER_MS;
    engine->stall_ns = 1000 * (int64_t)RL_NS_PER_MS;
    engine->random = draw_number;
    engine->secret = draw_secret;
    engine->wall_ms = read_wall_ms;
    engine->random_data = world;
    for (uint8_t i = 0; i < count; i++) {
        world->node[i].index = i;
        world->link[i] = (struct rl_link){
            .engine = engine,
            .node = i,
            .connect_timeout_ns = RL_CONNECT_TIMEOUT_MS * (int64_t)RL_NS_PER_MS,
        };
        engine->node[i].login = (struct rl_login){
            .user = choice & 4 ? "user" : NULL,
            .password = choice & 8 ? "password" : NULL,
            .database = choice & 16 ? 3 : 0,
            .client_name = "fuzz",
            .probe_native = choice & 32,
        };
    }
    FUZZ_CHECK(rl_engine_init(engine) == 0);
}

/* All connections end and time goes on: whatever was begun must come to its end. */
static void end(struct world *world)
{
    int turns = 0;

    for (uint8_t i = 0; i < world->engine.policy.node_count; i++)
        if (world->link[i].state != RL_LINK_DOWN)
            disconnect(world, i, REDLOCK_VOTE_REFUSED, "the end");
    for (int i = 0; i < SLOTS; i++) {
        const struct rl_acquisition *acquisition = world->slot[i].handle.lock.acquisition;

        if (world->slot[i].used && acquisition && acquisition->wait_deadline_ns == RL_NEVER_NS)
            rl_handle_cancel(&world->engine, &world->slot[i].handle, world->now_ns);
    }
    world_look(world);
    while (next_ns(world) != RL_NEVER_NS && turns++ < END_TURNS_MAX)
        pass_to_next(world, END_STEP_NS);
    FUZZ_CHECK(turns < END_TURNS_MAX);
    for (int i = 0; i < SLOTS; i++) {
        if (!world->slot[i].used)
            continue;
        FUZZ_CHECK(world->slot[i].operation == IDLE);
        FUZZ_CHECK(world->slot[i].handle.lock.state != RL_HELD || world->slot[i].adopted);
        user_drop(world, &world->slot[i], true);
    }
    rl_engine_free(&world->engine);
    for (uint8_t i = 0; i < NODES_MAX; i++)
        evil_free(&world->node[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    struct world *world = calloc(1, sizeof *world);

    if (!world)
        abort();
    begin(world, &input);
    for (int i = 0; i < STEPS_MAX && input.left > 0; i++)
        world_step(world, &input);
    end(world);
    free(world);
    return 0;
}
