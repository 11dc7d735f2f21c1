/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of the target `session`: one engine, its users, and servers that are not to be
 * trusted.
 */
#ifndef REDLOCK_FUZZ_SESSION_H
#define REDLOCK_FUZZ_SESSION_H

#include "base/time.h"
#include "engine/engine.h"
#include "engine/link.h"
#include "engine/survey.h"
#include "evil.h"
#include "fuzz.h"

#define SLOTS 4
#define NODES_MAX 5

enum operation { IDLE, ACQUIRING, EXTENDING, RELEASING, ASKING };

/* A user's handle, and the news about it that the user has. */
struct slot {
    bool used;
    struct rl_handle handle;
    struct rl_node_vote vote[NODES_MAX];
    struct rl_survey survey;
    enum operation operation;
    bool was_held;
    bool adopted;
    bool lost;
    bool released;
    int64_t longest_ttl_ns;
};

struct world {
    struct rl_engine engine;
    struct evil_node node[NODES_MAX];
    struct ledger ledger;
    struct slot slot[SLOTS];
    struct rl_link link[NODES_MAX];
    int64_t now_ns;
    uint64_t random;
};

/* Reads along, takes the engine's news, and checks what must be true after every step. */
void world_look(struct world *world);

/* One request of a user, chosen by the input. */
void user_step(struct world *world, struct fuzz_input *input, uint8_t choice);

/* The user frees the handle. */
void user_drop(struct world *world, struct slot *slot, bool give_up);

#endif
