/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/elector.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define NUMBER_MOST INT64_C(999999999999999999)

int rl_elector_request(struct rl_session *session, int64_t now_ns)
{
    struct rl_elector_talk *talk = &session->elector;
    int status;

    if (talk->requested_ns != 0)
        return 0;
    if (session->login->vote_count)
        status = RL_SEND(session, RL_STEP_ELECTOR_NODES, "CLUSTER", "NODES");
    else
        status =
            RL_SEND(session, RL_STEP_ELECTOR_TERM, "SENTINEL", "MASTER", session->login->group);
    if (status < 0)
        return -1;
    talk->requested_ns = now_ns;
    return 0;
}

int rl_elector_greet(struct rl_session *session, int64_t now_ns)
{
    session->elector = (struct rl_elector_talk){0};
    /* A node of a cluster sends its id with every answer. */
    if (!session->login->vote_count &&
        RL_SEND(session, RL_STEP_ELECTOR_ID, "SENTINEL", "MYID") < 0)
        return -1;
    return rl_elector_request(session, now_ns);
}

static int fail(struct rl_session *session, enum redlock_reason reason, const char *text)
{
    rl_session_fail(session, REDLOCK_VOTE_ERROR, reason, text);
    return 1;
}

static int note_id(struct rl_session *session, const struct rl_scalar *reply)
{
    struct rl_elector_talk *talk = &session->elector;

    if (reply->type != RL_REPLY_BULK || reply->text.size != RL_ELECTOR_ID_SIZE)
        return -1;
    for (size_t i = 0; i < RL_ELECTOR_ID_SIZE; i++)
        if (!strchr("0123456789abcdef", reply->text.data[i]) || !reply->text.data[i])
            return -1;
    memcpy(talk->id, reply->text.data, RL_ELECTOR_ID_SIZE);
    talk->id[RL_ELECTOR_ID_SIZE] = '\0';
    return 0;
}

/* The value behind a name, in a reply of names and values. */
static struct rl_slice find(const struct rl_reply *reply, const char *name)
{
    for (uint32_t i = 0; i + 1 < reply->element_count; i += 2)
        if (reply->element[i].type == RL_REPLY_BULK &&
            rl_slice_equals(reply->element[i].text, name) &&
            reply->element[i + 1].type == RL_REPLY_BULK)
            return reply->element[i + 1].text;
    return (struct rl_slice){"", 0};
}

static void note_answered(struct rl_elector_talk *talk)
{
    talk->answered_requested_ns = talk->requested_ns;
    talk->requested_ns = 0;
    talk->has_news = true;
}

/* Address and epoch out of one reply: they are a term only together (E3). */
static int note_term(struct rl_session *session, const struct rl_reply *reply)
{
    struct rl_elector_talk *talk = &session->elector;
    struct rl_slice ip = find(reply, "ip");
    struct rl_slice port = find(reply, "port");
    int64_t epoch = rl_number_read(find(reply, "config-epoch"), NUMBER_MOST);
    bool is_ipv6 = memchr(ip.data, ':', ip.size) != NULL;

    if (reply->scalar.type != RL_REPLY_ARRAY || epoch < 0 || port.size == 0 || port.size > 5 ||
        ip.size == 0 || ip.size + port.size + sizeof "[]:" > sizeof talk->term[0].owner)
        return -1;
    talk->term[0] = (struct rl_term){.epoch = epoch};
    snprintf(talk->term[0].owner, sizeof talk->term[0].owner,
             is_ipv6 ? "[%.*s]:%.*s" : "%.*s:%.*s", (int)ip.size, ip.data, (int)port.size,
             port.data);
    talk->down_after_ms = rl_number_read(find(reply, "down-after-milliseconds"), NUMBER_MOST);
    note_answered(talk);
    return 0;
}

/* Its id, and owner and epoch of every vote, out of one reply (E2, E3). */
static int note_nodes(struct rl_session *session, struct rl_slice nodes)
{
    struct rl_elector_talk *talk = &session->elector;
    uint8_t vote_count = session->login->vote_count;
    const char *colon = strrchr(session->address, ':');
    char host[REDLOCK_ADDRESS_MAX];

    if (rl_cluster_read_self(nodes, talk->id) < 0)
        return fail(session, REDLOCK_REASON_NO_CLUSTER, NULL);
    snprintf(host, sizeof host, "%.*s",
             colon ? (int)(colon - session->address) : (int)strlen(session->address),
             session->address);
    for (uint8_t i = 0; i < vote_count; i++)
        rl_cluster_read_owner(nodes, rl_cluster_vote(vote_count, i)->slot, host,
                              &talk->term[i]);
    talk->down_after_ms = -1;
    note_answered(talk);
    return 0;
}

int rl_elector_answer(struct rl_session *session, enum rl_step step,
                      const struct rl_reply *reply)
{
    const struct rl_scalar *scalar = &reply->scalar;

    if (scalar->type == RL_REPLY_ERROR && rl_slice_starts(scalar->text, "ERR No such master"))
        return fail(session, REDLOCK_REASON_NO_GROUP, NULL);
    if (step == RL_STEP_ELECTOR_NODES && scalar->type == RL_REPLY_ERROR &&
        rl_slice_starts(scalar->text, "ERR "))
        return fail(session, REDLOCK_REASON_NO_CLUSTER, NULL);
    if (scalar->type == RL_REPLY_ERROR && rl_slice_starts(scalar->text, "ERR unknown command"))
        return fail(session, REDLOCK_REASON_NO_SENTINEL, NULL);
    if (scalar->type == RL_REPLY_ERROR) {
        rl_session_refused(session, scalar->text);
        return 1;
    }
    if (step == RL_STEP_ELECTOR_NODES)
        return note_nodes(session, scalar->text);
    return step == RL_STEP_ELECTOR_ID ? note_id(session, scalar) : note_term(session, reply);
}
