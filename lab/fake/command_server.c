/* SPDX-License-Identifier: BSD-2-Clause */
/* The server itself, and scripts. */
#include <inttypes.h>
#include <stdio.h>

#include "lab/fake/commands.h"

#define SECOND_US 1000000

void fake_command_ping(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    (void)server;
    (void)words;
    fake_reply_status(out, "PONG");
}

void fake_command_ok(struct fake_server *server, const struct fake_words *words,
                     struct fake_bytes *out)
{
    (void)server;
    (void)words;
    fake_reply_status(out, "OK");
}

void fake_command_time(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    char text[24];

    (void)words;
    fake_reply_array(out, 2);
    snprintf(text, sizeof text, "%" PRId64, server->now_us / SECOND_US);
    fake_reply_text(out, text);
    snprintf(text, sizeof text, "%" PRId64, server->now_us % SECOND_US);
    fake_reply_text(out, text);
}

void fake_command_info(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    char text[512] = "";

    if (words->count > 1 && fake_is_word(words->word[1], "SERVER"))
        snprintf(text, sizeof text,
                 "# Server\r\n%s\r\nrun_id:%s\r\nuptime_in_seconds:%" PRId64 "\r\n",
                 server->version_line ? server->version_line : "redis_version:7.0.15",
                 server->run_id, server->now_us / SECOND_US - server->started_us / SECOND_US);
    else if (words->count > 1 && fake_is_word(words->word[1], "REPLICATION"))
        snprintf(text, sizeof text, "# Replication\r\nrole:%s\r\nmaster_replid:%s\r\n%s%s%s",
                 server->replica ? "slave" : "master", server->replid,
                 server->replid2[0] ? "master_replid2:" : "", server->replid2,
                 server->replid2[0] ? "\r\n" : "");
    else if (words->count > 1 && fake_is_word(words->word[1], "PERSISTENCE"))
        snprintf(text, sizeof text, "# Persistence\r\nloading:%d\r\naof_enabled:0\r\n",
                 server->loading);
    else if (words->count > 1 && fake_is_word(words->word[1], "MEMORY"))
        snprintf(text, sizeof text,
                 "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
    fake_reply_text(out, text);
}

void fake_command_script(struct fake_server *server, const struct fake_words *words,
                         struct fake_bytes *out)
{
    if (words->count == 3 && fake_is_word(words->word[1], "LOAD")) {
        fake_scripts_load(server, words->word[2], out);
    } else if (fake_is_word(words->word[1], "FLUSH")) {
        server->scripts = 0;
        fake_reply_status(out, "OK");
    } else {
        fake_reply_error(out, "ERR unknown subcommand");
    }
}

void fake_command_eval(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    fake_scripts_run(server, words, true, out);
}

void fake_command_evalsha(struct fake_server *server, const struct fake_words *words,
                          struct fake_bytes *out)
{
    fake_scripts_run(server, words, false, out);
}

void fake_command_flushall(struct fake_server *server, const struct fake_words *words,
                           struct fake_bytes *out)
{
    (void)words;
    fake_store_clear(&server->store);
    fake_reply_status(out, "OK");
}

void fake_command_type(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    static const char *const types[] = {
        [FAKE_STRING] = "string", [FAKE_HASH] = "hash", [FAKE_ZSET] = "zset"};
    const struct fake_key *key = fake_server_find(server, words->word[1]);

    fake_reply_status(out, key ? types[key->type] : "none");
}

void fake_command_publish(struct fake_server *server, const struct fake_words *words,
                          struct fake_bytes *out)
{
    fake_reply_integer(out, fake_server_publish(server, words->word[1], words->word[2]));
}
