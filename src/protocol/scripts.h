/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripts that run inside the servers: src/scripts, embedded by the build. */
#ifndef RL_PROTOCOL_SCRIPTS_H
#define RL_PROTOCOL_SCRIPTS_H

#include "base/slice.h"
#include "rl_scripts.h"

/* Both are terminated. */
struct rl_script_text {
    struct rl_slice text;
    struct rl_slice sha1; /* of exactly this text: EVALSHA calls it so */
};

#define RL_SCRIPT_TEXT(NAME)                                                                   \
    {                                                                                          \
        {RL_SCRIPT_##NAME, sizeof RL_SCRIPT_##NAME - 1},                                       \
        {                                                                                      \
            RL_SCRIPT_##NAME##_SHA1, 40                                                        \
        }                                                                                      \
    }

#ifdef RL_PLANTED
/* Without the rule that is switched off, if that is a line of the script (core/rules.h). */
struct rl_script_text rl_planted_script(const char *name, struct rl_script_text shipped);
#define RL_SCRIPT(NAME) rl_planted_script(#NAME, (struct rl_script_text)RL_SCRIPT_TEXT(NAME))
#else
#define RL_SCRIPT(NAME) ((struct rl_script_text)RL_SCRIPT_TEXT(NAME))
#endif

#endif
