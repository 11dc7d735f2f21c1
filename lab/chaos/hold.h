/* SPDX-License-Identifier: BSD-2-Clause */
/* One acquisition of a worker from asking to giving back, each step in the history. */
#ifndef REDLOCK_CHAOS_HOLD_H
#define REDLOCK_CHAOS_HOLD_H

#include "command.h"
#include "record.h"

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

struct rig;

/* How a worker requests locks. */
enum way { WAY_LIBRARY, WAY_SERVICE, WAY_COMMAND, WAY_GO };

/* The worker itself: its process has one. */
struct crew {
    struct rig *rig;
    enum way way;
    int index, life;
    char owner[16];  /* of re-entrant holds: this life of this worker */
    int registers;   /* connection */
    redlock *client; /* WAY_LIBRARY */
    uint64_t random;
};

struct hold {
    int kind;           /* enum redlock_kind */
    unsigned int names; /* mask */
    bool fair, renewed, fenced;
    int64_t ttl_ms, wait_ms, stay_ms;
    uint32_t number;    /* of all acquisitions of the run */
    redlock_lock *lock; /* NULL: held in another way, with the rest */
    int64_t deadline_ns, fence;
    char id[40], grant[256]; /* by HTTP */
    struct command command;  /* by command */
    /* By HTTP, with a stream. */
    bool streamed;
    bool has_returned;  /* closing leaves it */
    bool is_unsure;     /* no replica has refused the last request */
    int stream;         /* connection; -1: none */
    int64_t called_ns;  /* when the PUT of it was sent */
    size_t events_size; /* what has come and was not looked at */
    char events[8192];
};

/* A record of this hold, with what the rest of it has in common. */
struct record hold_record(const struct crew *c, const struct hold *h, struct record r);
void hold_note(const struct crew *c, const struct hold *h,
               struct record r); /* in the history */

/* How long it may still be acted upon, as far as the worker knows. */
int64_t hold_remaining_ms(const struct hold *h);
int64_t hold_fence(const struct hold *h);

/* True when it is held; then hold_end() is due. */
/* redlock_options.notify of a worker: records losses. */
void hold_notify(void *data);

bool hold_take(struct crew *c, struct hold *h);

/* Stays for stay_ms, looking at the lock all the while, or until it is lost. */
void hold_stay(struct crew *c, struct hold *h);
void hold_end(struct crew *c, struct hold *h);

/* Of NAME_EVICTED: the key by which others may release a hold, from its number and back. */
enum { HOLD_KEY_SIZE = REDLOCK_IDEMPOTENCY_KEY_SIZE + 1 };
void hold_key(uint32_t number, char out[HOLD_KEY_SIZE]);
bool hold_of_value(const char *value, uint32_t *number);

/* Notes until when it is held, by the library; false when it is over. */
bool hold_look(struct crew *c, const struct hold *h);

#endif
