/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that subcommands share, and the text of --help. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "settings/command.h"

#define HELP_TABLES 3                /* own, shared, general */
#define HELP_OPTION (OPTION_OWN - 1) /* id of --help */

extern const struct cli_option help_shared_options[];  /* of all that talk to nodes */
extern const struct cli_option help_general_options[]; /* of all */

#endif
