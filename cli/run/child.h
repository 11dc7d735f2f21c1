/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A command run as a child: in a process group of its own, so that a signal reaches all of it;
 * in the foreground of the terminal when we are, so that it can read and Ctrl-C finds it; and
 * killed by the kernel if we die first.
 */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
    pid_t pid;       /* also its process group; 0: none was started */
    bool ended;      /* and has been waited for */
    int wait_status; /* as waitpid() gave it, once ended */
    int tty_fd;      /* our controlling terminal; -1: none */
    bool wants_tty;  /* it should have the terminal whenever we are in the foreground */
    bool foreground; /* its group has been given the terminal */
    int reaper_fd;   /* kills the group if this process dies; -1: none */
    int output_fd;   /* its output goes there; -1: it shares ours */
    int outcome_fd;  /* readable once it executes argv[0], or cannot; -1: that is known */
    int start_error; /* errno of what kept it from executing argv[0]; 0: nothing */
};

/*
 * What can be done before there is a lock. With output_fd -1 the child shares our input, output
 * and terminal; else it reads nothing and writes there, in the background. `reaper_fd` is that
 * of reaper_start(), or -1: the child has none. child_close() is due afterwards.
 */
void child_prepare(struct child *c, int output_fd, int reaper_fd);

/*
 * Forks the child that is to execute argv[0], unless CLOCK_BOOTTIME has reached start_by_ns by
 * then (0: no limit). Waits for neither; outcome_fd becomes readable. Returns 0 or errno of
 * fork().
 */
int child_fork(struct child *c, char *const argv[], int64_t start_by_ns);

/*
 * Once outcome_fd is readable: stores in start_error why argv[0] is not executed, ETIME when it
 * was too late for it. The child that could not execute it ends by itself.
 */
void child_read_outcome(struct child *c);

/*
 * All of it at once, for a process without a lock: waits until argv[0] is executed. Returns 0
 * or errno of what failed, the search for the file included; then there is no child.
 */
int child_start(struct child *c, char *const argv[], int output_fd, int reaper_fd);

/* Sends a signal to the whole group; nothing once the child has been waited for. */
void child_signal(const struct child *c, int signal);

/*
 * After SIGCHLD: notes that the child has ended. `kill_group` takes down what it left of its
 * group first. Returns the signal by which it was stopped, 0 if it was not.
 */
int child_check(struct child *c, bool kill_group);

/*
 * The child was stopped by `signal`. On a terminal this process stops too, so that the shell
 * gets its prompt back. True when the child should be continued now.
 */
bool child_stopped(struct child *c, int signal);

/* Lets a stopped child go on, in the foreground if we are. */
void child_continue(struct child *c);

/* What a shell would report: its exit status, or 128 plus the number of the signal. */
int child_exit_status(const struct child *c);

/* Reports why a command could not be started and returns 127 or 126, as shells do. */
int child_explain(const char *command, int error);

/* Takes the terminal back. The child itself is left alone. */
void child_close(struct child *c);

#endif
