/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * URLs of nodes: what is accepted can be written down again and means the same, every text ends
 * within its array, and a password never comes back in an address or a complaint. The input is
 * either a URL as it is, or the parts around a password that must not be seen again.
 */
#include "protocol/url.h"

#include <string.h>

#include "fuzz.h"

#define TEXT_MAX 2048
#define SECRET "Hush_9q7"
#define WHY_MAX 256
#define PRINTED_WHOLE 100 /* names up to this length are never cut */

static void check_ended(const char *text, size_t size)
{
    FUZZ_CHECK(memchr(text, '\0', size) != NULL);
}

/* Everything that a URL could be confused by goes in as %XX. */
static char *put_encoded(char *out, const char *text)
{
    for (; *text; text++)
        out += sprintf(out, "%%%02X", (unsigned char)*text);
    return out;
}

static void write_url(const struct rl_url *url, char *out)
{
    out += sprintf(out, "%s://", url->is_unix ? "unix" : url->tls ? "rediss" : "redis");
    if (url->has_user || url->has_password) {
        out = put_encoded(out, url->user);
        if (url->has_password) {
            *out++ = ':';
            out = put_encoded(out, url->password);
        }
        *out++ = '@';
    }
    if (url->is_unix) {
        *out++ = '/';
        out = put_encoded(out, url->path + 1);
        sprintf(out, "?db=%u", url->db);
        return;
    }
    if (strchr(url->host, ':')) {
        *out++ = '[';
        for (const char *at = url->host; *at; at++) /* the zone of an address: %25eth0 */
            out += sprintf(out, *at == '%' ? "%%25" : "%c", *at);
        *out++ = ']';
    } else {
        out += sprintf(out, "%s", url->host);
    }
    sprintf(out, ":%s/%u", url->port, url->db);
}

/* A Sentinel group, or a cluster: each of its addresses is one that can be connected to. */
static void check_group(const struct rl_url *url)
{
    struct rl_url vote = *url;
    struct rl_url place;

    check_ended(url->group, sizeof url->group);
    check_ended(url->sentinels, sizeof url->sentinels);
    check_ended(url->printable, sizeof url->printable);
    FUZZ_CHECK(url->sentinel_count >= 3 && url->sentinel_count <= RL_URL_SENTINELS_MAX);
    for (uint8_t i = 0; i < url->sentinel_count; i++) {
        rl_url_sentinel(url, i, &place);
        FUZZ_CHECK(place.host[0] && place.port[0] && place.sentinel_count == 0);
    }
    for (uint8_t i = 0; i < url->vote_count; i++) {
        rl_url_choose_vote(&vote, i);
        FUZZ_CHECK(strncmp(vote.printable, vote.group, strlen(vote.group)) == 0);
    }
}

static void check_accepted(const struct rl_url *url)
{
    char again[8 * TEXT_MAX];
    char address[512];
    char why[WHY_MAX];
    struct rl_url second;
    size_t size;

    check_ended(url->host, sizeof url->host);
    check_ended(url->port, sizeof url->port);
    check_ended(url->path, sizeof url->path);
    check_ended(url->user, sizeof url->user);
    check_ended(url->password, sizeof url->password);
    check_ended(url->printable, sizeof url->printable);
    FUZZ_CHECK(url->db <= RL_URL_DB_MAX);
    FUZZ_CHECK(url->has_user == (url->user[0] != '\0') || url->has_user);
    FUZZ_CHECK(url->has_password || url->password[0] == '\0');
    FUZZ_CHECK(url->is_unix ? url->path[0] == '/' && !url->host[0] : url->host[0] != '\0');

    /* The address is made of these parts and of nothing else. */
    if (url->is_unix)
        snprintf(address, sizeof address, "%s", url->path);
    else
        snprintf(address, sizeof address, strchr(url->host, ':') ? "[%s]:%s" : "%s:%s",
                 url->host, url->port);
    size = strlen(url->printable);
    if (strcmp(address, url->printable) != 0)
        FUZZ_CHECK(strlen(url->host) > PRINTED_WHOLE &&
                   strstr(url->printable, "...:") != NULL &&
                   strncmp(address, url->printable, PRINTED_WHOLE) == 0);
    for (size_t i = 0; i < size; i++)
        FUZZ_CHECK((unsigned char)url->printable[i] >= 0x20 && url->printable[i] != 0x7f);

    write_url(url, again);
    FUZZ_CHECK(rl_url_parse(again, &second, why, sizeof why) == 0);
    FUZZ_CHECK(second.tls == url->tls && second.is_unix == url->is_unix &&
               second.db == url->db && second.has_password == url->has_password);
    FUZZ_CHECK(strcmp(second.host, url->host) == 0 && strcmp(second.port, url->port) == 0 &&
               strcmp(second.path, url->path) == 0 && strcmp(second.user, url->user) == 0 &&
               strcmp(second.password, url->password) == 0 &&
               strcmp(second.printable, url->printable) == 0);
}

static void check_text(const char *text, bool has_secret)
{
    struct rl_url url;
    struct rl_url untouched;
    char why[WHY_MAX];
    char *copy = fuzz_copy(text, strlen(text) + 1);

    memset(&url, 0x5a, sizeof url);
    untouched = url;
    memset(why, 0x5a, sizeof why);
    if (rl_url_parse(copy, &url, why, sizeof why) == 0) {
        if (url.sentinel_count)
            check_group(&url);
        else
            check_accepted(&url);
        /* A socket's path may look like anything: behind its first slash there is no secret. */
        if (has_secret && !(url.is_unix && strstr(url.path, SECRET)))
            FUZZ_CHECK(!strstr(url.printable, SECRET));
    } else {
        FUZZ_CHECK(memcmp(&url, &untouched, sizeof url) == 0);
        check_ended(why, sizeof why);
        FUZZ_CHECK(why[0] != '\0');
        if (has_secret)
            FUZZ_CHECK(!strstr(why, SECRET));
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    bool has_secret = fuzz_byte(&input) & 1;
    char *head;
    char *user;
    char *tail;
    char text[TEXT_MAX];

    if (!has_secret) {
        size = input.left < TEXT_MAX - 1 ? input.left : TEXT_MAX - 1;
        if (size > 0)
            memcpy(text, input.at, size);
        text[size] = '\0';
        check_text(text, false);
        return 0;
    }
    head = fuzz_text(&input, 64);
    user = fuzz_text(&input, 256);
    tail = fuzz_text(&input, 1024);
    snprintf(text, sizeof text, "%s%s:%s@%s", head, user, SECRET, tail);
    /* A text that has the password in another part as well shows it by itself. */
    if (!strstr(head, SECRET) && !strstr(user, SECRET) && !strstr(tail, SECRET))
        check_text(text, true);
    free(head);
    free(user);
    free(tail);
    return 0;
}
