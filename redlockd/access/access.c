/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/access.h"

#include <arpa/inet.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "access/certificate.h"
#include "access/routed.h"
#include "base/number.h"
#include "io/clock.h"

#define BEARER "Bearer "
#define TOKEN "token:"
#define UID "uid:"

/* ---- who --------------------------------------------------------------------------------- */

static bool is_in(uint32_t listeners, const struct http_peer *peer)
{
    return peer->listener >= 0 && peer->listener < 32 && listeners >> peer->listener & 1;
}

bool access_is_proxied(const struct access *access, const struct http_request *request)
{
    return is_in(access->proxies, request->peer);
}

/* How many supplementary groups, in *list until the next call. */
static size_t supplementary(int fd, const gid_t **list)
{
    static gid_t all[NGROUPS_MAX];
    socklen_t size = sizeof all;

    *list = all;
    return getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, all, &size) == 0 ? size / sizeof *all : 0;
}

/* Of those that rules name, the groups of the process at the other end of a unix socket when it
 * connected, the supplementary ones included. The kernel is queried if any is named. */
static void find_groups(const struct http_peer *peer, const struct access_groups *named,
                        struct access_groups *out)
{
    const gid_t *list;
    size_t count = named->count > 0 ? supplementary(peer->fd, &list) : 0;

    out->count = 0;
    for (unsigned i = 0; i < named->count; i++) {
        bool is_in = named->list[i] == peer->gid;

        for (size_t k = 0; k < count && !is_in; k++)
            is_in = named->list[i] == list[k];
        if (is_in)
            out->list[out->count++] = named->list[i];
    }
}

static bool identify_peer(const struct access *access, const struct http_peer *peer,
                          struct access_who *who)
{
    if (peer->ssl)
        return certificate_principal(peer->ssl, who->principal, sizeof who->principal);
    if (!peer->is_unix || is_in(access->proxies, peer))
        return false;
    strcpy(who->principal, UID);
    *rl_number_write(peer->uid, who->principal + strlen(UID)) = '\0';
    find_groups(peer, &access->rules.groups, &who->groups);
    return true;
}

enum access_proof access_identify(const struct access *access,
                                  const struct http_request *request, struct access_who *who)
{
    const struct access_token *token;
    struct rl_slice field;
    int count = http_request_field(request, HTTP_FIELD_AUTHORIZATION, &field);

    who->principal[0] = '\0';
    who->groups.count = 0;
    who->proof = 0;
    who->is_lasting = count == 0 && !request->peer->ssl;
    if (count == 0)
        return identify_peer(access, request->peer, who) ? ACCESS_PROVEN : ACCESS_UNPROVEN;
    /* A token that is wrong is not made up for by a uid: the client meant to be another. */
    if (count != 1 || field.size <= strlen(BEARER) ||
        strncasecmp(field.data, BEARER, strlen(BEARER)) != 0)
        return ACCESS_UNPROVEN;
    rl_slice_skip(&field, strlen(BEARER));
    token = access_tokens_find(&access->tokens, field);
    if (!token)
        return ACCESS_WRONG_TOKEN;
    snprintf(who->principal, sizeof who->principal, TOKEN "%s", token->name);
    who->proof = access_token_proof(token);
    return ACCESS_PROVEN;
}

/* ---- what -------------------------------------------------------------------------------- */

struct access_rule *access_rule_of(struct access *access, const struct access_who *who,
                                   const char *name)
{
    return access_rules_find(&access->rules, who->principal, &who->groups, name);
}

/* Of the daemon's own user, which stays the same. */
static const char *own_principal(void)
{
    static char own[32];

    if (!own[0])
        snprintf(own, sizeof own, UID "%lu", (unsigned long)geteuid());
    return own;
}

bool access_gives(const struct access *access, const struct access_who *who,
                  const struct access_rule *rule, enum access_right right)
{
    if (rule)
        return rule->rights & right;
    return access->rules.count == 0 && strcmp(own_principal(), who->principal) == 0;
}

bool access_may(const struct access *access, const struct access_who *who,
                enum access_right right, const char *name)
{
    /* The first that fits decides, also against a later one. */
    return access_gives(access, who, access_rule_of((struct access *)access, who, name), right);
}

bool access_sees_nodes(const struct access *access, const struct access_who *who,
                       const struct access_rule *rule)
{
    return access_gives(access, who, rule, ACCESS_READ) ||
           access_may(access, who, ACCESS_ADMIN, NULL);
}

bool access_is_still_proven(const struct access *access, const struct access_who *who,
                            const struct http_exchange *exchange)
{
    const struct http_peer *peer = exchange ? exchange->peer : NULL;
    char principal[ACCESS_PRINCIPAL_MAX + 1];

    if (strncmp(who->principal, TOKEN, strlen(TOKEN)) == 0 &&
        !access_tokens_have(&access->tokens, who->principal + strlen(TOKEN), who->proof))
        return false;
    if (strncmp(who->principal, CERTIFICATE, strlen(CERTIFICATE)) == 0 &&
        (!peer || !peer->ssl ||
         !certificate_principal(peer->ssl, principal, sizeof principal) ||
         strcmp(principal, who->principal) != 0))
        return false;
    return true;
}

