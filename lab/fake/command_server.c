/* SPDX-License-Identifier: BSD-2-Clause */
/* The server itself, and scripts. */
#include <inttypes.h>
#include <stdio.h>

#include "lab/fake/commands.h"

#define SECOND_US 1000000

void fake_command_ping(struct fake_call *call)
{
    fake_reply_status(call->out, "PONG");
}

void fake_command_ok(struct fake_call *call)
{
    fake_reply_status(call->out, "OK");
}

void fake_command_time(struct fake_call *call)
{
    char text[24];

    fake_reply_array(call->out, 2);
    snprintf(text, sizeof text, "%" PRId64, call->server->now_us / SECOND_US);
    fake_reply_text(call->out, text);
    snprintf(text, sizeof text, "%" PRId64, call->server->now_us % SECOND_US);
    fake_reply_text(call->out, text);
}

void fake_command_info(struct fake_call *call)
{
    char text[512] = "";

    if (call->count > 1 && fake_is_word(call->word[1], "SERVER"))
        snprintf(text, sizeof text,
                 "# Server\r\n%s\r\nrun_id:%s\r\nuptime_in_seconds:%" PRId64 "\r\n",
                 call->server->version_line ? call->server->version_line
                                            : "redis_version:7.0.15",
                 call->server->run_id,
                 call->server->now_us / SECOND_US - call->server->started_us / SECOND_US);
    else if (call->count > 1 && fake_is_word(call->word[1], "REPLICATION"))
        snprintf(text, sizeof text, "# Replication\r\nrole:%s\r\nmaster_replid:%s\r\n%s%s%s",
                 call->server->replica ? "slave" : "master", call->server->replid,
                 call->server->replid2[0] ? "master_replid2:" : "", call->server->replid2,
                 call->server->replid2[0] ? "\r\n" : "");
    else if (call->count > 1 && fake_is_word(call->word[1], "PERSISTENCE"))
        snprintf(text, sizeof text, "# Persistence\r\nloading:%d\r\naof_enabled:0\r\n",
                 call->server->loading);
    else if (call->count > 1 && fake_is_word(call->word[1], "MEMORY"))
        snprintf(text, sizeof text,
                 "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
    fake_reply_text(call->out, text);
}

void fake_command_script(struct fake_call *call)
{
    if (call->count == 3 && fake_is_word(call->word[1], "LOAD")) {
        fake_scripts_load(call->server, call->word[2], call->out);
    } else if (fake_is_word(call->word[1], "FLUSH")) {
        call->server->scripts = 0;
        fake_reply_status(call->out, "OK");
    } else {
        fake_reply_error(call->out, "ERR unknown subcommand");
    }
}

void fake_command_flushall(struct fake_call *call)
{
    fake_store_clear(&call->server->store);
    fake_reply_status(call->out, "OK");
}

void fake_command_type(struct fake_call *call)
{
    static const char *const types[] = {
        [FAKE_STRING] = "string", [FAKE_HASH] = "hash", [FAKE_ZSET] = "zset"};
    const struct fake_key *key = fake_server_find(call->server, call->word[1]);

    fake_reply_status(call->out, key ? types[key->type] : "none");
}

void fake_command_publish(struct fake_call *call)
{
    fake_reply_integer(call->out,
                       fake_server_publish(call->server, call->word[1], call->word[2]));
}
