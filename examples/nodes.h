/* SPDX-License-Identifier: BSD-2-Clause */
/* Which nodes an example talks to: its arguments, or the environment, as the command does. */
#ifndef EXAMPLE_NODES_H
#define EXAMPLE_NODES_H

#include <redlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nodes {
    const char *url[REDLOCK_NODES_MAX];
    size_t count;
};

/* The arguments, else the words of REDLOCK_NODES. Ends the program when there are none. */
static inline void nodes_find(struct nodes *nodes, int argc, char **argv)
{
    static char text[4096]; /* the words live as long as the program */
    const char *environment = getenv("REDLOCK_NODES");

    nodes->count = 0;
    for (int i = 1; i < argc && nodes->count < REDLOCK_NODES_MAX; i++) {
        nodes->url[nodes->count++] = argv[i];
    }
    if (nodes->count == 0 && environment != NULL && strlen(environment) < sizeof text) {
        memcpy(text, environment, strlen(environment) + 1);
        for (char *word = strtok(text, ", "); word != NULL && nodes->count < REDLOCK_NODES_MAX;
             word = strtok(NULL, ", ")) {
            nodes->url[nodes->count++] = word;
        }
    }
    if (nodes->count == 0) {
        fprintf(stderr,
                "usage: %s URL...   (or set REDLOCK_NODES, or run it under\n"
                "       redlock dev -n 3 -- %s)\n",
                argv[0], argv[0]);
        exit(64);
    }
}

/* "what: the error and its explanation" on stderr. */
static inline void complain(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", what, redlock_strerror(error), redlock_detail());
}

#endif
