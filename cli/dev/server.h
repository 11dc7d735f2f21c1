/* SPDX-License-Identifier: BSD-2-Clause */
/* One real server, or sentinel, on a loopback port, without persistence, for
 * trying things out. */
#ifndef CLI_DEV_SERVER_H
#define CLI_DEV_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/child.h"
#include "system/path.h"

#define DEV_PATH_MAX PATH_FIND_MAX
#define DEV_NAME_MAX 16
#define DEV_REPLY_MAX 16384
#define DEV_ID_LENGTH 40

/* One that is kept while nothing listens on it. */
struct dev_port {
    int number;
    int fd; /* -1: it is not ours */
};

struct dev_server {
    struct child child;
    int number;                 /* from 1, of its kind */
    char name[DEV_NAME_MAX];    /* by which it is called: "1", or "s1" if it is a sentinel */
    char id[DEV_ID_LENGTH + 1]; /* of a member of a group */
    bool is_sentinel;
    struct dev_port port; /* keeps it ours while the server is down */
    struct dev_port bus,  /* of a cluster's: where others find it, */
        own_bus;          /* and where it listens itself */
    bool hung;            /* stopped on purpose */
    bool isolated;        /* from the others of its cluster, on purpose */
    bool ready;           /* it has answered since it was started */
    bool ending;          /* its signal to end was sent */
};

/* The first of redis-server and valkey-server there is. False after printing how to get one. */
bool dev_find_server(char out[DEV_PATH_MAX]);

/*
 * Reserves the port `wanted`, or with 0 any free one below the range from which the kernel
 * takes ports for outgoing connections. Returns 0 or errno.
 */
int dev_port_reserve(struct dev_port *p, int wanted);
void dev_port_release(struct dev_port *p);

/*
 * Starts the program in `directory`, its output going to `log_fd`. `config` is a file that it
 * reads first and may rewrite; NULL: none. Returns 0 or errno.
 */
int dev_server_start(struct dev_server *s, const char *program, const char *directory,
                     const char *config, int log_fd);

/* Sends a line with a command and reads all of the reply. False: it does not answer. */
bool dev_server_call(const struct dev_server *s, const char *request,
                     char reply[DEV_REPLY_MAX]);

/* Does the process that was started answer on its port? */
bool dev_server_answers(const struct dev_server *s);

/* "node" or "sentinel". */
const char *dev_server_kind(const struct dev_server *s);

/* "up", "down", "hung" or "isolated". */
const char *dev_server_state(const struct dev_server *s);
bool dev_server_is_up(const struct dev_server *s);

#endif
