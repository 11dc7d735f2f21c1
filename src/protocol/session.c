/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "base/wipe.h"
#include "core/op.h"
#include "protocol/elector.h"
#include "protocol/vetting.h"

/*
 * Its name in the trace, and the reply that makes sense. A server that answers a request with
 * something that is no answer to it is out of step, or no Redis at all: its next "OK" would be
 * taken for a grant. An error is an answer: managed services hide some facts.
 */
static const struct {
    const char *name;
    enum rl_reply_type type;
    uint32_t element_count; /* of an array; 0: any number */
} steps[] = {
    [RL_STEP_AUTH] = {"AUTH", RL_REPLY_STATUS, 0},
    [RL_STEP_SELECT] = {"SELECT", RL_REPLY_STATUS, 0},
    [RL_STEP_NAME] = {"CLIENT SETNAME", RL_REPLY_STATUS, 0},
    [RL_STEP_SUBSCRIBE] = {"SUBSCRIBE", RL_REPLY_ARRAY, 0},
    [RL_STEP_NATIVE] = {"native commands", RL_REPLY_INTEGER, 0},
    [RL_STEP_SERVER] = {"INFO server", RL_REPLY_BULK, 0},
    [RL_STEP_REPLICATION] = {"INFO replication", RL_REPLY_BULK, 0},
    [RL_STEP_PERSISTENCE] = {"INFO persistence", RL_REPLY_BULK, 0},
    [RL_STEP_MEMORY] = {"INFO memory", RL_REPLY_BULK, 0},
    [RL_STEP_MARKER] = {"marker", RL_REPLY_ARRAY, 4},
    [RL_STEP_SET] = {"set of nodes", RL_REPLY_ARRAY, 1},
    [RL_STEP_RESTORE] = {"restore set of nodes", RL_REPLY_INTEGER, 0},
    [RL_STEP_TIME] = {"TIME", RL_REPLY_ARRAY, 2},
    [RL_STEP_PROBE] = {"probation", RL_REPLY_BULK, 0},
    [RL_STEP_ADMIT] = {"admission", RL_REPLY_INTEGER, 0},
    [RL_STEP_EXPEL] = {"take admission back", RL_REPLY_INTEGER, 0},
    [RL_STEP_STAMP] = {"stamp", RL_REPLY_INTEGER, 0},
    [RL_STEP_SENTINEL] = {"Sentinel", RL_REPLY_ARRAY, 2},
    [RL_STEP_ELECTOR_ID] = {"SENTINEL MYID", RL_REPLY_BULK, 0},
    [RL_STEP_ELECTOR_TERM] = {"SENTINEL MASTER", RL_REPLY_ARRAY, 0},
    [RL_STEP_ELECTOR_NODES] = {"CLUSTER NODES", RL_REPLY_BULK, 0},
    [RL_STEP_ATTESTATION] = {.name = "attestation"},
};

void rl_session_trace(const struct rl_session *session, enum rl_step step,
                      const struct rl_reply *reply)
{
    const char *name = steps[step].name;
    struct rl_trace_subject subject = {.address = session->address};
    char words[REDLOCK_TEXT_MAX] = "answered";

    if (!session->trace)
        return;
    if (reply && reply->scalar.type == RL_REPLY_ERROR)
        rl_session_quote(reply->scalar.text, words);
    if (reply)
        session->trace->write(session->trace, subject, "reply %s: %s", name, words);
    else
        session->trace->write(session->trace, subject, "ask %s", name);
}

int rl_session_init(struct rl_session *session, const struct rl_login *login)
{
    *session = (struct rl_session){.login = login};
    session->input_size =
        RL_SESSION_INPUT_SIZE + (login->vote_count ? RL_SESSION_NODES_MAX : 0);
    session->input = malloc(session->input_size);
    return session->input ? 0 : -1;
}

void rl_session_free(struct rl_session *session)
{
    rl_buffer_free(&session->output);
    rl_pending_free(&session->pending);
    free(session->input);
    session->input = NULL;
}

int rl_session_begin(struct rl_session *session, int64_t now_ns)
{
    rl_buffer_clear(&session->output);
    session->input_start = session->input_end = 0;
    session->gated = session->login_refused = false;
    session->greeting_left = 0;
    session->abilities = (struct rl_abilities){0};
    session->progress_ns = now_ns;
    session->clock_requested_ns = 0;
    session->check_requested = session->admission_requested = session->wants_attestation =
        false;
    session->restore_requested = false;
    session->pending.sent_count = 0;
    session->state = RL_SESSION_GREETING;
    rl_guard_connected(&session->guard);
    if (rl_greeting_write(session, now_ns) == 0)
        return 0;
    rl_session_fail(session, REDLOCK_VOTE_ERROR, REDLOCK_REASON_RESOURCES, "out of memory");
    return -1;
}

