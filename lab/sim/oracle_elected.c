/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elected votes (docs/elected.md). One holder and growing tokens are promised as ever
 * (oracle_mutex.c, oracle_fence.c). Beside that:
 *
 * Each vote by itself has one holder: at no instant have two clients counted a grant or renewal
 * of it that has not run out, whatever the other votes say. (That is what makes majorities
 * exclude.)
 *
 * A vote is counted while a majority of the electors is in its term, or was so in the last two
 * seconds (E4), of the incarnation that was greeted (E5), and a renewal where the hold has a
 * proof or succeeds (E8, E9).
 *
 * What was evicted stays so once it is final (E13): no renewal counts that its holder began
 * after that. A holder that has learned that its key is missing counts no renewal that it
 * began after that, whatever comes back. And a hold whose TTL is long enough survives failovers
 * that lose nothing (E9).
 */
#include <stdlib.h>
#include <string.h>

#include "core/lock.h"
#include "lab/sim/world.h"

#define ORACLE "what was ended stays ended"

void sim_elected_evicted(struct sim_world *world, const struct sim_worker *worker)
{
    struct sim_oracle *oracle = &world->oracle;
    struct sim_final *final = &oracle->final[oracle->final_count++ % SIM_ENDS_MAX];

    *final = (struct sim_final){
        .client = worker->client->index,
        .life = worker->client->life,
        .tenure = worker->tenure,
        .since_ns = sim_client_now_ns(world, worker->client),
    };
    memcpy(final->value, worker->ends, sizeof final->value);
}

void sim_elected_observe(struct sim_world *world, const struct sim_client *client)
{
    struct sim_oracle *oracle = &world->oracle;
    int64_t now_ns = sim_client_now_ns(world, client);

    for (size_t i = 0; i < oracle->final_count && i < SIM_ENDS_MAX; i++) {
        struct sim_final *final = &oracle->final[i];

        if (final->final_ns || final->client != client->index || final->life != client->life ||
            !rl_elected_is_final(&client->engine->node[0], final->tenure, final->since_ns,
                                 now_ns))
            continue;
        final->final_ns = world->now_ns;
        sim_trace(world, "the end of %s is final", final->value);
    }
}

void sim_elected_extended(struct sim_world *world, const struct sim_worker *worker,
                          int64_t began_ns)
{
    const struct sim_oracle *oracle = &world->oracle;
    const struct rl_attempt *attempt = worker->handle.attempt;

    if (!attempt || world->options.node_count > 1 || world->options.regime == SIM_REGIME_BACK)
        return;
    /* With leases another handle of this client may have learned it: each has its own proof. */
    if (worker->missed_ns && began_ns > worker->missed_ns && !worker->lease)
        sim_fail(world, ORACLE, "c%u.%u %s: extended, after it learned that it is gone",
                 worker->client->index + 1, worker->index + 1, worker->label);
    for (size_t i = 0; i < oracle->final_count && i < SIM_ENDS_MAX; i++)
        if (oracle->final[i].final_ns && began_ns > oracle->final[i].final_ns &&
            rl_slice_equals(rl_attempt_value(attempt), oracle->final[i].value))
            sim_fail(world, ORACLE, "c%u.%u %s: extended, after its end was final",
                     worker->client->index + 1, worker->index + 1, worker->label);
}

static bool has_proof(const struct sim_world *world, const struct sim_worker *worker,
                      uint8_t vote)
{
    const struct rl_lock *lock = &worker->handle.lock;
    bool counts = lock->state == RL_HELD
                      ? lock->nodes_with_key & (1u << vote)
                      : lock->state == RL_ACQUIRING || lock->state == RL_ALIGNING;

    return worker->has_lock && counts && worker->proof_until_ns[vote] > world->now_ns &&
           (lock->state == RL_HELD || worker->proof_round[vote] == lock->round);
}

