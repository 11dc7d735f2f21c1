/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of leases: the memory of ids, what is held, and when something is due. */
#include "base/time.h"
#include "check.h"
#include "inject_shim.h"
#include "leases/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ENTRIES 200
#define STEPS 5000

static struct lease_table table;

static void end(void)
{
    lease_table_free(&table);
}

static void begin(void)
{
    CHECK_INT(0, lease_table_init(&table));
    check_at_end(end);
}

CASES_BEGIN_WITH(begin);

static struct lease_tag numbered(unsigned number)
{
    struct lease_tag tag;

    snprintf(tag.text, sizeof tag.text, "%010u%012u", number, number);
    return tag;
}

/* What is remembered of it at now_ns. */
static enum lease_memory memory_of(unsigned number, int64_t now_ns)
{
    struct lease_tag tag = numbered(number);

    return lease_memory_of(lease_table_find(&table, &tag, now_ns));
}

static void remember(unsigned number, enum lease_memory memory, struct lease *lease,
                     int64_t now_ns)
{
    struct lease_tag tag = numbered(number);

    CHECK_INT(0, lease_table_remember(&table, &tag, memory, lease, now_ns));
}

static struct lease_held *hold(unsigned number, int64_t look_ns)
{
    struct lease_tag tag = numbered(number);
    struct lease_held *held = lease_table_hold(&table, &tag, "name", "label");

    if (held) {
        held->look_ns = look_ns;
        lease_table_plan(&table, held->entry);
    }
    return held;
}

CASE(spent_ids_are_forgotten,
     "A spent id is known for two minutes after the last answer about it.")
{
    struct lease lease = {.state = LEASE_WAITING};
    struct lease_tag tag = numbered(1);

    CHECK_INT(120 * RL_NS_PER_S, LEASE_REMEMBERED_NS);
    CHECK_INT(LEASE_UNKNOWN, memory_of(1, 5));
    remember(1, LEASE_WAITS, &lease, 5);
    CHECK_INT(LEASE_WAITS, memory_of(1, 5 + 2 * LEASE_REMEMBERED_NS));
    CHECK(lease_table_find(&table, &tag, 5)->lease == &lease);
    remember(1, LEASE_GRANTED, NULL, 10);
    CHECK_INT(LEASE_GRANTED, memory_of(1, 10 + LEASE_REMEMBERED_NS - 1));
    remember(1, LEASE_ENDED, NULL, 20);
    CHECK_INT(LEASE_ENDED, memory_of(1, 20 + LEASE_REMEMBERED_NS - 1));
    CHECK_INT(LEASE_UNKNOWN, memory_of(1, 20 + LEASE_REMEMBERED_NS));
    CHECK_INT(0, table.count);
    remember(1, LEASE_WAITS, &lease, 30);
    remember(1, LEASE_UNKNOWN, NULL, 30);
    CHECK_INT(LEASE_UNKNOWN, memory_of(1, 30));
    CHECK_INT(0, table.count);
}

/* One that waited here before it ended, as ids do. */
static void end_known(unsigned number)
{
    struct lease lease = {.state = LEASE_WAITING};

    remember(number, LEASE_WAITS, &lease, 1);
    remember(number, LEASE_ENDED, NULL, 1);
}

CASE(spent_ids_are_bounded, "Beyond its bound the table forgets the id that was spent first.")
{
    for (unsigned i = 0; i <= LEASES_SPENT_MAX; i++)
        end_known(i);
    CHECK_INT(LEASES_SPENT_MAX, table.known.count);
    CHECK_INT(LEASE_UNKNOWN, memory_of(0, 1));
    CHECK_INT(LEASE_ENDED, memory_of(1, 1));
}

CASE(strange_ids_push_out_none,
     "Ids that were never known here take no place of those that were.")
{
    end_known(0);
    for (unsigned i = 1; i <= LEASES_STRANGE_MAX + 1; i++)
        remember(i, LEASE_ENDED, NULL, 1);
    CHECK_INT(LEASES_STRANGE_MAX, table.strange.count);
    CHECK_INT(LEASE_UNKNOWN, memory_of(1, 1));
    CHECK_INT(LEASE_ENDED, memory_of(2, 1));
    CHECK_INT(LEASE_ENDED, memory_of(0, 1));
    CHECK_INT(LEASE_UNKNOWN, memory_of(0, 1 + LEASE_REMEMBERED_NS));
    CHECK_INT(0, table.count);
}