bool access_still_may(const struct access *access, const struct access_who *who,
                      const struct http_exchange *exchange, enum access_right right,
                      const char *name)
{
    return (who->is_lasting || access_is_still_proven(access, who, exchange)) &&
           access_may(access, who, right, name);
}

bool access_still_reads(const struct access *access, const struct access_who *who,
                        const struct http_exchange *exchange)
{
    return (who->is_lasting || access_is_still_proven(access, who, exchange)) &&
           (access->rules.count > 0
                ? access_rules_give(&access->rules, who->principal, &who->groups, ACCESS_READ)
                : access_may(access, who, ACCESS_READ, NULL));
}

/* ---- for which host ---------------------------------------------------------------------- */

/* Without its port, and the brackets of an IPv6 address. False: it is none that
 * names a host. */
static bool split_host(struct rl_slice field, char *host, size_t size)
{
    bool is_bracketed = field.size > 0 && field.data[0] == '[';
    struct rl_slice name;

    if (is_bracketed)
        rl_slice_skip(&field, 1);
    name = rl_slice_until(&field, is_bracketed ? "]" : ":");
    if (is_bracketed) {
        if (field.size == 0)
            return false;
        rl_slice_skip(&field, 1);
    }
    /* What is left is a port: a name behind the bracket would be another host. */
    if (field.size > 0 && field.data[0] != ':')
        return false;
    for (size_t i = 1; i < field.size; i++)
        if (!rl_is_digit(field.data[i]))
            return false;
    if (name.size >= size)
        return false;
    memcpy(host, name.data, name.size);
    host[name.size] = '\0';
    return true;
}

static bool is_this_machine(const char *host)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

/*
 * False: a request on a plain loopback port for a host that is not this machine: a page of
 * another origin, whose name was made to point here, and its browser believes that it talks to
 * that origin.
 */
static bool host_is_ours(const struct access *access, const struct http_request *request)
{
    char host[ACCESS_HOST_MAX + 1];
    struct rl_slice field;

    /* HTTP/1.0 may leave it out; no browser does. */
    if (!is_in(access->checks_host, request->peer) ||
        http_request_field(request, HTTP_FIELD_HOST, &field) != 1)
        return true;
    if (!split_host(field, host, sizeof host))
        return false;
    for (unsigned i = 0; i < access->host_count; i++)
        if (strcasecmp(host, access->hosts[i]) == 0)
            return true;
    return is_this_machine(host);
}

/* ---- a request --------------------------------------------------------------------------- */

/* The rule that counts what the rule of a name does not; NULL: nothing counts it. */
static struct access_rule *quota_of(struct access *access, const struct routed *routed,
                                    bool has_name)
{
    const struct access_who *who = &routed->who;
    struct access_rule *any;

    if (routed->rule)
        return NULL;
    if (access->rules.count == 0)
        return strcmp(own_principal(), who->principal) == 0 ? NULL : &access->strangers;
    any = access_rules_any(&access->rules, who->principal, &who->groups);
    if (!any)
        return &access->strangers;
    return has_name ? NULL : any;
}

/* What shows names shows those that may be read: some, at least, or the nodes. */
static bool has_right(const struct access *access, const struct routed *routed, bool has_name)
{
    const struct access_who *who = &routed->who;

    if (has_name)
        return access_gives(access, who, routed->rule, routed->right);
    return (routed->right == ACCESS_READ &&
            access_still_reads(access, who, routed->exchange)) ||
           access_may(access, who, ACCESS_ADMIN, NULL);
}

enum access_verdict access_admit(struct access *access, struct routed *routed, bool has_name)
{
    struct access_rule *quota;
    enum access_proof proof;

    routed->who.principal[0] = '\0';
    routed->rule = NULL;
    if (!host_is_ours(access, routed->request))
        return ACCESS_OTHER_HOST;
    if (!routed->right)
        return ACCESS_ADMITTED;
    proof = access_identify(access, routed->request, &routed->who);
    if (proof != ACCESS_PROVEN) {
        routed->who.principal[0] = '\0';
        return proof == ACCESS_WRONG_TOKEN ? ACCESS_REFUSED_TOKEN : ACCESS_NO_PRINCIPAL;
    }
    if (routed->name[0] && access->rules.count > 0)
        routed->rule = access_rule_of(access, &routed->who, routed->name);
    quota = quota_of(access, routed, has_name);
    if (quota && !access_rule_take(quota, rl_now_ns()))
        return ACCESS_OVER_QUOTA;
    return has_right(access, routed, has_name) ? ACCESS_ADMITTED : ACCESS_FORBIDDEN;
}
