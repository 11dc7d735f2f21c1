/* SPDX-License-Identifier: BSD-2-Clause */
/* What a running `redlock dev` can do: list, kill, start, hang,
 * resume, isolate, failover. */
#ifndef CLI_DEV_VERBS_H
#define CLI_DEV_VERBS_H

#include <stdbool.h>

#include "dev/quorum.h"
#include "settings/settings.h"

/* One server, as it is shown and sent from process to process. */
struct dev_row {
    char name[DEV_NAME_MAX];
    int port;
    long pid; /* 0: it is down */
    char state[12];
    char role[16];  /* in a group, or empty: "master", "replica", "sentinel", or "unknown" */
    char votes[12]; /* of a cluster that it has: "v1,v3"; or empty */
    char quorum[DEV_QUORUM_MAX]; /* empty: it has no name */
};

/* The rows of all servers, in their order. */
void dev_rows(const struct dev_quorum *q, struct dev_row rows[DEV_SERVERS_MAX]);

/* The member `nodes` of the object being written. */
struct rl_json;
void dev_rows_json(struct rl_json *j, const struct dev_row *rows, size_t count);

bool dev_verbs_know(const char *word);

/* Whether the verb is about one server, which has to be named, or may be. */
bool dev_verbs_want_name(const char *verb);
bool dev_verbs_take_name(const char *verb);

/* In the process that runs the servers: takes one request from the socket and answers it. */
void dev_verbs_serve(struct dev_quorum *q);

/*
 * In another process: sends a request to the one that runs the servers in `directory` and
 * prints its answer. `name` is NULL where the verb wants none. Returns the exit status.
 */
int dev_verbs_run(const struct settings *s, const char *directory, const char *verb,
                  const char *name);

/* The names of all verbs, NULL-terminated. */
extern const char *const dev_verbs[];

#endif
