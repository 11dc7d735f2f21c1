/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bearer tokens. The file has a line `NAME DIGEST [UNTIL]` each, the SHA-256 of the token in
 * hex: what is read there opens nothing. UNTIL is a day, 2027-01-31: from its first moment
 * (UTC) the token is wrong. A name may have several lines, so that a token can be replaced
 * without a moment in which neither works.
 */
#ifndef REDLOCKD_ACCESS_TOKENS_H
#define REDLOCKD_ACCESS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define ACCESS_TOKENS_MAX 256
#define ACCESS_TOKEN_NAME_MAX 122 /* with "token:" in front, a principal */
#define ACCESS_DIGEST_SIZE 32
#define ACCESS_SECRET_SIZE 64 /* characters of a token that is made here */
#define ACCESS_TOKEN_LINE_MAX (ACCESS_TOKEN_NAME_MAX + 1 + 2 * ACCESS_DIGEST_SIZE)

struct access_token {
    char name[ACCESS_TOKEN_NAME_MAX + 1];
    uint8_t digest[ACCESS_DIGEST_SIZE];
    int64_t until_s; /* seconds since 1970; INT64_MAX: it does not end */
};

struct access_tokens {
    struct access_token token[ACCESS_TOKENS_MAX];
    unsigned count;
};

/* Adds those of a file. 0, or -1 with `file:line: sentence` in why, which repeats nothing
 * of the line. */
int access_tokens_read(struct access_tokens *tokens, const char *path, char *why,
                       size_t why_size);

/* A new token of 256 random bits, and its line of the file. 0, or -1: such a name is none, or
 * there is no randomness. */
int access_token_make(const char *name, char secret[ACCESS_SECRET_SIZE + 1],
                      char line[ACCESS_TOKEN_LINE_MAX + 1]);

/* NULL: none of them, or too old. All are compared, so that the time reveals nothing. */
const struct access_token *access_tokens_find(const struct access_tokens *tokens,
                                              struct rl_slice secret);

/* The beginning of its digest: distinguishes tokens of one name, and opens nothing. */
uint64_t access_token_proof(const struct access_token *token);

/* Is there still such a token, and does it count? */
bool access_tokens_have(const struct access_tokens *tokens, const char *name, uint64_t proof);

#endif