void sim_elected_hear(struct sim_world *world, struct sim_client *client)
{
    int64_t now_ns = sim_client_now_ns(world, client);

    for (uint8_t i = 0; i < world->options.elected_count; i++) {
        const struct rl_elected *elected = client->engine->node[i].elected;
        struct sim_tenure *tenure = &client->tenure[i];

        if (elected->electors.term_number != tenure->term_number) {
            tenure->term_number = elected->electors.term_number;
            tenure->rose = elected->electors.rose;
            tenure->heard_ns = now_ns;
            tenure->first[0] = '\0';
        }
        if (!elected->greeted[0])
            continue;
        memcpy(tenure->last, elected->greeted, sizeof tenure->last);
        if (tenure->first[0])
            continue;
        memcpy(tenure->first, elected->greeted, sizeof tenure->first);
        tenure->greeted_ns = now_ns;
    }
}

/*
 * May a renewal count here? The node is admitted; or this hold's last proof is one of the same
 * term and incarnation (E8); or it succeeds to the first incarnation of a later term, which was
 * known while its proof had more than L left, and greeted before it ended (E9).
 */
static bool may_renew(const struct sim_worker *worker, uint8_t vote)
{
    const struct sim_client *client = worker->client;
    const struct sim_tenure *tenure = &client->tenure[vote];
    int64_t until_ns = sim_clock_read(&client->clock, worker->proof_until_ns[vote]);

    return client->engine->node[vote].session.guard.state == RL_GUARD_VOTING ||
           strcmp(worker->proof_of[vote], tenure->last) == 0 ||
           (tenure->rose && strcmp(tenure->first, tenure->last) == 0 &&
            until_ns - tenure->heard_ns > RL_VOUCH_NS && tenure->greeted_ns < until_ns);
}

/* How many electors were in this term in the last moments that their word may count for? */
static uint8_t count_vouchers(const struct sim_world *world, uint8_t vote, uint64_t epoch)
{
    const struct sim_group *group = &world->group[vote];
    int64_t drift_ns = RL_VOUCH_NS / 1000000 * world->options.drift_ppm + RL_NS_PER_MS;
    uint8_t count = 0;

    for (uint8_t i = 0; i < world->options.elector_count; i++) {
        bool is_one = group->view[i].epoch == epoch;

        for (int k = 0; k < SIM_LEFT_MAX; k++)
            is_one |= group->left[i][k].epoch == epoch &&
                      world->now_ns - group->left[i][k].at_ns <= RL_VOUCH_NS + drift_ns;
        count += is_one;
    }
    return count;
}

static void check_proof(struct sim_world *world, const struct sim_worker *worker, uint8_t vote,
                        bool extends)
{
    const char *greeted = worker->client->tenure[vote].last;
    const char *identity = worker->footprint[vote].identity;

    const char *at = strrchr(greeted, ' ');
    uint64_t epoch = at ? strtoull(at + 1, NULL, 10) : 0;

    /* In the calm all electors learn it at once. */
    if (at && !world->calm &&
        count_vouchers(world, vote, epoch) < world->options.elector_count / 2 + 1)
        sim_fail(world, "vouched votes", "c%u.%u counts vote %u, and too few electors say so",
                 worker->client->index + 1, worker->index + 1, vote + 1);
    if (strncmp(identity, greeted, strlen(identity)) != 0)
        sim_fail(world, "attested votes", "c%u.%u counts vote %u of another incarnation",
                 worker->client->index + 1, worker->index + 1, vote + 1);
    if (extends && !may_renew(worker, vote))
        sim_fail(world, "proven renewals", "c%u.%u counts vote %u, and has no proof there",
                 worker->client->index + 1, worker->index + 1, vote + 1);
}

