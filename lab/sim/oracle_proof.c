/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a hold rests on. An extension counts only if a majority of the nodes found the key and
 * renewed it (A7): a key that had to be set again is no proof (A8), nor is one that was set
 * while its node could not know what it had forgotten (G3). And one that found the key gone
 * from so many nodes that no majority can have it is a loss, whichever of the others are down
 * (A7).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "core/answer.h"
#include "core/kind.h"
#include "lab/sim/world.h"

static struct sim_worker *find_worker(struct sim_client *client, const struct sim_world *world,
                                      struct rl_slice value)
{
    for (uint8_t i = 0; client->alive && i < world->options.worker_count; i++) {
        struct sim_worker *worker = &client->worker[i];
        const struct rl_attempt *attempt = worker->has_lock ? worker->handle.attempt : NULL;

        if (attempt && attempt->value_size == value.size &&
            memcmp(rl_attempt_value(attempt).data, value.data, value.size) == 0)
            return worker;
    }
    return NULL;
}

/* Has the owner another hold here than the one that was just granted? */
static bool has_another_hold(struct sim_node *node, struct rl_slice name)
{
    const struct fake_key *key = fake_server_find(&node->server, name);
    uint32_t holds = 0;

    for (uint32_t i = 0; key && key->type == FAKE_HASH && i < key->item_count; i++)
        holds += strncmp(key->item[i].field, "h:", 2) == 0;
    return holds > 1;
}

/* The end of "w<client>.<number>". */
static uint64_t waiter_number(struct rl_slice waiter)
{
    const char *dot = memchr(waiter.data, '.', waiter.size);

    return dot ? strtoull(dot + 1, NULL, 10) : 0;
}

/* Until when it lives in the queues of all its names; 0: not in all. */
static int64_t alive_until_ms(struct sim_node *node, const struct fake_words *words,
                              const struct rl_slice *arg, struct rl_slice waiter)
{
    int64_t until_ms = INT64_MAX;

    for (const struct rl_slice *word = words->word + 3; word < arg; word++) {
        bool is_queue = rl_slice_starts(*word, RL_QUEUE_HEAD);
        struct fake_key *key = fake_server_find(&node->server, *word);
        struct fake_item *item = key ? fake_key_find(key, waiter) : NULL;

        if (!is_queue && !rl_slice_starts(*word, RL_ALIVE_HEAD))
            continue;
        if (!item)
            return 0;
        if (!is_queue && (int64_t)item->score < until_ms)
            until_ms = (int64_t)item->score;
    }
    return until_ms;
}

/*
 * A place without a gap: it is in the queue and alive, or in the key that a grant made of it,
 * from which a rollback puts it back.
 */
static void note_place(struct sim_world *world, struct sim_node *node,
                       struct sim_footprint *print, const struct fake_words *words,
                       const struct rl_slice *arg, bool exclusive, bool granted)
{
    uint64_t number = waiter_number(arg[2]);
    if (print->waiter != number || print->in_key ||
        print->alive_ms <= sim_node_now_ms(world, node) || print->queued_ns <= node->forgot_ns)
        print->queued_ns = world->now_ns;
    print->waiter = number;
    /* Beside readers and slots others are served: they keep their place. */
    print->in_key = granted && exclusive;
    if (print->in_key)
        fake_copy_text(print->value, sizeof print->value, arg[0]);
    else
        print->alive_ms = alive_until_ms(node, words, arg, arg[2]);
}

static void note_identity(const struct sim_node *node, struct sim_footprint *print)
{
    snprintf(print->identity, sizeof print->identity, "%s:%s", node->server.run_id,
             node->server.replid);
}

static void note_take(struct sim_world *world, const struct sim_conn *conn,
                      const struct fake_words *words, const struct rl_slice *arg, bool granted)
{
    struct sim_worker *worker = find_worker(conn->client, world, arg[0]);
    struct sim_footprint *print = worker ? &worker->footprint[conn->node->vote] : NULL;

    if (!print)
        return;
    if (arg[2].size && !rl_slice_equals(arg[3], "0"))
        note_place(world, conn->node, print, words, arg, rl_kinds[worker->kind].exclusive,
                   granted);
    if (!granted)
        return;
    print->executed_ns = world->now_ns;
    note_identity(conn->node, print);
    print->beside = has_another_hold(conn->node, words->word[3]);
}

/* A rollback: value, waiter, ticket, life. */
static void note_put_back(struct sim_world *world, const struct sim_conn *conn,
                          const struct rl_slice *arg)
{
    uint64_t number = arg[1].size ? waiter_number(arg[1]) : 0;

    for (uint8_t i = 0; conn->client->alive && i < world->options.worker_count; i++) {
        struct sim_footprint *print = &conn->client->worker[i].footprint[conn->node->vote];

        if (!number || print->waiter != number || !print->in_key ||
            !rl_slice_equals(arg[0], print->value))
            continue;
        print->in_key = false;
        print->alive_ms = sim_node_now_ms(world, conn->node) + RL_WAITER_TTL_MS;
    }
}

