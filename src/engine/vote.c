/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a grant is worth: every check between a reply and the tally that is about the node.
 *
 * A reply is that of the oldest request on its connection (protocol/session.c), and no request
 * is answered before the greeting's checks of the node. rl_acquire_answer() (core/acquire.c)
 * counts a grant (rl_tally_vote(), core/tally.h) only if it passes these checks, in this order:
 *
 *  1. rl_answer_read     it has the shape of a grant for what was requested: +OK to a SET, the
 *                        array or the number of a script. Anything else is no grant.
 *  2. check_token        a fenced grant has a token that a counter may have given.
 *  3. check_max_ttl      the TTL requested is one that the node allows (G4).
 *  4. check_overtaking   behind our own release, no other client waits on that node.
 *  5. await_attestation  strict mode: the attestation behind the grant has come (G2), and
 *     ..._by_attestation what it found allows this TTL.
 *  6. check_marker       strict mode: the node's marker and identity are known.
 *  7. check_guard        the node may vote: its memory (G1, G2) and its clock (G6) are trusted,
 *                        it belongs to the set of nodes that is in force (G8; sets.c), and its
 *                        server does not vote by another name already.
 *     check_safety       the profile `correctness`: it passes the safety checks (safety.h).
 *
 *  8. keep               an elected vote: a majority of its electors has named the term that it
 *                        was sent to, in answer to requests no more than two seconds old
 *                        (elected.h). A node that the age of a stamp may admit: that age has
 *                        been requested (E7).
 *
 * What nodes without a set have granted decides only when every node has reported its set, has
 * failed or has had its time (G8.3; decide_attempt() in core/acquire.c).
 *
 * After them come the checks that are about the lock: rl_deliver_answer() drops the answer to
 * an attempt that its lock has given up, rl_acquire_answer() (core/acquire.c) the answer of
 * another round, and the tally counts one vote of a node in a round.
 *
 * A grant that was counted can be revoked while its attempt is open: its node's clock was set,
 * or its set has changed (rl_tally_revoke()).
 *
 * A grant that does not pass becomes the vote that has the reason. The key that it has set
 * stays on the node until the attempt is rolled back or the lock is released.
 */
#include "engine/receive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "core/rules.h"
#include "engine/engine.h"
#include "engine/safety.h"
#include "engine/sets.h"
#include "engine/watch.h"
#include "protocol/answer.h"
#include "protocol/vetting.h"

#define CAPACITY_FIRST 64

struct rl_answer rl_vote_when_unreachable(const struct rl_engine *engine, uint8_t node)
{
    const struct rl_session *session = &engine->node[node].session;
    struct rl_answer answer = {
        .vote = session->failure, .is_synthetic = true, .key_ttl_ms = -1};

    /* Connected but full of unanswered requests: a node that does not answer. */
    if (session->state != RL_SESSION_DOWN)
        answer.vote = REDLOCK_VOTE_SILENT;
    if (session->state != RL_SESSION_DOWN &&
        session->guard.objection == REDLOCK_REASON_SAME_SERVER)
        answer.vote = REDLOCK_VOTE_GUARDED;
    return answer;
}

/* ---- 2: the token ---- */

/*
 * A fenced grant must carry a token that a counter may have given: aligned to any other, the
 * counters of all nodes would end there. The node counts as one that answered an error.
 */
static void check_token(struct rl_session *session, struct rl_answer *answer)
{
    static const char text[] = "its fencing token is no number that a counter may have "
                               "reached: an audit says more";

    if (!RL_RULE(TOKEN_RANGE) ||
        (rl_is_token(answer->token) &&
         (answer->owners_token == 0 || rl_is_token(answer->owners_token))))
        return;
    answer->vote = REDLOCK_VOTE_ERROR;
    rl_session_fail(session, REDLOCK_VOTE_ERROR, REDLOCK_REASON_COUNTER, text);
}

/* ---- 3: the longest TTL ---- */

/*
 * A lock must not outlive the guard of a node that forgot it (G4): what the node allows is
 * known since the greeting. In strict mode the attestation has it as of this moment.
 */
