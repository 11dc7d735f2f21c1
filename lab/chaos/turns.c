/* SPDX-License-Identifier: BSD-2-Clause */
#include "turns.h"

#include "base/time.h"
#include "lab/stats/series.h"
#include "names.h"
#include "schedule.h"

#include <stdlib.h>

enum {
    LINE_MAX = 256,
    VOTES_MAX = 3,
    COMMAND_MS = 3000, /* within which a failover by command is done, or was refused */
};

/* One cut off from the other servers both ways is killed before they miss it. */
static bool deposes(const struct stretch *s)
{
    const int64_t brief = CUT_OUT | CUT_IN | CUT_REPLICAS_ONLY;
    return s->kind == FAULT_FAILOVER || s->kind == FAULT_KILL_MASTER ||
           s->kind == FAULT_STOP_MASTER ||
           (s->kind == FAULT_CUT_MASTER && (s->param & brief) != brief);
}

/*
 * The last fault of the server that was named before, or a failover by command that has not had
 * its time; NULL: it came by itself.
 */
static const struct stretch *cause_of(const struct stretches *s, int server, int64_t from_ns,
                                      int64_t to_ns)
{
    const struct stretch *found = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct stretch *k = &s->stretch[i];
        bool is_due = found != NULL && found->kind == FAULT_FAILOVER &&
                      to_ns - found->from_ns < COMMAND_MS * RL_NS_PER_MS;
        if (deposes(k) && k->target == server && k->from_ns > from_ns && k->from_ns < to_ns &&
            !is_due)
            found = k;
    }
    return found;
}

static void find_turns(const struct history *h, const struct stretches *s, struct turns *out)
{
    struct {
        int64_t before_ns;
        int server; /* from 1; 0: not yet known */
    } votes[VOTES_MAX] = {0};
    for (size_t i = 0; i < h->count && out->count < TURNS_MAX; i++) {
        const struct record *r = &h->record[i];
        int64_t before_ns;
        int server;
        const struct stretch *cause;
        if (r->what != RECORD_TERM)
            continue;
        before_ns = votes[r->slot % VOTES_MAX].before_ns;
        server = votes[r->slot % VOTES_MAX].server - 1;
        cause = server >= 0 ? cause_of(s, server, before_ns, r->at_ns) : NULL;
        if (cause != NULL)
            out->turn[out->count++] = (struct turn){.begun_ns = cause->from_ns,
                                                    .turned_ns = r->at_ns,
                                                    .vote = r->slot,
                                                    .kind = cause->kind,
                                                    .param = (int)cause->param};
        votes[r->slot % VOTES_MAX].before_ns = r->at_ns;
        votes[r->slot % VOTES_MAX].server = r->worker + 1;
    }
}

/* When a majority turned again; the end of the run, if it did not. */
static int64_t next_turn_ns(const struct history *h, int vote, int64_t after_ns)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->record[i].what == RECORD_TERM && h->record[i].slot == vote &&
            h->record[i].at_ns > after_ns)
            return h->record[i].at_ns;
    return INT64_MAX;
}

/* Clients that it has not reached may count on the old master for VOUCH_MS more. */
static void find_grant(const struct claims *c, int64_t until_ns, struct turn *t)
{
    for (size_t i = 0; i < c->count; i++) {
        int64_t at_ns = c->claim[i].granted_ns;
        if (at_ns > t->turned_ns + VOUCH_MS * RL_NS_PER_MS && at_ns < until_ns &&
            (t->granted_ns == 0 || at_ns < t->granted_ns))
            t->granted_ns = at_ns;
    }
}

/* The longest time in which no lock was taken that began between the fault and a second
 * after the turn. */
static void find_pause(const struct claims *c, struct turn *t)
{
    int64_t *at_ns = calloc(c->count + 1, sizeof *at_ns);
    size_t count = 0;
    if (at_ns == NULL)
        abort();
    for (size_t i = 0; i < c->count; i++)
        if (c->claim[i].granted_ns != 0)
            at_ns[count++] = c->claim[i].granted_ns;
    quantile_of(at_ns, count, 0.5); /* sorts */
    for (size_t i = 1; i < count; i++)
        if (at_ns[i] > t->begun_ns && at_ns[i - 1] < t->turned_ns + 1000 * RL_NS_PER_MS &&
            at_ns[i] - at_ns[i - 1] > t->pause_ns)
            t->pause_ns = at_ns[i] - at_ns[i - 1];
    free(at_ns);
}

/* The bound of docs/elected.md: watchdog at a third of the TTL, E9 with more than L left. */
static int64_t enough_ms(const struct turn *t)
{
    return (int64_t)(1.5 *
                     (double)((t->turned_ns - t->begun_ns) / RL_NS_PER_MS + VOUCH_MS + 1000)) +
           2000;
}

