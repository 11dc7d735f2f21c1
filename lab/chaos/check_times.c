/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes to the register, losses reported in time, waiters served, workers that ended well. */
#include "base/time.h"
#include "checker.h"
#include "lab/stats/series.h"

#include <redlock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static void put_mark(struct mark *marks, size_t *count, int64_t at_ns, int name)
{
    if (*count < MARKS_MAX)
        marks[(*count)++] = (struct mark){at_ns, name};
}

static int only_name(unsigned int mask)
{
    int name = 0;
    while (name < NAMES - 1 && !(mask >> name & 1))
        name++;
    return name;
}

void check_registers(struct checking *c)
{
    struct verdict *v = c->out;
    int64_t fenced[NAMES] = {0}, plain[NAMES] = {0}, largest[NAMES] = {0};
    for (size_t i = 0; i < c->history->count; i++) {
        const struct record *r = &c->history->record[i];
        int name = only_name(r->names);
        if (r->what == RECORD_FENCED) {
            v->fenced_writes++;
            if (r->based_on != fenced[name] || r->token < largest[name])
                breach_add(c, BREACH_FENCED, r->at_ns, name,
                           "%s: #%u wrote %lld over %lld with token %lld (largest %lld)",
                           name_text[name], r->hold, (long long)r->value,
                           (long long)fenced[name], (long long)r->token,
                           (long long)largest[name]);
            fenced[name] = r->value;
            largest[name] = r->token;
        } else if (r->what == RECORD_REFUSED) {
            v->fenced_refused++;
            put_mark(v->refused, &v->refused_count, r->at_ns, name);
        } else if (r->what == RECORD_PLAIN) {
            v->plain_writes++;
            if (r->based_on != plain[name]) {
                v->plain_lost++;
                put_mark(v->overrun, &v->overrun_count, r->at_ns, name);
            }
            plain[name] = r->value;
        }
    }
}

/*
 * Until when something that was due at `due_ns` may happen in this worker: the allowance, and
 * as long as the worker was stopped around that time. INT64_MAX when it was dead by then.
 */
static int64_t excused_until(const struct checking *c, const struct claim *k, int64_t due_ns)
{
    int64_t until_ns = due_ns + c->allowance_ns;
    for (size_t i = 0; i < c->stretches.count; i++) {
        const struct stretch *s = &c->stretches.stretch[i];
        bool everyone = s->kind == FAULT_MACHINE && s->target == -1;
        bool mine = everyone || ((s->kind == FAULT_MACHINE || fault_hits_client(s->kind)) &&
                                 s->target == k->worker);
        if (!mine || s->from_ns > until_ns)
            /* they are in the order of their beginning: later ones may reach it yet */
            continue;
        if (s->from_ns >= k->asked_ns && s->kind == FAULT_KILL_CLIENT)
            return INT64_MAX;
        if (s->to_ns < due_ns - 100000000 || s->kind == FAULT_KILL_CLIENT)
            continue;
        if (s->to_ns == INT64_MAX)
            return INT64_MAX;
        if (s->to_ns + c->allowance_ns > until_ns)
            until_ns = s->to_ns + c->allowance_ns;
    }
    return until_ns;
}

/*
 * The deadline that the holder has seen last is the last there was only if the watchdog does
 * not renew the lock, or if it looked again just before that deadline, or later.
 */
static bool is_deadline_known(const struct claim *k)
{
    return !(k->flags & RECORD_RENEWED) || k->looked_ns >= k->deadline_ns - 100000000;
}

