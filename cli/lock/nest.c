/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/nest.h"

#include <stdlib.h>
#include <string.h>

#include "base/percent.h"
#include "base/quote.h"
#include "lock/terms.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/text.h"

#define HELD_MAX 65536 /* far from what a program can be given; more is not remembered */

static char *encode(char *at, const char *name)
{
    return rl_percent_encode(at, name, "._-");
}

/* One of REDLOCK_HELD, kind:name or kind:name:owner, without changing it. */
struct entry {
    const char *text, *name, *owner; /* owner: NULL, if it has none */
    size_t kind_length, name_length, owner_length;
};

/* The next one from *at on; false at the end. */
static bool next_entry(const char **at, struct entry *e)
{
    size_t length;

    if (!*at || !**at)
        return false;
    length = strcspn(*at, " ");
    e->text = *at;
    e->kind_length = strcspn(*at, " :");
    e->name = *at + e->kind_length + (e->kind_length < length);
    e->name_length = strcspn(e->name, " :");
    e->owner = e->name[e->name_length] == ':' ? e->name + e->name_length + 1 : NULL;
    e->owner_length = e->owner ? strcspn(e->owner, " ") : 0;
    *at += length + ((*at)[length] == ' ');
    return true;
}

static int32_t kind_of(const struct entry *e)
{
    return kind_of_word(e->text, e->kind_length);
}

int32_t nest_held(const char *name, char owner[REDLOCK_OWNER_MAX + 1])
{
    char wanted[3 * REDLOCK_NAME_MAX + 1];
    const char *at = getenv("REDLOCK_HELD");
    int32_t found = -1;
    struct entry e;
    encode(wanted, name);
    owner[0] = '\0';
    while (next_entry(&at, &e)) {
        if (e.name_length != strlen(wanted) || strncmp(e.name, wanted, e.name_length) != 0 ||
            kind_of(&e) < 0)
            continue;
        found = kind_of(&e);
        rl_percent_decode(e.owner ? e.owner : "", e.owner_length, owner, REDLOCK_OWNER_MAX + 1);
    }
    return found;
}

bool nest_is_owner(const char *owner)
{
    const char *at = getenv("REDLOCK_HELD");
    char found[REDLOCK_OWNER_MAX + 1];
    struct entry e;
    while (next_entry(&at, &e)) {
        rl_percent_decode(e.owner ? e.owner : "", e.owner_length, found, sizeof found);
        if (e.owner && strcmp(found, owner) == 0)
            return true;
    }
    return false;
}

static const char *why(const struct terms *t, int32_t outer, const char *owner)
{
    if (kind_words(outer)->same_owner_may && outer == terms_kind(t))
        return strcmp(owner, t->owner) == 0 ? NULL : "but for another owner";
    return kind_words(outer)->inside;
}

int nest_check(const struct terms *t)
{
    for (size_t i = 0; i < t->name_count; i++) {
        char shown[RL_QUOTE_MAX], owner[REDLOCK_OWNER_MAX + 1];
        int32_t outer = nest_held(t->name[i], owner);
        const char *reason = outer < 0 ? NULL : why(t, outer, owner);
        if (!reason)
            continue;
        rl_quote(shown, t->name[i]);
        return message_usage(
            "'%s' is held already by a `redlock run` around this one, %s. Leave the inner lock "
            "out, or give it another name; if it is another lock of the same name, on other "
            "nodes "
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
    char *held, *at;
    bool ok;

    for (size_t i = 0; i < t->name_count; i++)
        size += strlen(kind) + 3 * strlen(t->name[i]) + 3 * REDLOCK_OWNER_MAX + 3;
    if (size > HELD_MAX)
        return true;
    at = held = malloc(size);
    if (!held)
        return false;
    at += sprintf(at, "%s", before ? before : "");
    for (size_t i = 0; i < t->name_count; i++) {
        at += sprintf(at, "%s%s:", at > held ? " " : "", kind);
        at = encode(at, t->name[i]);
        if (t->owner) {
            *at++ = ':';
            at = encode(at, t->owner);
        }
    }
    ok = setenv("REDLOCK_HELD", held, 1) == 0;
    free(held);
    return ok;
}
