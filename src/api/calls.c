/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public calls about a client. A client of one quorum carries them out itself; a front of
 * several quorums passes them on to the client of the quorum where a name lives, or to all of
 * them. Calls about a handle need no way to be found: a handle knows its client
 * (client/lock.c, state.c).
 */
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
        rl_clients_close(&client, 1);
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

/* Behind `size` there are only numbers of one type. */
enum { NUMBERS = (sizeof(redlock_stats) - sizeof(size_t)) / sizeof(uint64_t) };

static int add_stats(redlock *client, redlock_stats *sum)
{
    uint64_t mine[NUMBERS];
    uint64_t all[NUMBERS];
    int error = rl_client_enter(client, false);

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

int redlock_stats_get(redlock *client, redlock_stats *out)
{
    size_t count = is_front(client) ? client->front->count : 1;
    redlock_stats sum = {.size = sizeof sum};
    int error = rl_struct_check("redlock_stats", out);

    for (size_t i = 0; i < count && !error; i++)
        error = add_stats(is_front(client) ? client->front->member[i] : client, &sum);
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

static int ask(redlock *client, const struct rl_question_terms *terms, bool blocks)
{
    int error = terms->ask <= RL_ASK_RELEASE_TAGGED
                    ? rl_front_route_question(&client, terms->name)
                    : REDLOCK_OK;

    if (error)
        return error;
    return is_front(client) ? rl_front_ask(client, terms, blocks)
                            : rl_client_ask(client, terms, blocks);
}

/* Where a blocked caller wants the answer; NULL: it does not want that. */
struct wanted {
    redlock_info *info;
    redlock_report *report;
};

static void copy_answer(int error, const redlock_answer *answer, void *data)
{
    const struct wanted *wanted = data;

    (void)error; /* the call returns it */
    if (wanted->info && answer->info)
        rl_struct_fill(wanted->info, answer->info, sizeof *answer->info);
    if (wanted->report && answer->report)
        rl_struct_fill(wanted->report, answer->report, sizeof *answer->report);
}

static int ask_and_copy(redlock *client, struct rl_question_terms terms, redlock_info *info,
                        redlock_report *report)
{
    struct wanted wanted = {info, report};
    int error = report ? rl_struct_check("redlock_report", report) : REDLOCK_OK;

    terms.asker = (struct rl_asker){.done = copy_answer, .data = &wanted};
    return error ? error : ask(client, &terms, true);
}

int redlock_query(redlock *client, const char *name, redlock_info *info, redlock_report *report)
{
    int error = rl_struct_check("redlock_info", info);

    return error ? error
                 : ask_and_copy(client,
                                (struct rl_question_terms){.ask = RL_ASK_QUERY, .name = name},
                                info, report);
}

int redlock_break(redlock *client, const char *name, const char *mark, redlock_report *report)
{
    return ask_and_copy(
        client, (struct rl_question_terms){.ask = RL_ASK_BREAK, .name = name, .holder = mark},
        NULL, report);
}

int redlock_release_tagged(redlock *client, const char *name, const char *tag,
                           redlock_report *report)
{
    return ask_and_copy(
        client,
        (struct rl_question_terms){.ask = RL_ASK_RELEASE_TAGGED, .name = name, .holder = tag},
        NULL, report);
}

int redlock_ping(redlock *client, redlock_report *report)
{
    return ask_and_copy(client, (struct rl_question_terms){.ask = RL_ASK_PING}, NULL, report);
}

int redlock_admit(redlock *client, redlock_report *report)
{
    return ask_and_copy(client, (struct rl_question_terms){.ask = RL_ASK_ADMIT}, NULL, report);
}

/* What redlock_list() tells its names to. */
struct name_teller {
    redlock_name_fn *each;
    void *data;
};

static void tell_names(int error, const redlock_answer *answer, void *data)
{
    const struct name_teller *teller = data;

    (void)error;
    for (size_t i = 0; i < answer->name_count; i++)
        teller->each(answer->names[i], teller->data);
}

int redlock_list(redlock *client, redlock_name_fn *each, void *data)
{
    struct name_teller teller = {each, data};
    struct rl_question_terms terms = {
        .ask = RL_ASK_LIST,
        .asker = {.done = tell_names, .data = &teller},
    };

    return each ? ask(client, &terms, true)
                : rl_detail(REDLOCK_INVAL, "there is no function to tell the names to");
}

/* A blocked caller has had the checks, and wants nothing more. */
static void tell_nothing(int error, const redlock_answer *answer, void *data)
{
    (void)error;
    (void)answer;
    (void)data;
}

int redlock_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each, void *data)
{
    struct rl_question_terms terms = {
        .ask = RL_ASK_AUDIT,
        .ttl_ms = ttl_ms,
        .each = each,
        .asker = {.done = tell_nothing, .data = data},
    };

    return ask(client, &terms, true);
}

/* ---- questions without waiting ---- */

static int start(redlock *client, struct rl_question_terms terms, redlock_answer_fn *done,
                 void *data)
{
    terms.asker = (struct rl_asker){.done = done, .data = data, .key = data};
    return done ? ask(client, &terms, false)
                : rl_detail(REDLOCK_INVAL, "a done function is needed");
}

int redlock_start_query(redlock *client, const char *name, redlock_answer_fn *done, void *data)
{
    return start(client, (struct rl_question_terms){.ask = RL_ASK_QUERY, .name = name}, done,
                 data);
}

int redlock_start_break(redlock *client, const char *name, const char *mark,
                        redlock_answer_fn *done, void *data)
{
    return start(client,
                 (struct rl_question_terms){.ask = RL_ASK_BREAK, .name = name, .holder = mark},
                 done, data);
}

int redlock_start_release_tagged(redlock *client, const char *name, const char *tag,
                                 redlock_answer_fn *done, void *data)
{
    return start(
        client,
        (struct rl_question_terms){.ask = RL_ASK_RELEASE_TAGGED, .name = name, .holder = tag},
        done, data);
}

int redlock_start_list(redlock *client, redlock_answer_fn *done, void *data)
{
    return start(client, (struct rl_question_terms){.ask = RL_ASK_LIST}, done, data);
}

int redlock_start_ping(redlock *client, redlock_answer_fn *done, void *data)
{
    return start(client, (struct rl_question_terms){.ask = RL_ASK_PING}, done, data);
}

int redlock_start_admit(redlock *client, redlock_answer_fn *done, void *data)
{
    return start(client, (struct rl_question_terms){.ask = RL_ASK_ADMIT}, done, data);
}

int redlock_start_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each,
                        redlock_answer_fn *done, void *data)
{
    return start(
        client, (struct rl_question_terms){.ask = RL_ASK_AUDIT, .ttl_ms = ttl_ms, .each = each},
        done, data);
}

int redlock_forget(redlock *client, const void *data)
{
    return is_front(client) ? rl_front_forget(client, data) : rl_client_forget(client, data);
}
