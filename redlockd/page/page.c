/* SPDX-License-Identifier: BSD-2-Clause */
#include "page/page.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#define HASH_TEXT_MAX (4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1)
#define HEADERS_MAX 1024

static const char openapi[] = {
#include "openapi.json.inc"
};

static const char page[] = {
#include "page.html.inc"
};

static const struct file {
    const char *path, *type, *bytes;
    size_t size;
} files[] = {
    {"/", "text/html; charset=utf-8", page, sizeof page},
    {"/openapi.json", "application/json", openapi, sizeof openapi},
};

static const struct file *find(struct rl_slice path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (path.size == strlen(files[i].path) &&
            memcmp(path.data, files[i].path, path.size) == 0)
            return &files[i];
    return NULL;
}

/* Of what stands between two tags of the page, as a policy names it; empty: they
 * are not there. */
static void hash_block(const char *open, const char *close, char out[HASH_TEXT_MAX])
{
    const char *begin = memmem(page, sizeof page, open, strlen(open));
    unsigned char digest[SHA256_DIGEST_LENGTH];
    const char *end;

    out[0] = '\0';
    if (!begin)
        return;
    begin += strlen(open);
    end = memmem(begin, (size_t)(page + sizeof page - begin), close, strlen(close));
    if (!end)
        return;
    SHA256((const unsigned char *)begin, (size_t)(end - begin), digest);
    EVP_EncodeBlock((unsigned char *)out, digest, sizeof digest);
}

/* Made once: the page does not change while the process runs. */
static const char *page_headers(void)
{
    static char headers[HEADERS_MAX];
    char script[HASH_TEXT_MAX], style[HASH_TEXT_MAX];

    if (headers[0])
        return headers;
    hash_block("<script>", "</script>", script);
    hash_block("<style>", "</style>", style);
    snprintf(
        headers, sizeof headers,
        "Content-Security-Policy: default-src 'self'; script-src 'sha256-%s'; style-src "
        "'sha256-%s'; img-src data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'\r\n"
        "Referrer-Policy: no-referrer\r\n",
        script, style);
    return headers;
}

void page_answer(struct http_exchange *exchange, struct rl_slice path)
{
    const struct file *file = find(path);

    http_answer(exchange,
                &(struct http_answer){.status = 200,
                                      .type = file->type,
                                      .extra = file->bytes == page ? page_headers() : NULL,
                                      .body = file->bytes,
                                      .body_size = file->size});
}
