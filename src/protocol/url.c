/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/url.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/slice.h"
#include "base/wipe.h"
#include "protocol/cluster.h"

#define MESSAGE_MAX 256
#define SCHEME_MAX_BYTES 16 /* longer words are not repeated in a message */

/*
 * The rule for messages: a part of the text is repeated only where it cannot be a misplaced
 * password. "redis://admin:secret" without a host makes `secret` look like a port, and
 * "redis://:pa/ss@host" makes `ss@host` look like a database.
 */
struct parse {
    struct rl_url url;
    const char *default_port;
    char why[MESSAGE_MAX];
};

__attribute__((format(printf, 2, 3))) static int fail(struct parse *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(p->why, sizeof p->why, format, arguments);
    va_end(arguments);
    return -1;
}

/* ---- the words before "://" ---------------------------------------------------------- */

struct scheme {
    const char *name;
    bool tls;
    bool is_unix;
    bool is_sentinel;
    bool is_cluster;
};

static const struct scheme schemes[] = {
    {.name = "redis"},
    {.name = "rediss", .tls = true},
    {.name = "valkey"},
    {.name = "valkeys", .tls = true},
    {.name = "unix", .is_unix = true},
    {.name = "sentinel", .is_sentinel = true},
    {.name = "sentinels", .tls = true, .is_sentinel = true},
    {.name = "cluster", .is_cluster = true},
    {.name = "clusters", .tls = true, .is_cluster = true},
};
#define SCHEME_COUNT (sizeof schemes / sizeof schemes[0])

/* NULL when there is no such scheme. Case does not matter. */
static const struct scheme *find_scheme(struct rl_slice name)
{
    for (size_t i = 0; i < SCHEME_COUNT; i++)
        if (rl_slice_is(name, schemes[i].name))
            return &schemes[i];
    return NULL;
}

static int explain_scheme(struct parse *p, struct rl_slice name)
{
    const char *names[SCHEME_COUNT + 1] = {NULL};
    const char *nearest;

    if (name.size > SCHEME_MAX_BYTES || !rl_slice_only(name, "+-."))
        return fail(p, "what stands before '://' must be redis, rediss (TLS), valkey, valkeys "
                       "(TLS), unix, sentinel, sentinels (TLS), cluster or clusters (TLS)");
    for (size_t i = 0; i < SCHEME_COUNT; i++)
        names[i] = schemes[i].name;
    nearest = rl_nearest(name, names);
    if (nearest)
        return fail(p, "unknown scheme '%.*s://': did you mean %s://?", (int)name.size,
                    name.data, nearest);
    return fail(p,
                "unknown scheme '%.*s://': use redis:// or valkey://, rediss:// or valkeys:// "
                "(TLS), unix://, sentinel://, cluster://",
                (int)name.size, name.data);
}

/* ---- the parts ----------------------------------------------------------------------- */

/* Percent-decodes s into a terminated string. 0, or -1 after a message about `what`. */
static int decode(struct parse *p, struct rl_slice s, char *out, size_t size, const char *what)
{
    size_t n = 0;

    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];

        if (c == '%') {
            bool whole = i + 2 < s.size;
            int high = whole ? rl_hex_value(s.data[i + 1]) : -1;
            int low = whole ? rl_hex_value(s.data[i + 2]) : -1;

            if (high < 0 || low < 0)
                return fail(
                    p,
                    "a '%%' in the %s must be followed by two hex digits; write a plain "
                    "'%%' as %%25",
                    what);
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0')
            return fail(p, "the %s contains %%00, a NUL byte", what);
        if (n + 1 >= size)
            return fail(p, "the %s is longer than %zu bytes", what, size - 1);
        out[n++] = c;
    }
    out[n] = '\0';
    return 0;
}

/* ---- host and port ------------------------------------------------------------------- */

