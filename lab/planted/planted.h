/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The planted build of the library, in which one rule can be switched off by name: what does
 * not notice a missing rule would not notice a bug there either. The simulator, the fault rig
 * and tests/broken link it; nothing that ships does (tests/binaries/rules.sh).
 *
 * A rule is a line with RL_RULE(NAME) (core/rules.h) or LEASE_RULE(NAME) (leases/rules.h), or
 * an edit of scripts, lab/planted/scripts/NAME.cmake.
 */
#ifndef REDLOCK_LAB_PLANTED_H
#define REDLOCK_LAB_PLANTED_H

struct planted_rule {
    const char *name;
    const char *text; /* what goes wrong without it */
};

/* By enum rl_rule, then by enum lease_rule; the first is none, and the last has no name. */
extern const struct planted_rule planted_rules[];

/* In this process and those that it forks from now on, instead of another one. A name that is
 * not there ends the process. */
void planted_break(const char *name);

#endif
