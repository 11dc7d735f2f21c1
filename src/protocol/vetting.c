/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/vetting.h"

#include <string.h>

#include "protocol/info.h"
#include "rl_scripts.h"

#define SECOND_US 1000000
#define DIGITS_SIZE 21
#define CLOCK_MAX_S 10000000000

enum step {
    STEP_SERVER = RL_VETTING_FIRST,
    STEP_REPLICATION,
    STEP_PERSISTENCE,
    STEP_MEMORY,
    STEP_MARKER, /* the last of a check: its answer leads to the judgement */
    STEP_SET,
    STEP_RESTORE,
    STEP_TIME,
    STEP_PROBE,
    STEP_ADMIT,
    STEP_EXPEL,
    STEP_SENTINEL,
};

const char *rl_vetting_step_name(uint16_t step)
{
    static const char *const names[] = {
        [STEP_SERVER - RL_VETTING_FIRST] = "INFO server",
        [STEP_REPLICATION - RL_VETTING_FIRST] = "INFO replication",
        [STEP_PERSISTENCE - RL_VETTING_FIRST] = "INFO persistence",
        [STEP_MEMORY - RL_VETTING_FIRST] = "INFO memory",
        [STEP_MARKER - RL_VETTING_FIRST] = "marker",
        [STEP_SET - RL_VETTING_FIRST] = "set of nodes",
        [STEP_RESTORE - RL_VETTING_FIRST] = "restore set of nodes",
        [STEP_TIME - RL_VETTING_FIRST] = "TIME",
        [STEP_PROBE - RL_VETTING_FIRST] = "probation",
        [STEP_ADMIT - RL_VETTING_FIRST] = "admission",
        [STEP_EXPEL - RL_VETTING_FIRST] = "take admission back",
        [STEP_SENTINEL - RL_VETTING_FIRST] = "Sentinel",
    };

    return step == RL_VETTING_WITNESS ? "witness" : names[step - RL_VETTING_FIRST];
}

/* Every Sentinel listens here, on each server that it watches. */
#define SENTINEL_CHANNEL "__sentinel__:hello"

#define SAY(session, step, ...)                                                                \
    rl_session_say((session), (step), (const char *const[]){__VA_ARGS__, NULL})

int rl_vetting_check(struct rl_session *session, int64_t now_ns)
{
    /* A cluster is one until the node says otherwise: that explains what else is not answered. */
    session->facts = (struct rl_facts){.cluster = session->facts.cluster};
    session->checked_ns = now_ns;
    if (SAY(session, STEP_SERVER, "INFO", "server") < 0 ||
        SAY(session, STEP_REPLICATION, "INFO", "replication") < 0 ||
        SAY(session, STEP_PERSISTENCE, "INFO", "persistence") < 0 ||
        SAY(session, STEP_MEMORY, "INFO", "memory") < 0 ||
        SAY(session, STEP_MARKER, "HMGET", RL_MARKER_KEY, "id", "max_ttl", "set") < 0)
        return -1;
    /* Only a whole check is waited for: one that memory did not suffice for is made again. */
    session->check_asked = true;
    return 0;
}

int rl_vetting_ask_set(struct rl_session *session)
{
    return SAY(session, STEP_SET, "HMGET", RL_MARKER_KEY, "set");
}

int rl_vetting_restore_set(struct rl_session *session, const char *set)
{
    if (SAY(session, STEP_RESTORE, "HSETNX", RL_MARKER_KEY, "set", set) < 0)
        return -1;
    session->restore_asked = true;
    return rl_vetting_ask_set(session);
}

void rl_vetting_note_set(struct rl_session *session, struct rl_slice set)
{
    rl_set_answer_read(&session->set_answer, set);
    session->set_news = true;
}

/* It may be in any set: as long as it does not say in which, it does not vote (G8). */
static void refuse_set(struct rl_session *session, struct rl_slice error)
{
    rl_set_answer_refuse(&session->set_answer);
    session->set_news = true;
    rl_session_quote(error, session->marker_error);
}

