/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The history of a run: what every process did, one record per event, in one file that all of
 * them append to. A record goes out with one write, so that a killed process leaves whole
 * records behind. All times are CLOCK_BOOTTIME of the one machine: they can be compared.
 */
#ifndef REDLOCK_CHAOS_RECORD_H
#define REDLOCK_CHAOS_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One line per event: name, printable word. */
#define RECORDS(X)                                                                             \
    X(ASK, "ask")     /* before the call; deadline_ns: until when it waits, 0: tries once */   \
    X(GRANT, "grant") /* after it returned; deadline_ns: end of the validity */                \
    X(DENY, "deny")   /* it failed with `error` */                                             \
    X(SEEN, "seen")   /* the holder looked: deadline_ns, 0 when it is not held any more */     \
    X(RELEASE, "release")   /* before the call */                                              \
    X(RELEASED, "released") /* it returned `error` */                                          \
    X(LOST, "lost")         /* the event came */                                               \
    X(FENCED, "fenced")     /* the register that checks tokens: a write was accepted */        \
    X(REFUSED, "refused")   /* the same: refused for its token */                              \
    X(PLAIN, "plain")       /* the register that does not: a write happened */                 \
    X(FAULT, "fault")       /* the nemesis begins fault number `hold` */                       \
    X(HEALED, "healed")     /* and has ended it */                                             \
    X(LATE,                                                                                    \
      "late") /* it stood still for the `value` ns before: the machine, or `worker` - 1 */     \
    X(TERM, "term")   /* a majority of the sentinels names server `worker`, epoch `value` */   \
    X(EVICT, "evict") /* another ended acquisition `hold`, asked at `value`, with `error` */   \
    X(INIT, "init")   /* no set is left on server `worker`: a new one is made */               \
    X(PHASE, "phase") /* `value` is the phase that begins */                                   \
    X(BORN, "born")   /* a worker starts */                                                    \
    X(DIED, "died")   /* it has ended; `error` is its status, as wait() has it */

enum record_what {
#define RECORD_ENUM(name, text) RECORD_##name,
    RECORDS(RECORD_ENUM)
#undef RECORD_ENUM
        RECORD_COUNT
};

/* RECORD_PHASE */
enum phase {
    PHASE_FAULTS,
    PHASE_LAST_CALL, /* waits are long from now on: some last beyond the faults */
    PHASE_QUIET,     /* no faults: every worker is served */
    PHASE_OVER,
};

/*
 * LEASE: held by HTTP, or by COMMAND. Its client knows the deadline; that it learns of a loss
 * in time is not promised. RUN: it claims the lock for as long as it runs. STREAM: by an open
 * connection of HTTP, whose end, also by the death of the worker, releases it.
 */
enum {
    RECORD_FAIR = 1,
    RECORD_RENEWED = 2,
    RECORD_LEASE = 4,
    RECORD_COMMAND = 8,
    RECORD_RUN = 16,
    RECORD_STREAM = 32
};

struct record {
    int64_t at_ns;
    int64_t deadline_ns;
    int64_t token; /* GRANT and writes; 0: none */
    int64_t
        value; /* writes: the new content; FAULT: the parameter; ASK: the TTL in ms; PHASE */
    int64_t based_on; /* writes: the content that was read before */
    uint32_t hold;    /* number of the acquisition; FAULT, HEALED: of the fault */
    int32_t error;
    uint16_t worker; /* FAULT, HEALED: the target, a worker or a node */
    uint16_t life;   /* how often this worker was replaced before */
    uint8_t what;    /* enum record_what */
    uint8_t kind;    /* enum redlock_kind; FAULT, HEALED: enum fault_kind */
    uint8_t slot;    /* of a semaphore, from 1 */
    uint8_t flags;
    uint32_t names; /* a bit for each name; writes: the one */
    uint8_t unused[4];
};

/* Appends; safe from any thread and process that has the descriptor. Sets at_ns if it is 0. */
void record_append(int fd, struct record r);

struct history {
    struct record *record; /* in the order of at_ns once sorted */
    size_t count;
};

/* The caller frees with history_free(). NULL record on failure. */
struct history history_read(const char *path);
void history_sort(struct history *h);
void history_free(struct history *h);

/* One line for people, with times in seconds since `zero_ns`. */
void record_print(FILE *out, const struct record *r, int64_t zero_ns);

#endif
