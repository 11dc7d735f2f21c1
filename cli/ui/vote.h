/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node did, as --json and the service name it for programs: TAKEN, GRANTED, SILENT. */
#ifndef CLI_VOTE_H
#define CLI_VOTE_H

#include <stdint.h>

/* The name of an enum redlock_vote; "UNKNOWN" of any other number. */
const char *vote_name(int32_t vote);

/* The vote of this name; REDLOCK_VOTE_NONE of any other word. */
int32_t vote_number(const char *name);

#endif
