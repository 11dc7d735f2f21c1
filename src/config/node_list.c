/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/sources.h"

#include <stdlib.h>
#include <string.h>

#include "drive/detail.h"

#define BLANKS " \t\r\n"
#define SEPARATORS "," BLANKS
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789._-"
#define NEARLY_NAME_CHARACTERS NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* The length of a name before a =, or 0: no URL has a = before a : or a /. */
static size_t name_length(const char *text)
{
    size_t length = strspn(text, NEARLY_NAME_CHARACTERS);

    return text[length] == '=' ? length : 0;
}

/* Passwords may have a ; in them: it ends a list only where another begins, or at the end. */
static size_t list_length(const char *text)
{
    size_t length = 0;

    for (;; length++) {
        const char *next;

        length += strcspn(text + length, ";");
        if (text[length] == '\0')
            return length;
        next = text + length + 1 + strspn(text + length + 1, BLANKS);
        if (*next == '\0' || *next == ';' || name_length(next) > 0)
            return length;
    }
}

/* The index of the quorum, from 1, which is added if it is new. */
static const char *find_quorum(struct rl_config *c, const char *name, size_t length, bool store,
                               uint8_t *out)
{
    if (length > REDLOCK_QUORUM_MAX)
        return "gives a quorum a name of more than 32 characters";
    if (strspn(name, NAME_CHARACTERS) < length)
        return "gives a quorum a name with other characters than a-z 0-9 . _ -";
    for (size_t i = 0; i < c->quorum_count; i++) {
        if (strlen(c->quorum[i]) == length && memcmp(c->quorum[i], name, length) == 0) {
            *out = (uint8_t)(i + 1);
            return NULL;
        }
    }
    if (!store)
        return NULL;
    if (c->quorum_count == REDLOCK_QUORUMS_MAX)
        return "names more than 64 quorums";
    memcpy(c->quorum[c->quorum_count], name, length);
    c->quorum[c->quorum_count][length] = '\0';
    *out = (uint8_t)++c->quorum_count;
    return NULL;
}

/* Adds the nodes of one list, with commas or blanks between them, to quorum number `quorum`. */
static const char *add_list(struct rl_config *c, const char *list, size_t size, uint8_t quorum,
                            bool store)
{
    const char *end = list + size;
    size_t added = 0;

    for (list += strspn(list, SEPARATORS); list < end; list += strspn(list, SEPARATORS)) {
        size_t length = strcspn(list, SEPARATORS);

        if (list + length > end)
            length = (size_t)(end - list);
        if (c->node_count == RL_CONFIG_NODES_MAX)
            return "names far too many nodes";
        if (store) {
            char *node = malloc(length + 1);

            if (!node)
                return rl_config_no_memory;
            memcpy(node, list, length);
            node[length] = '\0';
            c->quorum_of[c->node_count] = quorum;
            c->nodes[c->node_count++] = node;
        }
        added++;
        list += length;
    }
    return added > 0 ? NULL : quorum ? "names a quorum without nodes" : "names no node";
}

const char *rl_node_list_add(struct rl_config *c, const char *text, bool store)
{
    do {
        size_t length;
        uint8_t quorum;
        const char *problem;

        text += strspn(text, BLANKS);
        length = name_length(text);
        quorum = 0;
        problem = length ? find_quorum(c, text, length, store, &quorum) : NULL;
        if (problem)
            return problem;
        text += length ? length + 1 : 0;
        length = list_length(text);
        if (store && c->node_count > 0 && (c->quorum_of[0] == 0) != (quorum == 0))
            return "names nodes with and without a quorum: every node needs one, or none";
        problem = add_list(c, text, length, quorum, store);
        if (problem)
            return problem;
        text += length;
        text += strspn(text, ";" BLANKS);
    } while (*text);
    return NULL;
}

int rl_node_list_check(const struct rl_config *c)
{
    if (c->quorum_count == 0 && c->node_count > REDLOCK_NODES_MAX)
        return rl_detail(REDLOCK_INVAL, "%zu nodes are given; a lock has at most %d",
                         c->node_count, REDLOCK_NODES_MAX);
    for (size_t i = 0; i < c->quorum_count; i++) {
        size_t count = 0;

        for (size_t k = 0; k < c->node_count; k++)
            count += c->quorum_of[k] == i + 1;
        if (count > REDLOCK_NODES_MAX)
            return rl_detail(REDLOCK_INVAL, "quorum %s has %zu nodes; at most %d are allowed",
                             c->quorum[i], count, REDLOCK_NODES_MAX);
    }
    return 0;
}

void rl_node_list_arrange(struct rl_config *c)
{
    size_t used = 0;

    for (size_t quorum = 0; quorum < c->quorum_count; quorum++) {
        c->quorums[quorum] =
            (redlock_quorum){.name = c->quorum[quorum], .nodes = c->arranged + used};
        for (size_t i = 0; i < c->node_count; i++) {
            if (c->quorum_of[i] == quorum + 1) {
                c->arranged[used++] = c->nodes[i];
                c->quorums[quorum].node_count++;
            }
        }
    }
    for (size_t i = 0; c->quorum_count == 0 && i < c->node_count; i++)
        c->arranged[i] = c->nodes[i];
}
