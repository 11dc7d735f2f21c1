/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one node remembers: keys that are strings, hashes or sorted sets, each with an expiry in
 * the node's own milliseconds. Few keys live at a time, so everything is a plain list.
 */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define FAKE_NAME_SIZE 128
#define FAKE_VALUE_SIZE 256

enum fake_type { FAKE_STRING, FAKE_HASH, FAKE_ZSET };

/* A string has one item, with an empty field. */
struct fake_item {
    char field[FAKE_NAME_SIZE];
    char value[FAKE_VALUE_SIZE];
    double score;
};

struct fake_key {
    char name[FAKE_NAME_SIZE];
    enum fake_type type;
    int64_t expire_ms; /* 0: never */
    bool stale;        /* no client will remove it, only its TTL: see oracle_keys.c */
    struct fake_item *item;
    uint32_t item_count;
    uint32_t item_capacity;
};

struct fake_store {
    struct fake_key *key;
    uint32_t count;
    uint32_t capacity;
    bool changed;      /* since the oracles last looked */
    bool writes_stale; /* keys that are created now */
};

void fake_store_clear(struct fake_store *store);
void fake_store_free(struct fake_store *store);
void fake_store_copy(struct fake_store *to, const struct fake_store *from);

/* NULL: there is none, or it has expired. */
struct fake_key *fake_store_find(struct fake_store *store, struct rl_slice name,
                                 int64_t now_ms);
/* The key, new and empty, whatever was there. */
struct fake_key *fake_store_create(struct fake_store *store, struct rl_slice name,
                                   enum fake_type type);
void fake_store_remove(struct fake_store *store, struct fake_key *key);

struct fake_item *fake_key_find(const struct fake_key *key, struct rl_slice field);
/* The item, made if it is not there; *is_new may be NULL. */
struct fake_item *fake_key_item(struct fake_key *key, struct rl_slice field, bool *is_new);
/* The others keep their order. */
void fake_key_remove(struct fake_key *key, struct fake_item *item);
/* A member of a sorted set, added or moved: the items stay in order. */
void fake_key_score(struct fake_key *key, struct rl_slice member, double score);
void fake_item_set(struct fake_item *item, struct rl_slice value);

void fake_copy_text(char *to, size_t size, struct rl_slice from);

#endif
