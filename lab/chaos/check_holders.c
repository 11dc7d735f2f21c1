/* SPDX-License-Identifier: BSD-2-Clause */
/* Holders that overlap, and tokens out of order. */
#include "base/time.h"
#include "checker.h"

#include "lab/history/holds.h"

#include <redlock.h>

/* The claims of one name: each record has the number of its claim. */
static struct hold_list list_of(const struct checking *c, int name)
{
    struct hold_list l = {0};
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct claim *k = &c->claims.claim[i];
        if (k->granted_ns == 0 || !(k->names >> name & 1))
            continue;
        hold_list_add(&l, &(struct hold_record){
                              .names = k->names,
                              .kind = k->kind,
                              .slot = k->slot, /* HTTP clients do not get theirs */
                              .owner = k->worker << 16 | k->life,
                              .number = (unsigned)i,
                              .asked_ns = k->asked_ns,
                              .granted_ns = k->granted_ns,
                              .ended_ns = k->end_ns,
                              .token = k->token,
                          });
    }
    return l;
}

static const struct claim *claim_of(const struct checking *c, const struct hold_record *hold)
{
    return &c->claims.claim[hold->number];
}

/*
 * "Up to about a second between step and sample": a clock that was set forward lets locks of
 * that node expire early, and the guard sees it only when it looks.
 */
static bool forgiven(const struct checking *c, int64_t from_ns, int64_t to_ns)
{
    int64_t blind_ns = BLIND_MS * RL_NS_PER_MS;
    for (size_t i = 0; i < c->stretches.count; i++) {
        const struct stretch *s = &c->stretches.stretch[i];
        int64_t step_ns;
        if (s->kind != FAULT_CLOCK)
            continue;
        step_ns = s->param > 0 ? s->from_ns : s->to_ns;
        if (from_ns >= step_ns && to_ns <= step_ns + blind_ns)
            return true;
    }
    return false;
}

/*
 * A command that `redlock run` ends too late, because the machine did not let it run: no more
 * than by what the machine was late in the second before.
 */
static bool is_late_kill(const struct checking *c, const struct claim *a, const struct claim *b,
                         int64_t end_ns)
{
    int64_t late_ns = 0;
    if (!((a->flags | b->flags) & RECORD_RUN))
        return false;
    for (size_t i = 0; i < c->stretches.count; i++) {
        const struct stretch *s = &c->stretches.stretch[i];
        if (s->kind == FAULT_MACHINE && s->target == -1 &&
            s->to_ns > b->granted_ns - RL_NS_PER_S && s->from_ns < end_ns)
            late_ns += s->to_ns - s->from_ns;
    }
    return end_ns - b->granted_ns <= late_ns;
}

static void compare_holders(struct checking *c, int name, const struct claim *a,
                            const struct claim *b)
{
    int64_t end_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
    if (forgiven(c, b->granted_ns, end_ns)) {
        c->out->forgiven++;
        return;
    }
    /* An end by another asks no holder: that may believe for as long as it did before. */
    if (a->evict_asked_ns != 0 && a->evict_asked_ns < b->granted_ns) {
        c->out->beside_evicted++;
        return;
    }
    if (is_late_kill(c, a, b, end_ns)) {
        c->out->late_kills++;
        return;
    }
    breach_add(c, BREACH_DOUBLE, b->granted_ns, name,
               "%s: #%u of worker %d (%s) and #%u of worker %d (%s) for %.1f ms",
               name_text[name], a->number, a->worker + 1, redlock_kind_text(a->kind), b->number,
               b->worker + 1, redlock_kind_text(b->kind),
               (double)(end_ns - b->granted_ns) / 1e6);
}

/* The name that is looked at. */
struct looking {
    struct checking *checking;
    int name;
};

static void check_hold(void *data, const struct hold_record *hold,
                       const struct hold_record *const *others, size_t count)
{
    const struct looking *at = data;
    struct checking *c = at->checking;
    for (size_t i = 0; i < count; i++)
        if (hold_excludes(others[i], hold))
            compare_holders(c, at->name, claim_of(c, others[i]), claim_of(c, hold));
    if (hold->kind == REDLOCK_SEMAPHORE && count + 1 > PRINTERS)
        breach_add(c, BREACH_SLOTS, hold->granted_ns, at->name,
                   "%s: #%u is holder number %zu of %d", name_text[at->name], hold->number,
                   count + 1, PRINTERS);
}

