/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/drive.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/audit.h"
#include "engine/survey.h"
#include "io/clock.h"
#include "protocol/answer.h"
#include "protocol/sight.h"

#define NODES_TEXT_MAX 640
#define TIME_TEXT_MAX 32
#define TIMES_TEXT_MAX 96

static bool could_vote(uint8_t vote)
{
    return vote == REDLOCK_VOTE_GRANTED || vote == REDLOCK_VOTE_TAKEN ||
           vote == REDLOCK_VOTE_MISSING;
}

/* What the vote does not show: ": SCAN", ": protected mode", " (it answers after 80 ms)". */
static void describe_silence(const redlock_lock *lock, uint8_t node, uint8_t vote, char *out,
                             size_t size)
{
    const struct rl_engine *engine = &lock->client->engine;
    const struct rl_session *session = &engine->node[node].session;
    const struct rl_survey *survey = rl_survey_of(&lock->handle);
    const char *right = "";
    size_t right_size = 0;
    char late[REDLOCK_TEXT_MAX] = "";

    out[0] = '\0';
    if (vote == REDLOCK_VOTE_SILENT)
        rl_node_describe_late(engine, node, late, sizeof late);
    if (late[0])
        snprintf(out, size, " (%s)", late);
    if (vote == REDLOCK_VOTE_AUTH && session->failure_reason == REDLOCK_REASON_PROTECTED_MODE)
        snprintf(out, size, ": %s", redlock_reason_text(REDLOCK_REASON_PROTECTED_MODE));
    if (vote != REDLOCK_VOTE_NOPERM)
        return;
    if (session->failure == vote)
        right_size = rl_answer_missing_right(session->failure_text, &right);
    /* Before 7.2 servers do not name what a script may not call. */
    if (right_size == 0 && survey && survey->listed) {
        right = "scan";
        right_size = strlen(right);
    }
    if (right_size > 0)
        snprintf(out, size, ": %.*s", (int)right_size, right);
    for (char *at = out; *at; at++)
        *at = (char)toupper((unsigned char)*at);
}

/*
 * "127.0.0.1:7001 connection refused; 127.0.0.1:7002 timed out" for nodes that did not vote,
 * perhaps without those whose answer was not waited for.
 */
static void list_silent_nodes(const redlock_lock *lock, const struct rl_node_vote *votes,
                              bool with_pending, char *out, size_t size)
{
    const struct rl_engine *engine = &lock->client->engine;
    size_t used = 0;
    bool is_late = false;

    out[0] = '\0';
    for (uint8_t i = 0; i < engine->policy.node_count && used < size; i++) {
        char more[REDLOCK_TEXT_MAX + 4];

        if (could_vote(votes[i].vote) ||
            (votes[i].vote == REDLOCK_VOTE_PENDING && !with_pending))
            continue;
        describe_silence(lock, i, votes[i].vote, more, sizeof more);
        is_late |= votes[i].vote == REDLOCK_VOTE_SILENT && more[0];
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s %s%s", used ? "; " : "",
                             engine->node[i].address, redlock_vote_text(votes[i].vote), more);
    }
    if (is_late && used < size)
        snprintf(out + used, size - used, ": raise node_timeout_ms");
}

bool rl_lock_holder(const redlock_lock *lock, redlock_holder *out)
{
    const struct rl_current_holder *holder = rl_current_holder_of(&lock->handle);
    int64_t now_ns = rl_now_ns();

    if (!holder)
        return false;
    rl_holder_read((struct rl_slice){holder->value, holder->size}, out);
    rl_holder_set_age(out, rl_wall_ms(NULL));
    if (out->held_ms < 0) {
        out->held_ms = (now_ns - holder->since_ns) / RL_NS_PER_MS;
        out->held_at_least = 1;
    }
    if (holder->ends_ns)
        out->remaining_ms =
            holder->ends_ns > now_ns ? (holder->ends_ns - now_ns) / RL_NS_PER_MS : 0;
    out->votes = rl_count_nodes(holder->nodes);
    return true;
}

/* "12.3 s", "2 min", "3 h", "4 d" */
static void write_time(int64_t time_ms, char out[TIME_TEXT_MAX])
{
    int64_t s = time_ms / 1000;

    if (s < 60)
        snprintf(out, TIME_TEXT_MAX, "%" PRId64 ".%d s", s, (int)(time_ms % 1000 / 100));
    else if (s < 2 * 3600)
        snprintf(out, TIME_TEXT_MAX, "%" PRId64 " min", s / 60);
    else if (s < 2 * 86400)
        snprintf(out, TIME_TEXT_MAX, "%" PRId64 " h", s / 3600);
    else
        snprintf(out, TIME_TEXT_MAX, "%" PRId64 " d", s / 86400);
}

