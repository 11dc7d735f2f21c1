/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the table, in its order. Each prints its rows. */
#ifndef REDLOCK_BENCH_SERVICE_PARTS_H
#define REDLOCK_BENCH_SERVICE_PARTS_H

#include "redlock.h"

#include <stdbool.h>

#include <sys/types.h>

#define BENCH_PATH_MAX 192

struct bench {
    const char *redlockd;
    const char *directory;
    int rounds;
    char address[BENCH_PATH_MAX]; /* of the daemon's unix socket */
    pid_t daemon, holder;
    redlock *client; /* R */
};

/* A daemon that is ready, and a client of the library with its connections up. */
void bench_open(struct bench *bench);
void bench_close(struct bench *bench);
/* Until a daemon there says that it is ready; ends the process after a while without. */
void bench_await_ready(const char *address);

void part_floors(struct bench *bench);  /* E0, E1, R and the daemon */
void part_crowd(struct bench *bench);   /* beside 10,000 that wait */
void part_classes(struct bench *bench); /* counting by a hundred classes of locks */
void part_etcd(struct bench *bench);    /* what a user would pick instead */

/* One row per figure: what it is, how much, the goal, and whether it is met. */
void table_begin(int rounds);
/* A figure without a goal of its own: a floor, or what a ratio is made of. */
__attribute__((format(printf, 2, 3))) void table_note(const char *what, const char *format,
                                                      ...);
/* value <= goal, or >= goal where more is better. */
void table_most(const char *what, double value, double goal, const char *unit);
void table_least(const char *what, double value, double goal, const char *unit);
void table_left_out(const char *what, const char *why);
/* 0 when every goal was met, else 1. */
int table_end(void);

#endif