static int parse_port(struct parse *p, struct rl_slice port)
{
    uint32_t value = 0;

    if (port.size == 0)
        return fail(p, "the port after ':' is empty: leave out the ':' for %s",
                    p->default_port);
    for (size_t i = 0; i < port.size; i++) {
        if (!rl_is_digit(port.data[i]))
            return fail(p,
                        "the port after ':' is not a number (credentials go before the host: "
                        "redis://user:password@host:port)");
        value = value > 65535 ? value : value * 10 + (uint32_t)(port.data[i] - '0');
    }
    if (value < 1 || value > 65535)
        return port.size > 5 ? fail(p, "the port is out of range: 1 to 65535")
                             : fail(p, "port %.*s is out of range: 1 to 65535", (int)port.size,
                                    port.data);
    snprintf(p->url.port, sizeof p->url.port, "%u", (unsigned)value);
    return 0;
}

/* A name or an IPv4 address. */
static int parse_name(struct parse *p, struct rl_slice name)
{
    if (name.size == 0)
        return fail(p, "the host is empty: write redis://host:port");
    if (name.size > 253)
        return fail(p, "the host name is longer than 253 bytes");
    for (size_t i = 0; i < name.size; i++) {
        if ((unsigned char)name.data[i] >= 0x80)
            return fail(p, "the host name is not ASCII: write its xn-- form");
        p->url.host[i] = rl_lower(name.data[i]);
    }
    p->url.host[name.size] = '\0';
    if (!rl_slice_only(name, "-._"))
        return fail(p, "a host name has letters, digits, '-', '.' and '_' only");
    return 0;
}

/* What stands between the brackets: hex groups, perhaps a dotted tail, perhaps a zone. */
static int parse_ipv6(struct parse *p, struct rl_slice address)
{
    struct rl_slice zone = address;
    struct rl_slice groups = rl_slice_until(&zone, "%");
    size_t n = 0;
    int colons = 0;

    bool good = groups.size >= 2 && groups.size <= 45;
    for (size_t i = 0; good && i < groups.size; i++) {
        char c = groups.data[i];

        colons += c == ':';
        good = rl_hex_value(c) >= 0 || c == ':' || c == '.';
        p->url.host[n++] = rl_lower(c);
    }
    if (!good || colons < 2)
        return fail(p, "what stands in brackets is not an IPv6 address such as [::1]");
    if (zone.size > 0) {
        /* RFC 6874 writes the '%' before a zone as %25; a bare one is common too. */
        bool encoded = zone.size > 3 && memcmp(zone.data, "%25", 3) == 0;
        rl_slice_skip(&zone, encoded ? 3 : 1);
        if (zone.size > 31 || !rl_slice_only(zone, "-._"))
            return fail(p, "the zone after '%%' in the brackets must be an interface name");
        p->url.host[n++] = '%';
        memcpy(p->url.host + n, zone.data, zone.size);
        n += zone.size;
    }
    p->url.host[n] = '\0';
    return 0;
}

static int parse_host_and_port(struct parse *p, struct rl_slice s)
{
    struct rl_url *u = &p->url;
    int room = (int)sizeof u->printable - 1 - 8; /* for brackets and ":65535" */
    bool bracketed = s.size > 0 && s.data[0] == '[';
    bool cut;

    if (bracketed) {
        struct rl_slice address;

        rl_slice_skip(&s, 1);
        address = rl_slice_until(&s, "]");
        if (s.size == 0)
            return fail(p, "the ']' after the IPv6 address is missing: [::1]:6379");
        rl_slice_skip(&s, 1);
        if (s.size > 0 && s.data[0] != ':')
            return fail(p, "after ']' only :port may follow");
        if (parse_ipv6(p, address) != 0)
            return -1;
    } else {
        struct rl_slice name = rl_slice_until(&s, ":");

        if (s.size > 0 && rl_slice_has((struct rl_slice){s.data + 1, s.size - 1}, ':'))
            return fail(p,
                        "more than one ':' in host and port: an IPv6 address goes in brackets, "
                        "[::1]:6379");
        if (parse_name(p, name) != 0)
            return -1;
    }
    if (s.size == 0) {
        memcpy(p->url.port, p->default_port, strlen(p->default_port) + 1);
    } else {
        rl_slice_skip(&s, 1);
        if (parse_port(p, s) != 0)
            return -1;
    }
    cut = strlen(u->host) > (size_t)room;
    snprintf(u->printable, sizeof u->printable, "%s%.*s%s%s:%s", bracketed ? "[" : "",
             cut ? room - 3 : room, u->host, cut ? "..." : "", bracketed ? "]" : "", u->port);
    return 0;
}

