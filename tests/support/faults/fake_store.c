/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_store.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 1024 };

static struct fake_key keys[KEYS_MAX];

static void expire(struct fake_key *k)
{
    if (k->end_ns != 0 && k->end_ns <= now_ns())
        k->key[0] = '\0';
}

struct fake_key *fake_store_find(const char *key)
{
    for (size_t i = 0; i < KEYS_MAX; i++) {
        if (strcmp(keys[i].key, key) == 0) {
            expire(&keys[i]);
            return keys[i].key[0] != '\0' ? &keys[i] : NULL;
        }
    }
    return NULL;
}

void fake_store_set(const char *key, const char *value, int64_t ttl_ms)
{
    struct fake_key *k = fake_store_find(key);
    for (size_t i = 0; i < KEYS_MAX && k == NULL; i++) {
        expire(&keys[i]);
        if (keys[i].key[0] == '\0')
            k = &keys[i];
    }
    if (k == NULL)
        abort();
    snprintf(k->key, sizeof k->key, "%s", key);
    snprintf(k->value, sizeof k->value, "%s", value);
    k->end_ns = ttl_ms > 0 ? now_ns() + ttl_ms * 1000000 : 0;
}

void fake_store_delete(struct fake_key *k)
{
    k->key[0] = '\0';
}

int fake_store_size(void)
{
    int size = 0;
    for (size_t i = 0; i < KEYS_MAX; i++) {
        expire(&keys[i]);
        size += keys[i].key[0] != '\0';
    }
    return size;
}
