/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/guard.h"

#include <string.h>

#include "base/slice.h"
#include "core/rules.h"

#define NODE_TIME_MAX_US ((int64_t)4000000000 * 1000000) /* the year 2096 */

/*
 * Server clocks tick in microseconds and are cached for the length of an event loop iteration.
 */
#define SAMPLE_SLACK_NS (10 * RL_NS_PER_MS)

void rl_guard_init(struct rl_guard *guard, enum rl_guard_mode mode, int64_t max_ttl_ns,
                   uint32_t drift_ppm)
{
    *guard = (struct rl_guard){
        .mode = mode,
        .max_ttl_ns = max_ttl_ns,
        .drift_ppm = drift_ppm,
        .reason = REDLOCK_REASON_UNCHECKED,
    };
}

/* What a quarantine has learned so far. */
static void forget_watch(struct rl_guard *guard)
{
    guard->probation[0] = '\0';
    guard->stamp_ends_ns = 0;
    guard->stamp_answered = false;
}

void rl_guard_connected(struct rl_guard *guard)
{
    if (!RL_RULE(CHECK_FIRST) && guard->state == RL_GUARD_VOTING)
        return;
    guard->state = RL_GUARD_UNCHECKED;
    guard->reason = REDLOCK_REASON_UNCHECKED;
    guard->identity[0] = guard->admitted[0] = '\0';
    forget_watch(guard);
    guard->node_max_ttl_ns = 0;
    /* The clock window survives: a step between two connections is a step all the same. */
}

static void admit(struct rl_guard *guard)
{
    guard->state = RL_GUARD_VOTING;
    guard->reason = REDLOCK_REASON_NONE;
}

static void quarantine(struct rl_guard *guard, enum redlock_reason reason, int64_t now_ns)
{
    guard->state = RL_GUARD_QUARANTINED;
    guard->reason = reason;
    guard->watched_since_ns = now_ns;
}

/* How long whatever a node may have forgotten can live: the longest TTL of any client (G4). */
int64_t rl_guard_time_ns(const struct rl_guard *guard)
{
    int64_t longest_ns = guard->max_ttl_ns;

    if (guard->node_max_ttl_ns > longest_ns)
        longest_ns = guard->node_max_ttl_ns;
    if (guard->term[0] && !RL_RULE(TERM_GUARD_TIME))
        return longest_ns;
    if (guard->term[0])
        longest_ns += RL_VOUCH_NS;
    return (RL_RULE(GUARD_TIME) ? longest_ns : 0) + RL_GUARD_MARGIN_NS;
}

/* What others wrote is not believed beyond what the library would ever write. */
static int64_t bounded_ttl_ns(int64_t ttl_ms)
{
    if (ttl_ms < 0)
        return 0;
    return (ttl_ms < REDLOCK_TTL_LIMIT_MS ? ttl_ms : REDLOCK_TTL_LIMIT_MS) * RL_NS_PER_MS;
}

static void join_identity(struct rl_guard *guard, const struct rl_facts *facts)
{
    size_t run_size = strlen(facts->run_id);
    size_t replid_size = strlen(facts->replid);

    guard->identity[0] = guard->admitted[0] = '\0';
    if (run_size == 0 || replid_size == 0 ||
        run_size + 1 + replid_size >= sizeof guard->identity)
        return;
    memcpy(guard->identity, facts->run_id, run_size);
    guard->identity[run_size] = ':';
    memcpy(guard->identity + run_size + 1, facts->replid, replid_size + 1);
    memcpy(guard->admitted, guard->identity, sizeof guard->identity);
    if (guard->term[0] && RL_RULE(MARKER_NAMES_TERM)) {
        size_t size = strlen(guard->identity);

        guard->admitted[size] = ' ';
        memcpy(guard->admitted + size + 1, guard->term, strlen(guard->term) + 1);
    }
}

static bool is_text(const char *wanted, struct rl_slice text)
{
    return text.size > 0 && rl_slice_equals(text, wanted);
}

/* Into quarantine, or on with the one that the node is in for the same reason. */
static void stay_quarantined(struct rl_guard *guard, enum redlock_reason reason, bool changed,
                             int64_t now_ns)
{
    if (changed || guard->state != RL_GUARD_QUARANTINED || guard->reason != reason) {
        quarantine(guard, reason, now_ns);
        forget_watch(guard);
    }
}

/* Default mode, nothing special about the node: its age decides, or how long it was watched. */
static void judge_age(struct rl_guard *guard, const struct rl_facts *facts, bool is_new,
                      int64_t now_ns)
{
    bool waiting_already =
        guard->state == RL_GUARD_VOTING || guard->reason == REDLOCK_REASON_YOUNG ||
        guard->reason == REDLOCK_REASON_INFO || guard->reason == REDLOCK_REASON_CLOCK ||
        guard->reason == REDLOCK_REASON_PROMOTED;

    if (!is_new && waiting_already)
        return;
    if (!facts->has_server)
        quarantine(guard, REDLOCK_REASON_INFO, now_ns);
    else if (facts->was_promoted && RL_RULE(PROMOTED_IS_YOUNG))
        quarantine(guard, REDLOCK_REASON_PROMOTED, now_ns);
    else if (!is_new || facts->uptime_s <= rl_guard_time_ns(guard) / RL_NS_PER_S)
        quarantine(guard, REDLOCK_REASON_YOUNG, now_ns);
    else
        admit(guard);
}