/* ---- credentials and database -------------------------------------------------------- */

/* Splits "user:password@rest" at the last '@', so that a password may have one of its own. */
static int take_credentials(struct parse *p, struct rl_slice *authority)
{
    size_t at = authority->size;
    struct rl_slice password;
    struct rl_slice user;

    while (at > 0 && authority->data[at - 1] != '@')
        at--;
    if (at == 0)
        return 0;
    password = (struct rl_slice){authority->data, at - 1};
    user = rl_slice_until(&password, ":");
    rl_slice_skip(authority, at);
    if (decode(p, user, p->url.user, sizeof p->url.user, "user") != 0)
        return -1;
    p->url.has_user = user.size > 0;
    p->url.has_password = password.size > 0;
    if (!p->url.has_password)
        return 0;
    rl_slice_skip(&password, 1);
    return decode(p, password, p->url.password, sizeof p->url.password, "password");
}

static int parse_db(struct parse *p, struct rl_slice s)
{
    uint64_t value = 0;

    for (size_t i = 0; i < s.size; i++) {
        if (!rl_is_digit(s.data[i]))
            return fail(p, "the database is not a number such as 0");
        value = value > RL_URL_DB_MAX ? value : value * 10 + (uint64_t)(s.data[i] - '0');
    }
    if (s.size == 0)
        return fail(p, "the database after 'db=' is empty");
    if (value > RL_URL_DB_MAX)
        return fail(p, "the database number is out of range: 0 to 2147483647");
    p->url.db = (uint32_t)value;
    return 0;
}

/* What follows '?'. For unix:// it is db=N; otherwise there is nothing that may stand there. */
static int parse_query(struct parse *p, struct rl_slice query)
{
    struct rl_slice value = query;
    struct rl_slice name = rl_slice_until(&value, "=&");
    bool named = value.size > 0 && value.data[0] == '=';

    if (named && p->url.is_unix && rl_slice_is(name, "db")) {
        rl_slice_skip(&value, 1);
        return parse_db(p, value);
    }
    if (named && rl_slice_is(name, "db"))
        return fail(
            p, "the database goes after a slash, redis://host:port/N; ?db=N is for unix://");
    if (named && name.size <= 32 && rl_slice_only(name, "-_"))
        return fail(p, "unknown parameter '%.*s' after '?': %s", (int)name.size, name.data,
                    p->url.is_unix ? "only ?db=N is understood" : "redis:// takes none");
    return p->url.is_unix ? fail(p, "after '?' only db=N may follow")
                          : fail(p, "nothing may follow a '?': redis:// takes no parameters");
}

/* ---- whole URLs ---------------------------------------------------------------------- */

/* [user[:password]@]host[:port][/db] */
static int parse_tcp(struct parse *p, struct rl_slice s)
{
    struct rl_slice authority = rl_slice_until(&s, "/?#");

    if (rl_slice_has(s, '@'))
        return fail(
            p, "a '/', '?' or '#' in user or password must be written as %%2F, %%3F, %%23");
    if (take_credentials(p, &authority) != 0 || parse_host_and_port(p, authority) != 0)
        return -1;
    if (s.size > 0 && s.data[0] == '/') {
        struct rl_slice db;

        rl_slice_skip(&s, 1);
        db = rl_slice_until(&s, "?#");
        if (db.size > 0 && parse_db(p, db) != 0)
            return -1;
    }
    if (s.size > 0 && s.data[0] == '?') {
        rl_slice_skip(&s, 1);
        return parse_query(p, s);
    }
    return s.size == 0 ? 0 : fail(p, "nothing may follow a '#'");
}

