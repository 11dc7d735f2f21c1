/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real servers: redis-server or valkey-server (REDLOCK_SERVER names another program) on
 * reserved loopback ports, each with a unix socket inside the case's directory through which
 * the test looks at it. They die with the process that started them. Start and restart
 * them from the main thread: a server also dies with the thread that forked it.
 */
#ifndef REDLOCK_TESTS_SERVERS_H
#define REDLOCK_TESTS_SERVERS_H

#include "ports.h"

#include <redlock.h>

#include <stdbool.h>
#include <sys/types.h>

struct server {
    pid_t pid; /* 0: not running */
    struct port port;
    int id;
    bool tls;                   /* the port speaks TLS */
    bool closed;                /* launch it without the port, for the time being */
    char socket_path[96];       /* plaintext, for the test's own eyes */
    const char *password;       /* of the default user, if the extra arguments set one */
    char clock_path[96];        /* nodeclock.h; empty: the machine's clock */
    int64_t volatile *clock_ms; /* its offset */
    const char *db;             /* where the marker goes; NULL: 0 */
    const char *max_ttl_ms;     /* what the marker says; NULL: 60000, the library's default */
    const char *config; /* a file that the server rewrites, its first argument; NULL: none */
    const char *const *extra; /* server arguments ended by NULL; must stay alive; may be NULL */
};

/* Fills port and paths; `extra` and `password` as above. */
void server_init(struct server *s, const char *const *extra, const char *password);
void server_launch(struct server *s);                          /* does not wait */
void server_ready(struct server *s);                           /* waits until it answers */
void server_start(struct server *s, const char *const *extra); /* ready and admitted */
void server_stop(struct server *s);    /* SHUTDOWN-like: TERM and reaped */
void server_kill(struct server *s);    /* kill -9 and reaped; the port stays reserved */
void server_restart(struct server *s); /* same port, same arguments; kills it if running */

/*
 * The marker that lets a server vote at once, written by hand as an operator would have it
 * written: a server without one is too young to be trusted for the first minute. Started
 * servers have it, restarted ones do not, unless requested.
 */
void server_admit(const struct server *s);

/* Restarted, with the marker in place before the first client can connect to its port. */
void server_restart_admitted(struct server *s);

void server_freeze(struct server *s); /* SIGSTOP, certainly stopped on return */
void server_thaw(struct server *s);

/* One command as the default user; the reply as resp_read() prints it, valid for 8 calls. */
__attribute__((sentinel)) const char *server_cmd(const struct server *s, const char *arg, ...);
__attribute__((sentinel)) long long server_int(const struct server *s, const char *arg, ...);

/* Keys in database 0 without the marker. */
long long server_keys(const struct server *s);

/*
 * How many connections to its port have bytes that it has not read: requests to a stopped
 * server.
 */
int server_unread(const struct server *s);

/* How many clients other than the test's own eyes are connected. */
int server_clients(const struct server *s);

/*
 * Forgets the counters, so that server_commands() answers which commands arrived since: a
 * list "name calls" per line, without those the test itself sends to find out.
 */
void server_forget_commands(const struct server *s);
const char *server_commands(const struct server *s);

struct cluster {
    size_t count;
    struct server node[REDLOCK_NODES_MAX];
    char url[REDLOCK_NODES_MAX][192];
    const char *urls[REDLOCK_NODES_MAX]; /* may be pointed elsewhere by the test */
};

/* What is not usual about its servers. */
struct cluster_form {
    const char *const *extra;          /* words behind the usual ones; NULL: none */
    const char *password;              /* that they want; NULL: none */
    const char *max_ttl_ms;            /* of their markers; NULL: a minute */
    bool young;                        /* without a marker: they may not vote yet */
    void (*prepare)(struct server *s); /* of each, before it is launched; NULL: nothing */
};

void cluster_start(struct cluster *c, size_t count);
void cluster_start_as(struct cluster *c, size_t count, const struct cluster_form *form);

/* server_freeze() and the like for nodes [first, first + count). */
void cluster_each(struct cluster *c, size_t first, size_t count, void (*act)(struct server *));

/* On how many running nodes `key` exists / has exactly this value. */
int cluster_count(const struct cluster *c, const char *key);
int cluster_count_value(const struct cluster *c, const char *key, const char *value);

/* Waits until `key` is on exactly `wanted` nodes; false as wait_until(). */
bool cluster_await(const struct cluster *c, const char *key, int wanted);

/* Waits until no node holds any key but its marker. */
bool cluster_await_empty(const struct cluster *c);

/* SET key value PX ttl_ms by hand on nodes [first, first + count). */
void cluster_set(const struct cluster *c, size_t first, size_t count, const char *key,
                 const char *value, int64_t ttl_ms);
void cluster_del(const struct cluster *c, size_t first, size_t count, const char *key);

#endif