static void note_renewal(struct sim_world *world, const struct sim_conn *conn,
                         struct rl_slice value)
{
    struct sim_worker *worker = find_worker(conn->client, world, value);

    if (!worker)
        return;
    worker->footprint[conn->node->vote].renewed_ns = world->now_ns;
    note_identity(conn->node, &worker->footprint[conn->node->vote]);
}

static void note_grant(struct sim_world *world, const struct sim_conn *conn,
                       struct rl_slice value)
{
    struct sim_worker *worker = find_worker(conn->client, world, value);

    if (!worker)
        return;
    worker->footprint[conn->node->vote].executed_ns = world->now_ns;
    note_identity(conn->node, &worker->footprint[conn->node->vote]);
}

void sim_proof_executed(struct sim_world *world, struct sim_conn *conn,
                        const struct fake_words *words, struct rl_slice reply)
{
    const struct rl_slice *word = words->word;
    const char *script;
    int64_t keys = 0;

    if (!conn->client_open || reply.data[0] == '-')
        return;
    if (rl_slice_equals(word[0], "SET") && reply.data[0] != '+' && words->count > 3 &&
        rl_slice_equals(word[3], "IFEQ") && world->options.elected_count)
        sim_elected_missed(world, conn, word[2]);
    if (rl_slice_equals(word[0], "SET") && reply.data[0] == '+') {
        if (rl_slice_equals(word[3], "IFEQ"))
            note_renewal(world, conn, word[2]);
        else
            note_grant(world, conn, word[2]);
        return;
    }
    if (!rl_slice_starts(word[0], "EVAL"))
        return;
    script = fake_scripts_name(words);
    fake_read_number(word[2], &keys);
    if (!script)
        return;
    if (strncmp(script, "TAKE_", 5) == 0)
        note_take(world, conn, words, word + 3 + keys, rl_slice_starts(reply, "*7\r\n:1\r\n"));
    else if (strcmp(script, "WAIT") == 0)
        note_take(world, conn, words, word + 3 + keys, rl_slice_starts(reply, ":"));
    else if (strcmp(script, "ACQUIRE") == 0 && rl_slice_starts(reply, ":"))
        note_grant(world, conn, word[3 + keys]);
    else if (strcmp(script, "GIVEBACK") == 0 && !rl_slice_starts(reply, ":0"))
        note_put_back(world, conn, word + 3 + keys);
    else if ((strcmp(script, "EXTEND") == 0 || strcmp(script, "RENEW") == 0) &&
             rl_slice_starts(reply, ":1"))
        note_renewal(world, conn, word[3 + keys]);
    else if (strcmp(script, "EXTEND") == 0 && world->options.elected_count)
        sim_elected_missed(world, conn, word[3 + keys]);
}

/* Was it set before the node could have let expire what it had forgotten? */
static bool is_of_no_proof(const struct sim_world *world, const struct sim_node *node,
                           const struct sim_footprint *print)
{
    /* A stamp may have ended the quarantine of what was set in it, and is renewed now. */
    if (world->options.promoted_permille &&
        print->renewed_ns >= node->forgot_ns + world->options.max_ttl_ms * RL_NS_PER_MS)
        return false;
    return !world->options.elected_count && node->forgot_ns &&
           print->executed_ns > node->forgot_ns &&
           print->executed_ns < node->forgot_ns + world->options.max_ttl_ms * RL_NS_PER_MS;
}

void sim_proof_extended(struct sim_world *world, const struct sim_worker *worker)
{
    /* The next round may have begun in the very turn in which this one was won. */
    int64_t start_ns =
        worker->extending_ns ? worker->extending_ns : worker->handle.lock.round_start_ns;
    int64_t since_ns = sim_client_when_ns(worker->client, start_ns) - 1;
    uint8_t count = 0;

    if (world->options.elected_count)
        sim_elected_extended(world, worker, since_ns);
    if (!sim_promises_one_holder(&world->options))
        return;
    for (uint8_t i = 0; i < world->options.node_count; i++) {
        const struct sim_footprint *print = &worker->footprint[i];

        count +=
            print->renewed_ns >= since_ns && !is_of_no_proof(world, &world->node[i], print);
    }
    if (count < world->options.node_count / 2 + 1)
        sim_fail(world, "proven renewals", "c%u.%u %s: extended by %u nodes that had it",
                 worker->client->index + 1, worker->index + 1, worker->label, count);
}

void sim_proof_lost(struct sim_world *world, const struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;
    uint8_t count = rl_count_votes(lock->policy, lock->node, REDLOCK_VOTE_MISSING);

    if (lock->state == RL_HELD && count > lock->policy->node_count - lock->policy->quorum)
        sim_fail(world, "a proven loss is reported", "c%u.%u %s: held, though %u nodes miss it",
                 worker->client->index + 1, worker->index + 1, worker->label, count);
}
