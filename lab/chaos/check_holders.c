/* SPDX-License-Identifier: BSD-2-Clause */
/* Holders that overlap, and tokens out of order. */
#include "checker.h"

#include <redlock.h>
#include <stdlib.h>

/* The claims of one name, or all of them, in some order. */
struct listing {
    const struct claim **claim;
    size_t count;
};

static struct listing list_of(const struct checking *c, int name)
{
    struct listing l = {calloc(c->claims.count + 1, sizeof *l.claim), 0};
    if (l.claim == NULL)
        abort();
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct claim *k = &c->claims.claim[i];
        if (k->granted_ns != 0 && k->names >> name & 1)
            l.claim[l.count++] = k;
    }
    return l;
}

static int compare(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int by_grant(const void *a, const void *b)
{
    const struct claim *const *x = a, *const *y = b;
    return compare((*x)->granted_ns, (*y)->granted_ns);
}

static int by_ask(const void *a, const void *b)
{
    const struct claim *const *x = a, *const *y = b;
    return compare((*x)->asked_ns, (*y)->asked_ns);
}

static int by_token(const void *a, const void *b)
{
    const struct claim *const *x = a, *const *y = b;
    return compare((*x)->token, (*y)->token);
}

/* All kinds of one name use one key: what is not explicitly compatible excludes each other. */
static bool exclude(const struct claim *a, const struct claim *b)
{
    if (a->kind != b->kind)
        return true;
    switch ((enum redlock_kind)a->kind) {
    case REDLOCK_MUTEX:
        return true;
    case REDLOCK_SHARED:
        return false;
    case REDLOCK_REENTRANT:
        return a->worker != b->worker || a->life != b->life;
    case REDLOCK_SEMAPHORE:
        return a->slot == b->slot && a->slot != 0; /* HTTP clients are not told theirs */
    }
    return true;
}

/*
 * "Up to about a second between step and sample": a clock that was set forward lets locks of
 * that node expire early, and the guard sees it only when it looks.
 */
static bool forgiven(const struct checking *c, int64_t from_ns, int64_t to_ns)
{
    int64_t blind_ns = BLIND_MS * 1000000LL;
    for (size_t i = 0; i < c->stretches.count; i++) {
        const struct stretch *s = &c->stretches.stretch[i];
        if (s->kind != FAULT_CLOCK)
            continue;
        int64_t step_ns = s->param > 0 ? s->from_ns : s->to_ns;
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
            s->to_ns > b->granted_ns - 1000000000 && s->from_ns < end_ns)
            late_ns += s->to_ns - s->from_ns;
    }
    return end_ns - b->granted_ns <= late_ns;
}