void check_overlaps(struct checking *c)
{
    for (int name = 0; name < NAMES; name++) {
        struct hold_list l = list_of(c, name);
        hold_list_visit(&l, check_hold, &(struct looking){c, name});
        hold_list_free(&l);
    }
}

/*
 * How long a name was claimed by no worker although one waited for it: the stretches of its
 * wait that no claim covers.
 */
static int64_t longest_unclaimed_ns(const struct hold_list *l, const struct claim *waiter,
                                    unsigned number)
{
    int64_t end_ns = waiter->granted_ns != 0 ? waiter->granted_ns : waiter->denied_ns;
    int64_t covered_ns = waiter->asked_ns, longest_ns = 0;
    for (size_t i = 0; i < l->count && covered_ns < end_ns; i++) {
        const struct hold_record *k = &l->hold[i];
        int64_t gap_ns;
        if (k->number == number || k->ended_ns <= covered_ns)
            continue;
        gap_ns = (k->granted_ns < end_ns ? k->granted_ns : end_ns) - covered_ns;
        longest_ns = gap_ns > longest_ns ? gap_ns : longest_ns;
        covered_ns = k->ended_ns;
    }
    if (end_ns - covered_ns > longest_ns)
        longest_ns = end_ns - covered_ns;
    return longest_ns;
}

void check_unclaimed(struct checking *c)
{
    for (int name = 0; name < REGISTERS; name++) {
        struct hold_list l = list_of(c, name);
        hold_list_sort(&l);
        for (size_t i = 0; i < c->claims.count; i++) {
            const struct claim *k = &c->claims.claim[i];
            int64_t ms;
            if (!(k->names >> name & 1) || (k->granted_ns == 0 && k->denied_ns == 0))
                continue;
            ms = longest_unclaimed_ns(&l, k, (unsigned)i) / RL_NS_PER_MS;
            c->out->unclaimed_max_ms =
                ms > c->out->unclaimed_max_ms ? ms : c->out->unclaimed_max_ms;
        }
        hold_list_free(&l);
    }
}

static void note_token(void *data, const struct hold_record *hold,
                       const struct hold_record *earlier)
{
    const struct looking *at = data;
    struct checking *c = at->checking;
    breach_add(c, BREACH_TOKEN, hold->granted_ns, at->name,
               "%s: #%u got %lld, #%u had got %lld before", name_text[at->name], hold->number,
               (long long)hold->token, earlier != NULL ? earlier->number : 0,
               (long long)(earlier != NULL ? earlier->token : c->token_floor[at->name]));
}

/* A request made after another grant was complete has a larger token; no two are the same. */
void check_tokens(struct checking *c)
{
    for (int name = 0; name < NAMES; name++) {
        struct hold_list l = {0};
        if (name_is_fenced(name))
            l = list_of(c, name);
        c->token_floor[name] =
            hold_list_order(&l, c->token_floor[name], note_token, &(struct looking){c, name});
        hold_list_free(&l);
    }
}

/* Did a majority of the electors turn in between, of any vote? */
static bool has_turned(const struct checking *c, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; i < c->history->count; i++) {
        const struct record *r = &c->history->record[i];
        if (r->what == RECORD_TERM && r->at_ns > from_ns && r->at_ns < to_ns)
            return true;
    }
    return false;
}

/*
 * E13: an end by another is final when the same term has lasted for max_ttl + L and a margin.
 * Nothing that the holder sent after it counts then, whatever failovers follow: it ends with
 * what it had.
 */
void check_evictions(struct checking *c)
{
    int64_t vouch_ns = VOUCH_MS * RL_NS_PER_MS, margin_ns = MARGIN_MS * RL_NS_PER_MS;
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct claim *k = &c->claims.claim[i];
        if (k->evicted_ns == 0 || c->max_ttl_ns == 0)
            continue;
        c->out->evicted++;
        if (has_turned(c, k->evict_asked_ns - vouch_ns,
                       k->evicted_ns + c->max_ttl_ns + vouch_ns + margin_ns))
            continue;
        c->out->evicted_for_good++;
        if (k->end_ns > k->evicted_ns + c->max_ttl_ns)
            breach_add(c, BREACH_EVICTED, k->end_ns, NAME_EVICTED,
                       "#%u of worker %d held on for %.1f ms after another ended it", k->number,
                       k->worker + 1, (double)(k->end_ns - k->evicted_ns) / 1e6);
    }
}
