/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of a node, from the text a person wrote: redis://user:password@host:port/db. */
#ifndef RL_PROTOCOL_URL_H
#define RL_PROTOCOL_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock.h"

#define RL_URL_DEFAULT_PORT "6379"
#define RL_URL_SENTINEL_PORT "26379"
#define RL_URL_GROUP_MAX 64
#define RL_URL_SENTINELS_MAX 7
#define RL_URL_DB_MAX 2147483647u

/* All text is decoded and terminated. Holds secrets: end its life with rl_url_wipe(). */
struct rl_url {
    bool tls;
    bool is_unix;                /* path is meant, host and port are empty */
    char host[256];              /* lower case; an IPv6 address without its brackets */
    char port[6];                /* decimal, 1 to 65535, no leading zeros */
    char path[108];              /* absolute; fits sun_path with its terminator */
    bool has_user, has_password; /* has_password also for an empty one: "user:@host" */
    char user[128];
    char password[512];
    uint32_t db;
    /*
     * A Sentinel group: host and port are empty, user, password and tls are of its servers. Or
     * a cluster: the sentinels are nodes of it, and the group is the hash tag of one of its
     * votes.
     */
    uint8_t sentinel_count; /* 0: it is neither */
    uint8_t vote_count;     /* of a cluster; 0: it is none */
    uint8_t vote;           /* which of them; as it is read, the first */
    bool sentinel_tls;
    char group[RL_URL_GROUP_MAX];
    char sentinels[REDLOCK_ADDRESS_MAX * 4]; /* host:port, a plus sign between two of them */
    char printable[REDLOCK_ADDRESS_MAX];     /* host:port, [ipv6]:port or path; no credentials.
                                            A name too long for it is cut with "...". */
};

/*
 * Reads a node's URL as documented for redlock_options.nodes; valkey:// and valkeys:// mean
 * redis:// and rediss://. 0, or -1 with a sentence in why (cut to why_size, terminated) that
 * names what is wrong and what to write instead. The sentence never repeats a part of the text
 * that might be a password, also where one ended up in the wrong place. On failure *out is
 * untouched.
 */
int rl_url_parse(const char *text, struct rl_url *out, char *why, size_t why_size);

/* Another vote of the same cluster. */
void rl_url_choose_vote(struct rl_url *cluster, uint8_t vote);

/* The address of one of its sentinels, or nodes; without credentials. */
void rl_url_sentinel(const struct rl_url *group, uint8_t which, struct rl_url *out);

/* Overwrites everything in a way that the compiler must not drop. NULL is fine. */
void rl_url_wipe(struct rl_url *u);

#endif
