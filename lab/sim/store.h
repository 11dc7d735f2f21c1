/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one node remembers: keys that are strings, hashes or sorted sets, each with an expiry in
 * the node's own milliseconds. Few keys live at a time, so everything is a plain list.
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/slice.h"

#define SIM_NAME_SIZE 128
#define SIM_VALUE_SIZE 256

enum sim_type { SIM_STRING, SIM_HASH, SIM_ZSET };

/* A string has one item, with an empty field. */
struct sim_item {
    char field[SIM_NAME_SIZE];
    char value[SIM_VALUE_SIZE];
    double score;
};

struct sim_key {
    char name[SIM_NAME_SIZE];
    enum sim_type type;
    int64_t expire_ms; /* 0: never */
    bool stale;        /* no client will remove it, only its TTL: see oracle_keys.c */
    struct sim_item *item;
    uint32_t item_count;
    uint32_t item_capacity;
};

struct sim_store {
    struct sim_key *key;
    uint32_t count;
    uint32_t capacity;
    bool changed;      /* since the oracles last looked */
    bool writes_stale; /* keys that are created now */
};

void sim_store_clear(struct sim_store *store);
void sim_store_free(struct sim_store *store);
void sim_store_copy(struct sim_store *to, const struct sim_store *from);

/* NULL: there is none, or it has expired. */
struct sim_key *sim_store_find(struct sim_store *store, struct rl_slice name, int64_t now_ms);
/* The key, new and empty, whatever was there. */
struct sim_key *sim_store_create(struct sim_store *store, struct rl_slice name,
                                 enum sim_type type);
void sim_store_remove(struct sim_store *store, struct sim_key *key);

struct sim_item *sim_key_find(const struct sim_key *key, struct rl_slice field);
/* The item, made if it is not there; *is_new may be NULL. */
struct sim_item *sim_key_item(struct sim_key *key, struct rl_slice field, bool *is_new);
/* The others keep their order. */
void sim_key_remove(struct sim_key *key, struct sim_item *item);
/* A member of a sorted set, added or moved: the items stay in order. */
void sim_key_score(struct sim_key *key, struct rl_slice member, double score);
void sim_item_set(struct sim_item *item, struct rl_slice value);

void sim_copy_text(char *to, size_t size, struct rl_slice from);

#endif
