/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A password that may change while its client lives: a text, the first line of a file, or the
 * first line that a command prints. File and command are read again by an errand, for every
 * connection and by age, so that neither a hung file system nor a slow command delays a lock.
 * When a reading fails, the last value stays in use.
 */
#ifndef RL_IO_SECRET_H
#define RL_IO_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/errand.h"
#include "redlock.h"

/* Tokens of cloud services have up to some thousand bytes. */
#define RL_SECRET_MAX 8191
#define RL_SECRET_WHY_MAX 256
#define RL_SECRET_WORDS_MAX 32 /* of a command */

/*
 * One password of a client, for all connections that log in with it. A connection that begins
 * wants a value (rl_secret_want()) and waits with its greeting until it is settled; one that is
 * up logs in again, in line with its requests, when `version` has grown.
 */
struct rl_secret {
    char *path;       /* of the file, owned; NULL: none */
    char *command;    /* its words, owned; NULL: none */
    bool is_changing; /* there is something to read again */
    int64_t max_age_ns;
    int wake_fd; /* of the reactor */

    char *text; /* outside of core dumps; empty: none is known yet; NULL: there is none */
    size_t text_size;
    uint32_t version; /* grows when connections that are up have to log in again */
    char failure[REDLOCK_TEXT_MAX]; /* of the last reading; empty: it succeeded */
    bool has_news;                  /* `failure` has become another, and is not empty */

    struct rl_secret_reading *reading; /* under way; NULL: none is */
    bool is_overdue;                   /* it is not waited for any more */
    bool is_renewal;                   /* connections log in again, even with the same value */
    bool wants_another;                /* what is under way may be too old */
    bool is_refused;                   /* by a server: a command is run again */
    int64_t began_ns;                  /* the last reading */
    int64_t read_ns;                   /* when the value was read */
    int64_t due_ns;                    /* when it is read again without being wanted */
};

/*
 * From at most one of the three; with none there is no password. A file is read, a command only
 * looked at: the first connection runs it. A file that is no regular one (a pipe) is read once.
 * 0; or an errno value and *s holds nothing: EINVAL with a sentence in `why`, or ENOMEM.
 */
int rl_secret_open(struct rl_secret *s, const char *text, const char *path, const char *command,
                   int64_t max_age_ns, char why[RL_SECRET_WHY_MAX]);
/* Wipes and frees what it holds. */
void rl_secret_close(struct rl_secret *s);

/*
 * A connection is about to log in: a file is read, a command is run if its last output is too
 * old or was refused. At most one reading is under way.
 */
void rl_secret_want(struct rl_secret *s, int64_t now_ns);
/* What was wanted is there, or not waited for any longer: log in with `text`, unless
 * it is empty. */
bool rl_secret_is_settled(const struct rl_secret *s);
/* A server refused the value: it is read again soon. */
void rl_secret_refused(struct rl_secret *s, int64_t now_ns);
/* It is read again now, and connections log in again. */
void rl_secret_renew(struct rl_secret *s, int64_t now_ns);

/* Takes what a reading has found, and begins one that is due. */
void rl_secret_tick(struct rl_secret *s, int64_t now_ns);
/* When to call that; INT64_MAX: not by the clock. */
int64_t rl_secret_due_ns(const struct rl_secret *s);

/* ---- secret_read.c: what can block ---- */

/*
 * The value into `out`; *is_regular: whether the file can be read again. False: `why` has a
 * sentence, in which no byte of the secret stands.
 */
bool rl_secret_read_file(const char *path, char out[RL_SECRET_MAX + 1], bool *is_regular,
                         char why[RL_SECRET_WHY_MAX]);
/* The same, of a command: within RL_SECRET_COMMAND_S seconds, else it is killed. */
bool rl_secret_run(char *const *words, char out[RL_SECRET_MAX + 1],
                   char why[RL_SECRET_WHY_MAX]);
#define RL_SECRET_COMMAND_S 10

/* Cuts a command at its blanks; nothing quotes. False: there are more words than allowed. */
bool rl_secret_split(char *command, char *words[RL_SECRET_WORDS_MAX + 1]);

/* Memory that no core dump has, zeroed. NULL: there is none. */
void *rl_secret_alloc(size_t size);
/* Wipes it first. NULL is fine. */
void rl_secret_free(void *memory, size_t size);

#endif
