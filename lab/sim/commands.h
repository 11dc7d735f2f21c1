/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the model: what the table in commands.c calls. */
#ifndef SIM_COMMANDS_H
#define SIM_COMMANDS_H

#include "lab/sim/server.h"

typedef void sim_command_fn(struct sim_server *server, const struct sim_words *words,
                            struct sim_bytes *out);

/* Upper or lower case; text is upper case. */
bool sim_is_word(struct rl_slice word, const char *text);
/*
 * The key of that type in *key, NULL if there is none. False: it is of another type, and the
 * error has been replied.
 */
bool sim_find_typed(struct sim_server *server, struct rl_slice name, enum sim_type type,
                    struct sim_key **key, struct sim_bytes *out);
/* Of a hash or sorted set: replies how many items there are, or removes those
 * that are named. */
void sim_count_items(struct sim_server *server, const struct sim_words *words,
                     enum sim_type type, struct sim_bytes *out);
void sim_remove_items(struct sim_server *server, const struct sim_words *words,
                      enum sim_type type, struct sim_bytes *out);

/* command_string.c: strings and expiry */
sim_command_fn sim_command_get, sim_command_set, sim_command_getrange, sim_command_del,
    sim_command_delifeq, sim_command_delex, sim_command_exists, sim_command_pttl,
    sim_command_pexpire, sim_command_pexpireat;

/* command_hash.c */
sim_command_fn sim_command_hset, sim_command_hsetnx, sim_command_hget, sim_command_hmget,
    sim_command_hgetall, sim_command_hlen, sim_command_hdel, sim_command_hexists,
    sim_command_hincrby;

/* command_zset.c */
sim_command_fn sim_command_zadd, sim_command_zscore, sim_command_zrank, sim_command_zcard,
    sim_command_zrem, sim_command_zrange, sim_command_zrevrange, sim_command_zrangebyscore,
    sim_command_zremrangebyscore;

/* command_server.c: the server itself, and scripts */
sim_command_fn sim_command_ping, sim_command_ok, sim_command_time, sim_command_info,
    sim_command_script, sim_command_eval, sim_command_evalsha, sim_command_flushall,
    sim_command_type, sim_command_publish;

#endif
