/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings and expiry. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/answer.h"
#include "lab/sim/commands.h"

void sim_command_get(struct sim_server *server, const struct sim_words *words,
                     struct sim_bytes *out)
{
    bool wrong;
    const char *value = sim_server_get(server, words->word[1], &wrong);

    if (wrong)
        sim_reply_error(out, SIM_WRONGTYPE);
    else if (value)
        sim_reply_text(out, value);
    else
        sim_reply_nil(out);
}

/* SET key value [NX | IFEQ value] [PX ms] */
void sim_command_set(struct sim_server *server, const struct sim_words *words,
                     struct sim_bytes *out)
{
    const struct rl_slice *word = words->word;
    const struct rl_slice *expected = NULL;
    bool only_new = false;
    int64_t ttl_ms = 0;
    bool wrong;
    const char *old;

    for (uint32_t i = 3; i < words->count; i++) {
        if (sim_is_word(word[i], "NX")) {
            only_new = true;
        } else if (sim_is_word(word[i], "IFEQ") && server->has_set_ifeq &&
                   i + 1 < words->count) {
            expected = &word[++i];
        } else if (sim_is_word(word[i], "PX") && i + 1 < words->count) {
            if (!sim_read_number(word[++i], &ttl_ms) || ttl_ms <= 0) {
                sim_reply_error(out, "ERR invalid expire time in 'set' command");
                return;
            }
        } else {
            sim_reply_error(out, "ERR syntax error");
            return;
        }
    }
    old = sim_server_get(server, word[1], &wrong);
    if (expected && wrong) {
        sim_reply_error(out, SIM_WRONGTYPE);
    } else if ((only_new && (old || wrong)) ||
               (expected && (!old || !rl_slice_equals(*expected, old)))) {
        sim_reply_nil(out);
    } else {
        sim_server_set(server, word[1], word[2], ttl_ms);
        sim_reply_status(out, "OK");
    }
}

void sim_command_getrange(struct sim_server *server, const struct sim_words *words,
                          struct sim_bytes *out)
{
    bool wrong;
    const char *value = sim_server_get(server, words->word[1], &wrong);
    int64_t size = value ? (int64_t)strlen(value) : 0;
    int64_t first;
    int64_t last;

    if (!sim_read_number(words->word[2], &first) || !sim_read_number(words->word[3], &last)) {
        sim_reply_error(out, "ERR value is not an integer or out of range");
    } else if (wrong) {
        sim_reply_error(out, SIM_WRONGTYPE);
    } else {
        last = last < size - 1 ? last : size - 1;
        sim_reply_bulk(out, first < 0 || first > last
                                ? sim_slice("")
                                : (struct rl_slice){value + first, (size_t)(last - first + 1)});
    }
}

void sim_command_del(struct sim_server *server, const struct sim_words *words,
                     struct sim_bytes *out)
{
    int64_t count = 0;

    for (uint32_t i = 1; i < words->count; i++) {
        count += sim_server_find(server, words->word[i]) != NULL;
        sim_server_delete(server, words->word[i]);
    }
    sim_reply_integer(out, count);
}

/* DELIFEQ key value, DELEX key [IFEQ value]: 1 deleted, 0 not there or different. */
static void delete_if(struct sim_server *server, struct rl_slice name, struct rl_slice value,
                      const char *wrong_error, struct sim_bytes *out)
{
    bool wrong;
    const char *old = sim_server_get(server, name, &wrong);

    if (wrong) {
        sim_reply_error(out, wrong_error);
        return;
    }
    if (old && rl_slice_equals(value, old)) {
        sim_server_delete(server, name);
        sim_reply_integer(out, 1);
        return;
    }
    sim_reply_integer(out, 0);
}

void sim_command_delifeq(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    if (!server->has_delifeq)
        sim_reply_error(out, "ERR unknown command 'DELIFEQ'");
    else
        delete_if(server, words->word[1], words->word[2], SIM_WRONGTYPE, out);
}

void sim_command_delex(struct sim_server *server, const struct sim_words *words,
                       struct sim_bytes *out)
{
    if (!server->has_delex)
        sim_reply_error(out, "ERR unknown command 'DELEX'");
    else if (words->count == 2)
        sim_command_del(server, words, out);
    else if (words->count == 4 && sim_is_word(words->word[2], "IFEQ"))
        delete_if(server, words->word[1], words->word[3],
                  "ERR Key should be of string type if conditions are specified", out);
    else
        sim_reply_error(out, "ERR syntax error");
}

void sim_command_exists(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    int64_t count = 0;

    for (uint32_t i = 1; i < words->count; i++)
        count += sim_server_find(server, words->word[i]) != NULL;
    sim_reply_integer(out, count);
}

void sim_command_pttl(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    struct sim_key *key = sim_server_find(server, words->word[1]);

    if (!key)
        sim_reply_integer(out, -2);
    else
        sim_reply_integer(out,
                          key->expire_ms ? key->expire_ms - sim_server_now_ms(server) : -1);
}

static void expire(struct sim_server *server, const struct sim_words *words, int64_t from_ms,
                   struct sim_bytes *out)
{
    struct sim_key *key = sim_server_find(server, words->word[1]);
    int64_t end_ms;

    if (!sim_read_number(words->word[2], &end_ms) ||
        __builtin_add_overflow(from_ms, end_ms, &end_ms)) {
        sim_reply_error(out, "ERR value is not an integer or out of range");
        return;
    }
    sim_reply_integer(out, key != NULL);
    if (key && end_ms <= sim_server_now_ms(server))
        sim_store_remove(&server->store, key);
    else if (key)
        key->expire_ms = end_ms;
}

void sim_command_pexpire(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    expire(server, words, sim_server_now_ms(server), out);
}

void sim_command_pexpireat(struct sim_server *server, const struct sim_words *words,
                           struct sim_bytes *out)
{
    expire(server, words, 0, out);
}