int rl_vetting_witness(struct rl_session *session)
{
    struct rl_command command;

    rl_command_write_witness(&session->abilities, &command);
    if (!rl_session_push(session, &command, (struct rl_pending){.op = RL_VETTING_WITNESS}))
        return -1;
    session->abilities.known_scripts |= command.script;
    rl_session_trace(session, RL_VETTING_WITNESS, NULL);
    return 0;
}

int rl_vetting_sample_clock(struct rl_session *session, int64_t now_ns)
{
    if (session->clock_asked_ns != 0)
        return 0;
    if (SAY(session, STEP_TIME, "TIME") < 0)
        return -1;
    session->clock_asked_ns = now_ns;
    return 0;
}

int rl_vetting_probe(struct rl_session *session, const char *nonce, int64_t now_ns)
{
    if (SAY(session, STEP_PROBE, "EVAL", RL_SCRIPT_PROBE, "2", RL_MARKER_KEY, RL_PROBATION_KEY,
            session->guard.identity, nonce) < 0)
        return -1;
    session->admission_asked = true;
    session->admission_asked_ns = now_ns;
    return 0;
}

int rl_vetting_admit(struct rl_session *session, int64_t now_ns)
{
    char max_ttl_ms[DIGITS_SIZE];

    *rl_resp_decimal((uint64_t)(session->guard.max_ttl_ns / RL_NS_PER_MS), max_ttl_ms) = '\0';
    if (SAY(session, STEP_ADMIT, "EVAL", RL_SCRIPT_ADMIT, "2", RL_MARKER_KEY, RL_PROBATION_KEY,
            session->guard.identity, session->guard.probation, max_ttl_ms) < 0)
        return -1;
    session->admission_asked = true;
    session->admission_asked_ns = now_ns;
    return 0;
}

int rl_vetting_expel(struct rl_session *session)
{
    return SAY(session, STEP_EXPEL, "EVAL", RL_SCRIPT_EXPEL, "1", RL_MARKER_KEY,
               session->guard.identity);
}

int rl_vetting_ask_sentinel(struct rl_session *session)
{
    session->has_sentinel = false;
    return SAY(session, STEP_SENTINEL, "PUBSUB", "NUMSUB", SENTINEL_CHANNEL);
}

static void note_server(struct rl_session *session, struct rl_slice info)
{
    struct rl_facts *facts = &session->facts;

    rl_info_version(info, session->version, sizeof session->version);
    rl_info_text(info, "run_id", facts->run_id, sizeof facts->run_id);
    facts->uptime_s = rl_info_number(info, "uptime_in_seconds", -1);
    facts->has_server = facts->run_id[0] && facts->uptime_s >= 0;
    /* As Redis and as Valkey calls it. */
    facts->cluster = rl_slice_equals(rl_info_field(info, "redis_mode"), "cluster") ||
                     rl_slice_equals(rl_info_field(info, "server_mode"), "cluster");
}

static void note_replication(struct rl_facts *facts, struct rl_slice info)
{
    struct rl_slice role = rl_info_field(info, "role");

    facts->has_replication = role.size > 0;
    facts->master = rl_slice_equals(role, "master");
    facts->replica_count = rl_info_number(info, "connected_slaves", 0);
    rl_info_text(info, "master_replid", facts->replid, sizeof facts->replid);
}

static void note_persistence(struct rl_facts *facts, struct rl_slice info)
{
    int64_t loading = rl_info_number(info, "loading", -1);

    facts->has_persistence = loading >= 0;
    facts->loading = loading > 0;
    facts->append_only = rl_info_number(info, "aof_enabled", 0) > 0;
}

static void note_memory(struct rl_facts *facts, struct rl_slice info)
{
    facts->maxmemory_bytes = rl_info_number(info, "maxmemory", -1);
    rl_info_text(info, "maxmemory_policy", facts->maxmemory_policy,
                 sizeof facts->maxmemory_policy);
    facts->has_memory = facts->maxmemory_bytes >= 0 && facts->maxmemory_policy[0];
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

/* A field that is not there is told as well: the node belongs to no set. */
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

    if (id->type == RL_REPLY_BULK && id->text.size < sizeof facts->marker) {
        memcpy(facts->marker, id->text.data, id->text.size);
        facts->marker[id->text.size] = '\0';
    }
    facts->cluster &= facts->has_server;
    if (max_ttl->type == RL_REPLY_BULK)
        facts->marker_max_ttl_ms = read_number(max_ttl->text);
    note_set(session, &reply->element[2]);
}

