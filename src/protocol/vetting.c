/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/vetting.h"

#include <string.h>

#include "base/number.h"
#include "core/rules.h"
#include "protocol/scripts.h"

#define SECOND_US 1000000
#define DIGITS_SIZE 21
#define CLOCK_MAX_S 10000000000

/* Every Sentinel listens here, on each server that it watches. */
#define SENTINEL_CHANNEL "__sentinel__:hello"

int rl_vetting_check(struct rl_session *session, int64_t now_ns)
{
    /* A cluster is one until an answer of the node shows otherwise: that explains what else
     * is not answered. */
    session->facts = (struct rl_facts){.cluster = session->facts.cluster};
    session->checked_ns = now_ns;
    if (RL_SEND(session, RL_STEP_SERVER, "INFO", "server") < 0 ||
        RL_SEND(session, RL_STEP_REPLICATION, "INFO", "replication") < 0 ||
        RL_SEND(session, RL_STEP_PERSISTENCE, "INFO", "persistence") < 0 ||
        RL_SEND(session, RL_STEP_MEMORY, "INFO", "memory") < 0 ||
        RL_SEND(session, RL_STEP_MARKER, "HMGET", RL_MARKER_KEY, "id", "max_ttl", "set",
                "electors") < 0)
        return -1;
    /* Set only once all were queued: if memory ran out half-way, the next tick starts anew. */
    session->check_requested = true;
    return 0;
}

int rl_vetting_request_set(struct rl_session *session)
{
    return RL_SEND(session, RL_STEP_SET, "HMGET", RL_MARKER_KEY, "set");
}

int rl_vetting_restore_set(struct rl_session *session, const char *set)
{
    if (RL_SEND(session, RL_STEP_RESTORE, "HSETNX", RL_MARKER_KEY, "set", set) < 0)
        return -1;
    session->restore_requested = true;
    return rl_vetting_request_set(session);
}

void rl_vetting_note_set(struct rl_session *session, struct rl_slice set)
{
    rl_set_answer_read(&session->set_answer, set);
    session->set_news = true;
}

/* It may be in any set: as long as that is unknown, it does not vote (G8). */
static void refuse_set(struct rl_session *session, struct rl_slice error)
{
    rl_set_answer_refuse(&session->set_answer);
    session->set_news = true;
    rl_session_quote(error, session->marker_error);
}

int rl_vetting_attestation(struct rl_session *session)
{
    struct rl_command command;

    rl_command_write_attestation(&session->abilities, &command);
    if (!rl_session_push(session, &command, (struct rl_pending){.op = RL_STEP_ATTESTATION}))
        return -1;
    session->abilities.known_scripts |= command.script;
    rl_session_trace(session, RL_STEP_ATTESTATION, NULL);
    return 0;
}

int rl_vetting_sample_clock(struct rl_session *session, int64_t now_ns)
{
    if (session->clock_requested_ns != 0)
        return 0;
    if (RL_SEND(session, RL_STEP_TIME, "TIME") < 0)
        return -1;
    session->clock_requested_ns = now_ns;
    return 0;
}

int rl_vetting_probe(struct rl_session *session, const char *nonce, int64_t now_ns)
{
    if (RL_SEND(session, RL_STEP_PROBE, "EVAL", RL_SCRIPT(PROBE).text.data, "2", RL_MARKER_KEY,
                RL_PROBATION_KEY, session->guard.admitted, nonce) < 0)
        return -1;
    session->admission_requested = true;
    session->admission_requested_ns = now_ns;
    return 0;
}

int rl_vetting_admit(struct rl_session *session, int64_t now_ns)
{
    char max_ttl_ms[DIGITS_SIZE];

    *rl_number_write((uint64_t)(session->guard.max_ttl_ns / RL_NS_PER_MS), max_ttl_ms) = '\0';
    if (RL_SEND(session, RL_STEP_ADMIT, "EVAL", RL_SCRIPT(ADMIT).text.data, "2", RL_MARKER_KEY,
                RL_PROBATION_KEY, session->guard.admitted, session->guard.probation,
                max_ttl_ms) < 0)
        return -1;
    session->admission_requested = true;
    session->admission_requested_ns = now_ns;
    return 0;
}

