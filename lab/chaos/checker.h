/* SPDX-License-Identifier: BSD-2-Clause */
/* Does a history keep the promises of docs/guarantees.md? */
#ifndef REDLOCK_CHAOS_CHECKER_H
#define REDLOCK_CHAOS_CHECKER_H

#include <redlock.h>

#include "claims.h"
#include "names.h"
#include "schedule.h"

/* One line per promise that can be broken: name, what the report says. */
#define BREACHES(X)                                                                            \
    X(DOUBLE, "two holders at once")                                                           \
    X(SLOTS, "more holders than the semaphore has slots")                                      \
    X(TOKEN, "fencing token not larger than an earlier one")                                   \
    X(EVICTED, "went on after an eviction that was final")                                     \
    X(FENCED, "update lost in spite of fencing")                                               \
    X(LATE_LOSS, "loss not reported in time")                                                  \
    X(WAIT_LATE, "wait outlasted its deadline")                                                \
    X(STARVED, "waited when the faults ended and was not served")                              \
    X(WORKER, "worker hung or crashed")                                                        \
    X(IDLE, "a kind of lock was never acquired: nothing was tested")

enum breach {
#define BREACH_ENUM(name, text) BREACH_##name,
    BREACHES(BREACH_ENUM)
#undef BREACH_ENUM
        BREACH_COUNT
};

const char *breach_text(int breach);

enum { NOTES_MAX = 100, MARKS_MAX = 1000 };

struct note {
    int breach;
    int64_t at_ns;
    int name; /* enum name, or -1 */
    char text[192];
};

struct mark {
    int64_t at_ns;
    int name;
};

#define COUNT_KIND(name, number, text) +1
enum { KIND_COUNT = REDLOCK_KINDS(COUNT_KIND) };
#undef COUNT_KIND

struct verdict {
    size_t breaches[BREACH_COUNT];
    size_t breach_count;
    struct note note[NOTES_MAX]; /* the first ones */
    size_t note_count;

    size_t grants[KIND_COUNT];   /* by kind */
    size_t by_lease, by_command; /* of those: by HTTP, by the command */
    size_t several;              /* of those: more than one name */
    size_t denied, lost, killed;
    size_t evicted, evicted_for_good; /* of those that hold; the latter are checked */
    size_t beside_evicted;            /* two holders, one of whom had been evicted */
    size_t forgiven;   /* two holders within BLIND_MS of a clock that was set forward */
    size_t late_kills; /* a command outlived its lock by less than the machine was late */
    size_t fenced_writes, fenced_refused, plain_writes;
    size_t plain_lost; /* updates that a late holder overwrote: not promised otherwise */
    struct mark refused[MARKS_MAX], overrun[MARKS_MAX];
    size_t refused_count, overrun_count;
    size_t waits;
    int64_t wait_p50_ms, wait_p99_ms, wait_max_ms;
    int64_t unclaimed_max_ms;  /* a mutex was free, or taken for no worker, while one waited */
    int64_t quiet_max_ms;      /* the longest wait of the quiet phase */
    int64_t reported_worst_ms; /* the latest loss in a process that ran: after (before: < 0) */
    size_t reported;           /* how many of them there were */
    size_t faults[FAULT_COUNT];
    int64_t start_ns, quiet_ns, over_ns;
};

/* max_ttl of the locks on a Sentinel group; evictions are not checked without. */
void check_group(struct history *h, int64_t max_ttl_ms, struct verdict *out);

/* Sorts the history. */
void check_history(struct history *h, struct verdict *out);

/* The same of one round of several: tokens go on from the largest so far, which is updated. */
void check_round(struct history *h, int64_t allowance_ms, int64_t token_floor[NAMES],
                 struct verdict *out);

/* For the parts of the checker. */
struct checking {
    const struct history *history;
    struct claims claims;
    struct stretches stretches;
    int64_t allowance_ns;
    int64_t last_call_ns;
    int64_t max_ttl_ns;   /* of a Sentinel group; 0: it is none */
    int64_t *token_floor; /* NAMES of them */
    struct verdict *out;
};
__attribute__((format(printf, 5, 6))) void breach_add(struct checking *c, int breach,
                                                      int64_t at_ns, int name,
                                                      const char *format, ...);
void check_overlaps(struct checking *c);
void check_tokens(struct checking *c);
void check_evictions(struct checking *c);
void check_unclaimed(struct checking *c);
void check_registers(struct checking *c);
void check_losses(struct checking *c);
void check_waits(struct checking *c);
void check_workers(struct checking *c);

#endif
