/* SPDX-License-Identifier: BSD-2-Clause */
/* Does the simulator find a bug? Rules are switched off one by one (core/rules.h) to see. */
#ifndef SIM_PLANTED_H
#define SIM_PLANTED_H

#include <stdint.h>

/* Every rule, or the one of that name; a table of what was found. 0: all were. */
int sim_planted_run(const char *rule, uint64_t seeds_max, unsigned workers);
/* One seed with its trace. */
int sim_planted_replay(const char *rule, uint64_t seed);
/* The text of a script without the rule that is off; `text` if the rule is none
 * of its lines. */
const char *fake_planted_text(const char *script, const char *text);

#endif
