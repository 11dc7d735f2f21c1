/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which subcommand does what a sentence of the library advises: one that names admitting nodes
 * or rights, whatever program it is in.
 */
#ifndef CLI_SUBCOMMAND_H
#define CLI_SUBCOMMAND_H

#include <stdbool.h>

/* Is it `redlock init` that mends what has this enum redlock_reason? */
bool subcommand_is_init(int reason);

/* " (`redlock init`)", to be put behind a warning with this enum redlock_reason; or empty. */
const char *subcommand_for(int reason);

#endif
