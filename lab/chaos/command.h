/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hold by the command: a child of the worker that is spoken to by pipes. Either `redlock hold
 * -v --json`, whose lines have the deadline, or `redlock run` around holder.c. That one notes
 * itself that it runs: what `run` promises is that its command has ended when the lock does. Or
 * bindings/go/chaosholder, which is spoken to as `hold` is, and asks the service.
 */
#ifndef REDLOCK_CHAOS_COMMAND_H
#define REDLOCK_CHAOS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct crew;
struct hold;

enum { COMMAND_LINES_MAX = 4096 };

struct command {
    pid_t pid;
    bool run;                      /* run; else hold */
    int input, output;             /* its ends of the pipes, as the worker has them */
    size_t size;                   /* of what was read of the next line */
    char lines[COMMAND_LINES_MAX]; /* text that is not whole lines yet */
};

/* As hold_take(), hold_stay() and hold_end(). */
/* The program of a worker in Go: CHAOS_GO; NULL: there is none. */
const char *command_go(void);

bool command_take(struct crew *c, struct hold *h);
void command_stay(struct crew *c, struct hold *h);
void command_end(struct crew *c, struct hold *h);

/* A list of the nodes for --nodes; and its environment has no settings of the machine. */
struct cluster;
void command_nodes(const struct cluster *cluster, char *out, size_t size);
void command_forget_settings(void);

#endif