static bool was_hindered(const struct stretches *s, const struct claim *k, const struct turn *t,
                         int64_t until_ns)
{
    bool with_side = t->kind == FAULT_CUT_MASTER && t->param & CUT_WITH_SIDE;
    if (with_side && k->worker < WORKERS / 2)
        return true;
    for (size_t i = 0; i < s->count; i++) {
        const struct stretch *f = &s->stretch[i];
        bool mine =
            (fault_hits_client(f->kind) && f->target == k->worker) || f->kind == FAULT_CUT_SIDE;
        if (mine && f->from_ns < until_ns && f->to_ns > t->begun_ns - 1000 * RL_NS_PER_MS)
            return true;
    }
    return false;
}

static void count_holders(const struct claims *c, const struct stretches *s, int64_t next_ns,
                          struct turn *t)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct claim *k = &c->claim[i];
        int64_t sure_ns = t->turned_ns + VOUCH_MS * RL_NS_PER_MS + k->ttl_ms * RL_NS_PER_MS;
        int is_short;
        if (k->granted_ns == 0 || !(k->flags & RECORD_RENEWED) || k->flags & RECORD_LEASE ||
            k->granted_ns > t->begun_ns || was_hindered(s, k, t, sure_ns))
            continue;
        is_short = k->ttl_ms < enough_ms(t);
        if (k->lost_ns > t->begun_ns && k->lost_ns < sure_ns && k->lost_ns < next_ns)
            t->lost[is_short]++;
        else if (k->deadline_ns > sure_ns && (k->lost_ns == 0 || k->lost_ns > sure_ns))
            t->went_on[is_short]++;
    }
}

void turns_read(const struct history *h, struct turns *out)
{
    struct claims claims = claims_read(h);
    struct stretches stretches = stretches_read(h);
    out->count = 0;
    find_turns(h, &stretches, out);
    for (size_t i = 0; i < out->count; i++) {
        int64_t next_ns = next_turn_ns(h, out->turn[i].vote, out->turn[i].turned_ns);
        find_grant(&claims, next_ns, &out->turn[i]);
        find_pause(&claims, &out->turn[i]);
        count_holders(&claims, &stretches, next_ns, &out->turn[i]);
    }
    claims_free(&claims);
    stretches_free(&stretches);
}

/* "min / median / max (n)" */
static void describe(int64_t *ms, size_t count, char out[LINE_MAX])
{
    snprintf(out, LINE_MAX, "%lld / %lld / %lld ms (%zu)", (long long)quantile_of(ms, count, 0),
             (long long)quantile_of(ms, count, 0.5), (long long)quantile_of(ms, count, 1),
             count);
}

void turns_print(const struct turns *t, int votes, int64_t max_ttl_ms,
                 void (*line)(void *data, const char *head, const char *text), void *data)
{
    static int64_t found_ms[TURNS_MAX], admitted_ms[TURNS_MAX], whole_ms[TURNS_MAX],
        pause_ms[TURNS_MAX];
    char text[3 * LINE_MAX], numbers[LINE_MAX], whole[LINE_MAX];
    for (int kind = FAULT_FAILOVER; kind <= FAULT_CUT_MASTER; kind++) {
        int went_on[2] = {0}, lost[2] = {0};
        size_t count = 0, admitted = 0;
        for (size_t i = 0; i < t->count; i++) {
            const struct turn *k = &t->turn[i];
            if (k->kind != kind)
                continue;
            pause_ms[count] = k->pause_ns / RL_NS_PER_MS;
            found_ms[count++] = (k->turned_ns - k->begun_ns) / RL_NS_PER_MS;
            if (k->granted_ns != 0) {
                admitted_ms[admitted] = (k->granted_ns - k->turned_ns) / RL_NS_PER_MS;
                whole_ms[admitted++] = (k->granted_ns - k->begun_ns) / RL_NS_PER_MS;
            }
            for (int is_short = 0; is_short < 2; is_short++) {
                went_on[is_short] += k->went_on[is_short];
                lost[is_short] += k->lost[is_short];
            }
        }
        if (count == 0)
            continue;
        describe(found_ms, count, numbers);
        snprintf(text, sizeof text, "%zu times, named by a majority after %s", count, numbers);
        line(data, fault_text(kind), text);
        if (votes > 1) {
            describe(pause_ms, count, numbers);
            snprintf(text, sizeof text, "none was taken for %s", numbers);
            line(data, "  new locks", text);
        } else if (admitted > 0) {
            describe(admitted_ms, admitted, numbers);
            describe(whole_ms, admitted, whole);
            snprintf(text, sizeof text,
                     "again %s after that, with a quarantine of %lld ms; %s after the fault",
                     numbers, (long long)(max_ttl_ms + VOUCH_MS + MARGIN_MS), whole);
            line(data, "  new locks", text);
        }
        if (went_on[0] + went_on[1] + lost[0] + lost[1] > 0) {
            snprintf(text, sizeof text, "TTL long enough: %d of %d went on; shorter: %d of %d",
                     went_on[0], went_on[0] + lost[0], went_on[1], went_on[1] + lost[1]);
            line(data, "  holders", text);
        }
    }
}
