/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public calls about a client. A client of one quorum carries them out itself; a front of
 * several quorums passes them on to the client of the quorum where a name lives, or to all of
 * them. Calls about a handle need no way to be found: a handle knows its client
 * (client/lock.c, state.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/adopt.h"
#include "client/ask.h"
#include "client/close.h"
#include "client/lock.h"
#include "client/open.h"
#include "client/options.h"
#include "client/report.h"
#include "client/request.h"
#include "config/config.h"
#include "drive/detail.h"
#include "drive/next.h"
#include "drive/order.h"
#include "quorums/joint.h"

/* The password, the TLS key, and the configuration file itself. */
#define CONFIG_WARNINGS_MAX 4

static bool is_front(const redlock *client)
{
    return client && client->front;
}

/* Turns a front into the client of the quorum where the names live; any other client stays. */
static int route(redlock **client, const char *name, const redlock_request *request)
{
    return *client && (*client)->group ? rl_front_route(client, name, request) : REDLOCK_OK;
}

/* ---- the client ---- */

/* The options are complete. */
static int open_complete(redlock_options *o, redlock **out)
{
    struct rl_membership alone = {.name = ""};
    int error = rl_options_check(o);

    if (!error && o->quorum_count)
        error = rl_front_check(o);
    if (error)
        return error;
    if (!out)
        return rl_detail(REDLOCK_INVAL, "there is nowhere to put the client");
    if (o->quorum_count > 1)
        return rl_front_open(o, out);
    /* One quorum is an ordinary client that happens to have a name. */
    if (o->quorum_count == 1) {
        o->nodes = o->quorums[0].nodes;
        o->node_count = o->quorums[0].node_count;
        alone.name = o->quorums[0].name;
        alone.set = rl_front_fingerprint(o);
    }
    return rl_client_open(o, &alone, out);
}

/* What is doubtful about the configuration, until there is a client to warn of it. */
struct config_warnings {
    size_t count;
    struct rl_warning warning[CONFIG_WARNINGS_MAX];
};

static void keep_warning(const char *address, const char *text, void *data)
{
    struct config_warnings *kept = data;
    struct rl_warning *warning = &kept->warning[kept->count];

    if (kept->count == CONFIG_WARNINGS_MAX)
        return;
    kept->count++;
    snprintf(warning->address, sizeof warning->address, "%s", address);
    snprintf(warning->text, sizeof warning->text, "%s", text);
}

static void pass_on(const struct config_warnings *kept, redlock *client)
{
    redlock *first = is_front(client) ? client->front->member[0] : client;

    if (kept->count == 0)
        return;
    pthread_mutex_lock(&first->mutex);
    for (size_t i = 0; i < kept->count; i++)
        rl_event_warn(first, kept->warning[i].address, REDLOCK_REASON_EXPOSED,
                      kept->warning[i].text);
    pthread_mutex_unlock(&first->mutex);
    rl_reader_ring(first->reader);
}

/* A program that names no nodes uses those of the machine, as the command does. */
static int open_configured(redlock_options *o, redlock **out)
{
    struct config_warnings kept = {.count = 0};
    struct rl_config *config = malloc(sizeof *config);
    int error;

    if (!config)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    rl_config_init(config);
    config->warn = keep_warning;
    config->warn_data = &kept;
    error = rl_config_complete(config, o);
    if (!error)
        error = open_complete(o, out);
    if (!error)
        pass_on(&kept, *out);
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

void redlock_close(redlock *client)
{
    if (is_front(client))
        rl_front_close(client);
    else if (client && !client->group) /* a member ends with its front */
        rl_clients_close(&client, 1);
}

int redlock_fd(redlock *client)
{
    return is_front(client) ? rl_front_fd(client) : rl_client_fd(client);
}

int redlock_next(redlock *client, const redlock_event **event, int timeout_ms)
{
    return is_front(client) ? rl_front_next(client, event, timeout_ms)
                            : rl_client_next(client, event, timeout_ms);
}

int redlock_node(redlock *client, size_t index, redlock_node_info *out)
{
    return is_front(client) ? rl_front_node(client, index, out)
                            : rl_client_node(client, index, out);
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
    size_t count = is_front(client) ? client->front->count : 1;
    redlock_counters sum = REDLOCK_COUNTERS();
    int error = REDLOCK_OK;

    for (size_t i = 0; i < count && !error; i++)
        error = add_counters(is_front(client) ? client->front->member[i] : client, &sum);
    return error ? error : rl_struct_fill("redlock_counters", out, &sum, sizeof sum);
}

int redlock_quorum_of(redlock *client, const char *name)
{
    return rl_front_quorum_of(client, name);
}

redlock *redlock_member(redlock *client, size_t index)
{
    if (is_front(client))
        return rl_front_member(client, index);
    return index == 0 ? client : NULL;
}

/* ---- handles ---- */

int redlock_acquire(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *request, redlock_lock **out)
{
    int error = route(&client, name, request);

    return error ? error : rl_client_acquire(client, name, ttl_ms, request, out);
}

int redlock_start_acquire(redlock *client, const char *name, int64_t ttl_ms,
                          const redlock_request *request, redlock_lock **out)
{
    int error = route(&client, name, request);

    return error ? error : rl_client_start(client, name, ttl_ms, request, out);
}

int redlock_adopt(redlock *client, const char *name, const char *value,
                  const redlock_request *request, redlock_lock **out)
{
    int error = route(&client, name, request);

    return error ? error : rl_client_adopt(client, name, value, request, out);
}

/* ---- questions ---- */

/*
 * *client becomes the one to be asked: that of the quorum where the name lives, or the first.
 */
static int new_question(redlock **client, const struct rl_question_terms *terms,
                        struct rl_question **out)
{
    int error = terms->ask <= RL_ASK_RELEASE_BY_KEY
                    ? rl_front_route_question(client, terms->name)
                    : REDLOCK_OK;
    const struct rl_front *front = is_front(*client) ? (*client)->front : NULL;

    if (!error && front && terms->ask == RL_ASK_LOOK_AT_ADMISSION)
        error =
            rl_detail(REDLOCK_INVAL, "each quorum is looked at by itself: redlock_member()");
    if (!error)
        error = rl_question_check(front ? front->member[0] : *client, terms);
    if (error)
        return error;
    if (front)
        *client = front->member[0];
    *out = front ? rl_joint_new(front, terms) : rl_question_new(terms);
    return *out ? REDLOCK_OK : rl_detail(REDLOCK_NOMEM, "out of memory");
}

static int ask(redlock *client, struct rl_question_terms terms, redlock_answer **out)
{
    const struct rl_front *front = is_front(client) ? client->front : NULL;
    struct rl_question *question;
    int error = new_question(&client, &terms, &question);

    if (error) {
        rl_failure_report_set(NULL);
        return error;
    }
    if (front && terms.ask > RL_ASK_RELEASE_BY_KEY)
        rl_front_catch_up(front);
    return rl_client_ask(client, question, out);
}

static int start(redlock *client, struct rl_question_terms terms, void *data, redlock_job *job)
{
    struct rl_question *question;
    int error = new_question(&client, &terms, &question);

    return error ? error : rl_question_start(client, question, data, job);
}

#define TERMS(...) ((struct rl_question_terms){__VA_ARGS__})

int redlock_query(redlock *client, const char *name, redlock_answer **out)
{
    return ask(client, TERMS(.ask = RL_ASK_QUERY, .name = name), out);
}

int redlock_start_query(redlock *client, const char *name, void *data, redlock_job *job)
{
    return start(client, TERMS(.ask = RL_ASK_QUERY, .name = name), data, job);
}

int redlock_break(redlock *client, const char *name, const char *fingerprint,
                  redlock_answer **out)
{
    return ask(client, TERMS(.ask = RL_ASK_BREAK, .name = name, .holder = fingerprint), out);
}

int redlock_start_break(redlock *client, const char *name, const char *fingerprint, void *data,
                        redlock_job *job)
{
    return start(client, TERMS(.ask = RL_ASK_BREAK, .name = name, .holder = fingerprint), data,
                 job);
}

int redlock_release_by_key(redlock *client, const char *name, const char *idempotency_key,
                           redlock_answer **out)
{
    return ask(client,
               TERMS(.ask = RL_ASK_RELEASE_BY_KEY, .name = name, .holder = idempotency_key),
               out);
}

int redlock_start_release_by_key(redlock *client, const char *name, const char *idempotency_key,
                                 void *data, redlock_job *job)
{
    return start(client,
                 TERMS(.ask = RL_ASK_RELEASE_BY_KEY, .name = name, .holder = idempotency_key),
                 data, job);
}

int redlock_list(redlock *client, redlock_answer **out)
{
    return ask(client, TERMS(.ask = RL_ASK_LIST), out);
}

int redlock_start_list(redlock *client, void *data, redlock_job *job)
{
    return start(client, TERMS(.ask = RL_ASK_LIST), data, job);
}

int redlock_ping(redlock *client, redlock_answer **out)
{
    return ask(client, TERMS(.ask = RL_ASK_PING), out);
}

int redlock_start_ping(redlock *client, void *data, redlock_job *job)
{
    return start(client, TERMS(.ask = RL_ASK_PING), data, job);
}

int redlock_admit(redlock *client, redlock_answer **out)
{
    return ask(client, TERMS(.ask = RL_ASK_ADMIT), out);
}

int redlock_start_admit(redlock *client, void *data, redlock_job *job)
{
    return start(client, TERMS(.ask = RL_ASK_ADMIT), data, job);
}

int redlock_look_at_admission(redlock *client, redlock_answer **out)
{
    return ask(client, TERMS(.ask = RL_ASK_LOOK_AT_ADMISSION), out);
}

int redlock_audit(redlock *client, int64_t ttl_ms, redlock_answer **out)
{
    return ask(client, TERMS(.ask = RL_ASK_AUDIT, .ttl_ms = ttl_ms), out);
}

int redlock_start_audit(redlock *client, int64_t ttl_ms, void *data, redlock_job *job)
{
    return start(client, TERMS(.ask = RL_ASK_AUDIT, .ttl_ms = ttl_ms), data, job);
}

/* The number of a job tells its quorum. */
int redlock_cancel_job(redlock *client, redlock_job job)
{
    size_t index = job % REDLOCK_QUORUMS_MAX;

    if (is_front(client))
        client = client->front->member[index < client->front->count ? index : 0];
    return rl_client_cancel_job(client, job);
}
