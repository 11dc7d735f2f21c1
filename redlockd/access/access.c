/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "access/certificate.h"
#include "access/groups.h"
#include "protocol/resp.h"

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

static bool identify_peer(const struct access *access, const struct http_peer *peer,
                          struct access_who *who)
{
    if (peer->ssl)
        return certificate_principal(peer->ssl, who->principal, sizeof who->principal);
    if (!peer->is_unix || is_in(access->proxies, peer))
        return false;
    strcpy(who->principal, UID);
    *rl_resp_decimal(peer->uid, who->principal + strlen(UID)) = '\0';
    access_groups_of(peer, &access->rules.groups, &who->groups);
    return true;
}

enum access_proof access_identify(const struct access *access,
                                  const struct http_request *request, struct access_who *who)
{
    const struct access_token *token;
    struct rl_slice field;
    int count = http_request_field(request, "authorization", &field);

    who->principal[0] = '\0';
    who->groups.count = 0;
    who->proof = 0;
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

bool access_is_stranger(const struct access *access, const struct access_who *who)
{
    return access->rules.count > 0 ? !access_rules_any((struct access_rules *)&access->rules,
                                                       who->principal, &who->groups)
                                   : strcmp(own_principal(), who->principal) != 0;
}

bool access_sees_nodes(const struct access *access, const struct access_who *who,
                       const struct access_rule *rule)
{
    return access_gives(access, who, rule, ACCESS_READ) ||
           access_may(access, who, ACCESS_ADMIN, NULL);
}

static bool is_still_proven(const struct access *access, const struct access_who *who,
                            const struct http_exchange *exchange)
{
    const struct http_peer *peer = exchange ? http_exchange_peer(exchange) : NULL;
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

bool access_still_gives(const struct access *access, const struct access_who *who,
                        const struct access_rule *rule, const struct http_exchange *exchange,
                        enum access_right right)
{
    return is_still_proven(access, who, exchange) && access_gives(access, who, rule, right);
}

bool access_still_may(const struct access *access, const struct access_who *who,
                      const struct http_exchange *exchange, enum access_right right,
                      const char *name)
{
    return is_still_proven(access, who, exchange) && access_may(access, who, right, name);
}

bool access_still_reads(const struct access *access, const struct access_who *who,
                        const struct http_exchange *exchange)
{
    return is_still_proven(access, who, exchange) &&
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

bool access_host_is_ours(const struct access *access, const struct http_request *request)
{
    char host[ACCESS_HOST_MAX + 1];
    struct rl_slice field;

    /* HTTP/1.0 may leave it out; no browser does. */
    if (!is_in(access->checks_host, request->peer) ||
        http_request_field(request, "host", &field) != 1)
        return true;
    if (!split_host(field, host, sizeof host))
        return false;
    for (unsigned i = 0; i < access->host_count; i++)
        if (strcasecmp(host, access->hosts[i]) == 0)
            return true;
    return is_this_machine(host);
}
