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
};

#define SAY(session, step, ...)                                                                \
    rl_session_say((session), (step), (const char *const[]){__VA_ARGS__, NULL})

int rl_vetting_check(struct rl_session *session, int64_t now_ns)
{
    session->facts = (struct rl_facts){0};
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

int rl_vetting_witness(struct rl_session *session)
{
    struct rl_command command;

    rl_command_write_witness(&session->abilities, &command);
    if (!rl_session_push(session, &command, (struct rl_pending){.op = RL_VETTING_WITNESS}))
        return -1;
    session->abilities.known_scripts |= command.script;
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

static void note_server(struct rl_session *session, struct rl_slice info)
{
    struct rl_facts *facts = &session->facts;

    rl_info_version(info, session->version, sizeof session->version);
    rl_info_text(info, "run_id", facts->run_id, sizeof facts->run_id);
    facts->uptime_s = rl_info_number(info, "uptime_in_seconds", -1);
    facts->has_server = facts->run_id[0] && facts->uptime_s >= 0;
}

static void note_replication(struct rl_facts *facts, struct rl_slice info)
{
    struct rl_slice role = rl_info_field(info, "role");

    facts->has_replication = role.size > 0;
    facts->master = rl_slice_equals(role, "master");
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
    if (max_ttl->type == RL_REPLY_BULK)
        facts->marker_max_ttl_ms = read_number(max_ttl->text);
    note_set(session, &reply->element[2]);
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
            rl_vetting_note_set(session,
                                (struct rl_slice){"", 0}); /* forbidden: it tells none */
        session->check_asked = false;
        rl_guard_judge(&session->guard, &session->facts, now_ns);
        break;
    case STEP_SET:
        if (told)
            note_set(session, &reply->element[0]);
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
    case STEP_RESTORE:
    case STEP_EXPEL:
        break;
    }
    return 0;
}
