/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules: PRINCIPAL NAME RIGHTS [CAP...], as in
 *
 *     token:ci  ci/  acquire,read  leases=20 waiters=100 ttl=5m requests=50
 *
 * Caps are of the rule, for all that it allows together, on this replica: how many leases are
 * held and how many requests wait at a time, how long a TTL may be, how many requests a second.
 * They are there so that one client cannot take what others need: of memory, of connections,
 * and of the nodes.
 */
#ifndef REDLOCKD_ACCESS_RULES_H
#define REDLOCKD_ACCESS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ACCESS_PRINCIPAL_MAX 128
#define ACCESS_NAME_MAX 512
#define ACCESS_RULES_MAX 64
#define ACCESS_GROUPS_MAX 16 /* that rules may name */

enum access_right {
    ACCESS_ACQUIRE = 1, /* acquire, renew, release */
    ACCESS_READ = 2,    /* who holds and waits; names in lists */
    ACCESS_BREAK = 4,   /* evict a holder */
    ACCESS_ADMIN = 8,   /* nodes, status, metrics; the rule must be for all names */
};

/* Groups: those that rules name, and of these those that a client is in. The
 * others decide nothing. */
struct access_groups {
    gid_t list[ACCESS_GROUPS_MAX];
    unsigned count;
};

/* As many a second as the cap sets, and as many at once. */
struct access_bucket {
    double tokens;     /* that may still come; below 0: owed */
    int64_t filled_ns; /* when that was true; 0: never, then it is full */
};

struct access_rule {
    char principal[ACCESS_PRINCIPAL_MAX + 1];
    int64_t gid;                    /* of a principal gid:NUMBER; -1: it is another */
    char name[ACCESS_NAME_MAX + 1]; /* a name; a prefix, which ends in a slash; or * for all */
    unsigned rights;
    /* Caps; 0: none. */
    unsigned leases_max;
    unsigned waiters_max;
    unsigned requests_max; /* per second, and as many at once */
    int64_t ttl_max_ms;
    /* What is used of them now. */
    unsigned leases;
    unsigned waiters;
    struct access_bucket requests;
    struct access_bucket misses; /* of leases that turned out not to be there */
    uint64_t rejected;           /* requests that got 429 since the start */
};

struct access_rules {
    struct access_rule rule[ACCESS_RULES_MAX];
    unsigned count;
    struct access_groups groups; /* that they name */
};

/* 0, or -1 with a sentence in why. */
int access_rules_add(struct access_rules *rules, const char *text, char *why, size_t why_size);

/* Does any rule of the principal, or of one of its groups, give this right? */
bool access_rules_give(const struct access_rules *rules, const char *principal,
                       const struct access_groups *groups, enum access_right right);

/* The first whose principal this is, or one of its groups, and that covers the name. */
struct access_rule *access_rules_find(struct access_rules *rules, const char *principal,
                                      const struct access_groups *groups, const char *name);
/* The first of the principal, whatever names it is for: requests that are about no
 * name count there. */
struct access_rule *access_rules_any(struct access_rules *rules, const char *principal,
                                     const struct access_groups *groups);

/* Does a rule in front of `later` decide whatever that is for? */
bool access_rule_hides(const struct access_rule *earlier, const struct access_rule *later);

/* Is there room for one more lease, for one more waiter? */
bool access_rule_has_room(const struct access_rule *rule, bool is_waiter);

/* A request comes. True: it is within the cap, and counted; false: not in this second. */
bool access_rule_take(struct access_rule *rule, int64_t now_ns);

/*
 * Renewals and releases of leases that this replica does not know, which another may have
 * granted. They are charged afterwards, and only if there was no such lease: honest clients
 * behind a balancer are never refused a release, and invented ids get no further than the cap.
 * False: the cap is used up by such.
 */
bool access_rule_may_miss(struct access_rule *rule, int64_t now_ns);
void access_rule_missed(struct access_rule *rule, int64_t now_ns);

/* After HUP: a rule with the same text goes on with what its caps have counted. */
void access_rules_inherit(struct access_rules *fresh, const struct access_rules *old);

#endif
