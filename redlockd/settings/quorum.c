/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/quorum.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

_Static_assert(QUORUM_DIGEST_SIZE == SHA256_DIGEST_LENGTH, "digests are SHA-256");

/* Quorums by name, and their nodes, in the order of the file. */
static int digest_nodes(const struct rl_config *config, uint8_t out[QUORUM_DIGEST_SIZE])
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    int is_done = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1;

    for (size_t i = 0; is_done && i < config->node_count; i++) {
        unsigned quorum = config->quorum_of[i];
        const char *name = quorum ? config->quorum[quorum - 1] : "";

        /* With their NULs, which stand in neither. */
        is_done = EVP_DigestUpdate(md, name, strlen(name) + 1) == 1 &&
                  EVP_DigestUpdate(md, config->nodes[i], strlen(config->nodes[i]) + 1) == 1;
    }
    is_done = is_done && EVP_DigestFinal_ex(md, out, NULL) == 1;
    EVP_MD_CTX_free(md);
    return is_done ? 0 : -1;
}

int quorum_print_read(const char *file, struct quorum_print *out, char *why, size_t why_size)
{
    struct rl_config *config = malloc(sizeof *config);
    struct quorum_print print;
    const char *prefix;
    int result = -1;

    if (!config) {
        snprintf(why, why_size, "out of memory");
        return -1;
    }
    rl_config_init(config);
    config->file = file;
    if (rl_config_load(config) != REDLOCK_OK) {
        snprintf(why, why_size, "%s", redlock_detail());
    } else if (digest_nodes(config, print.nodes) < 0) {
        snprintf(why, why_size, "out of memory");
    } else {
        prefix = config->text[RL_SETTING_PREFIX] ? config->text[RL_SETTING_PREFIX] : "";
        SHA256((const uint8_t *)prefix, strlen(prefix), print.prefix);
        print.max_ttl_ms = config->max_ttl_ms;
        *out = print;
        result = 0;
    }
    rl_config_free(config);
    free(config);
    return result;
}

bool quorum_print_compare(const struct quorum_print *a, const struct quorum_print *b,
                          void (*differs)(const char *key))
{
    bool has_nodes = memcmp(a->nodes, b->nodes, sizeof a->nodes) == 0;
    bool has_prefix = memcmp(a->prefix, b->prefix, sizeof a->prefix) == 0;
    bool has_max_ttl = a->max_ttl_ms == b->max_ttl_ms;

    if (!has_nodes)
        differs("nodes");
    if (!has_prefix)
        differs("prefix");
    if (!has_max_ttl)
        differs("max-ttl");
    return has_nodes && has_prefix && has_max_ttl;
}
