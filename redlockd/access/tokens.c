/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/tokens.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/exposed.h"

#define LINE_MAX_BYTES 512

/* ---- the file ---------------------------------------------------------------------------- */

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

static bool read_day(const char *text, int64_t *until_s)
{
    struct tm day = {.tm_isdst = 0};
    const char *end = strptime(text, "%Y-%m-%d", &day);

    if (!end || *end || strlen(text) != strlen("2027-01-31"))
        return false;
    *until_s = timegm(&day);
    return true;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

/* NULL, or what is wrong; *is_token is false for a comment or nothing. */
static const char *read_line(const char *line, struct access_token *token, bool *is_token)
{
    char hex[2 * ACCESS_DIGEST_SIZE + 2], day[12], rest[2];
    int words = sscanf(line, "%122s %65s %11s %1s", token->name, hex, day, rest);

    *is_token = words > 0 && token->name[0] != '#';
    token->until_s = INT64_MAX;
    if (!*is_token)
        return NULL;
    if (words < 2 || words > 3 || !is_printable(token->name) ||
        !read_digest(hex, token->digest))
        return "expected NAME and the SHA-256 of the token in 64 hex digits";
    if (words == 3 && !read_day(day, &token->until_s))
        return "the third word is the day on which the token ends, as 2027-01-31";
    return NULL;
}

static const char *read_lines(struct access_tokens *tokens, FILE *file, unsigned *number)
{
    char line[LINE_MAX_BYTES];
    const char *wrong = NULL;
    struct stat info;

    if (fstat(fileno(file), &info) == 0 && rl_file_is_exposed(&info))
        return "others can write to it: give it to this user or to root, and chmod go-w";
    while (!wrong && fgets(line, sizeof line, file)) {
        bool is_token;

        ++*number;
        if (!strchr(line, '\n') && !feof(file))
            return "the line is too long";
        if (tokens->count == ACCESS_TOKENS_MAX)
            return "at most 256 tokens";
        wrong = read_line(line, &tokens->token[tokens->count], &is_token);
        tokens->count += !wrong && is_token;
    }
    return !wrong && ferror(file) ? "cannot be read" : wrong;
}

int access_tokens_read(struct access_tokens *tokens, const char *path, char *why,
                       size_t why_size)
{
    FILE *file = fopen(path, "re");
    unsigned number = 0;
    const char *wrong;

    if (!file) {
        snprintf(why, why_size, "tokens: %.200s: cannot be read: %s", path, strerror(errno));
        return -1;
    }
    /* The line is never quoted: a token may stand there by mistake. */
    wrong = read_lines(tokens, file, &number);
    fclose(file);
    if (wrong)
        snprintf(why, why_size, "%.200s:%u: %s", path, number ? number : 1, wrong);
    return wrong ? -1 : 0;
}

/* ---- a new one --------------------------------------------------------------------------- */

static void to_hex(const uint8_t *bytes, size_t size, char *out)
{
    for (size_t i = 0; i < size; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

int access_token_make(const char *name, char secret[ACCESS_SECRET_SIZE + 1],
                      char line[ACCESS_TOKEN_LINE_MAX + 1])
{
    uint8_t bytes[ACCESS_SECRET_SIZE / 2], digest[SHA256_DIGEST_LENGTH];
    size_t size = strlen(name);

    if (size == 0 || size > ACCESS_TOKEN_NAME_MAX || name[0] == '#' || !is_printable(name) ||
        getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -1;
    to_hex(bytes, sizeof bytes, secret);
    SHA256((const uint8_t *)secret, ACCESS_SECRET_SIZE, digest);
    memcpy(line, name, size);
    line[size] = ' ';
    to_hex(digest, sizeof digest, line + size + 1);
    return 0;
}

/* ---- a request's ------------------------------------------------------------------------- */

static bool counts(const struct access_token *token)
{
    return time(NULL) < token->until_s;
}

const struct access_token *access_tokens_find(const struct access_tokens *tokens,
                                              struct rl_slice secret)
{
    const struct access_token *found = NULL;
    uint8_t digest[SHA256_DIGEST_LENGTH];

    SHA256((const uint8_t *)secret.data, secret.size, digest);
    for (unsigned i = 0; i < tokens->count; i++)
        if (CRYPTO_memcmp(digest, tokens->token[i].digest, sizeof digest) == 0)
            found = &tokens->token[i];
    return found && counts(found) ? found : NULL;
}

uint64_t access_token_proof(const struct access_token *token)
{
    uint64_t proof;

    memcpy(&proof, token->digest, sizeof proof);
    return proof;
}

bool access_tokens_have(const struct access_tokens *tokens, const char *name, uint64_t proof)
{
    for (unsigned i = 0; i < tokens->count; i++)
        if (access_token_proof(&tokens->token[i]) == proof &&
            strcmp(tokens->token[i].name, name) == 0 && counts(&tokens->token[i]))
            return true;
    return false;
}