static void check_max_ttl(const struct rl_session *session, const struct rl_attempt *attempt,
                          struct rl_answer *answer)
{
    int64_t max_ttl_ns = session->guard.node_max_ttl_ns;

    if (answer->vote != REDLOCK_VOTE_GRANTED || max_ttl_ns <= 0 ||
        attempt->ttl_ns <= max_ttl_ns)
        return;
    answer->vote = REDLOCK_VOTE_GUARDED;
    answer->beyond_max_ttl = true;
}

/* ---- 4: overtaking ---- */

/* A grant behind our own release, of a node where other clients may wait, belongs to them. */
static void check_overtaking(const struct rl_attempt *attempt, uint8_t node,
                             struct rl_answer *answer)
{
    const struct rl_local_queue *queue;

    /* Once the lock is held, a late grant only adds to it. */
    if (answer->vote != REDLOCK_VOTE_GRANTED || !attempt->handle ||
        attempt->handle->lock.state != RL_ACQUIRING || !RL_RULE(NO_OVERTAKING))
        return;
    queue = rl_local_queue_of(attempt->handle);
    if (queue && (queue->nodes_without_waiters & (1u << node)))
        return;
    answer->vote = REDLOCK_VOTE_TAKEN;
    answer->overtakes = true;
}

/* ---- 6 and 7: marker and guard ---- */

static void check_marker(struct rl_answer *answer)
{
    if (!answer->has_marker && answer->vote == REDLOCK_VOTE_GRANTED && RL_RULE(ATTESTATION))
        answer->vote = REDLOCK_VOTE_PROTO;
}

/* The profile `correctness`: it takes votes away, and gives none. */
static void check_safety(struct rl_engine *engine, uint8_t node, struct rl_answer *answer)
{
    enum redlock_reason reason = rl_safety_find(engine, node);
    char text[REDLOCK_TEXT_MAX];

    if (!reason)
        return;
    answer->vote = REDLOCK_VOTE_GUARDED;
    answer->is_unsafe = true;
    snprintf(text, sizeof text, "safety check %s: %s", rl_safety_check_name(reason),
             redlock_reason_text((int)reason));
    rl_session_fail(&engine->node[node].session, REDLOCK_VOTE_GUARDED, reason, text);
}

/* The session remembers why a grant was not counted. */
static void refuse_vote(struct rl_session *session, int64_t now_ns, struct rl_answer *answer)
{
    struct rl_guard *guard = &session->guard;
    enum redlock_reason reason;
    char text[REDLOCK_TEXT_MAX];

    answer->vote = REDLOCK_VOTE_GUARDED;
    answer->counts_once = guard->objection == REDLOCK_REASON_SAME_SERVER;
    reason = rl_watch_describe(guard, now_ns, text, sizeof text);
    rl_session_fail(session, REDLOCK_VOTE_GUARDED, reason, text);
}

/*
 * A grant is not refused for a quarantine that may be over by the age of a stamp: one command
 * after another, each too short to check twice, would find it over, and none would get the
 * lock. Of an elected vote, the attestation must name the incarnation that the stamp will be of
 * (E5).
 */
static void check_guard(struct rl_session *session, enum rl_op op, int64_t now_ns,
                        struct rl_answer *answer)
{
    struct rl_guard *guard = &session->guard;
    bool may_vote = answer->has_marker
                        ? rl_guard_marker(guard, answer->marker, answer->identity,
                                          answer->marker_max_ttl_ms, now_ns)
                        : rl_guard_is_voting(guard) || rl_guard_check_vote(guard, now_ns);

    if (answer->beyond_max_ttl) {
        rl_session_fail(session, REDLOCK_VOTE_GUARDED, REDLOCK_REASON_MAX_TTL, NULL);
    } else if (answer->vote == REDLOCK_VOTE_GRANTED && !may_vote &&
               !(rl_ops[op].acquires && rl_guard_may_keep(guard, answer->identity))) {
        refuse_vote(session, now_ns, answer);
    }
}

/*
 * An elected vote: the electors may be behind a server that was demoted and promoted again, so
 * the attestation behind a renewal, too, must name the incarnation that was greeted (E5).
 */