int rl_vetting_expel(struct rl_session *session)
{
    return RL_SEND(session, RL_STEP_EXPEL, "EVAL", RL_SCRIPT(EXPEL).text.data, "1",
                   RL_MARKER_KEY, session->guard.admitted);
}

int rl_vetting_stamp(struct rl_session *session, int64_t now_ns)
{
    char guard_ms[DIGITS_SIZE];

    *rl_number_write((uint64_t)(rl_guard_time_ns(&session->guard) / RL_NS_PER_MS), guard_ms) =
        '\0';
    if (RL_SEND(session, RL_STEP_STAMP, "EVAL", RL_SCRIPT(STAMP).text.data, "1", RL_MARKER_KEY,
                session->guard.admitted, RL_RULE(STAMP_AGE) ? guard_ms : "0") < 0)
        return -1;
    session->admission_requested = true;
    session->admission_requested_ns = now_ns;
    return 0;
}

int rl_vetting_request_sentinel(struct rl_session *session)
{
    session->has_sentinel = false;
    return RL_SEND(session, RL_STEP_SENTINEL, "PUBSUB", "NUMSUB", SENTINEL_CHANNEL);
}

static void note_info(struct rl_session *session, enum rl_step step, struct rl_slice info)
{
    struct rl_facts *facts = &session->facts;
    struct rl_slice role = rl_info_field(info, "role");
    struct rl_slice before; /* the history that it was a replica in; zeros: none */
    int64_t loading = rl_info_number(info, "loading", -1);

    switch (step) {
    case RL_STEP_SERVER:
        rl_info_version(info, session->version, sizeof session->version);
        rl_info_text(info, "run_id", facts->run_id, sizeof facts->run_id);
        facts->uptime_s = rl_info_number(info, "uptime_in_seconds", -1);
        facts->has_server = facts->run_id[0] && facts->uptime_s >= 0;
        /* As Redis and as Valkey calls it. */
        facts->sentinel = rl_slice_equals(rl_info_field(info, "redis_mode"), "sentinel") ||
                          rl_slice_equals(rl_info_field(info, "server_mode"), "sentinel");
        facts->cluster = !session->login->tag &&
                         (rl_slice_equals(rl_info_field(info, "redis_mode"), "cluster") ||
                          rl_slice_equals(rl_info_field(info, "server_mode"), "cluster"));
        return;
    case RL_STEP_REPLICATION:
        facts->has_replication = role.size > 0;
        facts->master = rl_slice_equals(role, "master");
        facts->replica_count = rl_info_number(info, "connected_slaves", 0);
        rl_info_text(info, "master_replid", facts->replid, sizeof facts->replid);
        before = rl_info_field(info, "master_replid2");
        for (size_t i = 0; i < before.size; i++)
            facts->was_promoted |= before.data[i] != '0';
        return;
    case RL_STEP_PERSISTENCE:
        facts->has_persistence = loading >= 0;
        facts->loading = loading > 0;
        facts->append_only = rl_info_number(info, "aof_enabled", 0) > 0;
        return;
    default:
        facts->maxmemory_bytes = rl_info_number(info, "maxmemory", -1);
        rl_info_text(info, "maxmemory_policy", facts->maxmemory_policy,
                     sizeof facts->maxmemory_policy);
        facts->has_memory = facts->maxmemory_bytes >= 0 && facts->maxmemory_policy[0];
    }
}

static int64_t read_number(struct rl_slice text)
{
    int64_t number = 0;

    for (size_t i = 0; i < text.size && i < 18; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
        number = number * 10 + (text.data[i] - '0');
    }
    return number;
}

