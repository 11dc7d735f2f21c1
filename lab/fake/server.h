/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of one Redis or Valkey server, as far as this project's commands and scripts need it:
 * words in, RESP bytes out. It knows neither time nor network; the caller sets now_us before
 * every command. The model is compared with real servers by tests/sim/model.c.
 *
 * Commands stand in a table (commands.c). Scripts are those that ship (scripts.c), run by the
 * Lua that servers have inside (lua.c).
 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include "lab/fake/reply.h"
#include "lab/fake/store.h"

#define FAKE_ID_DIGITS 40
#define FAKE_MESSAGES_MAX 64
#define FAKE_MESSAGE_SIZE 96

/* A published message. */
struct fake_message {
    char channel[FAKE_MESSAGE_SIZE];
    char text[FAKE_MESSAGE_SIZE];
};

struct fake_server {
    struct fake_store store;
    int64_t now_us;     /* the node's wall clock, frozen for the length of a command */
    int64_t started_us; /* by the same clock */
    char run_id[FAKE_ID_DIGITS + 1];
    char replid[FAKE_ID_DIGITS + 1];
    char replid2[FAKE_ID_DIGITS + 1]; /* that it had as a replica; empty: it was none */
    const char *version_line;         /* of INFO; NULL: redis_version:7.0.15 */
    bool replica;                     /* refuses writes */
    bool loading;                     /* refuses nearly everything */
    bool has_delifeq;
    bool has_delex;
    bool has_set_ifeq;
    uint32_t scripts; /* those it has in its cache, a bit each */
    /* Published since the caller last took them away. */
    struct fake_message message[FAKE_MESSAGES_MAX];
    uint32_t message_count;
    /* The number of subscribers of a channel; NULL: there are none. */
    uint32_t (*listeners)(const struct fake_server *server, const char *channel);
    void *listeners_data;
};

/* Runs one request and adds its reply. */
void fake_server_execute(struct fake_server *server, const struct fake_words *words,
                         struct fake_bytes *out);
void fake_server_free(struct fake_server *server);

/* ---- between commands.c and scripts.c ---- */

int64_t fake_server_now_ms(const struct fake_server *server);
struct fake_key *fake_server_find(struct fake_server *server, struct rl_slice name);
/* The value of a string key; NULL: none. A key of another type is an error (*wrong). */
const char *fake_server_get(struct fake_server *server, struct rl_slice name, bool *wrong);
struct fake_key *fake_server_set(struct fake_server *server, struct rl_slice name,
                                 struct rl_slice value, int64_t ttl_ms);
void fake_server_delete(struct fake_server *server, struct rl_slice name);
/* The number of subscribers that get it. */
uint32_t fake_server_publish(struct fake_server *server, struct rl_slice channel,
                             struct rl_slice text);
bool fake_read_number(struct rl_slice text, int64_t *out);

/* SCRIPT LOAD. */
void fake_scripts_load(struct fake_server *server, struct rl_slice text,
                       struct fake_bytes *out);
/* What a person calls the script of an EVAL or EVALSHA; NULL: unknown. */
const char *fake_scripts_name(const struct fake_words *words);

#define FAKE_WRONGTYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

#endif
