/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request for a lock has: a name, its lease id and grant, and the fields of its body,
 * checked as far as the daemon can without the library. Nothing is guessed: a field that does
 * not exist, or has another type, is refused, since a misspelt "fenced" would be a lock without
 * a fence.
 */
#ifndef REDLOCKD_LEASES_TERMS_H
#define REDLOCKD_LEASES_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "http/server.h"
#include "leases/id.h"

#define LEASE_WAIT_MAX_MS 50000 /* proxies cut at 60 s; of a stream: REDLOCK_WAIT_MAX_MS */
#define LEASE_TTL_DEFAULT_MS 30000

/* Why a request is refused; both texts need no escaping. */
struct lease_refusal {
    int status;
    const char *code;
    const char *detail;
};

struct lease_terms {
    const char *name;     /* the caller's */
    struct rl_slice path; /* the same, as it came */
    struct lease_tag tag;
    bool is_stream; /* PUT: it requests events */
    bool leaves;    /* PUT: and a close of its connection is to release nothing */
    bool has_grant; /* then `grant` is what it has */
    bool is_known; /* not an acquisition: this replica knows the lease; set by leases_begin() */
    struct lease_grant grant;
    int64_t ttl_ms;
    bool has_ttl; /* the request has it */
    int64_t wait_ms;
    int kind;       /* enum redlock_kind */
    uint32_t flags; /* REDLOCK_FENCED, REDLOCK_FAIR */
    uint32_t slots;
    char owner[LEASE_TAG_SIZE + 1];    /* as the nodes have it; empty: none */
    char label[REDLOCK_LABEL_MAX + 1]; /* empty: none */
};

/* False: *refusal is why. */
bool lease_terms_read(const struct http_request *request, const char *name,
                      const char *principal, struct lease_terms *terms,
                      struct lease_refusal *refusal);

/* The holder that a break is about. False: *refusal is why. */
bool break_terms_read(const struct http_request *request,
                      char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1],
                      struct lease_refusal *refusal);

#endif
