/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorted sets, as far as a test looks at them: the scripts do their own. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/commands.h"

/* ZADD key score member */
void sim_command_zadd(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    struct sim_key *key = sim_server_find(server, words->word[1]);
    int64_t score;
    bool is_new;

    if (!sim_read_number(words->word[2], &score)) {
        sim_reply_error(out, "ERR value is not a valid float");
        return;
    }
    if (key && key->type != SIM_ZSET) {
        sim_reply_error(out, SIM_WRONGTYPE);
        return;
    }
    if (!key)
        key = sim_store_create(&server->store, words->word[1], SIM_ZSET);
    is_new = !sim_key_find(key, words->word[3]);
    sim_key_score(key, words->word[3], (double)score);
    sim_reply_integer(out, is_new);
}

/* ZRANGE key 0 -1 [WITHSCORES]: all of it. */
void sim_command_zrange(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    const struct sim_key *key = sim_server_find(server, words->word[1]);
    bool with_scores = words->count == 5;
    char text[32];

    if (key && key->type != SIM_ZSET) {
        sim_reply_error(out, SIM_WRONGTYPE);
        return;
    }
    sim_reply_array(out, key ? key->item_count * (with_scores ? 2 : 1) : 0);
    for (uint32_t i = 0; key && i < key->item_count; i++) {
        sim_reply_text(out, key->item[i].field);
        if (!with_scores)
            continue;
        snprintf(text, sizeof text, "%.0f", key->item[i].score);
        sim_reply_text(out, text);
    }
}
