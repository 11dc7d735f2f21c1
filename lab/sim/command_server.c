/* SPDX-License-Identifier: BSD-2-Clause */
/* The server itself, and scripts. */
#include <inttypes.h>
#include <stdio.h>

#include "lab/sim/commands.h"

#define SECOND_US 1000000

void sim_command_ping(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    (void)server;
    (void)words;
    sim_reply_status(out, "PONG");
}

void sim_command_ok(struct sim_server *server, const struct sim_words *words,
                    struct sim_bytes *out)
{
    (void)server;
    (void)words;
    sim_reply_status(out, "OK");
}

void sim_command_time(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    char text[24];

    (void)words;
    sim_reply_array(out, 2);
    snprintf(text, sizeof text, "%" PRId64, server->now_us / SECOND_US);
    sim_reply_text(out, text);
    snprintf(text, sizeof text, "%" PRId64, server->now_us % SECOND_US);
    sim_reply_text(out, text);
}

void sim_command_info(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    char text[512] = "";

    if (words->count > 1 && sim_is_word(words->word[1], "SERVER"))
        snprintf(text, sizeof text,
                 "# Server\r\nredis_version:7.0.15\r\nrun_id:%s\r\nuptime_in_seconds:%" PRId64
                 "\r\n",
                 server->run_id, server->now_us / SECOND_US - server->started_us / SECOND_US);
    else if (words->count > 1 && sim_is_word(words->word[1], "REPLICATION"))
        snprintf(text, sizeof text, "# Replication\r\nrole:%s\r\nmaster_replid:%s\r\n%s%s%s",
                 server->replica ? "slave" : "master", server->replid,
                 server->replid2[0] ? "master_replid2:" : "", server->replid2,
                 server->replid2[0] ? "\r\n" : "");
    else if (words->count > 1 && sim_is_word(words->word[1], "PERSISTENCE"))
        snprintf(text, sizeof text, "# Persistence\r\nloading:%d\r\naof_enabled:0\r\n",
                 server->loading);
    else if (words->count > 1 && sim_is_word(words->word[1], "MEMORY"))
        snprintf(text, sizeof text,
                 "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
    sim_reply_text(out, text);
}

void sim_command_script(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    if (words->count == 3 && sim_is_word(words->word[1], "LOAD")) {
        sim_scripts_load(server, words->word[2], out);
    } else if (sim_is_word(words->word[1], "FLUSH")) {
        server->scripts = 0;
        sim_reply_status(out, "OK");
    } else {
        sim_reply_error(out, "ERR unknown subcommand");
    }
}

void sim_command_eval(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    sim_scripts_run(server, words, true, out);
}

void sim_command_evalsha(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    sim_scripts_run(server, words, false, out);
}

void sim_command_flushall(struct sim_server *server, const struct sim_words *words,
                          struct sim_bytes *out)
{
    (void)words;
    sim_store_clear(&server->store);
    sim_reply_status(out, "OK");
}

void sim_command_type(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    static const char *const types[] = {
        [SIM_STRING] = "string", [SIM_HASH] = "hash", [SIM_ZSET] = "zset"};
    const struct sim_key *key = sim_server_find(server, words->word[1]);

    sim_reply_status(out, key ? types[key->type] : "none");
}

void sim_command_publish(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    sim_reply_integer(out, sim_server_publish(server, words->word[1], words->word[2]));
}
