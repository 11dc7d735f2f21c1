/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CLUSTER NODES, any bytes: an owner is whole (an address with a port, an id of forty hex
 * digits, an epoch) or none at all, and what is found does not depend on what stands behind the
 * text.
 */
#include "protocol/cluster.h"

#include <string.h>

#include "fuzz.h"

static void check_id(const char *id)
{
    FUZZ_CHECK(strspn(id, "0123456789abcdef") == RL_ELECTOR_ID_SIZE);
    FUZZ_CHECK(id[RL_ELECTOR_ID_SIZE] == '\0');
}

static void check_owner(const struct rl_term *term)
{
    const char *colon;

    FUZZ_CHECK(memchr(term->owner, '\0', sizeof term->owner) != NULL);
    if (!term->owner[0]) {
        FUZZ_CHECK(term->epoch == 0 && !term->id[0]);
        return;
    }
    check_id(term->id);
    colon = strrchr(term->owner, ':');
    FUZZ_CHECK(term->epoch >= 0 && colon && colon > term->owner);
    FUZZ_CHECK(colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    uint8_t votes = fuzz_byte(&input) % 10;
    char *copy = fuzz_copy(input.left ? input.at : (const uint8_t *)"", input.left);
    struct rl_slice text = {copy, input.left};
    char id[RL_ELECTOR_ID_SIZE + 1];
    struct rl_term term;

    if (rl_cluster_read_self(text, id) == 0)
        check_id(id);
    for (uint8_t i = 0; rl_cluster_vote(votes, i); i++) {
        rl_cluster_read_owner(text, rl_cluster_vote(votes, i)->slot, "host", &term);
        check_owner(&term);
    }
    free(copy);
    return 0;
}
