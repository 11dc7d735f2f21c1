/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floor: what a Redlock cycle costs on this machine when nothing but the cycle is done.
 *
 * Raw sockets, one per node, one thread. A cycle sends SET NX PX to every node at once, waits
 * for a majority, sends the compare-and-delete to every node, waits for a majority. Commands
 * of one loop turn leave in one write per node. There are no deadlines, no rollback, no
 * reconnecting, no randomness worth the name, no error handling beyond giving up: no lock
 * client can be much faster, and the distance to this one is what being correct costs.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdbool.h>

#include "measure.h"
#include "servers.h"

#define FLOOR_IN_FLIGHT_MAX 4096

struct floor;

/*
 * Connects to every node and chooses how to release: by a native compare-and-delete if
 * `native` allows and every node has one, else by the script. NULL with a message on stderr.
 */
struct floor *floor_open(const struct servers *servers, bool native);
void floor_close(struct floor *floor);

/* "DELIFEQ", "DELEX" or "EVALSHA": how locks are released. */
const char *floor_release_word(const struct floor *floor);

/* Keeps in_flight cycles going until the window is over. 0, or -1 with a message. */
int floor_run(struct floor *floor, unsigned in_flight, struct window *window);

#endif
