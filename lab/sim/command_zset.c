/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorted sets. */
#include <math.h>
#include <stdlib.h>

#include "lab/sim/commands.h"

#define NUMBER_SIZE 64
#define NO_FLOAT "ERR value is not a valid float"
#define NO_INTEGER "ERR value is not an integer or out of range"

static bool read_score(struct rl_slice text, double *out)
{
    char copy[NUMBER_SIZE];
    char *end;

    if (text.size == 0 || text.size >= sizeof copy)
        return false;
    sim_copy_text(copy, sizeof copy, text);
    *out = strtod(copy, &end);
    return *end == '\0' && !isnan(*out);
}

/* The end of a range; "(5" is without 5. */
static bool read_bound(struct rl_slice text, double *out, bool *is_open)
{
    *is_open = text.size > 0 && text.data[0] == '(';
    return read_score((struct rl_slice){text.data + *is_open, text.size - *is_open}, out);
}

static void reply_score(struct sim_bytes *out, double score)
{
    char text[NUMBER_SIZE];

    sim_write_double(text, sizeof text, score);
    sim_reply_text(out, text);
}

/* ZADD key [NX | XX] score member [score member]... */
void sim_command_zadd(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    bool only_new = sim_is_word(words->word[2], "NX");
    bool only_old = sim_is_word(words->word[2], "XX");
    uint32_t first = only_new || only_old ? 3 : 2;
    struct sim_key *key;
    int64_t count = 0;
    double score = 0;

    if (first == words->count || (words->count - first) % 2 != 0) {
        sim_reply_error(out, "ERR syntax error");
        return;
    }
    for (uint32_t i = first; i < words->count; i += 2) {
        if (!read_score(words->word[i], &score)) {
            sim_reply_error(out, NO_FLOAT);
            return;
        }
    }
    if (!sim_find_typed(server, words->word[1], SIM_ZSET, &key, out))
        return;
    if (!key && !only_old)
        key = sim_store_create(&server->store, words->word[1], SIM_ZSET);
    for (uint32_t i = first; key && i < words->count; i += 2) {
        bool is_new = !sim_key_find(key, words->word[i + 1]);

        if (is_new ? only_old : only_new)
            continue;
        read_score(words->word[i], &score);
        sim_key_score(key, words->word[i + 1], score);
        count += is_new;
    }
    sim_reply_integer(out, count);
}

/* The member, NULL if it is not there. False: an error has been replied. */
static bool find_member(struct sim_server *server, const struct sim_words *words,
                        struct sim_key **key, struct sim_item **item, struct sim_bytes *out)
{
    if (!sim_find_typed(server, words->word[1], SIM_ZSET, key, out))
        return false;
    *item = *key ? sim_key_find(*key, words->word[2]) : NULL;
    return true;
}

void sim_command_zscore(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    struct sim_key *key;
    struct sim_item *item;

    if (!find_member(server, words, &key, &item, out))
        return;
    if (item)
        reply_score(out, item->score);
    else
        sim_reply_nil(out);
}

void sim_command_zrank(struct sim_server *server, const struct sim_words *words,
                       struct sim_bytes *out)
{
    struct sim_key *key;
    struct sim_item *item;

    if (!find_member(server, words, &key, &item, out))
        return;
    if (item)
        sim_reply_integer(out, item - key->item);
    else
        sim_reply_nil(out);
}

void sim_command_zcard(struct sim_server *server, const struct sim_words *words,
                       struct sim_bytes *out)
{
    sim_count_items(server, words, SIM_ZSET, out);
}

void sim_command_zrem(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    sim_remove_items(server, words, SIM_ZSET, out);
}

/* ---- ranges ---- */