static void check_renewal(struct rl_guard *guard, int64_t now_ns, struct rl_answer *answer)
{
    if (answer->vote == REDLOCK_VOTE_GRANTED && RL_RULE(TERM_ATTESTED) &&
        !rl_guard_is_greeted(guard, answer->identity))
        answer->vote = REDLOCK_VOTE_GUARDED;
    answer->of_new_term = !rl_guard_check_vote(guard, now_ns);
}

/* Strict: the set that the node was in when it granted. */
static void receive_set(struct rl_engine *engine, uint8_t node, const struct rl_answer *answer,
                        int64_t now_ns)
{
    if (!engine->strict || !answer->has_marker)
        return;
    rl_vetting_note_set(&engine->node[node].session, answer->set);
    rl_sets_receive(engine, node, now_ns);
}

/* Checks 6 and 7, and what the guard has to do with other replies. */
static void check_node(struct rl_engine *engine, uint8_t node, enum rl_op op, int64_t now_ns,
                       struct rl_answer *answer)
{
    struct rl_session *session = &engine->node[node].session;
    const char *new_set = engine->node[node].new_set;

    switch (op) {
    case RL_OP_EXTEND:
        /*
         * Compare-and-renew may count in quarantine too (G3): core/hold.c knows. Strict: the
         * node may have forgotten everything since its last reply to this client, unless an
         * attestation proves that it has not.
         */
        answer->in_quarantine =
            !rl_guard_check_vote(&session->guard, now_ns) ||
            (engine->strict && !answer->has_marker && RL_RULE(RENEWAL_ATTESTED));
        if (engine->node[node].elected && engine->strict)
            check_renewal(&session->guard, now_ns, answer);
        /* But not on a node that is in another set now: others may hold the lock there (G8). */
        if (session->guard.objection != REDLOCK_REASON_NONE &&
            answer->vote == REDLOCK_VOTE_GRANTED)
            answer->vote = REDLOCK_VOTE_GUARDED;
        return;
    case RL_OP_ADMIT:
        if (answer->vote == REDLOCK_VOTE_GRANTED) {
            rl_guard_vouched(&session->guard);
            rl_vetting_note_set(session, rl_slice_of(new_set));
            rl_sets_receive(engine, node, now_ns);
        } else if (answer->vote == REDLOCK_VOTE_GUARDED) {
            rl_session_fail(session, REDLOCK_VOTE_GUARDED, REDLOCK_REASON_SET_CHANGED,
                            RL_SETS_OTHER_INIT);
        }
        return;
    case RL_OP_REPAIR:
        /*
         * A repair was sent to a node that may vote (send.c), but with a marker it is looked at
         * again: the key may be missing because the node forgot everything (G2, G3).
         */
        if (!answer->has_marker || !RL_RULE(REPAIR_IS_NO_PROOF))
            return;
        break;
    case RL_OP_ACQUIRE:
    case RL_OP_ACQUIRE_AGAIN:
        break;
    default:
        return;
    }
    if (engine->strict) {
        check_marker(answer);
        receive_set(engine, node, answer, now_ns);
    }
    check_guard(session, op, now_ns, answer);
    if (engine->requires_safety && answer->vote == REDLOCK_VOTE_GRANTED)
        check_safety(engine, node, answer);
}

/* ---- 5: the attestation (G2) ---- */

/*
 * A grant counts only if the node that gave it still is what this connection greeted, and its
 * marker has it. Reading that inside every acquire costs the server several times the acquire
 * itself. Instead one attestation goes behind each batch of acquires, on their connection;
 * grants wait here until it has answered. It is executed after them, and the identity of a node
 * never comes back once it has changed: if the attestation finds what was there before the
 * acquires were sent, it was there all the time between. (In front of them it would prove
 * nothing about the moment of the grant.)
 */
