/* SPDX-License-Identifier: BSD-2-Clause */
/* What the nodes are: servers, or Sentinel groups with their sentinels and terms. */
#ifndef RL_CLIENT_DEPLOYMENT_H
#define RL_CLIENT_DEPLOYMENT_H

#include "drive/client.h"

/* What kind of node it is, and all that redlock_node_info has of a Sentinel group. */
void rl_deployment_describe(const redlock *client, uint8_t node, redlock_node_info *out);

/* Every sentinel of every node has answered, or has failed. */
bool rl_deployment_is_settled(const redlock *client);

/*
 * How long after a deletion, of which these are the votes, no failover can undo it (E13); 0:
 * none can now.
 */
int64_t rl_deployment_final_ms(const redlock *client, const struct rl_node_vote *votes);

/* What `redlock run` stops its command before the end of the validity, at most, by default. */
#define RL_DEPLOYMENT_RUN_GRACE_MS 5000
/*
 * The shortest TTL whose holders renew through a failover that takes so long (E9), if they stop
 * their work grace_ms before their validity ends.
 */
int64_t rl_deployment_least_ttl_ms(int64_t failover_ms, int64_t grace_ms);

#endif
