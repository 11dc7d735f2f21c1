/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripts of src/scripts, by text and SHA1, and which of them a server has in its cache. */
#include <string.h>

#include "lab/fake/lua.h"
#include "lab/sim/planted.h"
#include "rl_scripts.h"

static const struct script {
    const char *name;
    const char *text;
    const char *sha1;
    size_t text_size;
} scripts[] = {
#define SCRIPT(NAME)                                                                           \
    {#NAME, RL_SCRIPT_##NAME, RL_SCRIPT_##NAME##_SHA1, sizeof RL_SCRIPT_##NAME - 1},
    RL_SCRIPTS(SCRIPT)
#undef SCRIPT
};

#define SHA1_DIGITS 40
#define SCRIPT_COUNT (sizeof scripts / sizeof scripts[0])

static size_t find_script(struct rl_slice word, bool by_text)
{
    size_t i = 0;

    while (i < SCRIPT_COUNT) {
        size_t size = by_text ? scripts[i].text_size : SHA1_DIGITS;
        const char *known = by_text ? scripts[i].text : scripts[i].sha1;

        if (word.size == size && memcmp(word.data, known, size) == 0)
            break;
        i++;
    }
    return i;
}

void fake_scripts_load(struct fake_server *server, struct rl_slice text, struct fake_bytes *out)
{
    size_t i = find_script(text, true);

    if (i == SCRIPT_COUNT) {
        fake_reply_error(out, "ERR the model does not know this script");
        return;
    }
    server->scripts |= 1u << i;
    fake_reply_text(out, scripts[i].sha1);
}

void fake_scripts_run(struct fake_server *server, const struct fake_words *words, bool by_text,
                      struct fake_bytes *out)
{
    size_t i = find_script(words->word[1], by_text);
    struct fake_lua_call call;
    int64_t key_count;

    if (by_text && i == SCRIPT_COUNT) {
        fake_reply_error(out, "ERR the model does not know this script");
        return;
    }
    if (!by_text && (i == SCRIPT_COUNT || !(server->scripts & (1u << i)))) {
        fake_reply_error(out, "NOSCRIPT No matching script. Please use EVAL.");
        return;
    }
    server->scripts |= 1u << i;
    if (!fake_read_number(words->word[2], &key_count) || key_count < 0 ||
        key_count > words->count - 3) {
        fake_reply_error(out, "ERR Number of keys can't be greater than number of args");
        return;
    }
    call = (struct fake_lua_call){
        .name = scripts[i].name,
        .text = fake_planted_text(scripts[i].name, scripts[i].text),
        .key = words->word + 3,
        .arg = words->word + 3 + key_count,
        .key_count = (uint32_t)key_count,
        .arg_count = words->count - 3 - (uint32_t)key_count,
    };
    fake_lua_run(server, &call, out);
}

const char *fake_scripts_name(const struct fake_words *words)
{
    size_t i;

    if (words->count < 3)
        return NULL;
    i = find_script(words->word[1], words->word[0].size == sizeof "EVAL" - 1);
    return i < SCRIPT_COUNT ? scripts[i].name : NULL;
}
