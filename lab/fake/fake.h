/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's model of a server on a socket: the commands a lock needs and the scripts that
 * ship, with switches for commands that only some servers have, so that every path can be
 * tested whatever server is installed. It records each command with the connection it came on,
 * in the order of execution.
 */
#ifndef FAKE_FAKE_H
#define FAKE_FAKE_H

#include "ports.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum fake_ability {
    FAKE_ABSENT,  /* what a server answers that does not know it */
    FAKE_PRESENT, /* works as documented */
    FAKE_DENIED,  /* NOPERM */
};

enum { FAKE_RECORDS_MAX = 8192, FAKE_TEXT_MAX = 424, FAKE_POISON_MAX = 64 };

struct fake_record {
    int connection; /* from 1 */
    int argc;
    int64_t time_ns;
    char text[FAKE_TEXT_MAX]; /* the arguments, each cut to 64 bytes, joined by spaces */
};

struct fake_shared {
    /* enum fake_ability each */
    _Atomic int delifeq, delex, set_ifeq, eval, script_load;
    _Atomic int forgetful; /* EVALSHA always answers NOSCRIPT */
    _Atomic int delay_ms;  /* before every reply */
    _Atomic int identity;  /* in run_id and master_replid; fakes differ in it */
    _Atomic int connections;
    _Atomic int record_count; /* records beyond the maximum are counted, not kept */
    /* Set before starting: */
    char version_line[64];        /* for INFO; "redis_version:7.0.15" */
    char poison[FAKE_POISON_MAX]; /* not empty: the answer to SET NX, filler follows */
    struct fake_record record[FAKE_RECORDS_MAX];
};

struct fake {
    struct port port;
    int listener; /* in the helper */
    pid_t pid;
    struct fake_shared *shared;
    char url[64];
};

void fake_init(struct fake *f); /* scripts work, nothing native; not running yet */
void fake_run(struct fake *f);
void fake_start(struct fake *f); /* both */
void fake_stop(struct fake *f);  /* the port stays reserved */

/* The number of records kept so far; record i is complete when i is below it. */
int fake_count(const struct fake *f);

/* The first record from `from` on whose text begins with `head`; -1 when there is none. */
int fake_find(const struct fake *f, int from, const char *head);

/* The same for text that contains both parts (`other` may be ""). */
int fake_find_with(const struct fake *f, int from, const char *part, const char *other);

/* Waits for such a record; -1 when there is none after GIVE_UP_MS. */
int fake_await(const struct fake *f, int from, const char *head);

/* Prints all records: call it before failing over them. */
void fake_print(const struct fake *f);

#endif
