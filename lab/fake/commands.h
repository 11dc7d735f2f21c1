/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the model: what the table in commands.c calls. */
#ifndef FAKE_COMMANDS_H
#define FAKE_COMMANDS_H

#include "lab/fake/server.h"

/* A command that is being executed. */
struct fake_call {
    struct fake_server *server;
    const struct rl_slice *word; /* the first is its name */
    uint32_t count;
    struct fake_key *key; /* the second word, where it is of the command's type; NULL: none */
    struct fake_bytes *out;
};

typedef void fake_command_fn(struct fake_call *call);

/* Upper or lower case; text is upper case. */
bool fake_is_word(struct rl_slice word, const char *text);
/* Looks for the key. False: it is of another type, and the error has been replied. */
bool fake_call_find(struct fake_call *call, enum fake_type type);
/* Makes the key where there was none. */
void fake_call_create(struct fake_call *call, enum fake_type type);
/* Servers keep no hash or sorted set without items. */
void fake_call_remove_empty(struct fake_call *call);

#define NO_INTEGER "ERR value is not an integer or out of range"

/* command_string.c: strings and expiry */
fake_command_fn fake_command_get, fake_command_set, fake_command_getrange, fake_command_del,
    fake_command_delifeq, fake_command_delex, fake_command_exists, fake_command_pttl,
    fake_command_pexpire, fake_command_pexpireat;

/* command_hash.c */
fake_command_fn fake_command_hset, fake_command_hsetnx, fake_command_hget, fake_command_hmget,
    fake_command_hgetall, fake_command_hexists, fake_command_hincrby;

/* command_zset.c */
fake_command_fn fake_command_zadd, fake_command_zscore, fake_command_zrank, fake_command_zrange,
    fake_command_zrevrange, fake_command_zrangebyscore, fake_command_zremrangebyscore;

/* scripts.c: EVAL and EVALSHA */
fake_command_fn fake_command_eval;

/* command_server.c: the server itself */
fake_command_fn fake_command_ping, fake_command_ok, fake_command_time, fake_command_info,
    fake_command_script, fake_command_flushall, fake_command_type, fake_command_publish;

#endif
