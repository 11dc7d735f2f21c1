/* SPDX-License-Identifier: BSD-2-Clause */
/* The trouble that a run's options ask for, one event after the other until the calm. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include "lab/sim/events.h"
#include "lab/sim/node.h"

struct sim_world;

void sim_faults_begin(struct sim_world *world);
/* Everything that is broken is mended. */
void sim_faults_end(struct sim_world *world);

/* How many servers trouble can be about: of groups all, and their electors. */
uint8_t sim_fault_node_count(const struct sim_world *world);
struct sim_node *sim_fault_node(struct sim_world *world);
int64_t sim_fault_length_ns(struct sim_world *world, int64_t min_ms, int64_t max_ms);
/* What a node that starts again remembers. */
enum sim_memory sim_fault_memory(struct sim_world *world);
void sim_fault_later(struct sim_world *world, int64_t delay_ns, sim_event_fn *run,
                     void *subject, uint64_t stamp);

void sim_fault_pause_node(struct sim_world *world);
void sim_fault_restart_node(struct sim_world *world);
void sim_fault_flush_scripts(struct sim_world *world);
void sim_fault_answer_errors(struct sim_world *world);
void sim_fault_restart_hidden(struct sim_world *world);
void sim_fault_flush_all(struct sim_world *world);
void sim_fault_promote(struct sim_world *world);
void sim_fault_evict(struct sim_world *world);
void sim_fault_step_node(struct sim_world *world);
void sim_fault_overwrite_counter(struct sim_world *world);

#endif
