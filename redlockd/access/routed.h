/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request as it was routed: what is found out about it before its handler begins, once.
 * Valid inside begin(). A handler that answers later copies `who` and `rule`, and after HUP,
 * which makes rules anew, finds the rule again (leases_reload(), leaders_reload()).
 */
#ifndef REDLOCKD_ACCESS_ROUTED_H
#define REDLOCKD_ACCESS_ROUTED_H

#include "access/access.h"
#include "redlock.h"

struct routed {
    struct http_exchange *exchange;
    const struct http_request *request;
    struct access_who who;           /* without a principal: none is proven */
    struct access_rule *rule;        /* that decides about the name; NULL: none, or no name */
    enum access_right right;         /* that it needs; 0: none */
    char name[REDLOCK_NAME_MAX + 1]; /* of a lock, decoded; empty: it is about none */
};

/* In this order: the first that is so. */
enum access_verdict {
    ACCESS_ADMITTED,
    ACCESS_OTHER_HOST,    /* the request is for a host that is not this machine */
    ACCESS_NO_PRINCIPAL,  /* ACCESS_UNPROVEN */
    ACCESS_REFUSED_TOKEN, /* ACCESS_WRONG_TOKEN */
    ACCESS_OVER_QUOTA,    /* of its principal, or of all without a rule */
    ACCESS_FORBIDDEN,     /* no rule gives the right */
};

/*
 * Finds out who sends it, which rule decides, and whether that gives the right: *routed has the
 * exchange, the request, the right and the name, and gets the rest. has_name: it is about one,
 * though it may be none that can be decoded.
 */
enum access_verdict access_admit(struct access *access, struct routed *routed, bool has_name);

#endif
