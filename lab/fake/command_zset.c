/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorted sets. */
#include <math.h>
#include <stdlib.h>

#include "lab/fake/commands.h"

#define NUMBER_SIZE 64
#define NO_FLOAT "ERR value is not a valid float"

static bool read_score(struct rl_slice text, double *out)
{
    char copy[NUMBER_SIZE];
    char *end;

    if (text.size == 0 || text.size >= sizeof copy)
        return false;
    fake_copy_text(copy, sizeof copy, text);
    *out = strtod(copy, &end);
    return *end == '\0' && !isnan(*out);
}

/* The end of a range; "(5" is without 5. */
static bool read_bound(struct rl_slice text, double *out, bool *is_open)
{
    *is_open = text.size > 0 && text.data[0] == '(';
    return read_score((struct rl_slice){text.data + *is_open, text.size - *is_open}, out);
}

static void reply_score(struct fake_bytes *out, double score)
{
    char text[NUMBER_SIZE];

    fake_write_double(text, sizeof text, score);
    fake_reply_text(out, text);
}

/* ZADD key [NX | XX] score member [score member]... */
void fake_command_zadd(struct fake_call *call)
{
    bool only_new = fake_is_word(call->word[2], "NX");
    bool only_old = fake_is_word(call->word[2], "XX");
    uint32_t first = only_new || only_old ? 3 : 2;
    int64_t count = 0;
    double score = 0;

    if (first == call->count || (call->count - first) % 2 != 0) {
        fake_reply_error(call->out, "ERR syntax error");
        return;
    }
    for (uint32_t i = first; i < call->count; i += 2) {
        if (!read_score(call->word[i], &score)) {
            fake_reply_error(call->out, NO_FLOAT);
            return;
        }
    }
    if (!fake_call_find(call, FAKE_ZSET))
        return;
    if (!only_old)
        fake_call_create(call, FAKE_ZSET);
    for (uint32_t i = first; call->key && i < call->count; i += 2) {
        bool is_new = !fake_key_find(call->key, call->word[i + 1]);

        if (is_new ? only_old : only_new)
            continue;
        read_score(call->word[i], &score);
        fake_key_score(call->key, call->word[i + 1], score);
        count += is_new;
    }
    fake_reply_integer(call->out, count);
}

/* The member, NULL if it is not there. */
static struct fake_item *find_member(const struct fake_call *call)
{
    return call->key ? fake_key_find(call->key, call->word[2]) : NULL;
}

void fake_command_zscore(struct fake_call *call)
{
    const struct fake_item *item = find_member(call);

    if (item)
        reply_score(call->out, item->score);
    else
        fake_reply_nil(call->out);
}

void fake_command_zrank(struct fake_call *call)
{
    const struct fake_item *item = find_member(call);

    if (item)
        fake_reply_integer(call->out, item - call->key->item);
    else
        fake_reply_nil(call->out);
}

/* Places `first` to `last` from the start, or from the end; below zero from the other side. */
static void reply_places(struct fake_call *call, bool backwards)
{
    bool with_scores = call->count == 5;
    const struct fake_key *key;
    int64_t first;
    int64_t last;
    int64_t size;

    if (with_scores && !fake_is_word(call->word[4], "WITHSCORES")) {
        fake_reply_error(call->out, "ERR syntax error");
        return;
    }
    if (!fake_read_number(call->word[2], &first) || !fake_read_number(call->word[3], &last)) {
        fake_reply_error(call->out, NO_INTEGER);
        return;
    }
    if (!fake_call_find(call, FAKE_ZSET))
        return;
    key = call->key;
    size = key ? key->item_count : 0;
    first = first < 0 ? first + size : first;
    first = first < 0 ? 0 : first;
    last = last < 0 ? last + size : last;
    last = last < size ? last : size - 1;
    fake_reply_array(call->out, first > last ? 0 : (uint32_t)(last - first + 1) << with_scores);
    for (int64_t i = first; i <= last; i++) {
        const struct fake_item *item = &key->item[backwards ? size - 1 - i : i];

        fake_reply_text(call->out, item->field);
        if (with_scores)
            reply_score(call->out, item->score);
    }
}

void fake_command_zrange(struct fake_call *call)
{
    reply_places(call, false);
}

void fake_command_zrevrange(struct fake_call *call)
{
    reply_places(call, true);
}

/* The items with scores from words 2 to 3, *count of them from the returned one on. */
static bool find_scores(struct fake_call *call, uint32_t *first, uint32_t *count)
{
    const struct fake_key *key;
    double least;
    double most;
    bool above;
    bool below;

    if (!read_bound(call->word[2], &least, &above) ||
        !read_bound(call->word[3], &most, &below)) {
        fake_reply_error(call->out, "ERR min or max is not a float");
        return false;
    }
    if (!fake_call_find(call, FAKE_ZSET))
        return false;
    key = call->key;
    *first = *count = 0;
    if (!key)
        return true;
    while (*first < key->item_count &&
           (key->item[*first].score < least || (above && key->item[*first].score <= least)))
        ++*first;
    while (*first + *count < key->item_count &&
           (key->item[*first + *count].score < most ||
            (!below && key->item[*first + *count].score <= most)))
        ++*count;
    return true;
}

/* ZRANGEBYSCORE key min max [LIMIT offset count] */
void fake_command_zrangebyscore(struct fake_call *call)
{
    uint32_t first;
    uint32_t count;
    int64_t offset = 0;
    int64_t most = INT64_MAX;

    if (call->count != 4 && (call->count != 7 || !fake_is_word(call->word[4], "LIMIT"))) {
        fake_reply_error(call->out, "ERR syntax error");
        return;
    }
    if (call->count == 7 && (!fake_read_number(call->word[5], &offset) || offset < 0 ||
                             !fake_read_number(call->word[6], &most) || most < 0)) {
        fake_reply_error(call->out, NO_INTEGER);
        return;
    }
    if (!find_scores(call, &first, &count))
        return;
    offset = offset < count ? offset : count;
    first += (uint32_t)offset;
    count -= (uint32_t)offset;
    count = count < most ? count : (uint32_t)most;
    fake_reply_array(call->out, count);
    for (uint32_t i = 0; i < count; i++)
        fake_reply_text(call->out, call->key->item[first + i].field);
}

void fake_command_zremrangebyscore(struct fake_call *call)
{
    uint32_t first;
    uint32_t count;

    if (!find_scores(call, &first, &count))
        return;
    for (uint32_t i = 0; i < count; i++)
        fake_key_remove(call->key, &call->key->item[first]);
    fake_call_remove_empty(call);
    fake_reply_integer(call->out, count);
}
