/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings and expiry. */
#include <string.h>

#include "core/answer.h"
#include "lab/fake/commands.h"

void fake_command_get(struct fake_call *call)
{
    bool wrong;
    const char *value = fake_server_get(call->server, call->word[1], &wrong);

    if (wrong)
        fake_reply_error(call->out, FAKE_WRONGTYPE);
    else if (value)
        fake_reply_text(call->out, value);
    else
        fake_reply_nil(call->out);
}

/* SET key value [NX | IFEQ value] [PX ms] */
void fake_command_set(struct fake_call *call)
{
    const struct rl_slice *word = call->word;
    const struct rl_slice *expected = NULL;
    bool only_new = false;
    int64_t ttl_ms = 0;
    bool wrong;
    const char *old;

    for (uint32_t i = 3; i < call->count; i++) {
        if (fake_is_word(word[i], "NX")) {
            only_new = true;
        } else if (fake_is_word(word[i], "IFEQ") && call->server->has_set_ifeq &&
                   i + 1 < call->count) {
            expected = &word[++i];
        } else if (fake_is_word(word[i], "PX") && i + 1 < call->count) {
            if (!fake_read_number(word[++i], &ttl_ms) || ttl_ms <= 0) {
                fake_reply_error(call->out, "ERR invalid expire time in 'set' command");
                return;
            }
        } else {
            fake_reply_error(call->out, "ERR syntax error");
            return;
        }
    }
    old = fake_server_get(call->server, word[1], &wrong);
    if (expected && wrong) {
        fake_reply_error(call->out, FAKE_WRONGTYPE);
    } else if ((only_new && (old || wrong)) ||
               (expected && (!old || !rl_slice_equals(*expected, old)))) {
        fake_reply_nil(call->out);
    } else {
        fake_server_set(call->server, word[1], word[2], ttl_ms);
        fake_reply_status(call->out, "OK");
    }
}

void fake_command_getrange(struct fake_call *call)
{
    bool wrong;
    const char *value = fake_server_get(call->server, call->word[1], &wrong);
    int64_t size = value ? (int64_t)strlen(value) : 0;
    int64_t first;
    int64_t last;

    if (!fake_read_number(call->word[2], &first) || !fake_read_number(call->word[3], &last)) {
        fake_reply_error(call->out, NO_INTEGER);
    } else if (wrong) {
        fake_reply_error(call->out, FAKE_WRONGTYPE);
    } else {
        last = last < size - 1 ? last : size - 1;
        fake_reply_bulk(call->out,
                        first < 0 || first > last
                            ? rl_slice_of("")
                            : (struct rl_slice){value + first, (size_t)(last - first + 1)});
    }
}

void fake_command_del(struct fake_call *call)
{
    int64_t count = 0;

    for (uint32_t i = 1; i < call->count; i++) {
        count += fake_server_find(call->server, call->word[i]) != NULL;
        fake_server_delete(call->server, call->word[i]);
    }
    fake_reply_integer(call->out, count);
}

/* DELIFEQ key value, DELEX key [IFEQ value]: 1 deleted, 0 not there or different. */
static void delete_if(struct fake_server *server, struct rl_slice name, struct rl_slice value,
                      const char *wrong_error, struct fake_bytes *out)
{
    bool wrong;
    const char *old = fake_server_get(server, name, &wrong);

    if (wrong) {
        fake_reply_error(out, wrong_error);
        return;
    }
    if (old && rl_slice_equals(value, old)) {
        fake_server_delete(server, name);
        fake_reply_integer(out, 1);
        return;
    }
    fake_reply_integer(out, 0);
}

void fake_command_delifeq(struct fake_call *call)
{
    if (!call->server->has_delifeq)
        fake_reply_error(call->out, "ERR unknown command 'DELIFEQ'");
    else
        delete_if(call->server, call->word[1], call->word[2], FAKE_WRONGTYPE, call->out);
}

void fake_command_delex(struct fake_call *call)
{
    if (!call->server->has_delex)
        fake_reply_error(call->out, "ERR unknown command 'DELEX'");
    else if (call->count == 2)
        fake_command_del(call);
    else if (call->count == 4 && fake_is_word(call->word[2], "IFEQ"))
        delete_if(call->server, call->word[1], call->word[3],
                  "ERR Key should be of string type if conditions are specified", call->out);
    else
        fake_reply_error(call->out, "ERR syntax error");
}

void fake_command_exists(struct fake_call *call)
{
    int64_t count = 0;

    for (uint32_t i = 1; i < call->count; i++)
        count += fake_server_find(call->server, call->word[i]) != NULL;
    fake_reply_integer(call->out, count);
}

void fake_command_pttl(struct fake_call *call)
{
    struct fake_key *key = fake_server_find(call->server, call->word[1]);

    if (!key)
        fake_reply_integer(call->out, -2);
    else
        fake_reply_integer(
            call->out, key->expire_ms ? key->expire_ms - fake_server_now_ms(call->server) : -1);
}

static void expire(struct fake_call *call, int64_t from_ms)
{
    struct fake_key *key = fake_server_find(call->server, call->word[1]);
    int64_t end_ms;

    if (!fake_read_number(call->word[2], &end_ms) ||
        __builtin_add_overflow(from_ms, end_ms, &end_ms)) {
        fake_reply_error(call->out, NO_INTEGER);
        return;
    }
    fake_reply_integer(call->out, key != NULL);
    if (key && end_ms <= fake_server_now_ms(call->server))
        fake_store_remove(&call->server->store, key);
    else if (key)
        key->expire_ms = end_ms;
}

void fake_command_pexpire(struct fake_call *call)
{
    expire(call, fake_server_now_ms(call->server));
}

void fake_command_pexpireat(struct fake_call *call)
{
    expire(call, 0);
}
