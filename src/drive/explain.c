/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drive/detail.h"
#include "engine/survey.h"
#include "io/clock.h"
#include "protocol/sight.h"

#define NODES_TEXT_MAX 640
#define TIME_TEXT_MAX 32
#define TIMES_TEXT_MAX 96

const char *rl_of_quorum(const redlock *client, char text[RL_OF_QUORUM_MAX])
{
    text[0] = '\0';
    if (client->quorum_name[0])
        snprintf(text, RL_OF_QUORUM_MAX, " of quorum '%s'", client->quorum_name);
    return text;
}

static bool could_vote(uint8_t vote)
{
    return vote == REDLOCK_VOTE_GRANTED || vote == REDLOCK_VOTE_TAKEN ||
           vote == REDLOCK_VOTE_MISSING;
}

/* "127.0.0.1:7001 connection refused; 127.0.0.1:7002 timed out" for nodes that did not vote. */
static void list_silent_nodes(const redlock_lock *lock, const struct rl_node_vote *votes,
                              char *out, size_t size)
{
    const struct rl_engine *engine = &lock->client->engine;
    size_t used = 0;
    bool is_late = false;

    out[0] = '\0';
    for (uint8_t i = 0; i < engine->policy.node_count && used < size; i++) {
        char late[REDLOCK_TEXT_MAX] = "";

        if (could_vote(votes[i].vote))
            continue;
        if (votes[i].vote == REDLOCK_VOTE_TIMEDOUT)
            rl_node_describe_late(engine, i, late, sizeof late);
        is_late |= late[0] != '\0';
        used += (size_t)snprintf(out + used, size - used, "%s%s %s%s%s%s", used ? "; " : "",
                                 engine->node[i].address, redlock_vote_text(votes[i].vote),
                                 late[0] ? " (" : "", late, late[0] ? ")" : "");
    }
    if (is_late && used < size)
        snprintf(out + used, size - used, ": raise node_timeout_ms (--node-timeout)");
}

/* How long the keys of other holders may live; -1: no node told. */
static int64_t longest_ttl_ms(const redlock_lock *lock, const struct rl_node_vote *votes)
{
    const struct rl_acquisition *acquisition = lock->handle.lock.acquisition;
    int64_t longest_ms = -1;

    for (uint8_t i = 0; acquisition && i < lock->client->engine.policy.node_count; i++)
        if (votes[i].vote == REDLOCK_VOTE_TAKEN && acquisition->key_ttl_ms[i] > longest_ms)
            longest_ms = acquisition->key_ttl_ms[i];
    return longest_ms;
}

bool rl_lock_holder(const redlock_lock *lock, redlock_holder *out)
{
    const struct rl_blocker *blocker = rl_blocker_of(&lock->handle);
    int64_t now_ns = rl_now_ns();

    if (!blocker)
        return false;
    rl_holder_read((struct rl_slice){blocker->value, blocker->size}, out);
    rl_holder_set_age(out, rl_wall_ms(NULL));
    if (out->held_ms < 0) {
        out->held_ms = (now_ns - blocker->since_ns) / RL_NS_PER_MS;
        out->held_at_least = 1;
    }
    if (blocker->ends_ns)
        out->ttl_ms =
            blocker->ends_ns > now_ns ? (blocker->ends_ns - now_ns) / RL_NS_PER_MS : 0;
    out->votes = rl_count_nodes(blocker->nodes);
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
    bool tells_age = holder->label[0] && holder->held_ms >= 0;

    write_time(holder->held_ms, held);
    write_time(ttl_ms, left);
    snprintf(out, TIMES_TEXT_MAX, "%s%s%s%s%s%s", tells_age ? ", for " : "",
             tells_age && holder->held_at_least ? "at least " : "", tells_age ? held : "",
             ttl_ms <= 0 ? ""
             : tells_age ? ", up to "
                         : ", for up to ",
             ttl_ms > 0 ? left : "", ttl_ms > 0 ? " more" : "");
}

static int explain_held(const redlock_lock *lock, const struct rl_node_vote *votes, int error)
{
    const struct rl_policy *policy = &lock->client->engine.policy;
    uint8_t held_count = rl_count_votes(policy, votes, REDLOCK_VOTE_TAKEN);
    int64_t ttl_ms = longest_ttl_ms(lock, votes);
    redlock_holder holder = {.held_ms = -1, .ttl_ms = -1};
    char times[TIMES_TEXT_MAX];
    char of_quorum[RL_OF_QUORUM_MAX];
    bool is_told = rl_lock_holder(lock, &holder);
    const char *who = holder.label[0] ? holder.label : "another";

    if (rl_count_votes(policy, votes, REDLOCK_VOTE_GRANTED) >= policy->quorum)
        return rl_detail(error, "'%s' was granted after the wait had ended, and given back",
                         rl_lock_name(lock));
    if (rl_count_votes(policy, votes, REDLOCK_VOTE_NONE) == policy->node_count && !is_told)
        return rl_detail(error, "the wait for '%s' ended before its first attempt could start",
                         rl_lock_name(lock));
    if (held_count > 0 && ttl_ms == 0)
        return rl_detail(error,
                         "'%s' is free or about to be, but others are ahead in its queue",
                         rl_lock_name(lock));
    write_times(&holder, held_count ? ttl_ms : holder.ttl_ms, times);
    if (held_count == 0)
        return rl_detail(error, "'%s' was still held by %s when the wait ended%s",
                         rl_lock_name(lock), who, times);
    return rl_detail(error, "'%s' is %sheld by %s on %u of %u nodes%s%s", rl_lock_name(lock),
                     error == REDLOCK_TIMEOUT ? "still " : "", who, held_count,
                     policy->node_count, rl_of_quorum(lock->client, of_quorum), times);
}

