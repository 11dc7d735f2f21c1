/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the model: what the table in commands.c calls. */
#ifndef FAKE_COMMANDS_H
#define FAKE_COMMANDS_H

#include "lab/fake/server.h"

typedef void fake_command_fn(struct fake_server *server, const struct fake_words *words,
                             struct fake_bytes *out);

/* Upper or lower case; text is upper case. */
bool fake_is_word(struct rl_slice word, const char *text);
/*
 * The key of that type in *key, NULL if there is none. False: it is of another type, and the
 * error has been replied.
 */
bool fake_find_typed(struct fake_server *server, struct rl_slice name, enum fake_type type,
                     struct fake_key **key, struct fake_bytes *out);
/* Of a hash or sorted set: replies how many items there are, or removes those
 * that are named. */
void fake_count_items(struct fake_server *server, const struct fake_words *words,
                      enum fake_type type, struct fake_bytes *out);
void fake_remove_items(struct fake_server *server, const struct fake_words *words,
                       enum fake_type type, struct fake_bytes *out);

/* command_string.c: strings and expiry */
fake_command_fn fake_command_get, fake_command_set, fake_command_getrange, fake_command_del,
    fake_command_delifeq, fake_command_delex, fake_command_exists, fake_command_pttl,
    fake_command_pexpire, fake_command_pexpireat;

/* command_hash.c */
fake_command_fn fake_command_hset, fake_command_hsetnx, fake_command_hget, fake_command_hmget,
    fake_command_hgetall, fake_command_hlen, fake_command_hdel, fake_command_hexists,
    fake_command_hincrby;

/* command_zset.c */
fake_command_fn fake_command_zadd, fake_command_zscore, fake_command_zrank, fake_command_zcard,
    fake_command_zrem, fake_command_zrange, fake_command_zrevrange, fake_command_zrangebyscore,
    fake_command_zremrangebyscore;

/* command_server.c: the server itself, and scripts */
fake_command_fn fake_command_ping, fake_command_ok, fake_command_time, fake_command_info,
    fake_command_script, fake_command_eval, fake_command_evalsha, fake_command_flushall,
    fake_command_type, fake_command_publish;

#endif
