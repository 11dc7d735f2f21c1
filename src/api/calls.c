/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening a client, sharded or not, and jobs: for one quorum, for the one where a name lives,
 * or for all. Calls about locks are in client/ (lock.c, state.c).
 */
#include <stdlib.h>
#include <string.h>

#include "client/calls.h"
#include "config/config.h"
#include "io/clock.h"
#include "quorums/sharded.h"

/* ---- the client ---- */

/* The options are complete. */
static int open_complete(redlock_options *o, redlock **out)
{
    struct rl_member_terms alone = {.name = ""};
    int error = rl_options_check(o);

    if (!error && o->quorum_count)
        error = rl_sharded_check(o);
    if (error)
        return error;
    if (!out)
        return rl_detail(REDLOCK_INVAL, "there is nowhere to put the client");
    if (o->quorum_count > 1)
        return rl_sharded_open(o, out);
    /* One quorum is an ordinary client that happens to have a name. */
    if (o->quorum_count == 1) {
        o->nodes = o->quorums[0].nodes;
        o->node_count = o->quorums[0].node_count;
        alone.name = o->quorums[0].name;
        alone.set = rl_sharded_fingerprint(o);
    }
    return rl_client_open(o, &alone, out);
}

/* A program that names no nodes uses those of the machine, as the command does. */
static int open_configured(redlock_options *o, redlock **out)
{
    struct rl_config *config = malloc(sizeof *config);
    redlock *first;
    int error;

    if (!config)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    rl_config_init(config);
    error = rl_config_complete(config, o);
    if (!error)
        error = open_complete(o, out);
    if (!error && config->warning_count > 0) {
        first = (*out)->reader->member[0];
        pthread_mutex_lock(&first->mutex);
        for (size_t i = 0; i < config->warning_count; i++)
            rl_event_warn(first, config->warning[i].path, REDLOCK_REASON_EXPOSED,
                          config->warning[i].text);
        pthread_mutex_unlock(&first->mutex);
        rl_reader_ring(first->reader);
    }
    rl_config_free(config);
    free(config);
    return error;
}

int redlock_open(const redlock_options *options, redlock **out)
{
    static const redlock_options nothing = REDLOCK_OPTIONS();
    redlock_options o;
    int error = rl_options_read(options ? options : &nothing, &o);

    if (error)
        return error;
    if (!o.nodes && !o.node_count && !o.quorums && !o.quorum_count)
        return open_configured(&o, out);
    if (o.config_file)
        return rl_detail(REDLOCK_INVAL, "config_file is given, but so are the nodes: what "
                                        "would be taken from it?");
    return open_complete(&o, out);
}

/* Behind `size` there are only numbers of one type. */
enum { NUMBERS = (sizeof(redlock_counters) - sizeof(size_t)) / sizeof(uint64_t) };

static int add_counters(redlock *client, redlock_counters *sum)
{
    uint64_t mine[NUMBERS];
    uint64_t all[NUMBERS];
    int error = rl_client_enter(client);

    if (error)
        return error;
    memcpy(mine, (char *)&client->engine.stats + sizeof(size_t), sizeof mine);
    rl_client_leave(client);
    memcpy(all, (char *)sum + sizeof(size_t), sizeof all);
    for (size_t i = 0; i < NUMBERS; i++)
        all[i] += mine[i];
    memcpy((char *)sum + sizeof(size_t), all, sizeof all);
    return REDLOCK_OK;
}

int redlock_stats(redlock *client, redlock_counters *out)
{
    bool is_sharded = client && client->is_sharded;
    redlock_counters sum = REDLOCK_COUNTERS();
    int error = is_sharded ? REDLOCK_OK : add_counters(client, &sum);

    for (size_t i = 0; is_sharded && i < client->reader->count && !error; i++)
        error = add_counters(client->reader->member[i], &sum);
    return error ? error : rl_struct_fill("redlock_counters", out, &sum, sizeof sum);
}

static int reload(redlock *client)
{
    int error = rl_client_enter(client);

    if (error)
        return error;
    rl_secret_renew(&client->password, rl_now_ns());
    rl_secret_renew(&client->sentinel_password, rl_now_ns());
    rl_wake(client);
    rl_client_leave(client);
    return REDLOCK_OK;
}

int redlock_reload_passwords(redlock *client)
{
    bool is_sharded = client && client->is_sharded;
    int error = is_sharded ? REDLOCK_OK : reload(client);

    for (size_t i = 0; is_sharded && i < client->reader->count && !error; i++)
        error = reload(client->reader->member[i]);
    return error;
}

