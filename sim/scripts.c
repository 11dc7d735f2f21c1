/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripts of src/scripts, one function each, and a table of them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/recipe.h"
#include "core/rules.h"
#include "rl_scripts.h"
#include "sim/server.h"

typedef void script_fn(struct sim_server *server, const struct rl_slice *key,
                       const struct rl_slice *arg, struct sim_bytes *out);

static int64_t number(struct rl_slice text)
{
    int64_t value = 0;

    sim_read_number(text, &value);
    return value;
}

/* A field of a hash; empty when there is none. */
static const char *field(struct sim_server *server, struct rl_slice name, const char *which)
{
    struct sim_key *key = sim_server_find(server, name);
    struct sim_item *item = key ? sim_key_find(key, sim_slice(which)) : NULL;

    return item ? item->value : "";
}

static bool is_value(struct sim_server *server, struct rl_slice name, struct rl_slice value)
{
    bool wrong;
    const char *old = sim_server_get(server, name, &wrong);

    return old && rl_slice_equals(value, old);
}

static void expire_in(struct sim_server *server, struct rl_slice name, int64_t ttl_ms)
{
    sim_server_find(server, name)->expire_ms = sim_server_now_ms(server) + ttl_ms;
}

static int64_t remaining_ms(struct sim_server *server, struct rl_slice name)
{
    const struct sim_key *key = sim_server_find(server, name);

    if (!key)
        return -2;
    return key->expire_ms ? key->expire_ms - sim_server_now_ms(server) : -1;
}

static int64_t next_token(struct sim_server *server, struct rl_slice name)
{
    bool wrong;
    const char *old = sim_server_get(server, name, &wrong);
    int64_t token = old ? number(sim_slice(old)) + 1 : server->now_us;
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, token);
    if (old)
        sim_item_set(sim_server_find(server, name)->item, sim_slice(text));
    else
        sim_server_set(server, name, sim_slice(text), 0);
    return token;
}

static void reply_acquired(struct sim_bytes *out, int64_t verdict, int64_t value,
                           const char *id, int64_t max_ttl_ms, const char *identity)
{
    sim_reply_array(out, 5);
    sim_reply_integer(out, verdict);
    sim_reply_integer(out, value);
    sim_reply_text(out, id);
    sim_reply_integer(out, max_ttl_ms);
    sim_reply_text(out, identity);
}

/* KEYS lock, fence counter, marker; ARGV value, ttl, counter's life, who are you */
static void acquire(struct sim_server *server, const struct rl_slice *key,
                    const struct rl_slice *arg, struct sim_bytes *out)
{
    char id[SIM_VALUE_SIZE];
    char identity[2 * SIM_ID_DIGITS + 2] = "";
    int64_t max_ttl_ms = number(sim_slice(field(server, key[2], "max_ttl")));
    int64_t token = 0;

    snprintf(id, sizeof id, "%s", field(server, key[2], "id"));
    if (max_ttl_ms > 0 && number(arg[1]) > max_ttl_ms) {
        sim_reply_array(out, 2);
        sim_reply_integer(out, -2);
        sim_reply_integer(out, max_ttl_ms);
        return;
    }
    if (rl_slice_equals(arg[3], "1"))
        snprintf(identity, sizeof identity, "%s:%s", server->run_id, server->replid);
    if (sim_server_find(server, key[0])) {
        reply_acquired(out, 0, remaining_ms(server, key[0]), id, max_ttl_ms, identity);
        return;
    }
    sim_server_set(server, key[0], arg[0], number(arg[1]));
    if (!rl_slice_equals(arg[2], "0")) {
        token = next_token(server, key[1]);
        expire_in(server, key[1], number(arg[2]));
    }
    reply_acquired(out, 1, token, id, max_ttl_ms, identity);
}

/* KEYS lock, fence counter; ARGV value, token, counter's life */
static void align(struct sim_server *server, const struct rl_slice *key,
                  const struct rl_slice *arg, struct sim_bytes *out)
{
    bool wrong;
    const char *counter;

    if (RL_RULE(ALIGN_WHERE_GRANTED) && !is_value(server, key[0], arg[0])) {
        sim_reply_integer(out, 0);
        return;
    }
    counter = sim_server_get(server, key[1], &wrong);
    if (!counter || number(sim_slice(counter)) < number(arg[1]))
        sim_server_set(server, key[1], arg[1], 0);
    expire_in(server, key[1], number(arg[2]));
    sim_reply_integer(out, 1);
}

/* KEYS lock; ARGV value, ttl */
static void extend(struct sim_server *server, const struct rl_slice *key,
                   const struct rl_slice *arg, struct sim_bytes *out)
{
    if (!is_value(server, key[0], arg[0])) {
        sim_reply_integer(out, 0);
        return;
    }
    if (remaining_ms(server, key[0]) < number(arg[1]))
        expire_in(server, key[0], number(arg[1]));
    sim_reply_integer(out, 1);
}

/* KEYS lock; ARGV value */
static void release(struct sim_server *server, const struct rl_slice *key,
                    const struct rl_slice *arg, struct sim_bytes *out)
{
    bool ours = is_value(server, key[0], arg[0]);

    if (ours)
        sim_server_delete(server, key[0]);
    sim_reply_integer(out, ours);
}

