/* SPDX-License-Identifier: BSD-2-Clause */
/* The trouble that a run's options ask for, one event after the other until the calm. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

struct sim_world;

void sim_faults_begin(struct sim_world *world);
/* Everything that is broken is mended. */
void sim_faults_end(struct sim_world *world);

#endif