void check_losses(struct checking *c)
{
    struct verdict *v = c->out;
    v->reported_worst_ms = INT64_MIN;
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct claim *k = &c->claims.claim[i];
        int64_t until_ns, told_ns;
        if (k->granted_ns == 0 || k->deadline_ns == 0 || k->flags & RECORD_LEASE ||
            !is_deadline_known(k))
            continue;
        until_ns = excused_until(c, k, k->deadline_ns);
        told_ns = k->lost_ns != 0 ? k->lost_ns : k->released_ns;
        if (k->lost_ns != 0 && until_ns == k->deadline_ns + c->allowance_ns) {
            int64_t late_ms = (k->lost_ns - k->deadline_ns) / RL_NS_PER_MS;
            v->reported++;
            v->reported_worst_ms =
                late_ms > v->reported_worst_ms ? late_ms : v->reported_worst_ms;
        }
        if (until_ns == INT64_MAX || (told_ns != 0 && told_ns <= until_ns) ||
            (v->over_ns != 0 && v->over_ns <= until_ns))
            continue;
        breach_add(c, BREACH_LATE_LOSS, k->deadline_ns, only_name(k->names),
                   "%s: #%u of worker %d %s %.1f ms after its end",
                   name_text[only_name(k->names)], k->number, k->worker + 1,
                   k->lost_ns != 0 ? "learned of it" : "did not learn of it, and acted",
                   told_ns != 0 ? (double)(told_ns - k->deadline_ns) / 1e6 : 0.0);
    }
}

static void check_wait(struct checking *c, const struct claim *k)
{
    int64_t done_ns = k->granted_ns != 0 ? k->granted_ns : k->denied_ns;
    int name = only_name(k->names);
    int64_t until_ns = excused_until(c, k, k->wait_until_ns);
    if (done_ns != 0 && done_ns > until_ns)
        breach_add(c, BREACH_WAIT_LATE, done_ns, name,
                   "%s: #%u of worker %d returned %.1f ms late", name_text[name], k->number,
                   k->worker + 1, (double)(done_ns - k->wait_until_ns) / 1e6);
    if (k->denied_ns != 0 && k->asked_ns >= c->last_call_ns)
        breach_add(c, BREACH_STARVED, k->denied_ns, name, "%s: #%u of worker %d after %.1f s",
                   name_text[name], k->number, k->worker + 1,
                   (double)(k->denied_ns - k->asked_ns) / 1e9);
}

void check_waits(struct checking *c)
{
    struct verdict *v = c->out;
    int64_t *waited_ms = calloc(c->claims.count + 1, sizeof *waited_ms);
    if (waited_ms == NULL)
        abort();
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct claim *k = &c->claims.claim[i];
        int64_t ms;
        if (k->asked_ns == 0 || k->wait_until_ns == 0)
            continue;
        check_wait(c, k);
        if (k->granted_ns == 0)
            continue;
        ms = (k->granted_ns - k->asked_ns) / RL_NS_PER_MS;
        waited_ms[v->waits++] = ms;
        if (v->quiet_ns != 0 && k->granted_ns > v->quiet_ns && ms > v->quiet_max_ms)
            v->quiet_max_ms = ms;
    }
    v->wait_p50_ms = quantile_of(waited_ms, v->waits, 0.5);
    v->wait_p99_ms = quantile_of(waited_ms, v->waits, 0.99);
    v->wait_max_ms = quantile_of(waited_ms, v->waits, 1);
    free(waited_ms);
}

static bool was_killed(const struct checking *c, const struct record *r)
{
    for (size_t i = 0; i < c->stretches.count; i++) {
        const struct stretch *s = &c->stretches.stretch[i];
        if (s->kind == FAULT_KILL_CLIENT && s->target == r->worker && s->from_ns <= r->at_ns &&
            r->at_ns <= s->to_ns)
            return WIFSIGNALED(r->error) && WTERMSIG(r->error) == SIGKILL;
    }
    return false;
}

void check_workers(struct checking *c)
{
    struct verdict *v = c->out;
    int alive[WORKERS] = {0};
    for (size_t i = 0; i < c->history->count; i++) {
        const struct record *r = &c->history->record[i];
        if (r->what != RECORD_BORN && r->what != RECORD_DIED)
            continue;
        alive[r->worker] = r->what == RECORD_BORN;
        if (r->what == RECORD_DIED && was_killed(c, r))
            v->killed++;
        else if (r->what == RECORD_DIED && r->error != 0)
            breach_add(c, BREACH_WORKER, r->at_ns, -1, "worker %d ended with status %#x",
                       r->worker + 1, (unsigned)r->error);
    }
    for (int i = 0; i < WORKERS; i++)
        if (alive[i])
            breach_add(c, BREACH_WORKER, v->over_ns, -1, "worker %d has not ended", i + 1);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (v->grants[kind] == 0)
            breach_add(c, BREACH_IDLE, v->over_ns, -1, "%s", redlock_kind_text(kind));
}
