/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floor: what a Redlock cycle costs on this machine when nothing but the cycle is done.
 *
 * Raw sockets, one per node, one thread. A cycle sends SET NX PX to every node at once, waits
 * for a majority, sends the release to every node, waits for a majority. The commands are those
 * that the library sends, byte for byte but for the values. Commands of one loop turn leave in
 * one write per node. There are no deadlines, no rollback, no reconnecting, no randomness worth
 * the name, no error handling beyond giving up: no lock client can be much faster, and the
 * distance to this one is what being correct costs.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "floor_words.h"
#include "measure.h"
#include "servers.h"

struct floor;

/* Connects to every node. NULL with a message on stderr. */
struct floor *floor_open(const struct servers *servers, enum floor_release release);
void floor_close(struct floor *floor);

/* Keeps in_flight cycles going until the window is over. 0, or -1 with a message. */
int floor_run(struct floor *floor, unsigned in_flight, struct window *window);

#endif