/* ---- jobs ---- */

/*
 * *client becomes the one that carries it out: that of the quorum where the name lives, or the
 * first.
 */
static int new_job(redlock **client, const struct rl_job_terms *terms, struct rl_job **out)
{
    int error =
        terms->type <= RL_JOB_RELEASE_BY_KEY ? rl_route_job(client, terms->name) : REDLOCK_OK;
    const struct rl_reader *all = *client && (*client)->is_sharded ? (*client)->reader : NULL;

    if (!error && all && terms->type == RL_JOB_LOOK_AT_ADMISSION)
        error =
            rl_detail(REDLOCK_INVAL, "each quorum is looked at by itself: redlock_member()");
    if (!error)
        error = rl_job_check(all ? all->member[0] : *client, terms);
    if (error)
        return error;
    if (all)
        *client = all->member[0];
    *out = all ? rl_gather_new(all, terms) : rl_job_new(terms);
    return *out ? REDLOCK_OK : rl_detail(REDLOCK_NOMEM, "out of memory");
}

static int run(redlock *client, struct rl_job_terms terms, redlock_answer **out)
{
    bool is_sharded = client && client->is_sharded;
    struct rl_job *job;
    int error = new_job(&client, &terms, &job);

    if (error) {
        rl_failure_report_set(NULL);
        return error;
    }
    if (is_sharded && terms.type > RL_JOB_RELEASE_BY_KEY)
        rl_members_catch_up(client->reader);
    return rl_job_run(client, job, out);
}

static int start(redlock *client, struct rl_job_terms terms, void *data, redlock_job *id)
{
    struct rl_job *job;
    int error = new_job(&client, &terms, &job);

    return error ? error : rl_job_start(client, job, data, id);
}

#define TERMS(...) ((struct rl_job_terms){__VA_ARGS__})

int redlock_query(redlock *client, const char *name, redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_QUERY, .name = name), out);
}

int redlock_start_query(redlock *client, const char *name, void *data, redlock_job *id)
{
    return start(client, TERMS(.type = RL_JOB_QUERY, .name = name), data, id);
}

int redlock_break(redlock *client, const char *name, const char *fingerprint,
                  redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_BREAK, .name = name, .holder = fingerprint), out);
}

int redlock_start_break(redlock *client, const char *name, const char *fingerprint, void *data,
                        redlock_job *id)
{
    return start(client, TERMS(.type = RL_JOB_BREAK, .name = name, .holder = fingerprint), data,
                 id);
}

int redlock_release_by_key(redlock *client, const char *name, const char *idempotency_key,
                           redlock_answer **out)
{
    return run(client,
               TERMS(.type = RL_JOB_RELEASE_BY_KEY, .name = name, .holder = idempotency_key),
               out);
}

int redlock_start_release_by_key(redlock *client, const char *name, const char *idempotency_key,
                                 void *data, redlock_job *id)
{
    return start(client,
                 TERMS(.type = RL_JOB_RELEASE_BY_KEY, .name = name, .holder = idempotency_key),
                 data, id);
}

int redlock_list(redlock *client, redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_LIST), out);
}

int redlock_start_list(redlock *client, void *data, redlock_job *id)
{
    return start(client, TERMS(.type = RL_JOB_LIST), data, id);
}

int redlock_replicate(redlock *client, redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_REPLICATE), out);
}

int redlock_start_replicate(redlock *client, void *data, redlock_job *id)
{
    return start(client, TERMS(.type = RL_JOB_REPLICATE), data, id);
}

int redlock_ping(redlock *client, redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_PING), out);
}

int redlock_start_ping(redlock *client, void *data, redlock_job *id)
{
    return start(client, TERMS(.type = RL_JOB_PING), data, id);
}

int redlock_admit(redlock *client, redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_ADMIT), out);
}

int redlock_start_admit(redlock *client, void *data, redlock_job *id)
{
    return start(client, TERMS(.type = RL_JOB_ADMIT), data, id);
}

int redlock_look_at_admission(redlock *client, redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_LOOK_AT_ADMISSION), out);
}

int redlock_audit(redlock *client, int64_t ttl_ms, redlock_answer **out)
{
    return run(client, TERMS(.type = RL_JOB_AUDIT, .ttl_ms = ttl_ms), out);
}

int redlock_start_audit(redlock *client, int64_t ttl_ms, void *data, redlock_job *id)
{
    return start(client, TERMS(.type = RL_JOB_AUDIT, .ttl_ms = ttl_ms), data, id);
}
