/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does the program that started this one still want it? It does while standard input is open,
 * which a thread reads to its end, since a read may block at any time; and while it lives,
 * which the kernel reports by SIGCHLD.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <sys/types.h>

struct input {
    int over_fd;  /* readable once standard input has ended */
    pid_t parent; /* the process that started this one */
};

/* Before a lock is held: is standard input at its end already? May wait for a
 * reader beside us. */
bool input_is_at_end(void);

/*
 * Begins to watch, behind signals_take(): the thread inherits the mask, and SIGCHLD has to wake
 * this process. Returns 0 or errno. `in` must live as long as the process.
 */
int input_watch(struct input *in);

/* Has standard input ended, or the parent? */
bool input_is_over(const struct input *in);

#endif
