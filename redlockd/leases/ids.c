/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/ids.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS_FIRST 256

/* A million of them are kept, and most requests find theirs in no cache: as small as can be. */
struct ids_entry {
    struct ids_entry *next;          /* in its bucket */
    struct ids_entry *newer, *older; /* of spent ones, and of those that wait */
    union {
        void *user;       /* LEASE_WAITS and LEASE_STREAMS */
        int64_t until_ns; /* spent ones: forgotten then */
    };
    struct lease_tag tag;
    uint8_t state;   /* enum lease_memory */
    bool is_strange; /* of a spent one: it was not known before */
};

int ids_init(struct ids *ids)
{
    *ids = (struct ids){.bucket_count = BUCKETS_FIRST};
    if (getrandom(&ids->key, sizeof ids->key, 0) != sizeof ids->key)
        return -1;
    ids->key |= 1;
    ids->buckets = calloc(ids->bucket_count, sizeof(struct ids_entry *));
    return ids->buckets ? 0 : -1;
}

void ids_free(struct ids *ids)
{
    for (size_t i = 0; ids->buckets && i < ids->bucket_count; i++) {
        while (ids->buckets[i]) {
            struct ids_entry *entry = ids->buckets[i];

            ids->buckets[i] = entry->next;
            free(entry);
        }
    }
    free(ids->buckets);
    *ids = (struct ids){0};
}

/* ---- buckets ----------------------------------------------------------------------------- */

/* The upper bits of a product with a random odd number spread whatever is chosen without
 * knowing it. */
static size_t bucket_of(const struct ids *ids, const struct lease_tag *tag)
{
    uint64_t words[2];

    memcpy(words, tag->text, sizeof words);
    return (size_t)(((words[0] ^ words[1] * ids->key) * ids->key) >> 32) &
           (ids->bucket_count - 1);
}

static struct ids_entry **place_of(const struct ids *ids, const struct lease_tag *tag)
{
    struct ids_entry **place = &ids->buckets[bucket_of(ids, tag)];

    while (*place && memcmp((*place)->tag.text, tag->text, LEASE_TAG_SIZE) != 0)
        place = &(*place)->next;
    return place;
}

/* Without memory for more buckets, chains become longer and nothing else changes. */
static void grow(struct ids *ids)
{
    struct ids larger = *ids;

    larger.bucket_count = 2 * ids->bucket_count;
    larger.buckets = calloc(larger.bucket_count, sizeof(struct ids_entry *));
    if (!larger.buckets)
        return;
    for (size_t i = 0; i < ids->bucket_count; i++) {
        while (ids->buckets[i]) {
            struct ids_entry *entry = ids->buckets[i];
            size_t bucket = bucket_of(&larger, &entry->tag);

            ids->buckets[i] = entry->next;
            entry->next = larger.buckets[bucket];
            larger.buckets[bucket] = entry;
        }
    }
    free(ids->buckets);
    *ids = larger;
}

/* ---- the order of spent ones, and the list of waits ------------------------------------- */

/* A new entry has no state yet. */
static bool is_spent(const struct ids_entry *entry)
{
    return entry->state == LEASE_GRANTED || entry->state == LEASE_ENDED;
}

static struct ids_spent *list_of(struct ids *ids, const struct ids_entry *entry)
{
    return entry->is_strange ? &ids->strange : &ids->known;
}

static void unlink_entry(struct ids *ids, struct ids_entry *entry)
{
    struct ids_spent *list = list_of(ids, entry);

    if (entry->state == LEASE_WAITS) {
        *(entry->older ? &entry->older->newer : &ids->waiting) = entry->newer;
        if (entry->newer)
            entry->newer->older = entry->older;
    }
    if (!is_spent(entry))
        return;
    *(entry->older ? &entry->older->newer : &list->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &list->newest) = entry->older;
    list->count--;
}

static void link_spent(struct ids *ids, struct ids_entry *entry)
{
    struct ids_spent *list = list_of(ids, entry);

    entry->newer = NULL;
    entry->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = entry;
    list->newest = entry;
    list->count++;
}

