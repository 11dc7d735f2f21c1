/* SPDX-License-Identifier: BSD-2-Clause */
/* The quorum of a name: the same for every client, evenly spread, with few moves. */
#include "check.h"

#include "base/slice.h"
#include "core/rendezvous.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 100000, QUORUMS = 8 };

static const char *const quorum_names[QUORUMS + 1] = {"east", "west", "north", "south", "q1",
                                                      "q2",   "q3",   "eu-1",  "eu-2"};

static struct rl_slice slice(const char *text)
{
    return rl_slice_of(text);
}

static uint64_t weight(const char *quorum, const char *key)
{
    return rl_rendezvous_weight(rl_rendezvous_quorum(slice(quorum)),
                                rl_rendezvous_key(slice(key)));
}

/* The quorum of one of the names, among those whose bit is set. */
static int home(const uint64_t *seeds, unsigned set, int number)
{
    char key[32];
    uint64_t best_weight = 0, hash;
    int best = -1;
    snprintf(key, sizeof key, "redlock:job-%d", number);
    hash = rl_rendezvous_key(slice(key));
    for (int i = 0; i <= QUORUMS; i++) {
        uint64_t w;
        if (!(set & (1u << i)))
            continue;
        w = rl_rendezvous_weight(seeds[i], hash);
        if (best < 0 || w > best_weight) {
            best = i;
            best_weight = w;
        }
    }
    return best;
}

static void make_seeds(uint64_t seeds[QUORUMS + 1])
{
    for (int i = 0; i <= QUORUMS; i++)
        seeds[i] = rl_rendezvous_quorum(slice(quorum_names[i]));
}

CASE(vectors, "The weights equal the vectors that every implementation must compute.")
{
    /* Made by a second implementation, in another language. */
    static const struct {
        const char *quorum, *key;
        uint64_t weight;
    } vector[] = {
        {"a", "redlock:x", 0x709df3c853125cb8u},
        {"b", "redlock:x", 0xb3d3da8dfcb39645u},
        {"east", "redlock:nightly-report", 0xa8ac659611d550c7u},
        {"west", "redlock:nightly-report", 0x0fcd4f96ddf141c1u},
        {"q1", "redlock:{user1}.cart", 0x4ae3954ef724a713u},
        {"q1", "redlock:{user1}.mail", 0x4ae3954ef724a713u},
        {"q1", "user1", 0x4ae3954ef724a713u},
        {"q1", "redlock:{}x", 0x56e63654250891b7u},
        {"q1", "", 0x1a5846a0608c28ecu},
        {"eu-1.b_2", "redlock:\xff\x80", 0x8e4644054c1e0ba5u},
    };
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++)
        if (weight(vector[i].quorum, vector[i].key) != vector[i].weight)
            FAIL("%s, %s: %016llx", vector[i].quorum, vector[i].key,
                 (unsigned long long)weight(vector[i].quorum, vector[i].key));
}

CASE(tags, "Of a key with braces only the text inside the first pair counts.")
{
    static const struct {
        const char *key, *tag;
    } example[] = {
        {"redlock:x", "redlock:x"},
        {"redlock:{a}x", "a"},
        {"redlock:{a}{b}", "a"},
        {"redlock:{}x", "redlock:{}x"},
        {"redlock:{}{b}", "redlock:{}{b}"},
        {"redlock:{a", "redlock:{a"},
        {"redlock:a}b{", "redlock:a}b{"},
        {"redlock:}{b}", "b"},
        {"redlock:{{a}}", "{a"},
        {"{}", "{}"},
        {"{", "{"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof example / sizeof example[0]; i++) {
        struct rl_slice tag = rl_rendezvous_tag(slice(example[i].key));
        char text[64];
        snprintf(text, sizeof text, "%.*s", (int)tag.size, tag.data);
        CHECK_STR(example[i].tag, text);
    }
}

CASE(balance, "Eight quorums get an eighth each of 100,000 names, within three percent.")
{
    uint64_t seeds[QUORUMS + 1];
    int share[QUORUMS + 1] = {0};
    make_seeds(seeds);
    for (int i = 0; i < NAMES; i++)
        share[home(seeds, 0xff, i)]++;
    for (int i = 0; i < QUORUMS; i++)
        CHECK_BETWEEN(NAMES / QUORUMS * 97 / 100, NAMES / QUORUMS * 103 / 100, share[i]);
}

CASE(few_moves,
     "A new quorum takes its share from all others; a removed one moves only its own names.")
{
    uint64_t seeds[QUORUMS + 1];
    int moved = 0, taken[QUORUMS] = {0};
    make_seeds(seeds);
    for (int i = 0; i < NAMES; i++) {
        int before = home(seeds, 0xff, i), after = home(seeds, 0x1ff, i);
        if (before == after)
            continue;
        /* Whatever moves, moves to the new one. Read backwards: from the one that goes. */
        CHECK_INT(QUORUMS, after);
        moved++;
        taken[before]++;
    }
    CHECK_BETWEEN(NAMES / (QUORUMS + 1) * 97 / 100, NAMES / (QUORUMS + 1) * 103 / 100, moved);
    for (int i = 0; i < QUORUMS; i++)
        CHECK_BETWEEN(moved / QUORUMS * 90 / 100, moved / QUORUMS * 110 / 100, taken[i]);
}

CASE(one_bit, "One changed bit of a name changes about half of the bits of its weight.")
{
    uint64_t quorum = rl_rendezvous_quorum(slice("east"));
    long long flipped = 0, tries = 0;
    for (int i = 0; i < 2000; i++) {
        char key[32];
        size_t size;
        uint64_t w;
        snprintf(key, sizeof key, "redlock:job-%d", i);
        size = strlen(key);
        w = rl_rendezvous_weight(quorum, rl_rendezvous_key(slice(key)));
        for (size_t bit = 0; bit < 7; bit++, tries++) {
            key[size - 1] = (char)(key[size - 1] ^ (1 << bit));
            flipped += __builtin_popcountll(
                w ^
                rl_rendezvous_weight(quorum, rl_rendezvous_key((struct rl_slice){key, size})));
            key[size - 1] = (char)(key[size - 1] ^ (1 << bit));
        }
    }
    CHECK_BETWEEN(31 * tries, 33 * tries, flipped);
}
