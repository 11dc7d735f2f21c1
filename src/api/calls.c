/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public calls about a client. A client of one quorum carries them out itself; a front of
 * several quorums passes them on to the client of the quorum where a name lives, or to all of
 * them. Calls about a handle need no way to be found: a handle knows its client
 * (client/lock.c, state.c).
 */
#include <stdlib.h>

#include "client/adopt.h"
#include "client/audit.h"
#include "client/close.h"
#include "client/list.h"
#include "client/lock.h"
#include "client/open.h"
#include "client/options.h"
#include "client/query.h"
#include "client/report.h"
#include "client/request.h"
#include "client/stats.h"
#include "config/config.h"
#include "drive/detail.h"
#include "drive/order.h"
#include "drive/turn.h"
#include "quorums/front.h"

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

/* A program that names no nodes uses those of the machine, as the command does. */
static int open_configured(redlock_options *o, redlock **out)
{
    struct rl_config *config = malloc(sizeof *config);
    int error;

    if (!config)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    rl_config_init(config);
    error = rl_config_complete(config, o);
    if (!error)
        error = open_complete(o, out);
    rl_config_free(config);
    free(config);
    return error;
}

int redlock_open(const redlock_options *options, redlock **out)
{
    static const redlock_options nothing = {.size = sizeof nothing};
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
        rl_client_close(client);
}

int redlock_fd(redlock *client)
{
    return is_front(client) ? rl_front_fd(client) : rl_client_fd(client);
}

int redlock_process(redlock *client, int timeout_ms)
{
    return is_front(client) ? rl_front_process(client, timeout_ms)
                            : rl_client_process(client, timeout_ms);
}

int redlock_node(redlock *client, size_t index, redlock_node_info *out)
{
    return is_front(client) ? rl_front_node(client, index, out)
                            : rl_client_node(client, index, out);
}

int redlock_stats_get(redlock *client, redlock_stats *out)
{
    size_t count = is_front(client) ? client->front->count : 1;
    redlock_stats sum = {.size = sizeof sum};
    int error = rl_struct_check("redlock_stats", out);

    for (size_t i = 0; i < count && !error; i++)
        error = rl_client_add_stats(is_front(client) ? client->front->member[i] : client, &sum);
    if (!error)
        rl_struct_fill(out, &sum, sizeof sum);
    return error;
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

int redlock_start(redlock *client, const char *name, int64_t ttl_ms,
                  const redlock_request *request, redlock_lock **out)
{
    int error = route(&client, name, request);

    return error ? error : rl_client_start(client, name, ttl_ms, request, out);
}

int redlock_adopt(redlock *client, const char *name, const char *value, redlock_lock **out)
{
    int error = route(&client, name, NULL);

    return error ? error : rl_client_adopt(client, name, value, out);
}

int redlock_adopt_as(redlock *client, const char *name, const char *value,
                     const redlock_request *request, redlock_lock **out)
{
    int error = route(&client, name, request);

    return error ? error : rl_client_adopt_as(client, name, value, request, out);
}

/* ---- questions ---- */

int redlock_query(redlock *client, const char *name, redlock_info *info, redlock_report *report)
{
    int error = rl_front_route_question(&client, name);

    return error ? error : rl_client_query(client, name, info, report);
}

int redlock_break(redlock *client, const char *name, const char *mark, redlock_report *report)
{
    int error = rl_front_route_question(&client, name);

    return error ? error : rl_client_break(client, name, mark, report);
}

int redlock_release_tagged(redlock *client, const char *name, const char *tag,
                           redlock_report *report)
{
    int error = rl_front_route_question(&client, name);

    return error ? error : rl_client_release_tagged(client, name, tag, report);
}

int redlock_ping(redlock *client, redlock_report *report)
{
    return is_front(client) ? rl_front_poll(client, RL_OP_PING, report)
                            : rl_client_ping(client, report);
}

int redlock_admit(redlock *client, redlock_report *report)
{
    return is_front(client) ? rl_front_poll(client, RL_OP_ADMIT, report)
                            : rl_client_admit(client, report);
}

int redlock_list(redlock *client, redlock_name_fn *each, void *data)
{
    return is_front(client) ? rl_front_list(client, each, data)
                            : rl_client_list(client, each, data);
}

int redlock_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each, void *data)
{
    return is_front(client) ? rl_front_audit(client, ttl_ms, each, data)
                            : rl_client_audit(client, ttl_ms, each, data);
}

/* ---- questions without waiting ---- */

int redlock_start_query(redlock *client, const char *name, redlock_answer_fn *done, void *data)
{
    int error = rl_front_route_question(&client, name);

    return error
               ? error
               : rl_client_start_query(
                     client, name, &(struct rl_asker){.done = done, .data = data, .key = data});
}

int redlock_start_break(redlock *client, const char *name, const char *mark,
                        redlock_answer_fn *done, void *data)
{
    int error = rl_front_route_question(&client, name);

    return error ? error
                 : rl_client_start_break(
                       client, name, mark,
                       &(struct rl_asker){.done = done, .data = data, .key = data});
}

int redlock_start_release_tagged(redlock *client, const char *name, const char *tag,
                                 redlock_answer_fn *done, void *data)
{
    int error = rl_front_route_question(&client, name);

    return error ? error
                 : rl_client_start_release_tagged(
                       client, name, tag,
                       &(struct rl_asker){.done = done, .data = data, .key = data});
}

/* RL_OP_PING, RL_OP_ADMIT or RL_OP_LIST. */
static int start(redlock *client, enum rl_op op, redlock_answer_fn *done, void *data)
{
    struct rl_asker asker = {.done = done, .data = data, .key = data};
    struct rl_question *question;
    int error;

    if (is_front(client))
        return rl_front_start(client, op, done, data);
    error = rl_client_check(client);
    if (!error)
        error = rl_done_check(done);
    if (error)
        return error;
    question = op == RL_OP_LIST ? rl_list_new(&asker) : rl_poll_new(op, &asker);
    return question ? rl_question_start(client, question) : REDLOCK_NOMEM;
}

int redlock_start_list(redlock *client, redlock_answer_fn *done, void *data)
{
    return start(client, RL_OP_LIST, done, data);
}

int redlock_start_ping(redlock *client, redlock_answer_fn *done, void *data)
{
    return start(client, RL_OP_PING, done, data);
}

int redlock_start_admit(redlock *client, redlock_answer_fn *done, void *data)
{
    return start(client, RL_OP_ADMIT, done, data);
}

int redlock_start_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each,
                        redlock_answer_fn *done, void *data)
{
    struct rl_asker asker = {.done = done, .data = data, .key = data};
    struct rl_question *question;
    int error;

    if (is_front(client))
        return rl_front_start_audit(client, ttl_ms, each, done, data);
    error = rl_client_check(client);
    if (!error)
        error = rl_audit_check(client, ttl_ms, each);
    if (!error)
        error = rl_done_check(done);
    if (error)
        return error;
    question = rl_audit_new(ttl_ms, each, &asker);
    return question ? rl_question_start(client, question) : REDLOCK_NOMEM;
}

int redlock_forget(redlock *client, const void *data)
{
    return is_front(client) ? rl_front_forget(client, data) : rl_client_forget(client, data);
}