/* [user[:password]@]/path[?db=N] */
static int parse_unix(struct parse *p, struct rl_slice s)
{
    struct rl_slice authority = rl_slice_until(&s, "/");
    struct rl_slice path;

    if (take_credentials(p, &authority) != 0)
        return -1;
    if ((authority.size > 0 || s.size == 0) && rl_slice_has(s, '@'))
        return fail(p, "a '/' in user or password must be written as %%2F");
    if (authority.size > 0 || s.size == 0)
        return fail(p, "a socket needs its absolute path: unix:///path/to/socket");
    path = rl_slice_until(&s, "?#");
    if (decode(p, path, p->url.path, sizeof p->url.path, "path") != 0)
        return -1;
    for (const char *c = p->url.path; *c != '\0'; c++)
        if (rl_is_control(*c))
            return fail(p, "the path contains a control character");
    memcpy(p->url.printable, p->url.path, sizeof p->url.path);
    if (s.size > 0 && s.data[0] == '?') {
        rl_slice_skip(&s, 1);
        return parse_query(p, s);
    }
    return s.size == 0 ? 0 : fail(p, "a '#' in the path must be written as %%23");
}

/* db=N, and tls=servers or tls=sentinels where not both are to have it. */
static int parse_sentinel_query(struct parse *p, struct rl_slice query)
{
    while (query.size > 0) {
        struct rl_slice value = rl_slice_until(&query, "&");
        struct rl_slice name = rl_slice_until(&value, "=");

        rl_slice_skip(&query, query.size > 0 ? 1 : 0);
        rl_slice_skip(&value, value.size > 0 ? 1 : 0);
        if (rl_slice_is(name, "db")) {
            if (parse_db(p, value) != 0)
                return -1;
        } else if (rl_slice_is(name, "tls") && p->url.tls && rl_slice_is(value, "servers")) {
            p->url.sentinel_tls = false;
        } else if (rl_slice_is(name, "tls") && p->url.tls && rl_slice_is(value, "sentinels")) {
            p->url.sentinel_tls = true;
            p->url.tls = false;
        } else {
            return fail(p,
                        "after '?' only db=N may follow, and, with sentinels://, tls=servers "
                        "or tls=sentinels where only those have TLS");
        }
    }
    return 0;
}

static bool has_sentinel(const char *sentinels, const char *address)
{
    struct rl_slice rest = {sentinels, strlen(sentinels)};

    while (rest.size > 0) {
        struct rl_slice place = rl_slice_until(&rest, "+");

        if (rl_slice_is(place, address))
            return true;
        rl_slice_skip(&rest, rest.size > 0 ? 1 : 0);
    }
    return false;
}

/* host[:port]+host[:port]+... */
static int parse_sentinels(struct parse *p, struct rl_slice s)
{
    char *at = p->url.sentinels;
    char *end = p->url.sentinels + sizeof p->url.sentinels;
    const char *word = p->url.vote_count ? "node" : "sentinel";

    for (;;) {
        struct rl_slice place = rl_slice_until(&s, "+");

        if (parse_host_and_port(p, place) != 0)
            return -1;
        if (has_sentinel(p->url.sentinels, p->url.printable))
            return fail(p, "a %s is named twice: each of them counts once", word);
        if (p->url.sentinel_count++ == RL_URL_SENTINELS_MAX)
            return fail(p, "%s at most",
                        p->url.vote_count ? "a cluster is named by seven of its nodes"
                                          : "a group can have seven sentinels");
        if (strlen(p->url.printable) + 2 > (size_t)(end - at))
            return fail(p, "the addresses of the %ss are too long", word);
        at += snprintf(at, (size_t)(end - at), "%s%s", at > p->url.sentinels ? "+" : "",
                       p->url.printable);
        if (s.size == 0)
            return 0;
        rl_slice_skip(&s, 1);
    }
}

