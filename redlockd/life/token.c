/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/token.h"

#include <stdio.h>

#include "access/tokens.h"

int token_print(const char *name, char *why, size_t why_size)
{
    char secret[ACCESS_SECRET_SIZE + 1], line[ACCESS_TOKEN_LINE_MAX + 1];

    if (access_token_make(name, secret, line) < 0) {
        snprintf(why, why_size,
                 "token: %.100s: a name has no blanks, does not begin with #, and is at most "
                 "%d characters long",
                 name, ACCESS_TOKEN_NAME_MAX);
        return -1;
    }
    printf("# the token of %s, for its client: it is not shown again\n%s\n"
           "# its line, for the file that `tokens` names; SIGHUP reads that\n%s\n",
           name, secret, line);
    return fflush(stdout);
}
