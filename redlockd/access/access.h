/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rights. A *principal* is the sender of a request, as far as it is proven: "uid:1000" by the
 * kernel, on a unix socket, which proves the groups "gid:100" as well, those of the process
 * when it connected, the supplementary ones included; "cert:NAME" by a certificate of the
 * authority that tls-client-ca names; "token:NAME" by a bearer token, on any listener. Another
 * request has none, and no right. Where what connects is a proxy (peer=proxy), the kernel
 * proves nothing about clients.
 *
 * Rules set what a principal may do with which names; the first that fits both decides. No
 * rule, no access. Without any rules the daemon's own user may do everything through a unix
 * socket, and no other may do anything: loopback TCP is open to every user of the machine, and
 * to every page in its browsers.
 *
 * Rules and tokens change with HUP. What was begun before checks with access_still_may()
 * whether it may go on: waits and feeds are ended, streams are no longer renewed.
 */
#ifndef REDLOCKD_ACCESS_H
#define REDLOCKD_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access/rules.h"
#include "access/tokens.h"
#include "http/server.h"

#define ACCESS_HOSTS_MAX 16
#define ACCESS_STRANGERS_RATE 20 /* requests a second of all principals without any rule */
#define ACCESS_HOST_MAX 255

/* The sender of a request, and what proves it. */
struct access_who {
    char principal[ACCESS_PRINCIPAL_MAX + 1];
    struct access_groups groups; /* of a uid, as rules named them when the request came */
    uint64_t proof;              /* of a token: the beginning of its digest */
    bool is_lasting;             /* of the kernel; a token or a certificate may count no more */
};

struct access {
    struct access_rules rules;
    struct access_tokens tokens;
    struct access_rule
        strangers; /* what principals without any rule have together: a cap on requests */
    /* Fixed at start: bits by the number of the listener, and names of the Host field. */
    uint32_t proxies;
    uint32_t checks_host;
    char hosts[ACCESS_HOSTS_MAX][ACCESS_HOST_MAX + 1];
    unsigned host_count;
};

/* What a request proves. All but the first get 401. */
enum access_proof {
    ACCESS_PROVEN,
    ACCESS_UNPROVEN,    /* nothing, or its certificate is none that names a principal now */
    ACCESS_WRONG_TOKEN, /* its token is not known, or too old */
};
enum access_proof access_identify(const struct access *access,
                                  const struct http_request *request, struct access_who *who);

/* The rule that decides about `name` (NULL: what is about all of them); NULL: there is none. */
struct access_rule *access_rule_of(struct access *access, const struct access_who *who,
                                   const char *name);

/* Does that rule give the right? Without any rules the daemon's own user has all of them. */
bool access_gives(const struct access *access, const struct access_who *who,
                  const struct access_rule *rule, enum access_right right);

/* Of a name whose rule was not found before; NULL for what is about all of them. */
bool access_may(const struct access *access, const struct access_who *who,
                enum access_right right, const char *name);

/*
 * May what was begun go on? Its proof still counts, and its rule gives the right. `exchange` is
 * the one by which it came: its certificate is looked at again; NULL: the exchange has ended,
 * and so has that proof.
 */
bool access_is_still_proven(const struct access *access, const struct access_who *who,
                            const struct http_exchange *exchange);
static inline bool access_still_gives(const struct access *access, const struct access_who *who,
                                      const struct access_rule *rule,
                                      const struct http_exchange *exchange,
                                      enum access_right right)
{
    return (who->is_lasting || access_is_still_proven(access, who, exchange)) &&
           access_gives(access, who, rule, right);
}

/* The same of another name than its own. */
bool access_still_may(const struct access *access, const struct access_who *who,
                      const struct http_exchange *exchange, enum access_right right,
                      const char *name);

/* The same of what shows all names that may be read: some name, at least. */
bool access_still_reads(const struct access *access, const struct access_who *who,
                        const struct http_exchange *exchange);

/* May it know what each node did with the lock of this rule: addresses, times, errors? By a
 * right to read it, or as admin. */
bool access_sees_nodes(const struct access *access, const struct access_who *who,
                       const struct access_rule *rule);

/* What connects to the listener of this request is a proxy: its end is not the client's. */
bool access_is_proxied(const struct access *access, const struct http_request *request);

#endif
