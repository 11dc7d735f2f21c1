/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/planted/planted.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules.h"
#include "leases/rules.h"
#include "planted_scripts.h" /* in place of rl_scripts.h, whose guard it has */
#include "protocol/scripts.h"

enum rl_rule rl_rule_broken = RL_RULE_NONE;
enum lease_rule lease_rule_broken = LEASE_RULE_NONE;

const struct planted_rule planted_rules[] = {
    {"", ""},
#define RULE(name, text) {#name, text},
    RL_RULES(RULE) RL_ELECTED_RULES(RULE) RL_WAITING_RULES(RULE) LEASE_RULES(RULE)
#undef RULE
        {NULL, NULL},
};

void planted_break(const char *name)
{
    for (unsigned i = 1; planted_rules[i].name; i++) {
        if (strcmp(planted_rules[i].name, name) == 0) {
            bool is_of_leases = i >= RL_RULE_COUNT;

            rl_rule_broken = is_of_leases ? RL_RULE_NONE : (enum rl_rule)i;
            lease_rule_broken =
                is_of_leases ? (enum lease_rule)(i - RL_RULE_COUNT + 1) : LEASE_RULE_NONE;
            return;
        }
    }
    fprintf(stderr, "there is no rule %s (src/core/rules.h, redlockd/leases/rules.h)\n", name);
    exit(64);
}

/* Their names are those of the rule and of the script: LIVENESS_TAKE_MUTEX. */
static const struct {
    const char *name;
    struct rl_script_text script;
} broken[] = {
#define BROKEN(NAME) {#NAME, RL_SCRIPT_TEXT(NAME)},
    RL_SCRIPTS(BROKEN)
#undef BROKEN
};

struct rl_script_text rl_planted_script(const char *name, struct rl_script_text shipped)
{
    const char *rule = planted_rules[rl_rule_broken].name;
    size_t size = strlen(rule);

    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        if (strncmp(broken[i].name, rule, size) == 0 && broken[i].name[size] == '_' &&
            strcmp(broken[i].name + size + 1, name) == 0)
            return broken[i].script;
    return shipped;
}
