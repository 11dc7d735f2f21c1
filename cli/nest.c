/* SPDX-License-Identifier: BSD-2-Clause */
#include "nest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "terms.h"
#include "text.h"

#define HELD_MAX 65536 /* far from what a program can be given; more is not remembered */

/* The end of what was written: at most three bytes for each of the name. */
static char *encode(char *at, const char *name)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (isalnum(c) || strchr("._-", c))
            *at++ = (char)c;
        else
            at += sprintf(at, "%%%02X", c);
    }
    *at = '\0';
    return at;
}

/* The kind under which the name is held around us, the innermost of it; -1: it is not. */
static int32_t held_kind(const char *name)
{
    char wanted[3 * REDLOCK_NAME_MAX + 1];
    const char *at = getenv("REDLOCK_HELD");
    int32_t found = -1;
    encode(wanted, name);
    while (at && *at) {
        size_t length = strcspn(at, " ");
        for (int32_t kind = REDLOCK_MUTEX; kind <= REDLOCK_SEMAPHORE; kind++) {
            size_t word = strlen(redlock_kind_text(kind));
            if (length == word + 1 + strlen(wanted) && at[word] == ':' &&
                strncmp(at, redlock_kind_text(kind), word) == 0 &&
                strncmp(at + word + 1, wanted, strlen(wanted)) == 0)
                found = kind;
        }
        at += length + (at[length] == ' ');
    }
    return found;
}

static const char *why(const struct terms *t, int32_t outer)
{
    const char *owner = getenv("REDLOCK_OWNER");
    bool same_owner = t->owner && owner && strcmp(owner, t->owner) == 0;
    int32_t inner = terms_kind(t);
    if (outer == REDLOCK_REENTRANT && inner == REDLOCK_REENTRANT)
        return same_owner ? NULL : "but for another owner (REDLOCK_OWNER)";
    if (outer == REDLOCK_REENTRANT)
        return "exclusively: only a plain `redlock run` of this one name may take it again";
    if (outer == REDLOCK_SHARED)
        return "as a reader: inside it, a wait for the same name can be a wait for itself";
    if (outer == REDLOCK_SEMAPHORE)
        return "as one of its slots: a wait for a second one can be a wait for itself";
    return "together with other names: such a lock cannot be taken again";
}

int nest_check(const struct terms *t)
{
    for (size_t i = 0; i < t->name_count; i++) {
        int32_t outer = held_kind(t->name[i]);
        const char *reason = outer < 0 ? NULL : why(t, outer);
        char shown[TEXT_QUOTE_MAX];
        if (!reason)
            continue;
        text_quote(shown, t->name[i]);
        return message_usage(
            "'%s' is held already by a `redlock run` around this one, %s. Leave the inner lock "
            "out, or give it another name; if it is another lock of the same name, on other nodes "
            "or with another prefix, unset REDLOCK_HELD",
            shown, reason);
    }
    return 0;
}

bool nest_set_environment(const struct terms *t)
{
    const char *before = getenv("REDLOCK_HELD");
    const char *kind = redlock_kind_text(terms_kind(t));
    size_t used = before ? strlen(before) : 0;
    size_t size = used + 1;
    for (size_t i = 0; i < t->name_count; i++)
        size += strlen(kind) + 3 * strlen(t->name[i]) + 2;
    if (size > HELD_MAX)
        return true;
    char *held = malloc(size), *at = held;
    if (!held)
        return false;
    at += sprintf(at, "%s", before ? before : "");
    for (size_t i = 0; i < t->name_count; i++) {
        at += sprintf(at, "%s%s:", at > held ? " " : "", kind);
        at = encode(at, t->name[i]);
    }
    bool ok = setenv("REDLOCK_HELD", held, 1) == 0;
    free(held);
    return ok;
}
