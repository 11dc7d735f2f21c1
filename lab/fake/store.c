/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/fake/store.h"

#include <stdlib.h>
#include <string.h>

#include "lab/fake/bytes.h"

void fake_copy_text(char *to, size_t size, struct rl_slice from)
{
    if (from.size >= size)
        abort();
    memcpy(to, from.data, from.size);
    to[from.size] = '\0';
}

/* The text is that of a key or field: FAKE_NAME_SIZE bytes, which may be looked at anywhere. */
static bool is_name(struct rl_slice name, const char *text)
{
    return name.size < FAKE_NAME_SIZE && text[name.size] == '\0' &&
           memcmp(name.data, text, name.size) == 0;
}

void fake_store_clear(struct fake_store *store)
{
    for (uint32_t i = 0; i < store->count; i++)
        free(store->key[i].item);
    store->count = 0;
    store->changed = true;
}

void fake_store_free(struct fake_store *store)
{
    fake_store_clear(store);
    free(store->key);
    *store = (struct fake_store){0};
}

void fake_store_copy(struct fake_store *to, const struct fake_store *from)
{
    fake_store_clear(to);
    if (from->count > to->capacity) {
        to->capacity = from->capacity;
        to->key = fake_realloc(to->key, to->capacity * sizeof *to->key);
    }
    to->count = from->count;
    for (uint32_t i = 0; i < from->count; i++) {
        const struct fake_key *key = &from->key[i];
        size_t size = key->item_capacity * sizeof *key->item;

        to->key[i] = *key;
        to->key[i].item = size ? fake_alloc(size) : NULL;
        if (key->item_count)
            memcpy(to->key[i].item, key->item, key->item_count * sizeof *key->item);
    }
}

struct fake_key *fake_store_find(struct fake_store *store, struct rl_slice name, int64_t now_ms)
{
    for (uint32_t i = 0; i < store->count; i++) {
        struct fake_key *key = &store->key[i];

        if (!is_name(name, key->name))
            continue;
        /* As the servers have it: the last millisecond belongs to the key. */
        if (key->expire_ms == 0 || now_ms <= key->expire_ms)
            return key;
        fake_store_remove(store, key);
        return NULL;
    }
    return NULL;
}

struct fake_key *fake_store_create(struct fake_store *store, struct rl_slice name,
                                   enum fake_type type)
{
    struct fake_key *key = fake_store_find(store, name, INT64_MIN);

    if (key)
        fake_store_remove(store, key);
    if (store->count == store->capacity) {
        store->capacity = store->capacity ? 2 * store->capacity : 16;
        store->key = fake_realloc(store->key, store->capacity * sizeof *store->key);
    }
    key = &store->key[store->count++];
    *key = (struct fake_key){.type = type, .stale = store->writes_stale};
    fake_copy_text(key->name, sizeof key->name, name);
    store->changed = true;
    return key;
}

void fake_store_remove(struct fake_store *store, struct fake_key *key)
{
    free(key->item);
    *key = store->key[--store->count];
    store->changed = true;
}

struct fake_item *fake_key_find(const struct fake_key *key, struct rl_slice field)
{
    for (uint32_t i = 0; i < key->item_count; i++)
        if (is_name(field, key->item[i].field))
            return &key->item[i];
    return NULL;
}

struct fake_item *fake_key_item(struct fake_key *key, struct rl_slice field, bool *is_new)
{
    struct fake_item *item = fake_key_find(key, field);

    if (is_new)
        *is_new = !item;
    if (item)
        return item;
    if (key->item_count == key->item_capacity) {
        key->item_capacity = key->item_capacity ? 2 * key->item_capacity : 2;
        key->item = fake_realloc(key->item, key->item_capacity * sizeof *key->item);
    }
    item = &key->item[key->item_count++];
    fake_copy_text(item->field, sizeof item->field, field);
    item->value[0] = '\0';
    item->score = 0;
    return item;
}

void fake_key_remove(struct fake_key *key, struct fake_item *item)
{
    uint32_t at = (uint32_t)(item - key->item);

    key->item_count--;
    memmove(item, item + 1, (key->item_count - at) * sizeof *item);
}

/* By score, then by name, as servers keep it. */
static bool is_before(const struct fake_item *a, const struct fake_item *b)
{
    return a->score < b->score || (a->score == b->score && strcmp(a->field, b->field) < 0);
}

void fake_key_score(struct fake_key *key, struct rl_slice member, double score)
{
    struct fake_item *item = fake_key_item(key, member, NULL);
    struct fake_item moved;

    item->score = score;
    moved = *item;
    for (; item > key->item && is_before(&moved, item - 1); item--)
        *item = item[-1];
    for (; item + 1 < key->item + key->item_count && is_before(item + 1, &moved); item++)
        *item = item[1];
    *item = moved;
}

void fake_item_set(struct fake_item *item, struct rl_slice value)
{
    fake_copy_text(item->value, sizeof item->value, value);
}