void rl_guard_judge(struct rl_guard *guard, const struct rl_facts *facts, int64_t now_ns)
{
    bool is_new = guard->state == RL_GUARD_UNCHECKED;
    char before[RL_IDENTITY_MAX];
    bool changed, is_admitted;

    memcpy(before, guard->identity, sizeof before);
    join_identity(guard, facts);
    changed = !is_new && strcmp(before, guard->identity) != 0;
    is_admitted = is_text(guard->admitted, rl_slice_of(facts->marker));
    guard->node_max_ttl_ns = bounded_ttl_ns(facts->marker_max_ttl_ms);
    if (guard->mode == RL_GUARD_OFF || !RL_RULE(RESTART_GUARD) ||
        (!RL_RULE(CHECK_FIRST) && guard->state == RL_GUARD_VOTING))
        admit(guard);
    else if (facts->has_persistence && facts->loading)
        stay_quarantined(guard, REDLOCK_REASON_LOADING, changed, now_ns);
    else if (facts->sentinel)
        stay_quarantined(guard, REDLOCK_REASON_SENTINEL, changed, now_ns);
    else if (facts->cluster)
        stay_quarantined(guard, REDLOCK_REASON_CLUSTER, changed, now_ns);
    else if (facts->has_replication && !facts->master)
        stay_quarantined(guard, REDLOCK_REASON_REPLICA, changed, now_ns);
    else if (guard->clock_blamed_ns != 0 &&
             now_ns - guard->clock_blamed_ns < rl_guard_time_ns(guard))
        quarantine(guard, REDLOCK_REASON_CLOCK, guard->clock_blamed_ns);
    else if (guard->mode == RL_GUARD_STRICT && !is_admitted)
        stay_quarantined(guard, REDLOCK_REASON_NOT_ADMITTED, changed, now_ns);
    else if (is_admitted)
        admit(guard);
    else if (changed)
        quarantine(guard, REDLOCK_REASON_YOUNG, now_ns);
    else
        judge_age(guard, facts, is_new, now_ns);
}

bool rl_guard_is_greeted(const struct rl_guard *guard, struct rl_slice identity)
{
    return is_text(guard->attestation_names_term ? guard->admitted : guard->identity, identity);
}

bool rl_guard_marker(struct rl_guard *guard, struct rl_slice marker, struct rl_slice identity,
                     int64_t max_ttl_ms, int64_t now_ns)
{
    if (guard->mode != RL_GUARD_STRICT || !RL_RULE(STRICT_MARKER))
        return rl_guard_check_vote(guard, now_ns);
    if (max_ttl_ms > 0)
        guard->node_max_ttl_ns = bounded_ttl_ns(max_ttl_ms);
    if (is_text(guard->admitted, marker) && rl_guard_is_greeted(guard, identity)) {
        /* Another client may have admitted it while we were watching. */
        if (guard->reason == REDLOCK_REASON_NOT_ADMITTED)
            admit(guard);
        return rl_guard_check_vote(guard, now_ns);
    }
    /* The clock quarantine lasts longer; keep it. */
    if (guard->state == RL_GUARD_QUARANTINED && guard->reason == REDLOCK_REASON_CLOCK)
        return false;
    /* Flushed, swapped, promoted in place, restarted behind a proxy: memory was lost (G2). */
    stay_quarantined(guard, REDLOCK_REASON_NOT_ADMITTED, false, now_ns);
    return false;
}

bool rl_guard_wants_stamp(const struct rl_guard *guard)
{
    return guard->state == RL_GUARD_QUARANTINED && guard->admitted[0] &&
           (guard->reason == REDLOCK_REASON_PROMOTED ||
            (guard->reason == REDLOCK_REASON_NOT_ADMITTED && guard->term[0]));
}

bool rl_guard_awaits_stamp(const struct rl_guard *guard)
{
    return rl_guard_wants_stamp(guard) && !guard->stamp_answered && guard->step_ns == 0 &&
           guard->objection == REDLOCK_REASON_NONE;
}

bool rl_guard_may_keep(const struct rl_guard *guard, struct rl_slice identity)
{
    return rl_guard_awaits_stamp(guard) &&
           (!guard->term[0] || rl_guard_is_greeted(guard, identity));
}

void rl_guard_stamped(struct rl_guard *guard, int64_t left_ms, int64_t now_ns)
{
    if (!rl_guard_wants_stamp(guard))
        return;
    if (left_ms <= 0)
        admit(guard);
    else
        guard->stamp_ends_ns = now_ns + bounded_ttl_ns(left_ms);
}

