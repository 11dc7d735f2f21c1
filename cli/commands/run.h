/* SPDX-License-Identifier: BSD-2-Clause */
/* What `redlock run` or `redlock lead` is to do, and what it is doing. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/held_lock.h"
#include "lock/period.h"
#include "lock/terms.h"
#include "run/supervise.h"
#include "settings/command.h"

struct run {
    struct settings settings;
    struct terms terms;
    char **command;
    long busy_status;
    bool skip_ok;
    bool hide_settings; /* the command does not get the nodes and the password */
    bool leads; /* `lead`: after a loss the lock is waited for, and the command run, anew */
    bool ended; /* the lock ended under the command, or before it could be started */
    int64_t min_hold_ms;
    int64_t max_hold_ms; /* 0: no limit */
    struct period period;
    int late_starts;         /* --every: so often the time to start under the record was over */
    bool start_again;        /* and the record was taken back, for another try */
    const char *held_around; /* REDLOCK_HELD as it was found; NULL: it was not set */
    int reaper_fd;           /* -1: none */
    struct held_lock held;
    struct supervision supervision;
};

extern const struct cli_option run_options[], lead_options[];

/* Reads and checks the command line. Returns 0, an exit status after printing
 * why, or ARGS_HELPED. */
int run_read(struct run *r, const struct command *command, int argc, char **argv);

#endif