/*
 * group@host:port+host:port. Where that is too long, as many of the first as there is room for,
 * and a number that stands for all: two groups of one name must not look the same.
 */
static void print_group(struct rl_url *url)
{
    size_t room = sizeof url->printable - 1 - strlen(url->group) - 1;
    size_t size = strlen(url->sentinels);
    char all[sizeof "+0123"] = "";

    if (size > room) {
        uint64_t hash = rl_slice_hash((struct rl_slice){url->sentinels, size});

        snprintf(all, sizeof all, "+%04x", (unsigned)(hash & 0xffff));
        room -= sizeof all - 1;
        for (size = room; size > 0 && url->sentinels[size] != '+'; size--)
            ;
        if (size == 0)
            size = room;
    }
    snprintf(url->printable, sizeof url->printable, "%s@%.*s%s", url->group, (int)size,
             url->sentinels, all);
}

/* [user[:password]@]host[:port]+host[:port].../group[?db=N] */
static int parse_sentinel(struct parse *p, struct rl_slice s)
{
    struct rl_slice authority = rl_slice_until(&s, "/?#");
    struct rl_slice group;

    p->default_port = RL_URL_SENTINEL_PORT;
    p->url.sentinel_tls = p->url.tls;
    if (rl_slice_has(s, '@'))
        return fail(
            p, "a '/', '?' or '#' in user or password must be written as %%2F, %%3F, %%23");
    if (take_credentials(p, &authority) != 0 || parse_sentinels(p, authority) != 0)
        return -1;
    if (p->url.sentinel_count < 3)
        return fail(p, "a group needs the addresses of all its sentinels, three or more: "
                       "sentinel://host1+host2+host3/group");
    rl_slice_skip(&s, s.size > 0 && s.data[0] == '/' ? 1 : 0);
    group = rl_slice_until(&s, "?#");
    if (group.size == 0)
        return fail(p, "the name of the group is missing: sentinel://host1+host2+host3/group");
    if (decode(p, group, p->url.group, sizeof p->url.group, "group") != 0)
        return -1;
    if (!rl_slice_only(rl_slice_of(p->url.group), "-._"))
        return fail(p, "the name of a group has letters, digits, '-', '.' and '_' only");
    p->url.host[0] = p->url.port[0] = '\0';
    print_group(&p->url);
    if (s.size > 0 && s.data[0] == '?') {
        rl_slice_skip(&s, 1);
        return parse_sentinel_query(p, s);
    }
    return s.size == 0 ? 0 : fail(p, "nothing may follow a '#'");
}

/* [user[:password]@]host[:port]+host[:port]...[/VOTES] */
static int parse_cluster(struct parse *p, struct rl_slice s)
{
    struct rl_slice authority = rl_slice_until(&s, "/?#");
    struct rl_slice votes;

    p->url.sentinel_tls = p->url.tls;
    p->url.vote_count = RL_VOTES_USUAL;
    if (rl_slice_has(s, '@'))
        return fail(
            p, "a '/', '?' or '#' in user or password must be written as %%2F, %%3F, %%23");
    if (take_credentials(p, &authority) != 0 || parse_sentinels(p, authority) != 0)
        return -1;
    if (p->url.sentinel_count < 3)
        return fail(p, "a cluster needs the addresses of three of its nodes, or more, on "
                       "different machines: cluster://host1+host2+host3");
    rl_slice_skip(&s, s.size > 0 && s.data[0] == '/' ? 1 : 0);
    votes = rl_slice_until(&s, "?#");
    if (votes.size > 0)
        p->url.vote_count =
            votes.size == 1 && rl_is_digit(votes.data[0]) ? (uint8_t)(votes.data[0] - '0') : 0;
    if (!rl_cluster_vote(p->url.vote_count, 0))
        return fail(p, "behind the nodes of a cluster stands how many votes it has, 1, 3, 5 or "
                       "7, and 3 if nothing: cluster://host1+host2+host3/3 (there is no other "
                       "database than 0)");
    if (s.size > 0)
        return fail(p, "nothing may follow the votes of a cluster");
    p->url.host[0] = p->url.port[0] = '\0';
    rl_url_choose_vote(&p->url, 0);
    return 0;
}