static bool keep_unconfirmed(struct rl_node *at, const struct rl_pending *pending,
                             const struct rl_answer *answer)
{
    if (at->unconfirmed_count == at->unconfirmed_capacity) {
        uint32_t capacity =
            at->unconfirmed_capacity ? 2 * at->unconfirmed_capacity : CAPACITY_FIRST;
        struct rl_unconfirmed *grown =
            realloc(at->unconfirmed, capacity * sizeof *at->unconfirmed);

        if (!grown)
            return false;
        at->unconfirmed = grown;
        at->unconfirmed_capacity = capacity;
    }
    at->unconfirmed[at->unconfirmed_count++] = (struct rl_unconfirmed){
        .pending = *pending,
        .token = answer->token,
    };
    return true;
}

/*
 * True: the answer waits for its attestation. Also waits: a renewal of a hold whose grant is
 * still unconfirmed, or was never counted on this node; on an elected vote, every renewal.
 */
static bool await_attestation(struct rl_node *at, const struct rl_pending *pending,
                              struct rl_answer *answer)
{
    bool waits = pending->needs_attestation;

    if (answer->vote != REDLOCK_VOTE_GRANTED || !RL_RULE(ATTESTATION))
        return false;
    for (uint32_t i = 0; pending->op == RL_OP_EXTEND && i < at->unconfirmed_count; i++)
        waits |= at->unconfirmed[i].pending.subject == pending->subject;
    if (!waits)
        return false;
    if (keep_unconfirmed(at, pending, answer))
        return true;
    answer->vote = REDLOCK_VOTE_ERROR; /* out of memory */
    return false;
}

/* ---- 8: the electors, and the stamp ---- */

static bool awaits_vouch(const struct rl_node *at, bool is_renewal, int64_t now_ns)
{
    return at->elected && !rl_elected_is_vouched(at, now_ns) &&
           (is_renewal ? RL_RULE(RENEWAL_VOUCHED) : RL_RULE(VOUCHED));
}

/* Kept no longer than the round, which ends with the node timeout. */
static bool must_wait(const struct rl_node *at, const struct rl_pending *pending,
                      int64_t now_ns)
{
    bool is_renewal = pending->op == RL_OP_EXTEND;

    return awaits_vouch(at, is_renewal, now_ns) ||
           (!is_renewal && rl_guard_awaits_stamp(&at->session.guard));
}

/* True: the answer is kept until they have come. */
static bool keep(struct rl_node *at, const struct rl_pending *pending, struct rl_answer *answer,
                 int64_t now_ns)
{
    struct rl_withheld *kept;

    if (answer->vote != REDLOCK_VOTE_GRANTED ||
        (pending->op != RL_OP_EXTEND && !rl_ops[pending->op].acquires) ||
        !must_wait(at, pending, now_ns))
        return false;
    if (at->kept_count == at->kept_capacity) {
        uint32_t capacity = at->kept_capacity ? 2 * at->kept_capacity : CAPACITY_FIRST;
        struct rl_withheld *grown = realloc(at->kept, capacity * sizeof *at->kept);

        if (!grown) {
            answer->vote = REDLOCK_VOTE_ERROR;
            return false;
        }
        at->kept = grown;
        at->kept_capacity = capacity;
    }
    kept = &at->kept[at->kept_count++];
    *kept = (struct rl_withheld){.pending = *pending, .answer = *answer};
    /* The reply that these point into will be gone. */
    kept->answer.marker = kept->answer.identity = kept->answer.set = (struct rl_slice){"", 0};
    kept->answer.names_holder = false;
    return true;
}

/* What it was worth when it came, and still is: the guard may have learnt something since. */
static void judge_again(struct rl_session *session, const struct rl_withheld *kept,
                        int64_t now_ns, struct rl_answer *answer)
{
    if (rl_guard_check_vote(&session->guard, now_ns))
        return;
    if (kept->pending.op == RL_OP_EXTEND && session->guard.objection == REDLOCK_REASON_NONE)
        answer->in_quarantine = true;
    else
        refuse_vote(session, now_ns, answer);
}