void rl_guard_probed(struct rl_guard *guard, struct rl_slice answer, int64_t now_ns)
{
    if (answer.size == 1 && answer.data[0] == 'A') {
        if (guard->reason == REDLOCK_REASON_NOT_ADMITTED)
            admit(guard);
        return;
    }
    if (answer.size >= sizeof guard->probation)
        return;
    memcpy(guard->probation, answer.data, answer.size);
    guard->probation[answer.size] = '\0';
    guard->watched_since_ns = now_ns;
}

bool rl_guard_wants_admission(const struct rl_guard *guard, int64_t now_ns)
{
    return guard->mode == RL_GUARD_STRICT && guard->state == RL_GUARD_QUARANTINED &&
           guard->probation[0] && now_ns - guard->watched_since_ns >= rl_guard_time_ns(guard);
}

void rl_guard_admitted(struct rl_guard *guard, bool admitted, int64_t now_ns)
{
    /* Not agreed: the probation was lost on the way, and with it perhaps locks. Once more. */
    guard->probation[0] = '\0';
    guard->watched_since_ns = now_ns;
    if (admitted && guard->reason == REDLOCK_REASON_NOT_ADMITTED)
        admit(guard);
}

void rl_guard_vouched(struct rl_guard *guard)
{
    guard->clock_blamed_ns = 0;
    switch (guard->reason) {
    case REDLOCK_REASON_LOADING:
    case REDLOCK_REASON_CLUSTER:
    case REDLOCK_REASON_REPLICA:
        return;
    default:
        admit(guard);
    }
}

static bool ends_by_itself(const struct rl_guard *guard)
{
    switch (guard->reason) {
    case REDLOCK_REASON_YOUNG:
    case REDLOCK_REASON_INFO:
    case REDLOCK_REASON_CLOCK:
    case REDLOCK_REASON_PROMOTED:
        return true;
    default:
        return false;
    }
}

int64_t rl_guard_ends_ns(const struct rl_guard *guard)
{
    if (guard->objection != REDLOCK_REASON_NONE)
        return INT64_MAX;
    if (guard->state != RL_GUARD_QUARANTINED)
        return guard->state == RL_GUARD_VOTING ? 0 : INT64_MAX;
    if (rl_guard_wants_stamp(guard) && guard->stamp_ends_ns != 0)
        return guard->stamp_ends_ns;
    if (!ends_by_itself(guard) && !guard->probation[0])
        return INT64_MAX;
    return guard->watched_since_ns + rl_guard_time_ns(guard);
}

bool rl_guard_check_vote(struct rl_guard *guard, int64_t now_ns)
{
    if (guard->step_ns != 0)
        return false;
    if (guard->state == RL_GUARD_QUARANTINED && ends_by_itself(guard) &&
        now_ns - guard->watched_since_ns >= rl_guard_time_ns(guard))
        admit(guard);
    return rl_guard_is_voting(guard);
}

void rl_guard_sample(struct rl_guard *guard, int64_t node_us, int64_t sent_ns,
                     int64_t received_ns)
{
    struct rl_clock_window *old = &guard->window;
    int64_t node_ns = node_us >= 0 && node_us <= NODE_TIME_MAX_US ? node_us * RL_NS_PER_US : 0;
    int64_t low_ns = node_ns - received_ns - SAMPLE_SLACK_NS;
    int64_t high_ns = node_ns - sent_ns + SAMPLE_SLACK_NS;
    /* Divided first, which leaves whole milliseconds: months of silence must not overflow. */
    int64_t span_ns = (received_ns - sent_ns) / 1000000 * guard->drift_ppm;
    int64_t age_ns = (received_ns - old->at_ns) / 1000000 * guard->drift_ppm;
    int64_t old_low_ns = old->low_ns - age_ns;
    int64_t old_high_ns = old->high_ns + age_ns;

    if (guard->mode == RL_GUARD_OFF || node_ns == 0 || !RL_RULE(CLOCK_GUARD))
        return;
    /* Read right after it was sent, the clocks may have drifted since: we may have slept. */
    high_ns += span_ns;
    if (old->known && low_ns > old_high_ns)
        guard->step_ns = low_ns - old_high_ns;
    else if (old->known && high_ns < old_low_ns)
        guard->step_ns = high_ns - old_low_ns;
    else if (old->known) {
        /* Both are true: what they have in common is true as well. */
        low_ns = low_ns > old_low_ns ? low_ns : old_low_ns;
        high_ns = high_ns < old_high_ns ? high_ns : old_high_ns;
    }
    *old = (struct rl_clock_window){true, low_ns, high_ns, received_ns};
}

void rl_guard_forget_clock(struct rl_guard *guard)
{
    guard->window.known = false;
    guard->step_ns = 0;
    guard->clock_blamed_ns = 0;
}

void rl_guard_blame_clock(struct rl_guard *guard, int64_t now_ns)
{
    guard->step_ns = 0;
    guard->clock_blamed_ns = now_ns;
    quarantine(guard, REDLOCK_REASON_CLOCK, now_ns);
    forget_watch(guard);
}
