/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may do what. A *principal* is who asks, as far as that is proven: "uid:1000" by the kernel, on a unix
 * socket; "token:NAME" by a bearer token, on any listener. Another request has none, and no right.
 *
 * Rules say what a principal may do with which names; the first that fits both decides. No rule, no
 * access. Without any rules the daemon's own user may do everything through a unix socket, and no other
 * may do anything: loopback TCP is open to every user of the machine, and to every page in its browsers.
 *
 * The file of tokens has a line `NAME DIGEST` each, the SHA-256 of the token in hex: what is read there
 * opens nothing. A token is compared with all of them, in the same time whichever fits.
 */
#ifndef REDLOCKD_ACCESS_H
#define REDLOCKD_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/server.h"

#define ACCESS_PRINCIPAL_MAX 128
#define ACCESS_NAME_MAX 128
#define ACCESS_RULES_MAX 64
#define ACCESS_TOKENS_MAX 64
#define ACCESS_DIGEST_SIZE 32

enum access_right {
    ACCESS_ACQUIRE = 1, /* acquire, renew, release */
    ACCESS_READ = 2,    /* who holds and waits; names in lists */
    ACCESS_BREAK = 4,   /* evict a holder */
    ACCESS_ADMIN = 8,   /* nodes, status, metrics; the rule must be for all names */
};

struct access_rule {
    char principal[ACCESS_PRINCIPAL_MAX + 1];
    char name[ACCESS_NAME_MAX + 1]; /* a name; a prefix, which ends in a slash; or * for all */
    unsigned rights;
};

struct access_token {
    char name[ACCESS_NAME_MAX - 6 + 1]; /* with "token:" in front, a principal */
    uint8_t digest[ACCESS_DIGEST_SIZE];
};

struct access {
    struct access_rule rules[ACCESS_RULES_MAX];
    unsigned rule_count;
    struct access_token tokens[ACCESS_TOKENS_MAX];
    unsigned token_count;
};

/* "PRINCIPAL NAME RIGHT[,RIGHT...]". 0, or -1 with a sentence, also below. */
int access_add_rule(struct access *access, const char *text, char *why, size_t why_size);
int access_read_tokens(struct access *access, const char *path, char *why, size_t why_size);

/* False: it proves nothing, or its token is wrong (401). */
bool access_identify(const struct access *access, const struct http_request *request,
                     char principal[ACCESS_PRINCIPAL_MAX + 1]);

/* name: NULL for what is about all of them. */
bool access_may(const struct access *access, const char *principal, enum access_right right,
                const char *name);

#endif
