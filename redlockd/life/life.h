/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of the process: from settings to listeners, until TERM, and the time in which
 * requests finish.
 *
 *     life_open()  sockets, TLS, loop
 *     life_run()   READY, turns; HUP: rules, tokens, TLS files again
 *     TERM         STOPPING, then life/drain.h. A second TERM ends at once.
 */
#ifndef REDLOCKD_LIFE_H
#define REDLOCKD_LIFE_H

#include "http/server.h"
#include "life/drain.h"
#include "life/inputs.h"
#include "life/library.h"
#include "life/routes.h"
#include "life/status.h"
#include "settings/settings.h"
#include "system/loop.h"
#include "system/notify.h"
#include "system/signals.h"

#define LIFE_NAME_MAX 128

/* Where it listens, as sockets_name() has it, with tls: in front; by the number
 * of the listener. */
struct life_listener {
    char name[LIFE_NAME_MAX];
};

struct life {
    struct settings settings;
    struct loop loop;
    struct signals signals;
    struct notify notify;
    struct journal journal;
    struct leases leases;
    struct routes routes;
    struct library library;
    struct inputs inputs;
    struct http_server *server;
    struct life_listener listeners[SETTINGS_LISTENERS_MAX];
    unsigned listener_count;
    struct status status;
    struct drain drain;
};

/* What --check looks at: what inputs_read() reads, the nodes are named, and warnings, which are
 * reported and counted. 0, or SETTINGS_WRONG with a sentence. */
int life_check(const struct settings *settings, unsigned *warnings, char *why, size_t why_size);

/* 0, or with a sentence in why and nothing left open: SETTINGS_WRONG, or -1: it cannot
 * be done now. */
int life_open(struct life *life, const struct settings *settings, char *why, size_t why_size);
void life_run(struct life *life);
void life_close(struct life *life);

#endif
