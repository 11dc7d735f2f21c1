/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of one Redis or Valkey server, as far as this project's commands and scripts need it:
 * words in, RESP bytes out. It knows neither time nor network; the caller sets now_us before
 * every command. The model is compared with real servers by tests/sim/model.c.
 *
 * Commands stand in a table (commands.c). Scripts are those that ship (scripts.c), run by the
 * Lua that servers have inside (lua.c).
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "lab/sim/reply.h"
#include "lab/sim/store.h"

#define SIM_ID_DIGITS 40
#define SIM_MESSAGES_MAX 64
#define SIM_MESSAGE_SIZE 96

/* A published message. */
struct sim_message {
    char channel[SIM_MESSAGE_SIZE];
    char text[SIM_MESSAGE_SIZE];
};

struct sim_server {
    struct sim_store store;
    int64_t now_us;     /* the node's wall clock, frozen for the length of a command */
    int64_t started_us; /* by the same clock */
    char run_id[SIM_ID_DIGITS + 1];
    char replid[SIM_ID_DIGITS + 1];
    char replid2[SIM_ID_DIGITS + 1]; /* that it had as a replica; empty: it was none */
    bool replica;                    /* refuses writes */
    bool loading;                    /* refuses nearly everything */
    bool has_delifeq;
    bool has_delex;
    bool has_set_ifeq;
    uint32_t scripts; /* those it has in its cache, a bit each */
    /* Published since the caller last took them away. */
    struct sim_message message[SIM_MESSAGES_MAX];
    uint32_t message_count;
    /* The number of subscribers of a channel; NULL: there are none. */
    uint32_t (*listeners)(const struct sim_server *server, const char *channel);
    void *listeners_data;
};

/* Runs one request and adds its reply. */
void sim_server_execute(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out);
void sim_server_free(struct sim_server *server);

/* ---- between commands.c and scripts.c ---- */

int64_t sim_server_now_ms(const struct sim_server *server);
struct sim_key *sim_server_find(struct sim_server *server, struct rl_slice name);
/* The value of a string key; NULL: none. A key of another type is an error (*wrong). */
const char *sim_server_get(struct sim_server *server, struct rl_slice name, bool *wrong);
struct sim_key *sim_server_set(struct sim_server *server, struct rl_slice name,
                               struct rl_slice value, int64_t ttl_ms);
void sim_server_delete(struct sim_server *server, struct rl_slice name);
/* The number of subscribers that get it. */
uint32_t sim_server_publish(struct sim_server *server, struct rl_slice channel,
                            struct rl_slice text);
bool sim_read_number(struct rl_slice text, int64_t *out);
struct rl_slice sim_slice(const char *text);

/* EVAL and EVALSHA: words[0] is the command. */
void sim_scripts_run(struct sim_server *server, const struct sim_words *words, bool by_text,
                     struct sim_bytes *out);
/* SCRIPT LOAD. */
void sim_scripts_load(struct sim_server *server, struct rl_slice text, struct sim_bytes *out);
/* What a person calls the script of an EVAL or EVALSHA; NULL: unknown. */
const char *sim_scripts_name(const struct sim_words *words);

#define SIM_WRONGTYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

#endif