/* Plain host[:port], and the common ways to miss the whole form. */
static int parse_plain(struct parse *p, struct rl_slice s)
{
    struct rl_slice rest = s;
    const struct scheme *scheme = find_scheme(rl_slice_until(&rest, ":"));

    /* "redis:/host" has lost a slash; "redis:6379" is a host that is called redis. */
    if (scheme && rest.size > 1 && rest.data[1] == '/')
        return fail(p, "'%s:' must be followed by two slashes: %s://%s", scheme->name,
                    scheme->name, scheme->is_unix ? "/path/to/socket" : "host:port");
    if (s.data[0] == '/')
        return fail(p, "a socket's path needs unix:// before it: unix:///path/to/socket");
    if (rl_slice_has(s, '@'))
        return fail(p, "credentials need the whole form: redis://user:password@host:port");
    if (rl_slice_has(s, '/') || rl_slice_has(s, '?') || rl_slice_has(s, '#'))
        return fail(p, "a database needs the whole form: redis://host:port/db");
    return parse_host_and_port(p, s);
}

static int parse(struct parse *p, const char *text)
{
    const char *colon;
    const struct scheme *scheme;
    struct rl_slice name;
    struct rl_slice rest;

    if (!text || text[0] == '\0')
        return fail(p, "the URL is empty: write redis://host:port");
    for (const char *c = text; *c != '\0'; c++)
        if (rl_is_control(*c) || *c == ' ')
            return fail(
                p, "the URL contains a space or a control character; write it as %%XX, its "
                   "hex code, if it is meant");
    colon = strstr(text, "://");
    if (!colon)
        return parse_plain(p, rl_slice_of(text));
    name = (struct rl_slice){text, (size_t)(colon - text)};
    scheme = find_scheme(name);
    if (!scheme)
        return explain_scheme(p, name);
    p->url.tls = scheme->tls;
    p->url.is_unix = scheme->is_unix;
    rest = (struct rl_slice){colon + 3, strlen(colon + 3)};
    if (scheme->is_sentinel)
        return parse_sentinel(p, rest);
    if (scheme->is_cluster)
        return parse_cluster(p, rest);
    return scheme->is_unix ? parse_unix(p, rest) : parse_tcp(p, rest);
}

int rl_url_parse(const char *text, struct rl_url *out, char *why, size_t why_size)
{
    struct parse p = {.why = "", .default_port = RL_URL_DEFAULT_PORT};
    int result = parse(&p, text);

    if (result == 0)
        *out = p.url;
    else if (why_size > 0)
        snprintf(why, why_size, "%s", p.why);
    rl_url_wipe(&p.url);
    return result;
}

void rl_url_choose_vote(struct rl_url *cluster, uint8_t vote)
{
    cluster->vote = vote;
    snprintf(cluster->group, sizeof cluster->group, "%s",
             rl_cluster_vote(cluster->vote_count, vote)->name);
    print_group(cluster);
}

void rl_url_sentinel(const struct rl_url *group, uint8_t which, struct rl_url *out)
{
    struct rl_slice rest = {group->sentinels, strlen(group->sentinels)};
    struct parse p = {.default_port = RL_URL_SENTINEL_PORT}; /* each has a port by now */
    struct rl_slice place = rl_slice_until(&rest, "+");

    for (; which > 0; which--) {
        rl_slice_skip(&rest, 1);
        place = rl_slice_until(&rest, "+");
    }
    p.url.tls = group->sentinel_tls;
    parse_host_and_port(&p, place); /* as it was read before */
    *out = p.url;
}

void rl_url_wipe(struct rl_url *u)
{
    if (u)
        rl_wipe(u, sizeof *u);
}
