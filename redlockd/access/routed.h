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

#endif