CASE(held_outlives_memory,
     "An id whose lease is held is known as granted for as long, and is no strange id.")
{
    struct lease_held *held;

    remember(1, LEASE_GRANTED, NULL, 1);
    held = hold(1, 500);
    CHECK_INT(LEASE_GRANTED, memory_of(1, 1 + LEASE_REMEMBERED_NS));
    CHECK_INT(0, table.known.count);
    CHECK(lease_table_held(&table, &held->entry->tag) == held);
    remember(1, LEASE_ENDED, NULL, 1);
    CHECK_INT(1, table.known.count);
    CHECK_INT(0, table.strange.count);
    lease_table_let_go(&table, held);
    CHECK_INT(LEASE_ENDED, memory_of(1, 1));
    CHECK_INT(INT64_MAX, rl_timers_next_ns(&table.due));
    CHECK_INT(LEASE_UNKNOWN, memory_of(1, 1 + LEASE_REMEMBERED_NS));
    CHECK_INT(0, table.count);
}

CASE(earlier_of_two, "A stream that is also looked at is due at the earlier of both times.")
{
    struct lease lease = {
        .state = LEASE_STREAMING, .is_stream = true, .renew_ns = 300, .comment_ns = 400};
    struct lease_held *held;

    remember(1, LEASE_STREAMS, &lease, 1);
    held = hold(1, 200);
    CHECK_INT(200, rl_timers_next_ns(&table.due));
    CHECK(lease_table_due(&table, 199) == NULL);
    CHECK(lease_table_due(&table, 200) == held->entry);
    held->look_ns = RL_NEVER_NS;
    lease_table_plan(&table, held->entry);
    CHECK(lease_table_due(&table, 299) == NULL);
    CHECK(lease_table_due(&table, 300) == held->entry);
    lease.renew_ns = 100;
    lease_table_plan(&table, held->entry);
    CHECK_INT(100, rl_timers_next_ns(&table.due));
    remember(1, LEASE_GRANTED, NULL, 1);
    CHECK_INT(INT64_MAX, rl_timers_next_ns(&table.due));
}

CASE(held_order, "The table finds what is held by tag and by time as a plain list does.")
{
    int64_t look_ns[ENTRIES] = {0}; /* 0: not held */
    unsigned seed = 1;

    for (int step = 0; step < STEPS; step++) {
        unsigned number = (unsigned)rand_r(&seed) % ENTRIES, count = 0;
        struct lease_tag tag = numbered(number);
        struct lease_held *held = lease_table_held(&table, &tag);
        int64_t first_ns = INT64_MAX, new_ns = 1 + rand_r(&seed) % 1000;

        CHECK_INT(look_ns[number] != 0, held != NULL);
        if (held && rand_r(&seed) % 2) {
            lease_table_let_go(&table, held);
            new_ns = 0;
        } else if (held) {
            held->look_ns = new_ns;
            lease_table_plan(&table, held->entry);
        } else {
            CHECK_STR("label", hold(number, new_ns)->label);
        }
        look_ns[number] = new_ns;
        for (unsigned i = 0; i < ENTRIES; i++) {
            count += look_ns[i] != 0;
            if (look_ns[i] && look_ns[i] < first_ns)
                first_ns = look_ns[i];
        }
        CHECK_INT(count, table.held_count);
        CHECK_INT(count, table.count);
        if (count) {
            struct lease_entry *entry = lease_table_due(&table, first_ns);

            CHECK_INT(first_ns, entry->held->look_ns);
            lease_table_plan(&table, entry);
        }
    }
}

CASE(short_memory, "A table without memory adds nothing and loses nothing.")
{
    unsigned added = 0;

    for (unsigned i = 0; i < ENTRIES; i++) {
        struct lease_tag tag = numbered(i);

        inject_arm(INJECT_MEMORY, (int)i % 4 + 1, ENOMEM, false);
        added += lease_table_hold(&table, &tag, "name", "") != NULL;
        inject_disarm();
    }
    CHECK(added > 0);
    CHECK_INT(added, table.held_count);
    CHECK_INT(added, table.count);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct lease_tag tag = numbered(i);

        added -= lease_table_held(&table, &tag) != NULL;
    }
    CHECK_INT(0, added);
}

CASE(pace,
     "Ten renewals of a lease in the time of its TTL, or of a second, are free, and no more.")
{
    struct lease_held lease = {.ttl_ms = 5000}, brief = {.ttl_ms = 10};
    int64_t now_ns = 100 * RL_NS_PER_S;
    unsigned free_ones = 0;

    for (int i = 0; i < 20; i++)
        free_ones += lease_renewal_is_free(&lease, now_ns + i);
    CHECK_INT(LEASE_RENEWALS_FREE, free_ones);
    CHECK(!lease_renewal_is_free(&lease, now_ns + 5 * RL_NS_PER_S - 1));
    CHECK(lease_renewal_is_free(&lease, now_ns + 5 * RL_NS_PER_S));
    for (int i = 0; i < 100; i++)
        free_ones += lease_renewal_is_free(&brief, now_ns + i * RL_NS_PER_S / 100);
    CHECK_INT(2 * LEASE_RENEWALS_FREE, free_ones);
}
