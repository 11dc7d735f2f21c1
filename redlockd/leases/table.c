/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/time.h"

#define BUCKETS_FIRST 256

int lease_table_init(struct lease_table *table)
{
    *table = (struct lease_table){.bucket_count = BUCKETS_FIRST};
    if (getrandom(&table->key, sizeof table->key, 0) != sizeof table->key)
        return -1;
    table->key |= 1;
    table->buckets = calloc(table->bucket_count, sizeof(struct lease_entry *));
    return table->buckets ? 0 : -1;
}

void lease_table_free(struct lease_table *table)
{
    for (size_t i = 0; table->buckets && i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct lease_entry *entry = table->buckets[i];

            table->buckets[i] = entry->next;
            free(entry->held);
            free(entry);
        }
    }
    free(table->buckets);
    rl_timers_free(&table->due);
    *table = (struct lease_table){0};
}

/* ---- buckets ----------------------------------------------------------------------------- */

/* The upper bits of a product with a random odd number spread whatever is chosen without
 * knowing it. */
static size_t bucket_of(const struct lease_table *table, const struct lease_tag *tag)
{
    uint64_t words[2];

    memcpy(words, tag->text, sizeof words);
    return (size_t)(((words[0] ^ words[1] * table->key) * table->key) >> 32) &
           (table->bucket_count - 1);
}

static struct lease_entry **place_of(const struct lease_table *table,
                                     const struct lease_tag *tag)
{
    struct lease_entry **place = &table->buckets[bucket_of(table, tag)];

    while (*place && memcmp((*place)->tag.text, tag->text, LEASE_TAG_SIZE) != 0)
        place = &(*place)->next;
    return place;
}

/* Without memory for more buckets, chains become longer and nothing else changes. */
static void grow(struct lease_table *table)
{
    struct lease_table larger = *table;

    larger.bucket_count = 2 * table->bucket_count;
    larger.buckets = calloc(larger.bucket_count, sizeof(struct lease_entry *));
    if (!larger.buckets)
        return;
    for (size_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct lease_entry *entry = table->buckets[i];
            size_t bucket = bucket_of(&larger, &entry->tag);

            table->buckets[i] = entry->next;
            entry->next = larger.buckets[bucket];
            larger.buckets[bucket] = entry;
        }
    }
    free(table->buckets);
    *table = larger;
}

/* The entry of this tag, which may be a new one; NULL: out of memory. */
static struct lease_entry *take(struct lease_table *table, const struct lease_tag *tag)
{
    struct lease_entry *entry = *place_of(table, tag);
    size_t bucket;

    if (entry)
        return entry;
    if (!rl_timers_reserve(&table->due, table->count + 1))
        return NULL;
    entry = malloc(sizeof *entry);
    if (!entry)
        return NULL;
    if (table->count >= table->bucket_count)
        grow(table);
    bucket = bucket_of(table, tag);
    *entry = (struct lease_entry){.next = table->buckets[bucket], .tag = *tag};
    table->buckets[bucket] = entry;
    table->count++;
    return entry;
}

/* An entry of which nothing is known any more. */
static void drop_unknown(struct lease_table *table, struct lease_entry *entry)
{
    struct lease_entry **place;

    if (entry->memory != LEASE_UNKNOWN || entry->held)
        return;
    place = place_of(table, &entry->tag);
    *place = entry->next;
    table->count--;
    free(entry);
}

/* ---- the memory of ids ------------------------------------------------------------------- */

static bool is_spent(enum lease_memory memory)
{
    return memory == LEASE_GRANTED || memory == LEASE_ENDED;
}

static struct lease_spent *spent_of(struct lease_table *table, const struct lease_entry *entry)
{
    return entry->is_strange ? &table->strange : &table->known;
}

static void link_spent(struct lease_table *table, struct lease_entry *entry)
{
    struct lease_spent *spent = spent_of(table, entry);

    entry->newer = NULL;
    entry->older = spent->newest;
    *(spent->newest ? &spent->newest->newer : &spent->oldest) = entry;
    spent->newest = entry;
    spent->count++;
}

static void unlink_spent(struct lease_table *table, struct lease_entry *entry)
{
    struct lease_spent *spent = spent_of(table, entry);

    *(entry->older ? &entry->older->newer : &spent->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &spent->newest) = entry->older;
    spent->count--;
}

static void forget(struct lease_table *table, struct lease_entry *entry)
{
    if (is_spent((enum lease_memory)entry->memory))
        unlink_spent(table, entry);
    entry->memory = LEASE_UNKNOWN;
    lease_table_plan(table, entry);
    drop_unknown(table, entry);
}

