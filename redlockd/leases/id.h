/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lease ids, tags and grants.
 *
 * The client chooses a *lease id*: 22 to 128 characters of A-Z a-z 0-9 _ - with 128 random
 * bits. It is a secret, since it is enough to end the lease. It is never stored, logged or sent
 * to a node.
 *
 * Its *tag* is what the nodes see: the first 22 characters of the base64url form of its SHA-256
 * (132 bits). Every value of an attempt of this lease begins with the tag and a colon, so a
 * replica that has only the lease id finds the lock on the nodes.
 *
 * The *grant* is what an answer gives to the client and a renewal brings back: the value
 * without its tag and what it was acquired with (kind, slots, owner, fence), in base64url. With
 * the lease id it is the exact value, so that any replica can renew without a search. The tag
 * is left out for two reasons: a grant without its lease id is useless, and a client can name
 * no value but those of its own lease.
 *
 * The grant of a stream is marked as one: it serves for coming back, never for POST, since no
 * client may renew what the close of a stream may be deleting.
 */
#ifndef REDLOCKD_LEASES_ID_H
#define REDLOCKD_LEASES_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "redlock.h"

#define LEASE_ID_MIN 22
#define LEASE_ID_MAX 128
#define LEASE_TAG_SIZE REDLOCK_IDEMPOTENCY_KEY_SIZE
#define LEASE_PRINCIPAL_MAX 128
#define LEASE_GRANT_MAX 240 /* characters of a grant */

struct lease_tag {
    char text[LEASE_TAG_SIZE + 1]; /* terminated */
};

/* False: not what a lease id looks like. */
bool lease_tag_of(struct rl_slice id, struct lease_tag *tag);

/* What a grant holds, of one lock that was acquired. */
struct lease_grant {
    int kind;       /* enum redlock_kind */
    bool is_stream; /* of a stream, else of a lease */
    unsigned slots;
    int64_t fence;                     /* 0: none */
    char owner[LEASE_TAG_SIZE + 1];    /* as the nodes have it; empty: none */
    char value[REDLOCK_VALUE_MAX + 1]; /* with its tag */
};

/* The value is of the lease with this tag: by its beginning, so a cut value will do. */
bool lease_has_tag(const char *value, const struct lease_tag *tag);

/* The label of a value; empty: none, or none that a label may be. */
void lease_label_of(const char *value, char label[REDLOCK_LABEL_MAX + 1]);

/* Terminated; false only for a value without a tag. */
bool lease_grant_write(const struct lease_grant *grant, char text[LEASE_GRANT_MAX + 1]);

/* What it stands for, the value with this tag. False: no answer of a replica was like that. */
bool lease_grant_read(struct rl_slice text, const struct lease_tag *tag,
                      struct lease_grant *grant);

/* The same for all grants of one lock, and not to be met by another without the key: of all
 * that a key is compared with, and neither of the fence nor of the way to hold. */
uint64_t lease_grant_mark(const struct lease_grant *grant, uint64_t key);

/* An owner as the nodes have it: two principals with the same word are two owners. */
void lease_owner_of(const char *principal, const char *owner, char out[LEASE_TAG_SIZE + 1]);

#endif