void rl_vote_give_kept(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    uint32_t count = at->kept_count;
    uint32_t left_count = 0;

    /* A step can add to them: these come behind, for the next time. */
    for (uint32_t i = 0; i < count; i++) {
        struct rl_withheld kept = at->kept[i];

        if (must_wait(at, &kept.pending, now_ns)) {
            at->kept[left_count++] = kept;
            continue;
        }
        judge_again(&at->session, &kept, now_ns, &kept.answer);
        rl_deliver_answer(engine, node, &kept.pending, NULL, &kept.answer, now_ns);
        rl_attempt_unref(&engine->attempts, kept.pending.subject);
    }
    if (left_count == count)
        return;
    memmove(at->kept + left_count, at->kept + count,
            (at->kept_count - count) * sizeof *at->kept);
    at->kept_count -= count - left_count;
}

void rl_vote_lose_kept(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    uint32_t count = at->kept_count;

    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct rl_pending pending = at->kept[i].pending;
        struct rl_answer answer = rl_vote_when_unreachable(engine, node);

        rl_deliver_answer(engine, node, &pending, NULL, &answer, now_ns);
        rl_attempt_unref(&engine->attempts, pending.subject);
    }
    memmove(at->kept, at->kept + count, (at->kept_count - count) * sizeof *at->kept);
    at->kept_count -= count;
}

bool rl_vote_judge_by_attestation(struct rl_engine *engine, uint8_t node,
                                  const struct rl_unconfirmed *grant,
                                  const struct rl_answer *attestation, int64_t now_ns,
                                  struct rl_answer *out)
{
    const struct rl_attempt *attempt = grant->pending.subject;
    struct rl_answer answer = *attestation;

    answer.token = grant->token;
    if (answer.has_marker && answer.marker_max_ttl_ms > 0 &&
        attempt->ttl_ns / RL_NS_PER_MS > answer.marker_max_ttl_ms) {
        answer.vote = REDLOCK_VOTE_GUARDED;
        answer.beyond_max_ttl = true;
    }
    /* A renewal is what it was; its hold has been judged. */
    if (grant->pending.op == RL_OP_EXTEND && attestation->vote == REDLOCK_VOTE_GRANTED)
        answer = (struct rl_answer){REDLOCK_VOTE_GRANTED, .key_ttl_ms = -1,
                                    .has_marker = attestation->has_marker,
                                    .identity = attestation->identity};
    check_node(engine, node, (enum rl_op)grant->pending.op, now_ns, &answer);
    *out = answer;
    return !keep(&engine->node[node], &grant->pending, out, now_ns);
}

bool rl_vote_read_attestation(struct rl_engine *engine, uint8_t node,
                              const struct rl_reply *reply, int64_t now_ns,
                              struct rl_answer *attestation)
{
    struct rl_node *at = &engine->node[node];

    if (rl_reply_is_noscript(reply)) {
        at->session.abilities.known_scripts &= ~(1u << RL_SCRIPT_ID_ATTESTATION);
        at->session.wants_attestation = at->unconfirmed_count > 0;
        return false;
    }
    *attestation = rl_answer_read_attestation(reply);
    /*
     * Read the set even if no grant is waiting: a grant refused for overtaking may still be
     * renewed later.
     */
    receive_set(engine, node, attestation, now_ns);
    if (attestation->has_marker)
        rl_guard_marker(&at->session.guard, attestation->marker, attestation->identity,
                        attestation->marker_max_ttl_ms, now_ns);
    return true;
}

/* ---- all of them ---- */

bool rl_vote_judge(struct rl_engine *engine, uint8_t node, const struct rl_pending *pending,
                   const struct rl_reply *reply, int64_t now_ns, struct rl_answer *out)
{
    struct rl_node *at = &engine->node[node];
    const struct rl_attempt *attempt = pending->subject;
    enum rl_op op = (enum rl_op)pending->op;

    *out = rl_answer_read(op, pending->by_script, reply);
    if (out->vote == REDLOCK_VOTE_GRANTED && rl_ops[op].acquires) {
        if (attempt->handle && attempt->handle->lock.terms.fenced)
            check_token(&at->session, out);
        check_max_ttl(&at->session, attempt, out);
        if (op == RL_OP_ACQUIRE && attempt->behind_release)
            check_overtaking(attempt, node, out);
    }
    if (engine->strict && await_attestation(at, pending, out))
        return false;
    check_node(engine, node, op, now_ns, out);
    return !keep(at, pending, out, now_ns);
}