/* Places `first` to `last` from the start, or from the end; below zero from the other side. */
static void reply_places(struct sim_server *server, const struct sim_words *words,
                         bool backwards, struct sim_bytes *out)
{
    bool with_scores = words->count == 5;
    struct sim_key *key;
    int64_t first;
    int64_t last;
    int64_t size;

    if (with_scores && !sim_is_word(words->word[4], "WITHSCORES")) {
        sim_reply_error(out, "ERR syntax error");
        return;
    }
    if (!sim_read_number(words->word[2], &first) || !sim_read_number(words->word[3], &last)) {
        sim_reply_error(out, NO_INTEGER);
        return;
    }
    if (!sim_find_typed(server, words->word[1], SIM_ZSET, &key, out))
        return;
    size = key ? key->item_count : 0;
    first = first < 0 ? first + size : first;
    first = first < 0 ? 0 : first;
    last = last < 0 ? last + size : last;
    last = last < size ? last : size - 1;
    sim_reply_array(out, first > last ? 0 : (uint32_t)(last - first + 1) << with_scores);
    for (int64_t i = first; i <= last; i++) {
        const struct sim_item *item = &key->item[backwards ? size - 1 - i : i];

        sim_reply_text(out, item->field);
        if (with_scores)
            reply_score(out, item->score);
    }
}

void sim_command_zrange(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    reply_places(server, words, false, out);
}

void sim_command_zrevrange(struct sim_server *server, const struct sim_words *words,
                           struct sim_bytes *out)
{
    reply_places(server, words, true, out);
}

/* The items with scores from words 2 to 3, *count of them from the returned one on. */
static bool find_scores(struct sim_server *server, const struct sim_words *words,
                        struct sim_key **key, uint32_t *first, uint32_t *count,
                        struct sim_bytes *out)
{
    double least;
    double most;
    bool above;
    bool below;

    if (!read_bound(words->word[2], &least, &above) ||
        !read_bound(words->word[3], &most, &below)) {
        sim_reply_error(out, "ERR min or max is not a float");
        return false;
    }
    if (!sim_find_typed(server, words->word[1], SIM_ZSET, key, out))
        return false;
    *first = *count = 0;
    if (!*key)
        return true;
    while (*first < (*key)->item_count && ((*key)->item[*first].score < least ||
                                           (above && (*key)->item[*first].score <= least)))
        ++*first;
    while (*first + *count < (*key)->item_count &&
           ((*key)->item[*first + *count].score < most ||
            (!below && (*key)->item[*first + *count].score <= most)))
        ++*count;
    return true;
}

/* ZRANGEBYSCORE key min max [LIMIT offset count] */
void sim_command_zrangebyscore(struct sim_server *server, const struct sim_words *words,
                               struct sim_bytes *out)
{
    struct sim_key *key;
    uint32_t first;
    uint32_t count;
    int64_t offset = 0;
    int64_t most = INT64_MAX;

    if (words->count != 4 && (words->count != 7 || !sim_is_word(words->word[4], "LIMIT"))) {
        sim_reply_error(out, "ERR syntax error");
        return;
    }
    if (words->count == 7 && (!sim_read_number(words->word[5], &offset) || offset < 0 ||
                              !sim_read_number(words->word[6], &most) || most < 0)) {
        sim_reply_error(out, NO_INTEGER);
        return;
    }
    if (!find_scores(server, words, &key, &first, &count, out))
        return;
    offset = offset < count ? offset : count;
    first += (uint32_t)offset;
    count -= (uint32_t)offset;
    count = count < most ? count : (uint32_t)most;
    sim_reply_array(out, count);
    for (uint32_t i = 0; i < count; i++)
        sim_reply_text(out, key->item[first + i].field);
}

void sim_command_zremrangebyscore(struct sim_server *server, const struct sim_words *words,
                                  struct sim_bytes *out)
{
    struct sim_key *key;
    uint32_t first;
    uint32_t count;

    if (!find_scores(server, words, &key, &first, &count, out))
        return;
    for (uint32_t i = 0; i < count; i++)
        sim_key_remove(key, &key->item[first]);
    if (count && key->item_count == 0)
        sim_store_remove(&server->store, key);
    sim_reply_integer(out, count);
}
