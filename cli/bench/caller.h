/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The callers of a load, and what each of them does: one lock after another.
 *
 * Without a rate, each begins again as soon as it can. With one, the moments at which locks are
 * to be requested are fixed before the start; a free caller takes the next of them, and its
 * time counts from that moment even if it had to be late.
 */
#ifndef CLI_CALLER_H
#define CLI_CALLER_H

#include "bench/bench.h"

#define CALLER_NAME_MAX (BENCH_PREFIX_MAX + 10)

/* A caller is free (in the list of free ones), or acquiring, or in one of the two lists of
 * callers that hold a lock or pause, or releasing. */
struct caller {
    struct load_run *run;
    struct caller *next; /* in the list it is in */
    redlock *client;
    redlock_lock *lock; /* NULL: none under way */
    int64_t since_ns;   /* acquiring: when it was due; releasing: when it began */
    int64_t until_ns;   /* holding or pausing */
    uint64_t locks;
    bool acquiring;
    char name[CALLER_NAME_MAX];
};

/* First in, first out: all wait equally long, so the first to come is the first to go. */
struct caller_list {
    struct caller *first, **end;
};

/* A run of a load, while it lasts. */
struct load_run {
    struct bench *bench;
    const struct bench_plan *plan;
    struct bench_result *result;
    struct caller *caller;
    struct caller_list free, holding, pausing;
    uint32_t busy; /* callers with a lock under way */
    int64_t begun_ns, end_ns;
    int64_t last_ns;  /* when the last lock, or the time for them, ended */
    uint64_t answers; /* to requests for a lock, counted for the sample of reports */
    int64_t alarm_ns; /* what the timer is set to */
    bool over;        /* nothing new is requested */
    bool ending;      /* waits and holds are cut short */
    int epoll_fd, timer_fd;
    int status;
};

void caller_list_init(struct caller_list *list);
void caller_list_add(struct caller_list *list, struct caller *c);
/* NULL: it is empty. */
struct caller *caller_list_take(struct caller_list *list);

/* Requests a lock, if there is still one to be requested; its time counts from `since_ns`. */
void caller_begin(struct caller *c, int64_t since_ns);

/* Takes what became of the request of a caller, which then goes on. */
void caller_take(const redlock_event *event);

/* Gives back what it holds. */
void caller_release(struct caller *c);

/* Gives up what it waits for. */
void caller_cancel(struct caller *c);

#endif