/* INFO may be forbidden: then the error is what tells of a cluster. */
static void refuse_marker(struct rl_session *session, struct rl_slice error)
{
    enum redlock_reason reason;

    rl_answer_error_vote(error, &reason);
    session->facts.cluster |= reason == REDLOCK_REASON_CLUSTER;
    refuse_set(session, error);
}

static void note_time(struct rl_session *session, const struct rl_reply *reply, int64_t now_ns)
{
    int64_t seconds = read_number(reply->element[0].text);
    int64_t microseconds = read_number(reply->element[1].text);

    /* The guard believes no such clock, and in microseconds it would not even fit. */
    if (seconds > CLOCK_MAX_S)
        seconds = microseconds = 0;
    rl_guard_sample(&session->guard, seconds * SECOND_US + microseconds,
                    session->clock_asked_ns, now_ns);
    session->clock_answered_ns = now_ns;
}

/* An error is an answer: whatever it was, this node does not tell (managed services). */
static bool makes_sense(enum step step, const struct rl_reply *reply)
{
    enum rl_reply_type type = reply->scalar.type;

    if (type == RL_REPLY_ERROR)
        return true;
    switch (step) {
    case STEP_SERVER:
    case STEP_REPLICATION:
    case STEP_PERSISTENCE:
    case STEP_MEMORY:
    case STEP_PROBE:
        return type == RL_REPLY_BULK;
    case STEP_MARKER:
        return type == RL_REPLY_ARRAY && reply->element_count == 3;
    case STEP_SET:
        return type == RL_REPLY_ARRAY && reply->element_count == 1;
    case STEP_SENTINEL:
        return type == RL_REPLY_ARRAY && reply->element_count == 2;
    case STEP_TIME:
        return type == RL_REPLY_ARRAY && reply->element_count == 2 &&
               reply->element[0].type == RL_REPLY_BULK &&
               reply->element[1].type == RL_REPLY_BULK;
    case STEP_RESTORE:
    case STEP_ADMIT:
    case STEP_EXPEL:
        return type == RL_REPLY_INTEGER;
    }
    return false;
}

int rl_vetting_answer(struct rl_session *session, uint16_t step, const struct rl_reply *reply,
                      int64_t now_ns)
{
    const struct rl_scalar *scalar = &reply->scalar;
    bool told = scalar->type != RL_REPLY_ERROR;

    if (!makes_sense((enum step)step, reply))
        return -1;
    switch ((enum step)step) {
    case STEP_SERVER:
        if (told)
            note_server(session, scalar->text);
        break;
    case STEP_REPLICATION:
        if (told)
            note_replication(&session->facts, scalar->text);
        break;
    case STEP_PERSISTENCE:
        if (told)
            note_persistence(&session->facts, scalar->text);
        break;
    case STEP_MEMORY:
        if (told)
            note_memory(&session->facts, scalar->text);
        break;
    case STEP_MARKER:
        if (told)
            note_marker(session, reply);
        else
            refuse_marker(session, scalar->text);
        session->check_asked = false;
        rl_guard_judge(&session->guard, &session->facts, now_ns);
        break;
    case STEP_SET:
        if (told)
            note_set(session, &reply->element[0]);
        else
            refuse_set(session, scalar->text);
        break;
    case STEP_TIME:
        if (told)
            note_time(session, reply, now_ns);
        session->clock_asked_ns = 0;
        break;
    case STEP_PROBE:
        session->admission_asked = false;
        if (told)
            rl_guard_probed(&session->guard, scalar->text, now_ns);
        break;
    case STEP_ADMIT:
        session->admission_asked = false;
        rl_guard_admitted(&session->guard, told && scalar->integer == 1, now_ns);
        break;
    case STEP_SENTINEL:
        session->has_sentinel = told && rl_reply_integer(reply, 1, 0) > 0;
        break;
    case STEP_RESTORE:
    case STEP_EXPEL:
        break;
    }
    return 0;
}