/* A field that is not there is an answer, too: the node belongs to no set. */
static void note_set(struct rl_session *session, const struct rl_scalar *set)
{
    rl_vetting_note_set(session,
                        set->type == RL_REPLY_BULK ? set->text : (struct rl_slice){"", 0});
}

static void note_marker(struct rl_session *session, const struct rl_reply *reply)
{
    struct rl_facts *facts = &session->facts;
    const struct rl_scalar *id = &reply->element[0];
    const struct rl_scalar *max_ttl = &reply->element[1];
    const struct rl_scalar *electors = &reply->element[3];

    if (id->type == RL_REPLY_BULK && id->text.size < sizeof facts->marker) {
        memcpy(facts->marker, id->text.data, id->text.size);
        facts->marker[id->text.size] = '\0';
    }
    if (electors->type == RL_REPLY_BULK && electors->text.size < sizeof facts->electors) {
        memcpy(facts->electors, electors->text.data, electors->text.size);
        facts->electors[electors->text.size] = '\0';
    }
    facts->cluster &= facts->has_server;
    if (max_ttl->type == RL_REPLY_BULK)
        facts->marker_max_ttl_ms = read_number(max_ttl->text);
    note_set(session, &reply->element[2]);
}

static bool note_time(struct rl_session *session, const struct rl_reply *reply, int64_t now_ns)
{
    int64_t seconds = read_number(reply->element[0].text);
    int64_t microseconds = read_number(reply->element[1].text);

    if (reply->element[0].type != RL_REPLY_BULK || reply->element[1].type != RL_REPLY_BULK)
        return false;
    /* The guard believes no such clock, and in microseconds it would not even fit. */
    if (seconds > CLOCK_MAX_S)
        seconds = microseconds = 0;
    rl_guard_sample(&session->guard, seconds * SECOND_US + microseconds,
                    session->clock_requested_ns, now_ns);
    session->clock_answered_ns = now_ns;
    return true;
}

bool rl_vetting_answer(struct rl_session *session, enum rl_step step,
                       const struct rl_reply *reply, int64_t now_ns)
{
    const struct rl_scalar *scalar = &reply->scalar;
    bool answered = scalar->type != RL_REPLY_ERROR;
    enum redlock_reason reason;

    switch (step) {
    case RL_STEP_SERVER:
    case RL_STEP_REPLICATION:
    case RL_STEP_PERSISTENCE:
    case RL_STEP_MEMORY:
        if (answered)
            note_info(session, step, scalar->text);
        break;
    case RL_STEP_MARKER:
        if (answered) {
            note_marker(session, reply);
        } else {
            /* INFO may be forbidden: then the error is what shows a cluster. */
            rl_answer_error_vote(scalar->text, &reason);
            session->facts.cluster |= reason == REDLOCK_REASON_CLUSTER && !session->login->tag;
            refuse_set(session, scalar->text);
        }
        session->check_requested = false;
        rl_guard_judge(&session->guard, &session->facts, now_ns);
        break;
    case RL_STEP_SET:
        if (answered)
            note_set(session, &reply->element[0]);
        else
            refuse_set(session, scalar->text);
        break;
    case RL_STEP_TIME:
        if (answered && !note_time(session, reply, now_ns))
            return false;
        session->clock_requested_ns = 0;
        break;
    case RL_STEP_PROBE:
        session->admission_requested = false;
        if (answered)
            rl_guard_probed(&session->guard, scalar->text, now_ns);
        break;
    case RL_STEP_ADMIT:
        session->admission_requested = false;
        rl_guard_admitted(&session->guard, answered && scalar->integer == 1, now_ns);
        break;
    case RL_STEP_STAMP:
        session->admission_requested = false;
        session->guard.stamp_answered = true;
        if (answered)
            rl_guard_stamped(&session->guard, scalar->integer, now_ns);
        break;
    case RL_STEP_SENTINEL:
        session->has_sentinel = answered && rl_reply_integer(reply, 1, 0) > 0;
        break;
    default: /* RESTORE, EXPEL: the next check shows what came of it */
        break;
    }
    return true;
}
