/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/terms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/quote.h"
#include "lock/label.h"
#include "lock/nest.h"
#include "ui/exit.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/text.h"

int terms_add_name(struct terms *t, const char *name)
{
    int status = command_check_name(name);
    if (status)
        return status;
    for (size_t i = 0; i < t->name_count; i++) {
        if (strcmp(t->name[i], name) == 0)
            return 0;
    }
    if (t->name_count == REDLOCK_NAMES_MAX)
        return message_usage("at most %d names can be locked together", REDLOCK_NAMES_MAX);
    t->name[t->name_count++] = name;
    return 0;
}

static int check_owner(const char *where, const char *owner)
{
    size_t length = strlen(owner);
    if (length == 0 || length > REDLOCK_OWNER_MAX)
        return message_usage("%s: an owner has 1 to %d bytes", where, REDLOCK_OWNER_MAX);
    return 0;
}

int terms_option(struct terms *t, int id, const char *value)
{
    long slots = 0;
    int status;
    switch (id) {
    case OPTION_FAIR:
        t->fair = true;
        return 0;
    case OPTION_SHARED:
        t->shared = true;
        return 0;
    case OPTION_FENCE:
    case OPTION_NO_FENCE:
        t->fence = id == OPTION_FENCE;
        t->no_fence = !t->fence;
        return 0;
    case OPTION_SLOTS:
        status = args_number("--slots", value, 1, REDLOCK_SLOTS_MAX, &slots);
        t->slots = (uint32_t)slots;
        return status;
    case OPTION_OWNER:
        t->owner = value;
        return check_owner("--owner", value);
    case OPTION_LABEL:
        t->labelled = true;
        if (!label_set(t->label, value))
            return message_usage("--label takes printable text, in UTF-8 and in one line");
        return 0;
    default:
        return 0;
    }
}

static int check_combination(const struct terms *t)
{
    const char *several = terms_several(t);
    if (t->shared && t->slots)
        return message_usage("--shared and --slots exclude each other: --slots limits how many "
                             "hold it at once, --shared does not; leave one of them out");
    if (several && t->fence)
        return message_usage(
            "--fence does not go with %s: several hold it at once, and no order "
            "of tokens could keep a late one out; leave --fence out",
            several);
    if (several && t->name_count > 1)
        return message_usage("several names can be locked together exclusively only; leave %s "
                             "out, or nest one `redlock run` in another, always in one order",
                             several);
    if (several && t->owner)
        return message_usage("--owner does not go with %s: only an exclusive lock has an "
                             "owner; leave --owner out",
                             several);
    if (t->owner && t->name_count > 1)
        return message_usage("--owner goes with one name only; leave it out, or nest one "
                             "`redlock run` in another, always in one order");
    return 0;
}

#define OWNER_BYTES 16

static int make_owner(struct terms *t)
{
    unsigned char bytes[OWNER_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return message_fail(EXIT_INTERNAL, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(t->owner_made + 2 * i, 3, "%02x", bytes[i]);
    t->owner = t->owner_made;
    return 0;
}

/*
 * The owner of an enclosing run is inherited for the name that it holds, and for no other: what
 * it started may take different locks side by side, and they must exclude each other.
 */
static int take_owner(struct terms *t, bool make)
{
    const char *inherited = getenv("REDLOCK_OWNER");
    if (t->owner || terms_several(t) || t->name_count > 1)
        return 0;
    if (kind_words(nest_held(t->name[0], t->owner_made))->same_owner_may && t->owner_made[0]) {
        t->owner = t->owner_made;
        return 0;
    }
    if (inherited && *inherited && !nest_is_owner(inherited)) {
        t->owner = inherited;
        return check_owner("REDLOCK_OWNER", inherited);
    }
    return make ? make_owner(t) : 0;
}

int terms_complete(struct terms *t, bool make)
{
    int status;

    if (t->name_count == 0)
        return message_usage("NAME is missing: which lock?");
    status = check_combination(t);
    if (status == 0)
        status = take_owner(t, make);
    return status ? status : nest_check(t);
}

void terms_label(struct terms *t, pid_t pid, const char *command)
{
    if (!t->labelled)
        label_make(t->label, pid, command);
}

static int take(void *data, struct args *a, int id, const char *value)
{
    (void)a;
    return id == ARGS_WORD ? terms_add_name(data, value) : terms_option(data, id, value);
}

int terms_read(struct terms *t, struct settings *s, const struct command *command, int argc,
               char **argv)
{
    int status = args_read(command, s, argc, argv, take, t);
    if (status == 0)
        status = terms_complete(t, false);
    if (status == 0)
        status = settings_complete(s);
    if (status == 0)
        status = settings_check_ttl(s);
    if (status == 0 && !t->labelled)
        label_make_of_parent(t->label);
    return status;
}

int32_t terms_kind(const struct terms *t)
{
    return t->shared  ? REDLOCK_SHARED
           : t->slots ? REDLOCK_SEMAPHORE
           : t->owner ? REDLOCK_REENTRANT
                      : REDLOCK_MUTEX;
}

const char *terms_several(const struct terms *t)
{
    return t->shared ? "--shared" : t->slots ? "--slots" : NULL;
}

bool terms_fenced(const struct terms *t)
{
    return !t->no_fence && !terms_several(t);
}

void terms_request(const struct terms *t, redlock_request *request)
{
    request->kind = terms_kind(t);
    request->flags |= (terms_fenced(t) ? REDLOCK_FENCED : 0) | (t->fair ? REDLOCK_FAIR : 0);
    request->slots = t->slots;
    request->owner = t->owner;
    request->label = t->label;
    request->more_names = t->name + 1;
    request->more_name_count = t->name_count - 1;
}

void terms_text(const struct terms *t, char out[TERMS_TEXT_MAX])
{
    char first[RL_QUOTE_MAX], second[RL_QUOTE_MAX] = "";
    rl_quote(first, t->name[0]);
    if (t->name_count > 1)
        rl_quote(second, t->name[1]);
    if (t->name_count == 1)
        snprintf(out, TERMS_TEXT_MAX, "%s", first);
    else if (t->name_count == 2)
        snprintf(out, TERMS_TEXT_MAX, "%s and %s", first, second);
    else
        snprintf(out, TERMS_TEXT_MAX, "%s, %s and %zu more", first, second, t->name_count - 2);
}

/* The names, a line each. */
static bool set_names(const struct terms *t)
{
    size_t size = 1;
    char *names, *at;
    bool ok;

    for (size_t i = 0; i < t->name_count; i++)
        size += strlen(t->name[i]) + 1;
    at = names = malloc(size);
    if (!names)
        return false;
    for (size_t i = 0; i < t->name_count; i++)
        at += sprintf(at, "%s%s", i ? "\n" : "", t->name[i]);
    ok = setenv("REDLOCK_NAMES", names, 1) == 0;
    free(names);
    return ok;
}

bool terms_set_environment(const struct terms *t)
{
    /* What a lock around this one has set would be wrong; its owner is inherited. */
    bool ok = t->name_count > 1 ? set_names(t) : unsetenv("REDLOCK_NAMES") == 0;
    ok = ok && setenv("REDLOCK_NAME", t->name[0], 1) == 0 &&
         setenv("REDLOCK_KIND", redlock_kind_text(terms_kind(t)), 1) == 0;
    if (ok && t->owner)
        ok = setenv("REDLOCK_OWNER", t->owner, 1) == 0;
    return ok && nest_set_environment(t);
}