void rl_session_end(struct rl_session *session)
{
    session->state = RL_SESSION_DOWN;
    session->has_news = true;
    rl_buffer_clear(&session->output);
    session->input_start = session->input_end = 0;
}

void rl_session_quote(struct rl_slice text, char out[REDLOCK_TEXT_MAX])
{
    size_t size = text.size < REDLOCK_TEXT_MAX - 1 ? text.size : REDLOCK_TEXT_MAX - 1;
    char *arguments;

    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text.data[i];

        out[i] = byte < 0x20 || byte > 0x7e ? '?' : (char)byte;
    }
    out[size] = '\0';
    if (size < text.size)
        memcpy(out + size - 3, "...", 3);
    /* A server that lacks the command repeats what it was given: a password, a value. */
    arguments = strstr(out, ", with args beginning");
    if (arguments)
        *arguments = '\0';
}

void rl_session_fail(struct rl_session *session, enum redlock_vote vote,
                     enum redlock_reason reason, const char *text)
{
    session->failure = vote;
    session->failure_reason = reason;
    if (!text)
        text = redlock_reason_text((int)reason);
    rl_session_quote(rl_slice_of(text), session->failure_text);
}

void rl_session_refused(struct rl_session *session, struct rl_slice error)
{
    session->failure = rl_answer_error_vote(error, &session->failure_reason);
    if (session->failure_reason == REDLOCK_REASON_CLUSTER && session->login->tag)
        session->failure_reason = REDLOCK_REASON_SLOT;
    /* The server explains it in more words than there is room for. */
    if (session->failure_reason == REDLOCK_REASON_PROTECTED_MODE)
        rl_session_fail(session, session->failure, session->failure_reason,
                        "the server is in protected mode: without a password it serves no "
                        "machine but its own");
    else
        rl_session_quote(error, session->failure_text);
}

bool rl_session_push(struct rl_session *session, struct rl_command *command,
                     struct rl_pending entry)
{
    const char *tag = session->login->tag;
    size_t size;
    char *room;

    if (session->state == RL_SESSION_DOWN ||
        (entry.subject && rl_ops[entry.op].acquires &&
         session->pending.count >= RL_SESSION_ACQUIRES_MAX))
        return false;
    command->tag = tag ? rl_slice_of(tag) : (struct rl_slice){"", 0};
    size = rl_resp_encoded_size(command);
    /* Room first: an entry without its bytes would shift every later reply. */
    room = rl_buffer_reserve(&session->output, size);
    if (!room || !rl_pending_push(&session->pending, entry))
        return false;
    rl_resp_encode(command, room);
    session->output.size += size;
    return true;
}

/* Of the words of a step that has keys or a channel. */
static bool is_key(enum rl_step step, const char *word)
{
    return (step == RL_STEP_SUBSCRIBE || step == RL_STEP_NATIVE || step >= RL_STEP_MARKER) &&
           strncmp(word, RL_RESERVED_PREFIX, sizeof RL_RESERVED_PREFIX - 1) == 0;
}

int rl_session_send(struct rl_session *session, enum rl_step step, const char *const *words)
{
    struct rl_command command;

    for (command.argument_count = 0; *words; words++) {
        command.is_key[command.argument_count] = is_key(step, *words);
        command.argument[command.argument_count++] = (struct rl_slice){*words, strlen(*words)};
    }
    if (!rl_session_push(session, &command, (struct rl_pending){.op = (uint16_t)step}))
        return -1;
    /*
     * The greeting is always the same, and waits for its connection: the trace has the replies.
     */
    if (session->state == RL_SESSION_GREETING)
        session->greeting_left++;
    else
        rl_session_trace(session, step, NULL);
    return 0;
}

/* In front of everything, of which nothing has been sent yet. */
static bool push_first(struct rl_session *session, const struct rl_command *command,
                       struct rl_pending entry)
{
    struct rl_pending_queue *queue = &session->pending;
    size_t size = rl_resp_encoded_size(command);
    char *front;

    /* Room first, as in rl_session_push(). */
    if (!rl_buffer_reserve(&session->output, size) || !rl_pending_push(queue, entry))
        return false;
    queue->first = (queue->first - 1) & (queue->capacity - 1);
    queue->entry[queue->first] = entry;

    front = session->output.bytes + session->output.start;
    memmove(front + size, front, session->output.size);
    rl_resp_encode(command, front);
    session->output.size += size;
    session->gate = (session->gated ? session->gate : 0) + size;
    session->gated = true;
    session->greeting_left++;
    return true;
}