/* KEYS marker, probation; ARGV identity, nonce */
static void probe(struct sim_server *server, const struct rl_slice *key,
                  const struct rl_slice *arg, struct sim_bytes *out)
{
    char text[SIM_VALUE_SIZE];
    bool wrong;
    const char *probation;

    if (rl_slice_equals(arg[0], field(server, key[0], "id"))) {
        sim_reply_text(out, "A");
        return;
    }
    probation = sim_server_get(server, key[1], &wrong);
    if (!probation || strncmp(probation, arg[0].data, arg[0].size) != 0) {
        snprintf(text, sizeof text, "%.*s/%.*s", (int)arg[0].size, arg[0].data,
                 (int)arg[1].size, arg[1].data);
        sim_server_set(server, key[1], sim_slice(text), 0);
        probation = text;
    }
    sim_reply_text(out, probation);
}

/* KEYS marker, probation; ARGV identity, probation, max_ttl */
static void admit(struct sim_server *server, const struct rl_slice *key,
                  const struct rl_slice *arg, struct sim_bytes *out)
{
    struct sim_key *marker;

    if (rl_slice_equals(arg[0], field(server, key[0], "id"))) {
        sim_reply_integer(out, 1);
        return;
    }
    if (!is_value(server, key[1], arg[1])) {
        sim_reply_integer(out, 0);
        return;
    }
    marker = sim_server_find(server, key[0]);
    if (!marker)
        marker = sim_store_create(&server->store, key[0], SIM_HASH);
    sim_item_set(sim_key_item(marker, sim_slice("id"), NULL), arg[0]);
    sim_item_set(sim_key_item(marker, sim_slice("max_ttl"), NULL), arg[2]);
    sim_server_delete(server, key[1]);
    sim_reply_integer(out, 1);
}

/* KEYS marker; ARGV identity */
static void expel(struct sim_server *server, const struct rl_slice *key,
                  const struct rl_slice *arg, struct sim_bytes *out)
{
    bool its_own = rl_slice_equals(arg[0], field(server, key[0], "id"));

    if (its_own)
        sim_server_delete(server, key[0]);
    sim_reply_integer(out, its_own);
}

/* Keys whose type is not checked by the functions above, in this order. */
#define STRINGS(count) ((1u << (count)) - 1)

static const struct script {
    const char *name;
    const char *text;
    const char *sha1;
    uint32_t keys;
    uint32_t arguments;
    unsigned strings; /* which keys must be strings, a bit each; the others are hashes */
    script_fn *run;
} scripts[] = {
#define SCRIPT(NAME, keys, arguments, strings, run)                                            \
    {                                                                                          \
#NAME, RL_SCRIPT_##NAME, RL_SCRIPT_##NAME##_SHA1, keys, arguments, strings, run        \
    }
    SCRIPT(ACQUIRE, 3, 4, 2, acquire), SCRIPT(ALIGN, 2, 3, 3, align),
    SCRIPT(EXTEND, 1, 2, 1, extend),   SCRIPT(RELEASE, 1, 1, 1, release),
    SCRIPT(PROBE, 2, 2, 2, probe),     SCRIPT(ADMIT, 2, 3, 2, admit),
    SCRIPT(EXPEL, 1, 1, 0, expel),
#undef SCRIPT
};

#define SCRIPT_COUNT (sizeof scripts / sizeof scripts[0])

static size_t find_script(struct rl_slice word, bool by_text)
{
    size_t i = 0;

    while (i < SCRIPT_COUNT &&
           !rl_slice_equals(word, by_text ? scripts[i].text : scripts[i].sha1))
        i++;
    return i;
}

void sim_scripts_load(struct sim_server *server, struct rl_slice text, struct sim_bytes *out)
{
    size_t i = find_script(text, true);

    if (i == SCRIPT_COUNT) {
        sim_reply_error(out, "ERR the model does not know this script");
        return;
    }
    server->scripts |= 1u << i;
    sim_reply_text(out, scripts[i].sha1);
}

static bool fits(struct sim_server *server, struct rl_slice name, enum sim_type type)
{
    const struct sim_key *key = sim_server_find(server, name);

    return !key || key->type == type;
}

void sim_scripts_run(struct sim_server *server, const struct sim_words *words, bool by_text,
                     struct sim_bytes *out)
{
    size_t i = find_script(words->word[1], by_text);
    const struct script *script = &scripts[i];

    if (by_text && i == SCRIPT_COUNT) {
        sim_reply_error(out, "ERR the model does not know this script");
        return;
    }
    if (!by_text && (i == SCRIPT_COUNT || !(server->scripts & (1u << i)))) {
        sim_reply_error(out, "NOSCRIPT No matching script. Please use EVAL.");
        return;
    }
    server->scripts |= 1u << i;
    if (number(words->word[2]) != script->keys ||
        words->count != 3 + script->keys + script->arguments) {
        sim_reply_error(out, "ERR the model wants other arguments for this script");
        return;
    }
    for (uint32_t k = 0; k < script->keys; k++) {
        enum sim_type type = script->strings & (1u << k) ? SIM_STRING : SIM_HASH;

        /* The lock of an acquire may be anything: it is only seen to be there. */
        if (script->run == acquire && k < 2)
            continue;
        if (!fits(server, words->word[3 + k], type)) {
            sim_reply_error(out, SIM_WRONGTYPE);
            return;
        }
    }
    script->run(server, words->word + 3, words->word + 3 + script->keys, out);
}

const char *sim_scripts_name(const struct sim_words *words)
{
    size_t i;

    if (words->count < 3)
        return NULL;
    i = find_script(words->word[1], words->word[0].size == sizeof "EVAL" - 1);
    return i < SCRIPT_COUNT ? scripts[i].name : NULL;
}
