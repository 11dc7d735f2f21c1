/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 512
#define BEARER "Bearer "

static int complain(char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "%s", what);
    return -1;
}

/* ---- rules ------------------------------------------------------------------------------- */

static unsigned right_of(const char *word, size_t size)
{
    static const struct {
        const char *word;
        enum access_right right;
    } rights[] = {{"acquire", ACCESS_ACQUIRE},
                  {"read", ACCESS_READ},
                  {"break", ACCESS_BREAK},
                  {"admin", ACCESS_ADMIN}};

    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++)
        if (strlen(rights[i].word) == size && memcmp(rights[i].word, word, size) == 0)
            return rights[i].right;
    return 0;
}

/* 0: a word is no right. */
static unsigned rights_of(const char *text)
{
    unsigned rights = 0;

    for (;;) {
        size_t size = strcspn(text, ",");
        unsigned right = right_of(text, size);

        if (!right)
            return 0;
        rights |= right;
        if (!text[size])
            return rights;
        text += size + 1;
    }
}

int access_add_rule(struct access *access, const char *text, char *why, size_t why_size)
{
    struct access_rule *rule = &access->rules[access->rule_count];
    char rights[64], rest[2];

    if (access->rule_count == ACCESS_RULES_MAX)
        return complain(why, why_size, "allow: at most 64 rules");
    /* The widths are ACCESS_PRINCIPAL_MAX and ACCESS_NAME_MAX. */
    if (sscanf(text, "%128s %128s %63s %1s", rule->principal, rule->name, rights, rest) != 3)
        return complain(
            why, why_size,
            "allow: expected PRINCIPAL NAME RIGHTS, as in uid:1000 billing/ acquire");
    if (strncmp(rule->principal, "uid:", 4) != 0 && strncmp(rule->principal, "token:", 6) != 0)
        return complain(why, why_size, "allow: a principal is uid:NUMBER or token:NAME");
    rule->rights = rights_of(rights);
    if (!rule->rights)
        return complain(why, why_size,
                        "allow: rights are acquire, read, break, admin, with commas between");
    if (rule->rights & ACCESS_ADMIN && strcmp(rule->name, "*") != 0)
        return complain(why, why_size, "allow: admin is for all names: *");
    access->rule_count++;
    return 0;
}

static bool fits(const struct access_rule *rule, const char *name)
{
    size_t size = strlen(rule->name);

    if (strcmp(rule->name, "*") == 0)
        return true;
    if (!name)
        return false;
    return rule->name[size - 1] == '/' ? strncmp(rule->name, name, size) == 0
                                       : strcmp(rule->name, name) == 0;
}

bool access_may(const struct access *access, const char *principal, enum access_right right,
                const char *name)
{
    char own[ACCESS_PRINCIPAL_MAX + 1];

    for (unsigned i = 0; i < access->rule_count; i++) {
        const struct access_rule *rule = &access->rules[i];

        /* The first that fits decides, also against a later one. */
        if (strcmp(rule->principal, principal) == 0 && fits(rule, name))
            return rule->rights & right;
    }
    snprintf(own, sizeof own, "uid:%lu", (unsigned long)geteuid());
    return access->rule_count == 0 && strcmp(own, principal) == 0;
}

/* ---- tokens ------------------------------------------------------------------------------ */

static bool read_digest(const char *hex, uint8_t *digest)
{
    if (strlen(hex) != 2 * (size_t)ACCESS_DIGEST_SIZE)
        return false;
    for (size_t i = 0; i < ACCESS_DIGEST_SIZE; i++) {
        int high = rl_hex_value(hex[2 * i]), low = rl_hex_value(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        digest[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

/* 1: a comment or nothing. */
static int read_token(const char *line, struct access_token *token)
{
    char hex[2 * ACCESS_DIGEST_SIZE + 2], rest[2];
    int words = sscanf(line, "%122s %65s %1s", token->name, hex, rest);

    if (words <= 0 || token->name[0] == '#')
        return 1;
    return words == 2 && read_digest(hex, token->digest) ? 0 : -1;
}

int access_read_tokens(struct access *access, const char *path, char *why, size_t why_size)
{
    FILE *file = fopen(path, "re");
    char line[LINE_MAX_BYTES];
    int result = 0;

    if (!file) {
        snprintf(why, why_size, "tokens: %.200s cannot be read", path);
        return -1;
    }
    for (unsigned number = 1; result == 0 && fgets(line, sizeof line, file); number++) {
        int read;

        if (access->token_count == ACCESS_TOKENS_MAX) {
            result = complain(why, why_size, "tokens: at most 64");
            break;
        }
        read = read_token(line, &access->tokens[access->token_count]);
        access->token_count += read == 0;
        if (read < 0) {
            /* The line is not quoted: a token may stand there by mistake. */
            snprintf(why, why_size, "tokens: line %u of %.200s is not NAME and SHA-256 in hex",
                     number, path);
            result = -1;
        }
    }
    fclose(file);
    return result;
}

/* NULL: none of them. All are compared, so that the time tells nothing. */
static const struct access_token *find_token(const struct access *access, struct rl_span secret)
{
    const struct access_token *found = NULL;
    uint8_t digest[SHA256_DIGEST_LENGTH];

    SHA256((const uint8_t *)secret.at, secret.length, digest);
    for (unsigned i = 0; i < access->token_count; i++)
        if (CRYPTO_memcmp(digest, access->tokens[i].digest, sizeof digest) == 0)
            found = &access->tokens[i];
    return found;
}

bool access_identify(const struct access *access, const struct http_request *request,
                     char principal[ACCESS_PRINCIPAL_MAX + 1])
{
    const struct access_token *token;
    struct rl_span field;
    int count = http_request_field(request, "authorization", &field);

    if (count == 0 && request->peer->is_unix) {
        snprintf(principal, ACCESS_PRINCIPAL_MAX + 1, "uid:%lu",
                 (unsigned long)request->peer->uid);
        return true;
    }
    /* A token that is wrong is not made up for by a uid: the client meant to be another. */
    if (count != 1 || field.length <= strlen(BEARER) ||
        memcmp(field.at, BEARER, strlen(BEARER)) != 0)
        return false;
    rl_span_skip(&field, strlen(BEARER));
    token = find_token(access, field);
    if (token)
        snprintf(principal, ACCESS_PRINCIPAL_MAX + 1, "token:%s", token->name);
    return token != NULL;
}
