/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripts about a plain mutex, and those about the marker. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/answer.h"
#include "core/rules.h"
#include "protocol/command.h"
#include "sim/script.h"

#define HEADS_MAX 16

/* HINCRBY, as a script sees its answer; 0: what is there cannot be counted up. */
static int64_t count_up(struct sim_server *server, struct rl_slice name, struct rl_slice field)
{
    bool is_new;
    struct sim_item *item = sim_key_item(sim_script_hash(server, name), field, &is_new);
    int64_t token = 0;
    char text[SIM_VALUE_SIZE];

    if (!is_new && !sim_read_number(sim_slice(item->value), &token))
        return 0;
    snprintf(text, sizeof text, "%" PRId64, ++token);
    sim_item_set(item, sim_slice(text));
    return (int64_t)(double)token;
}

/* Does it begin as this identity, and as its second part? */
static bool is_life_of(const char *identity, struct rl_slice sure)
{
    char life[SIM_VALUE_SIZE];
    const char *replid = strlen(identity) > 41 ? identity + 41 : "";

    snprintf(life, sizeof life, "%.8s%.8s", identity, replid);
    return rl_slice_equals(sure, life);
}

/* At the clock, and above what is there. */
static int64_t begin_counter(const struct sim_call *call, struct rl_slice sure)
{
    struct sim_server *server = call->server;
    const struct sim_key *key = sim_server_find(server, call->key[1]);
    int64_t token = server->now_us;
    char tag[SIM_NAME_SIZE];
    bool has_tag = false;

    for (uint32_t i = 0; key && i < key->item_count; i++) {
        int64_t next = sim_script_last(sim_slice(key->item[i].value)) + 1;
        bool counted = sure.size && rl_slice_equals(sure, key->item[i].field);

        has_tag = true;
        sim_copy_text(tag, sizeof tag, sim_slice(key->item[i].field));
        if (next > token || (next > 0 && !counted && !RL_RULE(COUNTER_LIFE)))
            token = next;
    }
    if (sure.size != 0 || !has_tag)
        snprintf(tag, sizeof tag, "%.*s%s", (int)sure.size, sure.data,
                 call->arg_count > 3 ? "?" : "");
    if (call->key_count > 2 && rl_slice_equals(sure, tag)) {
        const char *id = sim_script_field(server, call->key[2], "id");

        /* Without its marker the node is in quarantine, whatever who asks believes. */
        if (!is_life_of(id ? id : "", sure))
            sim_script_doubt(tag, sizeof tag, sure);
    }
    sim_server_delete(server, call->key[1]);
    sim_script_write_counter(server, call->key[1], token, sim_slice(tag),
                             atoll(RL_FENCE_LIFE_MS));
    return token;
}

/* KEYS lock, fence counter, marker if it is needed; ARGV value, ttl, incarnation, "?" in doubt */
void sim_script_acquire(const struct sim_call *call)
{
    struct sim_server *server = call->server;
    const struct rl_slice *key = call->key;
    struct rl_slice sure = call->arg[2];
    int64_t token;

    if (sim_server_find(server, key[0])) {
        sim_script_reply_two(call, 0, sim_script_remaining_ms(server, key[0]));
        return;
    }
    sim_server_set(server, key[0], call->arg[0], sim_script_number(call->arg[1]));
    token = sure.size ? count_up(server, key[1], sure) : 0;
    if (token <= SIM_COUNTED_MAX || (RL_RULE(TOKEN_RANGE) && token >= RL_COUNTER_LIMIT))
        token = begin_counter(call, sure);
    else if (token % 16 == 0)
        sim_script_expire_in(server, key[1], atoll(RL_FENCE_LIFE_MS));
    sim_reply_integer(call->out, token);
}

/* KEYS marker */
void sim_script_witness(const struct sim_call *call)
{
    struct sim_standing standing;

    sim_script_standing(call, call->key[0], 0, true, &standing);
    sim_reply_array(call->out, 3);
    sim_reply_text(call->out, standing.id);
    sim_reply_integer(call->out, standing.max_ttl_ms);
    sim_reply_text(call->out, standing.identity);
}