/* ", for 2 min, up to 8.4 s more": how long it has been held, where known, and may still be. */
static void write_times(const redlock_holder *holder, int64_t ttl_ms, char out[TIMES_TEXT_MAX])
{
    char held[TIME_TEXT_MAX];
    char left[TIME_TEXT_MAX];
    bool has_age = holder->label[0] && holder->held_ms >= 0;

    write_time(holder->held_ms, held);
    write_time(ttl_ms, left);
    snprintf(out, TIMES_TEXT_MAX, "%s%s%s%s%s%s", has_age ? ", for " : "",
             has_age && holder->held_at_least ? "at least " : "", has_age ? held : "",
             ttl_ms <= 0 ? ""
             : has_age   ? ", up to "
                         : ", for up to ",
             ttl_ms > 0 ? left : "", ttl_ms > 0 ? " more" : "");
}

static int explain_held(const redlock_lock *lock, const struct rl_node_vote *votes, int error)
{
    const struct rl_policy *policy = &lock->client->engine.policy;
    uint8_t held_count = rl_count_votes(policy, votes, REDLOCK_VOTE_TAKEN);
    const struct rl_acquisition *acquisition = lock->handle.lock.acquisition;
    int64_t ttl_ms = -1; /* how long the keys of other holders may live; -1: none reported it */
    redlock_holder holder = {.held_ms = -1, .remaining_ms = -1};
    char times[TIMES_TEXT_MAX];
    bool is_known = rl_lock_holder(lock, &holder);
    const char *who = holder.label[0] ? holder.label : "another";

    if (rl_count_votes(policy, votes, REDLOCK_VOTE_GRANTED) >= policy->quorum)
        return rl_detail(error, "'%s' was granted after the wait had ended, and given back",
                         rl_lock_name(lock));
    if (rl_count_votes(policy, votes, REDLOCK_VOTE_NONE) == policy->node_count && !is_known)
        return rl_detail(error, "the wait for '%s' ended before its first attempt could start",
                         rl_lock_name(lock));
    for (uint8_t i = 0; acquisition && i < policy->node_count; i++)
        if (votes[i].vote == REDLOCK_VOTE_TAKEN && acquisition->key_ttl_ms[i] > ttl_ms)
            ttl_ms = acquisition->key_ttl_ms[i];
    if (held_count > 0 && ttl_ms == 0)
        return rl_detail(error,
                         "'%s' is free or about to be, but others are ahead in its queue",
                         rl_lock_name(lock));
    write_times(&holder, held_count ? ttl_ms : holder.remaining_ms, times);
    if (held_count == 0)
        return rl_detail(error, "'%s' was still held by %s when the wait ended%s",
                         rl_lock_name(lock), who, times);
    return rl_detail(error, "'%s' is %sheld by %s on %u of %u nodes%s%s", rl_lock_name(lock),
                     error == REDLOCK_TIMEOUT ? "still " : "", who, held_count,
                     policy->node_count, lock->client->of_quorum, times);
}

static int explain_no_quorum(const redlock_lock *lock, const struct rl_node_vote *votes,
                             int error)
{
    const struct rl_policy *policy = &lock->client->engine.policy;
    char nodes[NODES_TEXT_MAX];
    uint8_t granted_count = rl_count_votes(policy, votes, REDLOCK_VOTE_GRANTED);
    uint8_t pending_count = rl_count_votes(policy, votes, REDLOCK_VOTE_PENDING);
    uint8_t voters = 0;
    bool was_hopeless; /* the others had failed: these were not waited for */

    for (uint8_t i = 0; i < policy->node_count; i++)
        voters += could_vote(votes[i].vote);
    was_hopeless = pending_count > 0 && voters + pending_count < policy->quorum;
    list_silent_nodes(lock, votes, !was_hopeless, nodes, sizeof nodes);
    if (granted_count >= policy->quorum)
        return rl_detail(error, "%u of %u nodes%s voted, but not in time to be worth anything",
                         voters, policy->node_count, lock->client->of_quorum);
    /* A renewal: neither a majority has the key, nor is it gone from so many that
     * it is lost. */
    if (voters >= policy->quorum)
        return rl_detail(
            error, "'%s' was renewed by %u of %u nodes%s, %u needed: gone from %u; %s",
            rl_lock_name(lock), granted_count, policy->node_count, lock->client->of_quorum,
            policy->quorum, voters - granted_count, nodes);
    return rl_detail(
        error, "%s%u of %u node%s%s could vote, %u needed: %s", was_hopeless ? "at most " : "",
        was_hopeless ? voters + pending_count : voters, policy->node_count,
        policy->node_count == 1 ? "" : "s", lock->client->of_quorum, policy->quorum, nodes);
}

/* Waiting does not help: the message has the check, and what is to be mended. */
static int explain_unsafe(const redlock_lock *lock, uint16_t unsafe, int error)
{
    const struct rl_engine *engine = &lock->client->engine;
    uint8_t i = 0;

    while (!(unsafe >> i & 1))
        i++;
    return rl_detail(
        error,
        "%u of %u node%s%s do not pass the safety checks of the profile correctness. %s: %s; "
        "%s",
        rl_count_nodes(unsafe), engine->policy.node_count,
        engine->policy.node_count == 1 ? "" : "s", lock->client->of_quorum,
        engine->node[i].address, engine->node[i].session.failure_text,
        rl_remedy(engine->node[i].session.failure_reason));
}

