/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bus of a cluster leads through this process, so that a server can be cut off from the
 * others while clients reach it. That needs no rights, and nothing of it is left when the
 * process ends.
 */
#ifndef CLI_DEV_BUS_H
#define CLI_DEV_BUS_H

#include "dev/quorum.h"

/* The address from which a server connects to the others: "127.0.1.4". */
#define DEV_SOURCE_MAX 16
void dev_bus_source(int number, char out[DEV_SOURCE_MAX]);

/*
 * Starts a thread that passes on what comes to the `bus` ports of the servers, for as long as
 * the process lives. Returns 0 or errno.
 */
int dev_bus_start(const struct dev_quorum *q);

/* Ends the connections of the server with the others and lets it make no more, or
 * lets it again. */
void dev_bus_cut(int number, bool cut);

#endif