/* KEYS lock; ARGV value, ttl */
void sim_script_extend(const struct sim_call *call)
{
    bool ours = sim_script_is_value(call->server, call->key[0], call->arg[0]);
    int64_t ttl_ms = sim_script_number(call->arg[1]);

    if (ours && sim_script_remaining_ms(call->server, call->key[0]) < ttl_ms)
        sim_script_expire_in(call->server, call->key[0], ttl_ms);
    sim_reply_integer(call->out, ours);
}

/* KEYS lock, queue, liveness; ARGV value, or '' to tell only, 1 if others waited */
void sim_script_release(const struct sim_call *call)
{
    struct sim_server *server = call->server;
    bool tells_only = call->arg[0].size == 0;
    bool ours = sim_script_is_value(server, call->key[0], call->arg[0]);
    const struct sim_key *queue;

    if (tells_only ? sim_server_find(server, call->key[0]) != NULL : !ours) {
        sim_reply_integer(call->out, 0);
        return;
    }
    if (!tells_only)
        sim_server_delete(server, call->key[0]);
    queue = sim_server_find(server, call->key[1]);
    if (!queue && rl_slice_equals(call->arg[1], "1"))
        sim_server_delete(server, call->key[2]);
    for (uint32_t i = 0; queue && i < queue->item_count && i < HEADS_MAX; i++) {
        const char *head = queue->item[i].field;

        if (sim_script_wake(server, head, sim_slice("")) && head[0] != 'r')
            break;
    }
    sim_reply_integer(call->out, queue ? 2 : 1);
}

static bool is_admitted(const struct sim_call *call)
{
    const char *id = sim_script_field(call->server, call->key[0], "id");

    return id && rl_slice_equals(call->arg[0], id);
}

/* KEYS marker, probation; ARGV identity, nonce */
void sim_script_probe(const struct sim_call *call)
{
    const struct rl_slice *arg = call->arg;
    char text[SIM_VALUE_SIZE];
    bool wrong;
    const char *probation;

    if (is_admitted(call)) {
        sim_reply_text(call->out, "A");
        return;
    }
    probation = sim_server_get(call->server, call->key[1], &wrong);
    if (!probation || strncmp(probation, arg[0].data, arg[0].size) != 0) {
        snprintf(text, sizeof text, "%.*s/%.*s", (int)arg[0].size, arg[0].data,
                 (int)arg[1].size, arg[1].data);
        sim_server_set(call->server, call->key[1], sim_slice(text), 0);
        probation = text;
    }
    sim_reply_text(call->out, probation);
}

/* KEYS marker, probation; ARGV identity, probation, max_ttl */
void sim_script_admit(const struct sim_call *call)
{
    struct sim_key *marker;

    if (is_admitted(call)) {
        sim_reply_integer(call->out, 1);
        return;
    }
    if (!sim_script_is_value(call->server, call->key[1], call->arg[1])) {
        sim_reply_integer(call->out, 0);
        return;
    }
    marker = sim_script_hash(call->server, call->key[0]);
    sim_item_set(sim_key_item(marker, sim_slice("id"), NULL), call->arg[0]);
    sim_item_set(sim_key_item(marker, sim_slice("max_ttl"), NULL), call->arg[2]);
    sim_server_delete(call->server, call->key[1]);
    sim_reply_integer(call->out, 1);
}

/* KEYS marker; ARGV identity */
void sim_script_expel(const struct sim_call *call)
{
    bool its_own = is_admitted(call);

    if (its_own)
        sim_server_delete(call->server, call->key[0]);
    sim_reply_integer(call->out, its_own);
}

/* ARGV a key that never exists; on a replica nothing that writes works. */
void sim_script_native(const struct sim_call *call)
{
    const struct sim_server *server = call->server;

    sim_reply_integer(call->out, server->replica ? 0
                                                 : (server->has_delifeq ? 1 : 0) +
                                                       (server->has_delex ? 2 : 0) +
                                                       (server->has_set_ifeq ? 4 : 0));
}