static void link_waiting(struct ids *ids, struct ids_entry *entry)
{
    entry->older = NULL;
    entry->newer = ids->waiting;
    if (entry->newer)
        entry->newer->older = entry;
    ids->waiting = entry;
}

static void drop(struct ids *ids, struct ids_entry **place)
{
    struct ids_entry *entry = *place;

    unlink_entry(ids, entry);
    *place = entry->next;
    ids->count--;
    free(entry);
}

static void expire_list(struct ids *ids, struct ids_spent *list, size_t most, int64_t now_ns)
{
    while (list->oldest && (list->oldest->until_ns <= now_ns || list->count > most))
        drop(ids, place_of(ids, &list->oldest->tag));
}

static void expire(struct ids *ids, int64_t now_ns)
{
    expire_list(ids, &ids->known, IDS_SPENT_MAX, now_ns);
    expire_list(ids, &ids->strange, IDS_STRANGE_MAX, now_ns);
}

/* ---- calls ------------------------------------------------------------------------------- */

enum lease_memory ids_find(struct ids *ids, const struct lease_tag *tag, int64_t now_ns,
                           void **user)
{
    struct ids_entry *entry;

    expire(ids, now_ns);
    entry = *place_of(ids, tag);
    if (!entry)
        return LEASE_UNKNOWN;
    if (!is_spent(entry))
        *user = entry->user;
    return (enum lease_memory)entry->state;
}

/* The entry of this tag, in no list; NULL: out of memory. */
static struct ids_entry *take(struct ids *ids, const struct lease_tag *tag)
{
    struct ids_entry *entry = *place_of(ids, tag);
    size_t bucket;

    if (entry) {
        unlink_entry(ids, entry);
        return entry;
    }
    entry = malloc(sizeof *entry);
    if (!entry)
        return NULL;
    if (ids->count >= ids->bucket_count)
        grow(ids);
    bucket = bucket_of(ids, tag);
    *entry = (struct ids_entry){.next = ids->buckets[bucket], .tag = *tag};
    ids->buckets[bucket] = entry;
    ids->count++;
    return entry;
}

static int set_user(struct ids *ids, const struct lease_tag *tag, enum lease_memory state,
                    void *user)
{
    struct ids_entry *entry = take(ids, tag);

    if (!entry)
        return -1;
    entry->state = (uint8_t)state;
    entry->user = user;
    if (state == LEASE_WAITS)
        link_waiting(ids, entry);
    return 0;
}

int ids_set_waiting(struct ids *ids, const struct lease_tag *tag, void *user)
{
    return set_user(ids, tag, LEASE_WAITS, user);
}

int ids_set_streaming(struct ids *ids, const struct lease_tag *tag, void *user)
{
    return set_user(ids, tag, LEASE_STREAMS, user);
}

int ids_set_spent(struct ids *ids, const struct lease_tag *tag, enum lease_memory state,
                  int64_t now_ns)
{
    struct ids_entry *entry = take(ids, tag);

    assert(state == LEASE_GRANTED || state == LEASE_ENDED);
    if (!entry)
        return -1;
    /* A new entry has no state yet. */
    entry->is_strange = entry->state == LEASE_UNKNOWN || (entry->is_strange && is_spent(entry));
    entry->state = (uint8_t)state;
    entry->until_ns = now_ns + IDS_REMEMBERED_NS;
    link_spent(ids, entry);
    expire(ids, now_ns);
    return 0;
}

void ids_forget(struct ids *ids, const struct lease_tag *tag)
{
    struct ids_entry **place = place_of(ids, tag);

    assert(*place && (*place)->state == LEASE_WAITS);
    drop(ids, place);
}

void ids_each_wait(struct ids *ids, void (*look)(void *wait, void *context), void *context)
{
    struct ids_entry *next;

    for (struct ids_entry *entry = ids->waiting; entry; entry = next) {
        next = entry->newer;
        look(entry->user, context);
    }
}