int rl_session_log_in(struct rl_session *session)
{
    const struct rl_login *login = session->login;
    const char *password = login->password ? login->password : "";
    const char *words[] = {"AUTH", login->user ? login->user : password,
                           login->user ? password : NULL, NULL};
    struct rl_command command = {.argument_count = 0};

    /* Until the password has left: rl_session_sent(). */
    session->output.secret |= login->password != NULL;
    if (!session->awaits_password)
        return rl_session_send(session, RL_STEP_AUTH, words);
    session->awaits_password = false;
    for (; words[command.argument_count]; command.argument_count++) {
        const char *word = words[command.argument_count];

        command.argument[command.argument_count] = rl_slice_of(word);
    }
    return push_first(session, &command, (struct rl_pending){.op = RL_STEP_AUTH}) ? 0 : -1;
}

size_t rl_session_output(struct rl_session *session, const char **bytes)
{
    *bytes = NULL;
    if (session->awaits_password)
        return 0;
    if (session->wants_attestation && rl_vetting_attestation(session) == 0)
        session->wants_attestation = false;
    *bytes = session->output.bytes + session->output.start;
    return session->gated ? session->gate : session->output.size;
}

void rl_session_sent(struct rl_session *session, size_t size, int64_t now_ns)
{
    if (session->pending.sent_count == 0) {
        session->progress_ns = now_ns;
        session->pending.sent_count = 1;
    }
    rl_buffer_take(&session->output, size);
    if (session->gated)
        session->gate -= size;
    if (session->gated && session->gate == 0)
        session->output.secret = false;
    if (session->output.size == 0)
        session->pending.sent_count = session->pending.count;
}

size_t rl_session_room(struct rl_session *session, char **bytes)
{
    if (session->input_start > 0) {
        memmove(session->input, session->input + session->input_start,
                session->input_end - session->input_start);
        session->input_end -= session->input_start;
        session->input_start = 0;
    }
    *bytes = session->input + session->input_end;
    return session->input_size - session->input_end;
}

static int refuse(struct rl_session *session, const char *why)
{
    rl_session_fail(session, REDLOCK_VOTE_PROTO, REDLOCK_REASON_PROTOCOL, why);
    return -1;
}

/* The reply to one of the session's own requests. -1: the session has failed. */
static int answer_own(struct rl_session *session, enum rl_step step,
                      const struct rl_reply *reply, int64_t now_ns)
{
    bool makes_sense =
        reply->scalar.type == RL_REPLY_ERROR ||
        (reply->scalar.type == steps[step].type &&
         (!steps[step].element_count || reply->element_count == steps[step].element_count));

    session->has_news = true;
    if (makes_sense && step >= RL_STEP_ELECTOR_ID && step <= RL_STEP_ELECTOR_NODES) {
        int status = rl_elector_answer(session, step, reply);

        if (status > 0)
            return -1;
        makes_sense = status == 0;
    } else if (step >= RL_STEP_SERVER && makes_sense)
        makes_sense = rl_vetting_answer(session, step, reply, now_ns);
    if (!makes_sense)
        return refuse(session, "its answers do not fit the requests");
    if (step < RL_STEP_SERVER && rl_greeting_answer(session, step, &reply->scalar) < 0)
        return -1;
    if (session->state == RL_SESSION_GREETING && --session->greeting_left == 0)
        session->state = RL_SESSION_UP;
    return 0;
}

int rl_session_next(struct rl_session *session, struct rl_pending *entry,
                    struct rl_reply *reply, int64_t now_ns)
{
    for (;;) {
        size_t size = session->input_end - session->input_start;
        long taken = rl_resp_decode_long(
            session->input + session->input_start, size,
            session->login->vote_count ? RL_SESSION_NODES_MAX : RL_RESP_BULK_MAX, reply);

        if (taken == 0)
            return 0;
        if (taken < 0)
            return refuse(session,
                          "the answer is not the Redis protocol, or beyond its limits");
        if (session->login->channel && reply->scalar.type == RL_REPLY_ARRAY &&
            reply->element_count > 0 && reply->element[0].type == RL_REPLY_BULK &&
            (rl_slice_equals(reply->element[0].text, "message") ||
             rl_slice_equals(reply->element[0].text, "smessage"))) {
            session->input_start += (size_t)taken;
            return 1;
        }
        if (!rl_pending_pop(&session->pending, entry)) {
            /* The server reports why it will not serve us, or is no server. */
            if (reply->scalar.type != RL_REPLY_ERROR)
                return refuse(session, "a reply to no request");
            rl_session_refused(session, reply->scalar.text);
            return -1;
        }
        session->input_start += (size_t)taken;
        session->progress_ns = now_ns;
        if (!entry->subject)
            rl_session_trace(session, (enum rl_step)entry->op, reply);
        if (entry->subject || entry->op == RL_STEP_ATTESTATION)
            return 1;
        if (answer_own(session, (enum rl_step)entry->op, reply, now_ns) < 0)
            return -1;
    }
}
