/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A handful of servers in a directory of their own, looked after by one process: started,
 * killed, hung and resumed on demand, and all gone when it ends.
 */
#ifndef CLI_DEV_QUORUM_H
#define CLI_DEV_QUORUM_H

#include <redlock.h>
#include <stdbool.h>

#include "dev/server.h"

#define DEV_SERVERS_MAX 60

struct dev_quorum {
    int count;   /* of servers, of all quorums, and of sentinels, which are the last ones */
    int quorums; /* that share them alike; 0: the nodes are one without a name */
    const struct dev_group *group; /* that they all are; NULL: they do not know each other */
    struct dev_server server[DEV_SERVERS_MAX];
    char program[DEV_PATH_MAX];
    char directory[DEV_PATH_MAX]; /* absolute; empty: not there yet */
    int directory_fd;             /* what is in it is opened from here; -1: none */
    bool made;                    /* this process made the directory */
    bool no_init;                 /* the servers are left as young as they are */
    int signal_fd;                /* of signals_take() */
    int control_fd;               /* -1: none */
    int stop_signal;              /* one that would have ended this process; 0: none */
    struct child command;         /* runs beside the servers; pid 0: none */
};

/*
 * Makes the directory (`directory`, or with NULL a temporary one) and starts all servers on
 * ports from `base_port` up (0: any). Returns 0 or an exit status, after printing why;
 * dev_quorum_close() is due either way.
 */
int dev_quorum_open(struct dev_quorum *q, const char *directory, int base_port);

/* Looks after the servers until the command has ended or a signal has come. */
void dev_quorum_run(struct dev_quorum *q);

/* Ends all servers and removes the directory. */
void dev_quorum_close(struct dev_quorum *q);

/*
 * Starts one server, empty, on its port and waits until it answers. Returns 0 or an exit status
 * with `problem` filled (DEV_PROBLEM_MAX bytes).
 */
#define DEV_PROBLEM_MAX 512
int dev_quorum_start(struct dev_quorum *q, struct dev_server *s, char *problem);

/* Lets the servers vote: they are new, so no lock is held on them. Returns 0 or
 * an exit status. */
int dev_quorum_admit(const struct dev_quorum *q);

/* The name of the quorum that the server belongs to; "" if that has none. */
#define DEV_QUORUM_MAX 16
void dev_quorum_name(const struct dev_quorum *q, const struct dev_server *s,
                     char out[DEV_QUORUM_MAX]);

/* Waits until the server is in the state `hung` or has ended (`ended`). False: it
 * took too long. */
bool dev_quorum_await(struct dev_quorum *q, const struct dev_server *s, bool ended);

/* Handles the signals that come within `wait_ms`; the first ends the wait. */
#define DEV_LOOK_AGAIN_MS 10 /* between two looks at what is not yet as it should be */
void dev_quorum_wait(struct dev_quorum *q, int wait_ms);

/*
 * "127.0.0.1:20001,127.0.0.1:20002,...", or "q1=127.0.0.1:20001,...;q2=...", or what
 * a group writes.
 */
#define DEV_NODES_MAX (DEV_SERVERS_MAX * 32)
void dev_quorum_nodes(const struct dev_quorum *q, char out[DEV_NODES_MAX]);

#endif
