/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of redlock.conf(5) must not change while the daemon runs: nodes, quorums, prefix and
 * max-ttl. Locks that are held live where these point; a daemon that moved them would grant a
 * lock that is held. HUP reads the file again only to report that they differ.
 */
#ifndef REDLOCKD_SETTINGS_QUORUM_H
#define REDLOCKD_SETTINGS_QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUORUM_DIGEST_SIZE 32

struct quorum_print {
    uint8_t nodes[QUORUM_DIGEST_SIZE]; /* a digest: addresses may have passwords */
    uint8_t prefix[QUORUM_DIGEST_SIZE];
    int64_t max_ttl_ms;
};

/* config: NULL for the machine's. 0, or -1 with a sentence in why. */
int quorum_print_read(const char *config, struct quorum_print *out, char *why, size_t why_size);

/* True: they are the same. Calls `differs` with the key of redlock.conf(5) of each that is
 * another. */
bool quorum_print_compare(const struct quorum_print *a, const struct quorum_print *b,
                          void (*differs)(const char *key));

#endif
