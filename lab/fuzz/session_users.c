/* SPDX-License-Identifier: BSD-2-Clause */
/* What users ask of the engine, within what the public calls allow them. */
#include <string.h>

#include "session.h"

static int64_t choose_ttl_ns(struct fuzz_input *input)
{
    static const int64_t common_ms[] = {10, 50, 250, 1000, 10000, 60000};
    uint8_t choice = fuzz_byte(input);

    if (choice < 0xc0)
        return common_ms[choice % 6] * RL_NS_PER_MS;
    return ((int64_t)fuzz_number(input, 2) + REDLOCK_TTL_MIN_MS) * RL_NS_PER_MS;
}

static bool begin_slot(struct world *world, struct slot *slot, uint8_t choice)
{
    static const char key[] = "redlock:a-name";
    struct rl_lock_terms terms = {
        .renew = choice & 1,
        .fenced = choice & 2,
        .max_extensions = choice & 4 ? 2 : 0,
        .max_hold_ns = choice & 8 ? 3000 * (int64_t)RL_NS_PER_MS : 0,
        .fair = choice & 16,
    };
    const struct rl_about about = {
        .key = {key, sizeof key - 1},
        .name_count = 1,
        .owner = {"", 0},
        .tag = {"", 0},
        .label = {"a label #1", choice & 32 ? sizeof "a label #1" - 1 : 0},
    };

    if (slot->used)
        return false;
    memset(slot, 0, sizeof *slot);
    slot->used = true;
    FUZZ_CHECK(rl_handle_init(&world->engine, &slot->handle, &about, &terms, slot->vote) == 0);
    return true;
}

static void acquire(struct world *world, struct slot *slot, struct fuzz_input *input)
{
    int64_t ttl_ns = choose_ttl_ns(input);
    uint8_t choice = fuzz_byte(input);
    int64_t wait_ns = 0;

    if (!begin_slot(world, slot, fuzz_byte(input)))
        return;
    if (choice >= 0xe0)
        wait_ns = RL_NEVER_NS;
    else if (choice >= 0x60)
        wait_ns = world->now_ns + (choice - 0x5f) * 20 * (int64_t)RL_NS_PER_MS;
    slot->longest_ttl_ns = ttl_ns;
    slot->operation = ACQUIRING;
    rl_handle_acquire(&world->engine, &slot->handle, ttl_ns, wait_ns, world->now_ns);
}

static void adopt(struct world *world, struct slot *slot, struct fuzz_input *input)
{
    char value[24];
    unsigned number;

    if (!begin_slot(world, slot, 0))
        return;
    number = fuzz_byte(input);
    snprintf(value, sizeof value, "adopted-%u", number);
    slot->adopted = true;
    FUZZ_CHECK(rl_handle_adopt(&world->engine, &slot->handle, value, strlen(value),
                               number % 2 == 1) == 0);
}

/* What the public calls allow: nothing under way, acquired once, not released. */
static bool can_operate(const struct slot *slot)
{
    return slot->used && slot->operation == IDLE && !slot->released &&
           !rl_survey_of(&slot->handle) && (slot->was_held || slot->adopted);
}

static void extend(struct world *world, struct slot *slot, struct fuzz_input *input)
{
    int64_t ttl_ns = choose_ttl_ns(input);

    if (!can_operate(slot))
        return;
    slot->operation = EXTENDING;
    if (slot->longest_ttl_ns < ttl_ns)
        slot->longest_ttl_ns = ttl_ns;
    rl_handle_extend(&world->engine, &slot->handle, ttl_ns, world->now_ns);
}

static void release(struct world *world, struct slot *slot)
{
    if (!can_operate(slot))
        return;
    slot->operation = RELEASING;
    rl_handle_release(&world->engine, &slot->handle, world->now_ns);
}

static void start_survey(struct world *world, struct slot *slot, struct fuzz_input *input)
{
    static const enum rl_op surveys[] = {RL_OP_LOOK, RL_OP_PING, RL_OP_ADMIT};

    if (!begin_slot(world, slot, 0))
        return;
    slot->operation = ASKING;
    rl_handle_survey(&world->engine, &slot->handle, surveys[fuzz_byte(input) % 3],
                     &slot->survey, world->now_ns);
}

void user_drop(struct world *world, struct slot *slot, bool give_up)
{
    if (!slot->used)
        return;
    /* Its last news reaches no user: the handle is free. */
    slot->used = false;
    rl_handle_drop(&world->engine, &slot->handle, give_up && !slot->adopted, world->now_ns);
}

void user_step(struct world *world, struct fuzz_input *input, uint8_t choice)
{
    struct slot *slot = &world->slot[fuzz_byte(input) % SLOTS];

    switch (choice) {
    case 0:
        acquire(world, slot, input);
        break;
    case 1:
        extend(world, slot, input);
        break;
    case 2:
        release(world, slot);
        break;
    case 3:
        if (slot->used && !rl_survey_of(&slot->handle))
            rl_handle_cancel(&world->engine, &slot->handle, world->now_ns);
        break;
    case 4:
        user_drop(world, slot, fuzz_byte(input) & 1);
        break;
    case 5:
        adopt(world, slot, input);
        break;
    default:
        start_survey(world, slot, input);
        break;
    }
    world_look(world);
}