static int explain_no_quorum(const redlock_lock *lock, const struct rl_node_vote *votes,
                             int error)
{
    const struct rl_policy *policy = &lock->client->engine.policy;
    char nodes[NODES_TEXT_MAX];
    char of_quorum[RL_OF_QUORUM_MAX];
    uint8_t voters = 0;

    rl_of_quorum(lock->client, of_quorum);
    for (uint8_t i = 0; i < policy->node_count; i++)
        voters += could_vote(votes[i].vote);
    if (voters >= policy->quorum)
        return rl_detail(error, "%u of %u nodes%s voted, but not in time to be worth anything",
                         voters, policy->node_count, of_quorum);
    list_silent_nodes(lock, votes, nodes, sizeof nodes);
    return rl_detail(error, "%u of %u node%s%s could vote, %u needed: %s", voters,
                     policy->node_count, policy->node_count == 1 ? "" : "s", of_quorum,
                     policy->quorum, nodes);
}

/* The way out for young nodes has to be in the message: wait, or vouch for them (G5). */
static int explain_guarded(const redlock_lock *lock, const struct rl_node_vote *votes,
                           int error)
{
    const struct rl_engine *engine = &lock->client->engine;
    uint8_t guarded_count = rl_count_votes(&engine->policy, votes, REDLOCK_VOTE_GUARDED);
    char of_quorum[RL_OF_QUORUM_MAX];
    const struct rl_node *misplaced = NULL;
    const char *text = "not trusted a moment ago";
    bool nameless = false;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        if (votes[i].vote != REDLOCK_VOTE_GUARDED)
            continue;
        if (engine->node[i].session.failure_text[0])
            text = engine->node[i].session.failure_text;
        nameless |= engine->node[i].session.guard.reason == RL_GUARD_UNKNOWN_REASON;
        if (engine->node[i].session.guard.objection != RL_GUARD_NONE_REASON)
            misplaced = &engine->node[i];
    }
    if (misplaced && misplaced->session.guard.objection == RL_GUARD_SAME_SERVER_REASON)
        return rl_detail(error, "too few nodes%s count. %s: %s. Give every node its own server",
                         rl_of_quorum(lock->client, of_quorum), misplaced->address,
                         rl_guard_reason_text(RL_GUARD_SAME_SERVER_REASON));
    /* No number of nodes: those that have not answered yet do perhaps not count either. */
    if (misplaced)
        return rl_detail(
            error,
            "too few nodes%s count. %s: %s. Give all clients the same nodes, or after a change "
            "of the set run `redlock init`; `redlock doctor` shows which node belongs where",
            rl_of_quorum(lock->client, of_quorum), misplaced->address,
            rl_guard_reason_text(misplaced->session.guard.objection));
    return rl_detail(
        error, "%u of %u nodes%s are in quarantine (%s): %s", guarded_count,
        engine->policy.node_count, rl_of_quorum(lock->client, of_quorum), text,
        nameless
            ? "wait, or allow +info for this user"
            : "wait, or if nothing can be held on them let them vote now with `redlock init`");
}

static int explain_lost(const redlock_lock *lock, const struct rl_node_vote *votes, int error)
{
    const struct rl_policy *policy = &lock->client->engine.policy;
    uint8_t held_count = rl_count_votes(policy, votes, REDLOCK_VOTE_TAKEN);
    uint8_t missing_count = rl_count_votes(policy, votes, REDLOCK_VOTE_MISSING);

    if (held_count > 0)
        return rl_detail(error, "'%s' was taken by another: its key is on %u of %u nodes",
                         rl_lock_name(lock), held_count, policy->node_count);
    if (missing_count > 0)
        return rl_detail(error, "the key of '%s' was gone from %u of %u nodes",
                         rl_lock_name(lock), missing_count, policy->node_count);
    return rl_detail(error, "the validity of '%s' had ended", rl_lock_name(lock));
}

int rl_explain(const redlock_lock *lock, enum rl_operation operation, int error)
{
    const struct rl_survey *survey = rl_survey_of(&lock->handle);
    const struct rl_node_vote *votes = lock->handle.lock.node;

    if (operation == RL_QUESTION && survey)
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
            "'%s' is held under the tag of this request: it was granted before, or "
            "another program uses the tag. Release it by its tag, and acquire with "
            "a new one",
            rl_lock_name(lock));
    case REDLOCK_CANCELED:
        return rl_detail(error, "the wait for '%s' was canceled", rl_lock_name(lock));
    case REDLOCK_INVAL:
        if (operation == RL_ACQUISITION)
            return rl_detail(error,
                             "the TTL of '%s' is beyond what the nodes allow; shorten it, "
                             "or raise their max_ttl with `redlock init --max-ttl`",
                             rl_lock_name(lock));
        return rl_detail(error, "max_extensions or max_hold_ms forbids extending '%s'",
                         rl_lock_name(lock));
    default:
        return explain_no_quorum(lock, votes, error);
    }
}