static void compare_holders(struct checking *c, int name, const struct claim *a,
                            const struct claim *b)
{
    int64_t end_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
    if (end_ns <= b->granted_ns || !exclude(a, b))
        return;
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

static void check_name(struct checking *c, int name)
{
    struct listing l = list_of(c, name);
    const struct claim **active = calloc(l.count + 1, sizeof *active);
    size_t active_count = 0;
    if (active == NULL)
        abort();
    qsort(l.claim, l.count, sizeof *l.claim, by_grant);
    for (size_t i = 0; i < l.count; i++) {
        const struct claim *k = l.claim[i];
        size_t kept = 0;
        for (size_t j = 0; j < active_count; j++)
            if (active[j]->end_ns > k->granted_ns)
                active[kept++] = active[j];
        active_count = kept;
        if (k->end_ns <= k->granted_ns)
            continue;
        for (size_t j = 0; j < active_count; j++)
            compare_holders(c, name, active[j], k);
        active[active_count++] = k;
        if (k->kind == REDLOCK_SEMAPHORE && active_count > PRINTERS)
            breach_add(c, BREACH_SLOTS, k->granted_ns, name,
                       "%s: #%u is holder number %zu of %d", name_text[name], k->number,
                       active_count, PRINTERS);
    }
    free(active);
    free(l.claim);
}

void check_overlaps(struct checking *c)
{
    for (int name = 0; name < NAMES; name++)
        check_name(c, name);
}

/*
 * How long a name was claimed by no worker although one waited for it: the stretches of its
 * wait that no claim covers.
 */
static int64_t longest_unclaimed_ns(const struct listing *l, const struct claim *waiter)
{
    int64_t end_ns = waiter->granted_ns != 0 ? waiter->granted_ns : waiter->denied_ns;
    int64_t covered_ns = waiter->asked_ns, longest_ns = 0;
    for (size_t i = 0; i < l->count && covered_ns < end_ns; i++) {
        const struct claim *k = l->claim[i];
        if (k == waiter || k->end_ns <= covered_ns)
            continue;
        int64_t gap_ns = (k->granted_ns < end_ns ? k->granted_ns : end_ns) - covered_ns;
        longest_ns = gap_ns > longest_ns ? gap_ns : longest_ns;
        covered_ns = k->end_ns;
    }
    if (end_ns - covered_ns > longest_ns)
        longest_ns = end_ns - covered_ns;
    return longest_ns;
}

void check_unclaimed(struct checking *c)
{
    for (int name = 0; name < REGISTERS; name++) {
        struct listing l = list_of(c, name);
        qsort(l.claim, l.count, sizeof *l.claim, by_grant);
        for (size_t i = 0; i < c->claims.count; i++) {
            const struct claim *k = &c->claims.claim[i];
            if (!(k->names >> name & 1) || (k->granted_ns == 0 && k->denied_ns == 0))
                continue;
            int64_t ms = longest_unclaimed_ns(&l, k) / 1000000;
            c->out->unclaimed_max_ms =
                ms > c->out->unclaimed_max_ms ? ms : c->out->unclaimed_max_ms;
        }
        free(l.claim);
    }
}

/* A request made after another grant was complete has a larger token; no two are the same. */
static void check_tokens_of(struct checking *c, int name)
{
    struct listing asked = list_of(c, name), granted = list_of(c, name);
    const struct claim *largest = NULL;
    int64_t *floor = &c->token_floor[name];
    size_t g = 0;
    qsort(asked.claim, asked.count, sizeof *asked.claim, by_ask);
    qsort(granted.claim, granted.count, sizeof *granted.claim, by_grant);
    for (size_t i = 0; i < asked.count; i++) {
        const struct claim *k = asked.claim[i];
        for (; g < granted.count && granted.claim[g]->granted_ns < k->asked_ns; g++)
            if (largest == NULL || granted.claim[g]->token > largest->token)
                largest = granted.claim[g];
        if (k->token <= (largest != NULL ? largest->token : *floor))
            breach_add(c, BREACH_TOKEN, k->granted_ns, name,
                       "%s: #%u got %lld, #%u had got %lld before", name_text[name], k->number,
                       (long long)k->token, largest != NULL ? largest->number : 0,
                       (long long)(largest != NULL ? largest->token : *floor));
    }
    qsort(granted.claim, granted.count, sizeof *granted.claim, by_token);
    for (size_t i = 1; i < granted.count; i++)
        if (granted.claim[i]->token == granted.claim[i - 1]->token)
            breach_add(c, BREACH_TOKEN, granted.claim[i]->granted_ns, name,
                       "%s: #%u and #%u both got %lld", name_text[name],
                       granted.claim[i - 1]->number, granted.claim[i]->number,
                       (long long)granted.claim[i]->token);
    if (granted.count > 0 && granted.claim[granted.count - 1]->token > *floor)
        *floor = granted.claim[granted.count - 1]->token;
    free(asked.claim);
    free(granted.claim);
}

void check_tokens(struct checking *c)
{
    for (int name = 0; name < NAMES; name++)
        if (name_is_fenced(name))
            check_tokens_of(c, name);
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
    int64_t vouch_ns = VOUCH_MS * 1000000LL, margin_ns = MARGIN_MS * 1000000LL;
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
