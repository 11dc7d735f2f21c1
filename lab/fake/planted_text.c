/* SPDX-License-Identifier: BSD-2-Clause */
/* Which text of a script runs: that which ships, or that of lab/sim/planted without a rule. */
#include "lab/sim/planted.h"

#ifndef RL_PLANTED

const char *fake_planted_text(const char *script, const char *text)
{
    (void)script;
    return text;
}

#else

#include <string.h>

#include "core/rules.h"
#include "planted_scripts.h"

static const char *const rule_names[] = {[RL_RULE_NONE] = "",
#define NAME(name, text) [RL_RULE_##name] = #name,
                                         RL_RULES(NAME)
#undef NAME
};

/* Their names are those of the rule and of the script: LIVENESS_TAKE_MUTEX. */
static const struct {
    const char *name;
    const char *text;
} broken[] = {
#define BROKEN(NAME) {#NAME, RL_SCRIPT_##NAME},
    RL_SCRIPTS(BROKEN)
#undef BROKEN
};

const char *fake_planted_text(const char *script, const char *text)
{
    const char *rule = rule_names[rl_rule_broken];
    size_t size = strlen(rule);

    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        if (strncmp(broken[i].name, rule, size) == 0 && broken[i].name[size] == '_' &&
            strcmp(broken[i].name + size + 1, script) == 0)
            return broken[i].text;
    return text;
}

#endif
