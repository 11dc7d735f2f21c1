/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which locks, and of which kind: what `run` and `lock` have in common. A plain exclusive lock
 * of one name belongs to an owner, if it has one: a request with the same owner may take it
 * again while it is held. Readers, slots and several names at once have no owner.
 */
#ifndef CLI_TERMS_H
#define CLI_TERMS_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "settings/command.h"

enum {
    OPTION_FAIR = OPTION_OWN + 100,
    OPTION_SHARED,
    OPTION_SLOTS,
    OPTION_OWNER,
    OPTION_FENCE,
    OPTION_NO_FENCE,
    OPTION_LABEL,
};

#define TERMS_OPTIONS                                                                          \
    OPTION(OPTION_SHARED, 's', "shared", NULL, "together with other readers only"),            \
        OPTION(OPTION_SLOTS, 0, "slots", "K", "at most K at once"),                            \
        OPTION(OPTION_FAIR, 0, "fair", NULL, "never before a waiter that came earlier"),       \
        OPTION(OPTION_LABEL, 0, "label", "TEXT",                                               \
               "who has it, for others (user@host:pid, command)"),                             \
        OPTION(OPTION_OWNER, 0, "owner", "ID",                                                 \
               "owner of the lock: the same owner may take it again"),                         \
        OPTION(OPTION_FENCE, 0, "fence", NULL,                                                 \
               "with a fencing token, or fail (if exclusive: yes)"),                           \
        OPTION(OPTION_NO_FENCE, 0, "no-fence", NULL,                                           \
               "no fencing token: cheaper for the servers")

struct terms {
    const char *name[REDLOCK_NAMES_MAX];
    size_t name_count;
    bool shared, fair;
    bool fence, no_fence; /* --fence, --no-fence: given explicitly */
    uint32_t slots;       /* 0: not a semaphore */
    const char *owner;    /* NULL: none; points to the command line, the environment or: */
    char owner_made[REDLOCK_OWNER_MAX + 1];
    bool labelled;                     /* --label: as it was given */
    char label[REDLOCK_LABEL_MAX + 1]; /* empty: none */
};

/* Takes a further name. Returns 0 or an exit status, after printing why. */
int terms_add_name(struct terms *t, const char *name);

/* Takes one of TERMS_OPTIONS; 0 or an exit status. Any other id is left alone. */
int terms_option(struct terms *t, int id, const char *value);

/*
 * After the command line has been read: are there names, do they go together, and would the
 * request wait for itself? 0 or an exit status, after printing why. A request without an owner
 * gets that of the enclosing run that holds the name, else REDLOCK_OWNER unless an enclosing
 * run has set it, else a new one if `make_owner`.
 */
int terms_complete(struct terms *t, bool make_owner);

/* Gives the request of process `pid` for `command` a label, unless --label has. */
void terms_label(struct terms *t, pid_t pid, const char *command);

/*
 * All of a command line that has TERMS_OPTIONS and names, and the settings: for a lock of the
 * process that started this one. 0 or an exit status, after printing why.
 */
int terms_read(struct terms *t, struct settings *s, const struct command *command, int argc,
               char **argv);

int32_t terms_kind(const struct terms *t);

/* Has it a fencing token? An exclusive lock has one unless --no-fence. */
bool terms_fenced(const struct terms *t);

/* The option by which several may hold it at once, as in "--shared"; NULL: it is exclusive. */
const char *terms_several(const struct terms *t);

/* Fills kind, flags, owner, slots, label and further names of a request for t->name[0]. */
void terms_request(const struct terms *t, redlock_request *request);

/* "a", "a and b", "a, b and 3 more": safe for a terminal. */
#define TERMS_TEXT_MAX 200
void terms_text(const struct terms *t, char out[TERMS_TEXT_MAX]);

/* Sets REDLOCK_NAME, _NAMES, _KIND, _OWNER and _HELD for a child. False: out of memory. */
bool terms_set_environment(const struct terms *t);

#endif
