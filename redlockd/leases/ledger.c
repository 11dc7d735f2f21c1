/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/ledger.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/time.h"

#define FIRST_SIZE 64

int ledger_init(struct ledger *ledger)
{
    *ledger = (struct ledger){.bucket_count = FIRST_SIZE, .heap_size = FIRST_SIZE};
    ledger->buckets = calloc(FIRST_SIZE, sizeof(struct ledger_entry *));
    ledger->heap = calloc(FIRST_SIZE, sizeof *ledger->heap);
    if (!ledger->buckets || !ledger->heap ||
        getrandom(&ledger->key, sizeof ledger->key, 0) != (ssize_t)sizeof ledger->key) {
        ledger_free(ledger);
        return -1;
    }
    ledger->key |= 1;
    return 0;
}

void ledger_free(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        free(ledger->heap[i].entry);
    free(ledger->buckets);
    free(ledger->heap);
    *ledger = (struct ledger){0};
}

/* ---- by tag ------------------------------------------------------------------------------ */

static size_t bucket_of(const struct ledger *ledger, const struct lease_tag *tag)
{
    uint64_t words[2];

    memcpy(words, tag->text, sizeof words);
    return (size_t)(((words[0] ^ words[1] * ledger->key) * ledger->key) >> 32) &
           (ledger->bucket_count - 1);
}

static struct ledger_entry **place_of(const struct ledger *ledger, const struct lease_tag *tag)
{
    struct ledger_entry **place = &ledger->buckets[bucket_of(ledger, tag)];

    while (*place && memcmp((*place)->tag.text, tag->text, LEASE_TAG_SIZE) != 0)
        place = &(*place)->next;
    return place;
}

struct ledger_entry *ledger_find(const struct ledger *ledger, const struct lease_tag *tag)
{
    return *place_of(ledger, tag);
}

/* ---- by time ----------------------------------------------------------------------------- */

static void put(struct ledger *ledger, size_t place, struct ledger_entry *entry)
{
    ledger->heap[place] = (struct ledger_place){entry->due_ns, entry};
    entry->place = place;
}

static void rise(struct ledger *ledger, size_t place, struct ledger_entry *entry)
{
    while (place > 0 && ledger->heap[(place - 1) / 2].due_ns > entry->due_ns) {
        put(ledger, place, ledger->heap[(place - 1) / 2].entry);
        place = (place - 1) / 2;
    }
    put(ledger, place, entry);
}

static void sink(struct ledger *ledger, size_t place, struct ledger_entry *entry)
{
    for (;;) {
        size_t child = 2 * place + 1;

        if (child + 1 < ledger->count &&
            ledger->heap[child + 1].due_ns < ledger->heap[child].due_ns)
            child++;
        if (child >= ledger->count || ledger->heap[child].due_ns >= entry->due_ns)
            break;
        put(ledger, place, ledger->heap[child].entry);
        place = child;
    }
    put(ledger, place, entry);
}

/* `entry` belongs here, or above or below. */
static void settle(struct ledger *ledger, size_t place, struct ledger_entry *entry)
{
    if (place > 0 && ledger->heap[(place - 1) / 2].due_ns > entry->due_ns)
        rise(ledger, place, entry);
    else
        sink(ledger, place, entry);
}

void ledger_set_due(struct ledger *ledger, struct ledger_entry *entry, int64_t due_ns)
{
    entry->due_ns = due_ns;
    settle(ledger, entry->place, entry);
}

bool ledger_renewal_is_free(struct ledger_entry *entry, int64_t now_ns)
{
    int64_t pace_ms = entry->ttl_ms > LEDGER_PACE_MIN_MS ? entry->ttl_ms : LEDGER_PACE_MIN_MS;

    if (now_ns - entry->paced_ns >= pace_ms * RL_NS_PER_MS) {
        entry->paced_ns = now_ns;
        entry->renewals = 0;
    }
    if (entry->renewals == LEDGER_RENEWALS_FREE)
        return false;
    entry->renewals++;
    return true;
}

struct ledger_entry *ledger_first(const struct ledger *ledger)
{
    return ledger->count > 0 ? ledger->heap[0].entry : NULL;
}

struct ledger_entry *ledger_at(const struct ledger *ledger, size_t index)
{
    return ledger->heap[index].entry;
}

/* ---- entries ----------------------------------------------------------------------------- */

/* Without memory for more buckets, chains become longer and nothing else changes. */
static void grow_buckets(struct ledger *ledger)
{
    size_t count = 2 * ledger->bucket_count;
    struct ledger_entry **buckets = calloc(count, sizeof(struct ledger_entry *));

    if (!buckets)
        return;
    free(ledger->buckets);
    ledger->buckets = buckets;
    ledger->bucket_count = count;
    for (size_t i = 0; i < ledger->count; i++) {
        struct ledger_entry *entry = ledger->heap[i].entry;
        struct ledger_entry **place = &buckets[bucket_of(ledger, &entry->tag)];

        entry->next = *place;
        *place = entry;
    }
}

static bool has_room(struct ledger *ledger)
{
    struct ledger_place *heap;

    if (ledger->count >= LEDGER_MAX)
        return false;
    if (ledger->count < ledger->heap_size)
        return true;
    heap = realloc(ledger->heap, 2 * ledger->heap_size * sizeof *heap);
    if (!heap)
        return false;
    ledger->heap = heap;
    ledger->heap_size *= 2;
    grow_buckets(ledger);
    return true;
}

struct ledger_entry *ledger_add(struct ledger *ledger, const struct lease_tag *tag,
                                const char *name, const char *label, int64_t due_ns)
{
    size_t name_size = strlen(name) + 1, label_size = strlen(label) + 1;
    struct ledger_entry *entry, **place;

    if (!has_room(ledger))
        return NULL;
    entry = malloc(sizeof *entry + name_size + label_size);
    if (!entry)
        return NULL;
    *entry = (struct ledger_entry){.asked_for = ASKED_LOOK, .tag = *tag, .due_ns = due_ns};
    memcpy(entry->name, name, name_size);
    memcpy(entry->name + name_size, label, label_size);
    entry->label = entry->name + name_size;
    place = &ledger->buckets[bucket_of(ledger, tag)];
    entry->next = *place;
    *place = entry;
    rise(ledger, ledger->count++, entry);
    return entry;
}

void ledger_remove(struct ledger *ledger, struct ledger_entry *entry)
{
    struct ledger_entry *last = ledger->heap[--ledger->count].entry;

    if (last != entry)
        settle(ledger, entry->place, last);
    *place_of(ledger, &entry->tag) = entry->next;
    free(entry);
}
