/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of a run: a line per event, with the true time in milliseconds. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "lab/fake/reply.h"
#include "lab/sim/net.h"

__attribute__((format(printf, 2, 3))) void sim_trace(struct sim_world *world,
                                                     const char *format, ...);
/* A request as its node executes it, with the reply. */
void sim_trace_command(struct sim_world *world, const struct sim_conn *conn,
                       const struct fake_words *words, const char *reply, size_t size);
const char *sim_error_name(int error);

#endif