static void expire(struct lease_table *table, struct lease_spent *spent, size_t most,
                   int64_t now_ns)
{
    while (spent->oldest && (spent->oldest->until_ns <= now_ns || spent->count > most))
        forget(table, spent->oldest);
}

static void expire_all(struct lease_table *table, int64_t now_ns)
{
    expire(table, &table->known, LEASES_SPENT_MAX, now_ns);
    expire(table, &table->strange, LEASES_STRANGE_MAX, now_ns);
}

struct lease_entry *lease_table_find(struct lease_table *table, const struct lease_tag *tag,
                                     int64_t now_ns)
{
    expire_all(table, now_ns);
    return *place_of(table, tag);
}

int lease_table_remember(struct lease_table *table, const struct lease_tag *tag,
                         enum lease_memory memory, struct lease *lease, int64_t now_ns)
{
    struct lease_entry *entry =
        memory == LEASE_UNKNOWN ? *place_of(table, tag) : take(table, tag);
    bool was_spent;

    if (!entry)
        return memory == LEASE_UNKNOWN ? 0 : -1;
    if (memory == LEASE_UNKNOWN) {
        forget(table, entry);
        return 0;
    }
    was_spent = is_spent((enum lease_memory)entry->memory);
    if (was_spent)
        unlink_spent(table, entry);
    if (is_spent(memory)) {
        entry->is_strange =
            was_spent ? entry->is_strange : entry->memory == LEASE_UNKNOWN && !entry->held;
        entry->until_ns = now_ns + LEASE_REMEMBERED_NS;
        link_spent(table, entry);
    } else {
        entry->lease = lease;
    }
    entry->memory = (uint8_t)memory;
    lease_table_plan(table, entry);
    expire_all(table, now_ns);
    return 0;
}

/* ---- what is held ------------------------------------------------------------------------ */

struct lease_held *lease_table_held(const struct lease_table *table,
                                    const struct lease_tag *tag)
{
    struct lease_entry *entry = *place_of(table, tag);

    return entry ? entry->held : NULL;
}

struct lease_held *lease_table_hold(struct lease_table *table, const struct lease_tag *tag,
                                    const char *name, const char *label)
{
    size_t name_size = strlen(name) + 1, label_size = strlen(label) + 1;
    struct lease_entry *entry;
    struct lease_held *held;

    if (table->held_count >= LEASES_HELD_MAX)
        return NULL;
    held = malloc(sizeof *held + name_size + label_size);
    entry = held ? take(table, tag) : NULL;
    if (!entry) {
        free(held);
        return NULL;
    }
    assert(!entry->held);
    *held = (struct lease_held){
        .job_type = JOB_LOOK, .entry = entry, .next = table->held, .look_ns = RL_NEVER_NS};
    memcpy(held->name, name, name_size);
    memcpy(held->name + name_size, label, label_size);
    held->label = held->name + name_size;
    if (held->next)
        held->next->previous = held;
    table->held = held;
    table->held_count++;
    entry->held = held;
    return held;
}

void lease_table_let_go(struct lease_table *table, struct lease_held *held)
{
    struct lease_entry *entry = held->entry;

    *(held->previous ? &held->previous->next : &table->held) = held->next;
    if (held->next)
        held->next->previous = held->previous;
    table->held_count--;
    free(held);
    entry->held = NULL;
    lease_table_plan(table, entry);
    drop_unknown(table, entry);
}

bool lease_renewal_is_free(struct lease_held *held, int64_t now_ns)
{
    int64_t pace_ms = held->ttl_ms > LEASE_PACE_MIN_MS ? held->ttl_ms : LEASE_PACE_MIN_MS;

    if (now_ns - held->paced_ns >= pace_ms * RL_NS_PER_MS) {
        held->paced_ns = now_ns;
        held->renewals = 0;
    }
    if (held->renewals == LEASE_RENEWALS_FREE)
        return false;
    held->renewals++;
    return true;
}

/* ---- time -------------------------------------------------------------------------------- */

void lease_table_plan(struct lease_table *table, struct lease_entry *entry)
{
    bool is_here = entry->memory == LEASE_WAITS || entry->memory == LEASE_STREAMS;
    int64_t due_ns = is_here ? lease_due_ns(entry->lease) : RL_NEVER_NS;

    if (entry->held && entry->held->look_ns < due_ns)
        due_ns = entry->held->look_ns;
    rl_timers_set(&table->due, &entry->due, due_ns);
    loop_due(&table->part, due_ns);
}

struct lease_entry *lease_table_due(struct lease_table *table, int64_t now_ns)
{
    /* The timer is the first field. */
    return (struct lease_entry *)(void *)rl_timers_due(&table->due, now_ns);
}
