/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the scripts of src/scripts, by text and SHA1. */
#include <string.h>

#include "core/answer.h"
#include "protocol/command.h"
#include "rl_scripts.h"
#include "sim/script.h"

static const struct script {
    const char *name;
    const char *text;
    const char *sha1;
    size_t text_size;
    /* Types of the keys, a letter each (* any, s string, h hash, z sorted set), over and over;
     * what stands behind a bar is the last one. */
    const char *types;
    uint32_t least, most; /* how many arguments */
    sim_script_fn *run;
} scripts[] = {
#define SCRIPT(NAME, types, least, most, run)                                                  \
    {                                                                                          \
#NAME, RL_SCRIPT_##NAME, RL_SCRIPT_##NAME##_SHA1, sizeof RL_SCRIPT_##NAME - 1, types,  \
            least, most, run                                                                   \
    }
    SCRIPT(TAKE, "*hzz|h", 12, 12, sim_script_take),
    SCRIPT(GIVEBACK, "*zz", 4, 4, sim_script_giveback),
    SCRIPT(ACQUIRE, "*h|h", 3, 4, sim_script_acquire),
    SCRIPT(WITNESS, "h", 0, 0, sim_script_witness),
    SCRIPT(RELEASE, "*zz", 2, 2, sim_script_release),
    SCRIPT(EXTEND, "*", 2, 2, sim_script_extend),
    SCRIPT(RENEW, "*", 2, 2, sim_script_renew),
    SCRIPT(ALIGN, "*h", 4, 4, sim_script_align),
    SCRIPT(TICKET, "*z", 0, 0, sim_script_ticket),
    SCRIPT(PROBE, "hs", 2, 2, sim_script_probe),
    SCRIPT(ADMIT, "hs", 3, 3, sim_script_admit),
    SCRIPT(EXPEL, "h", 1, 1, sim_script_expel),
    SCRIPT(NATIVE, "*", 1, 1, sim_script_native),
#undef SCRIPT
};

#define SCRIPT_COUNT (sizeof scripts / sizeof scripts[0])

static size_t find_script(struct rl_slice word, bool by_text)
{
    size_t i = 0;

    while (i < SCRIPT_COUNT) {
        if (by_text ? word.size == scripts[i].text_size &&
                          memcmp(word.data, scripts[i].text, word.size) == 0
                    : rl_slice_equals(word, scripts[i].sha1))
            break;
        i++;
    }
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

static bool fits(struct sim_server *server, struct rl_slice name, char type)
{
    const struct sim_key *key = sim_server_find(server, name);

    if (!key || type == '*')
        return true;
    return key->type == (type == 's' ? SIM_STRING : type == 'h' ? SIM_HASH : SIM_ZSET);
}

static bool all_fit(struct sim_server *server, const struct script *script,
                    const struct rl_slice *key, uint32_t count)
{
    const char *bar = strchr(script->types, '|');
    uint32_t period = (uint32_t)(bar ? bar - script->types : (long)strlen(script->types));

    for (uint32_t i = 0; i < count; i++) {
        bool is_last = bar && i + 1 == count;

        if (!fits(server, key[i], is_last ? bar[1] : script->types[i % period]))
            return false;
    }
    return true;
}

void sim_scripts_run(struct sim_server *server, const struct sim_words *words, bool by_text,
                     struct sim_bytes *out)
{
    size_t i = find_script(words->word[1], by_text);
    const struct script *script = &scripts[i];
    struct sim_call call = {.server = server, .out = out};

    if (by_text && i == SCRIPT_COUNT) {
        sim_reply_error(out, "ERR the model does not know this script");
        return;
    }
    if (!by_text && (i == SCRIPT_COUNT || !(server->scripts & (1u << i)))) {
        sim_reply_error(out, "NOSCRIPT No matching script. Please use EVAL.");
        return;
    }
    server->scripts |= 1u << i;
    call.key_count = (uint32_t)sim_script_number(words->word[2]);
    call.arg_count = words->count - 3 - call.key_count;
    if (words->count < 3 + call.key_count || call.arg_count < script->least ||
        call.arg_count > script->most) {
        sim_reply_error(out, "ERR the model wants other arguments for this script");
        return;
    }
    call.key = words->word + 3;
    call.arg = words->word + 3 + call.key_count;
    if (!all_fit(server, script, call.key, call.key_count))
        sim_reply_error(out, SIM_WRONGTYPE);
    else
        script->run(&call);
}

const char *sim_scripts_name(const struct sim_words *words)
{
    size_t i;

    if (words->count < 3)
        return NULL;
    i = find_script(words->word[1], words->word[0].size == sizeof "EVAL" - 1);
    return i < SCRIPT_COUNT ? scripts[i].name : NULL;
}
