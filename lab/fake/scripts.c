/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripts of src/scripts, by text and SHA1, and which of them a server has in its cache. */
#include <string.h>

#include "lab/fake/commands.h"
#include "lab/fake/lua.h"
#include "protocol/scripts.h"

#define SCRIPT_COUNT (sizeof names / sizeof names[0])

static const char *const names[] = {
#define NAME(NAME) #NAME,
    RL_SCRIPTS(NAME)
#undef NAME
};

/* Of a planted library, what its clients send (lab/planted): no constants. */
static struct rl_script_text scripts[SCRIPT_COUNT];

static void learn_scripts(void)
{
    const struct rl_script_text sent[] = {
#define SENT(NAME) RL_SCRIPT(NAME),
        RL_SCRIPTS(SENT)
#undef SENT
    };

    memcpy(scripts, sent, sizeof sent);
}

static size_t find_script(struct rl_slice word, bool by_text)
{
    size_t i = 0;

    if (!scripts[0].text.data)
        learn_scripts();
    while (i < SCRIPT_COUNT) {
        struct rl_slice known = by_text ? scripts[i].text : scripts[i].sha1;

        if (word.size == known.size && memcmp(word.data, known.data, known.size) == 0)
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
    fake_reply_text(out, scripts[i].sha1.data);
}

void fake_command_eval(struct fake_call *call)
{
    bool by_text = fake_is_word(call->word[0], "EVAL");
    size_t i = find_script(call->word[1], by_text);
    struct fake_lua_call run;
    int64_t key_count;

    if (by_text && i == SCRIPT_COUNT) {
        fake_reply_error(call->out, "ERR the model does not know this script");
        return;
    }
    if (!by_text && (i == SCRIPT_COUNT || !(call->server->scripts & (1u << i)))) {
        fake_reply_error(call->out, "NOSCRIPT No matching script. Please use EVAL.");
        return;
    }
    call->server->scripts |= 1u << i;
    if (!fake_read_number(call->word[2], &key_count) || key_count < 0 ||
        key_count > call->count - 3) {
        fake_reply_error(call->out, "ERR Number of keys can't be greater than number of args");
        return;
    }
    run = (struct fake_lua_call){
        .name = names[i],
        .text = scripts[i].text.data,
        .key = call->word + 3,
        .arg = call->word + 3 + key_count,
        .key_count = (uint32_t)key_count,
        .arg_count = call->count - 3 - (uint32_t)key_count,
    };
    fake_lua_run(call->server, &run, call->out);
}

const char *fake_scripts_name(const struct fake_words *words)
{
    size_t i;

    if (words->count < 3)
        return NULL;
    i = find_script(words->word[1], words->word[0].size == sizeof "EVAL" - 1);
    return i < SCRIPT_COUNT ? names[i] : NULL;
}