/* The votes that were counted in the round under way, or in the last one. */
static void note_proofs(struct sim_world *world, struct sim_worker *worker, uint8_t vote)
{
    const struct rl_lock *lock = &worker->handle.lock;
    bool extends = lock->state == RL_HELD && lock->round != lock->acquire_round;
    int64_t ttl_ns = extends ? rl_extension_ttl_ns(lock) : rl_ttl_ns(lock);
    int64_t until_ns =
        rl_validity_end_ns(lock->round_start_ns, ttl_ns, lock->policy->drift_ppm);

    /* A grant that came after the lock was held is a proof, too. */
    if (lock->state == RL_HELD && !worker->proof_of[vote][0] &&
        (lock->nodes_proven & (1u << vote)))
        memcpy(worker->proof_of[vote], worker->client->tenure[vote].last,
               sizeof worker->proof_of[vote]);
    if (lock->state == RL_HELD && (lock->nodes_proving & (1u << vote)) &&
        sim_client_when_ns(worker->client, lock->deadline_ns) > worker->proof_until_ns[vote])
        worker->proof_until_ns[vote] = sim_client_when_ns(worker->client, lock->deadline_ns);
    if (!(lock->tally.yes & (1u << vote)) || worker->proof_round[vote] == lock->round)
        return;
    check_proof(world, worker, vote, extends);
    memcpy(worker->proof_of[vote], worker->client->tenure[vote].last,
           sizeof worker->proof_of[vote]);
    worker->proof_round[vote] = lock->round;
    until_ns = sim_client_when_ns(worker->client, until_ns);
    if (until_ns > worker->proof_until_ns[vote])
        worker->proof_until_ns[vote] = until_ns;
}

void sim_elected_proofs(struct sim_world *world, struct sim_worker *worker)
{
    const struct sim_options *o = &world->options;
    const struct rl_lock *lock = &worker->handle.lock;
    bool is_tried =
        lock->state == RL_HELD || lock->state == RL_ACQUIRING || lock->state == RL_ALIGNING;

    if (!sim_promises_one_holder(o) || worker->lease || lock->adopted)
        return;
    if (!is_tried)
        memset(worker->proof_until_ns, 0, sizeof worker->proof_until_ns);
    for (uint8_t vote = 0; is_tried && vote < o->elected_count; vote++) {
        note_proofs(world, worker, vote);
        for (uint8_t i = 0; has_proof(world, worker, vote) && i < o->client_count; i++)
            for (uint8_t j = 0; world->client[i].alive && j < o->worker_count; j++)
                if (&world->client[i].worker[j] != worker &&
                    has_proof(world, &world->client[i].worker[j], vote))
                    sim_fail(world, "one holder of a vote", "c%u.%u and c%u.%u have vote %u",
                             worker->client->index + 1, worker->index + 1, i + 1, j + 1,
                             vote + 1);
    }
}

void sim_elected_lost(struct sim_world *world, const struct sim_worker *worker)
{
    if (worker->renews && !worker->handle.lock.terms.max_extensions)
        sim_fail(world, "a hold survives a failover", "c%u.%u %s: lost",
                 worker->client->index + 1, worker->index + 1, worker->label);
}

void sim_elected_missed(struct sim_world *world, struct sim_conn *conn, struct rl_slice value)
{
    (void)world;
    conn->missed_at = conn->told_size;
    fake_copy_text(conn->missed, sizeof conn->missed, value);
}

void sim_elected_read(struct sim_world *world, struct sim_conn *conn)
{
    if (!conn->missed[0] || conn->read_size <= conn->missed_at)
        return;
    for (uint8_t i = 0; i < world->options.worker_count; i++) {
        struct sim_worker *worker = &conn->client->worker[i];
        const struct rl_attempt *attempt = worker->has_lock ? worker->handle.attempt : NULL;

        if (!attempt || !rl_slice_equals(rl_attempt_value(attempt), conn->missed))
            continue;
        worker->missed_ns = world->now_ns;
        if (conn->node->vote < world->options.elected_count)
            worker->proof_until_ns[conn->node->vote] = 0;
    }
    conn->missed[0] = '\0';
}