/* The way out for young nodes has to be in the message: wait, or vouch for them (G5). */
static int explain_guarded(const redlock_lock *lock, const struct rl_node_vote *votes,
                           int error)
{
    const struct rl_engine *engine = &lock->client->engine;
    uint8_t guarded_count = rl_count_votes(&engine->policy, votes, REDLOCK_VOTE_GUARDED);
    const struct rl_node *culprit = NULL;
    enum redlock_reason reason = REDLOCK_REASON_NONE; /* of the culprit */
    const char *text = "not trusted a moment ago";
    bool nameless = false;
    const struct rl_acquisition *acquisition = lock->handle.lock.acquisition;

    if (acquisition && acquisition->unsafe)
        return explain_unsafe(lock, acquisition->unsafe, error);
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_session *session = &engine->node[i].session;
        bool is_cluster = session->guard.reason == REDLOCK_REASON_CLUSTER;
        bool is_unusable =
            is_cluster || session->guard.objection == REDLOCK_REASON_SET_UNREADABLE;

        if (votes[i].vote != REDLOCK_VOTE_GUARDED)
            continue;
        if (session->failure_text[0])
            text = session->failure_text;
        nameless |= session->guard.reason == REDLOCK_REASON_INFO;
        if (is_unusable || (session->guard.objection && !culprit)) {
            culprit = &engine->node[i];
            reason = is_cluster ? REDLOCK_REASON_CLUSTER : session->guard.objection;
        }
    }
    /* No number of nodes: those that have not answered yet do perhaps not count either. */
    if (culprit)
        return rl_detail(
            error, "too few nodes%s count. %s: %s%s", lock->client->of_quorum, culprit->address,
            redlock_reason_text((int)reason),
            reason == REDLOCK_REASON_CLUSTER || reason == REDLOCK_REASON_SET_UNREADABLE ? ""
            : reason == REDLOCK_REASON_SAME_SERVER
                ? ". Give every node its own server"
                : ". Give all clients the same nodes, or after a change of the set admit "
                  "them again by redlock_admit()");
    return rl_detail(
        error, "%u of %u nodes%s are in quarantine (%s): %s", guarded_count,
        engine->policy.node_count, lock->client->of_quorum, text,
        nameless
            ? "wait, or allow +info for this user"
            : "they may have forgotten locks that are still held. Wait, or if nothing can be "
              "held on them let them vote now by redlock_admit(), or init of redlock(1)");
}

static int explain_lost(const redlock_lock *lock, const struct rl_node_vote *votes, int error)
{
    const struct rl_policy *policy = &lock->client->engine.policy;
    uint8_t held_count = rl_count_votes(policy, votes, REDLOCK_VOTE_TAKEN);
    uint8_t missing_count = rl_count_votes(policy, votes, REDLOCK_VOTE_MISSING);

    if (held_count > 0)
        return rl_detail(error, "'%s' was taken by another, whose key is on %u of %u nodes",
                         rl_lock_name(lock), held_count, policy->node_count);
    if (missing_count > 0)
        return rl_detail(error,
                         "the key of '%s' was gone from %u of %u nodes: expired, or deleted",
                         rl_lock_name(lock), missing_count, policy->node_count);
    return rl_detail(error, "the validity of '%s' had ended", rl_lock_name(lock));
}

int rl_explain(const redlock_lock *lock, enum rl_operation operation, int error)
{
    const struct rl_survey *survey = rl_survey_of(&lock->handle);
    const struct rl_node_vote *votes = lock->handle.lock.node;

    if (operation == RL_JOB && survey)
        votes = survey->node;
    switch (error) {
    case REDLOCK_OK:
        return error;
    case REDLOCK_BUSY:
    case REDLOCK_TIMEOUT:
        return explain_held(lock, votes, error);
    case REDLOCK_LOST:
    case REDLOCK_EXPIRED:
        return explain_lost(lock, votes, error);
    case REDLOCK_GUARDED:
        return explain_guarded(lock, votes, error);
    case REDLOCK_SYSTEM:
        return rl_detail(error,
                         "the kernel has no randomness (getrandom) for the value of '%s', "
                         "which must not be guessable",
                         rl_lock_name(lock));
    case REDLOCK_YOURS:
        return rl_detail(
            error,
            "'%s' is held under the idempotency key of this request: it was granted before, or "
            "another program uses the key. Release it by its key, and acquire with "
            "a new one",
            rl_lock_name(lock));
    case REDLOCK_CANCELED:
        return rl_detail(error, "the wait for '%s' was canceled", rl_lock_name(lock));
    case REDLOCK_INVAL:
        if (operation == RL_ACQUISITION)
            return rl_detail(
                error,
                "the TTL of '%s' is beyond what the nodes allow; shorten it, "
                "or raise max_ttl of all clients and of the nodes, by redlock_admit()",
                rl_lock_name(lock));
        return rl_detail(error, "max_extensions or max_hold_ms forbids extending '%s'",
                         rl_lock_name(lock));
    default:
        return explain_no_quorum(lock, votes, error);
    }
}
