/* SPDX-License-Identifier: BSD-2-Clause */
#include "checker.h"

#include <stdarg.h>
#include <string.h>

#include "base/time.h"

const char *breach_text(int breach)
{
    static const char *const texts[] = {
#define BREACH_TEXT(name, text) text,
        BREACHES(BREACH_TEXT)
#undef BREACH_TEXT
    };
    return breach >= 0 && breach < BREACH_COUNT ? texts[breach] : "unknown";
}

void breach_add(struct checking *c, int breach, int64_t at_ns, int name, const char *format,
                ...)
{
    struct verdict *v = c->out;
    struct note *n;
    va_list args;
    v->breaches[breach]++;
    v->breach_count++;
    if (v->note_count == NOTES_MAX)
        return;
    n = &v->note[v->note_count++];
    *n = (struct note){.breach = breach, .at_ns = at_ns, .name = name};
    va_start(args, format);
    vsnprintf(n->text, sizeof n->text, format, args);
    va_end(args);
}

static void count(struct checking *c)
{
    struct verdict *v = c->out;
    for (size_t i = 0; i < c->claims.count; i++) {
        const struct claim *k = &c->claims.claim[i];
        v->denied += k->denied_ns != 0;
        v->lost += k->lost_ns != 0;
        if (k->granted_ns == 0)
            continue;
        v->grants[k->kind]++;
        v->by_command += (k->flags & RECORD_COMMAND) != 0;
        v->by_lease += (k->flags & (RECORD_LEASE | RECORD_COMMAND)) == RECORD_LEASE;
        v->several += (k->names & (k->names - 1)) != 0;
    }
    for (size_t i = 0; i < c->stretches.count; i++) {
        const struct stretch *s = &c->stretches.stretch[i];
        v->faults[s->kind] += s->kind != FAULT_MACHINE || s->target == -1;
    }
}

static void find_phases(struct checking *c)
{
    for (size_t i = 0; i < c->history->count; i++) {
        const struct record *r = &c->history->record[i];
        if (r->what != RECORD_PHASE)
            continue;
        if (r->value == PHASE_FAULTS)
            c->out->start_ns = r->at_ns;
        if (r->value == PHASE_LAST_CALL)
            c->last_call_ns = r->at_ns;
        if (r->value == PHASE_QUIET)
            c->out->quiet_ns = r->at_ns;
        if (r->value == PHASE_OVER)
            c->out->over_ns = r->at_ns;
    }
}

static void check(struct history *h, struct checking c)
{
    memset(c.out, 0, sizeof *c.out);
    history_sort(h);
    c.history = h;
    c.last_call_ns = INT64_MAX;
    c.claims = claims_read(h);
    c.stretches = stretches_read(h);
    find_phases(&c);
    count(&c);
    check_overlaps(&c);
    check_tokens(&c);
    check_evictions(&c);
    check_unclaimed(&c);
    check_registers(&c);
    check_losses(&c);
    check_waits(&c);
    check_workers(&c);
    claims_free(&c.claims);
    stretches_free(&c.stretches);
}

void check_history(struct history *h, struct verdict *out)
{
    int64_t token_floor[NAMES] = {0};
    check_round(h, ALLOWANCE_MS, token_floor, out);
}

void check_group(struct history *h, int64_t max_ttl_ms, struct verdict *out)
{
    int64_t token_floor[NAMES] = {0};
    check(h, (struct checking){.out = out,
                               .allowance_ns = ALLOWANCE_MS * RL_NS_PER_MS,
                               .max_ttl_ns = max_ttl_ms * RL_NS_PER_MS,
                               .token_floor = token_floor});
}

void check_round(struct history *h, int64_t allowance_ms, int64_t token_floor[NAMES],
                 struct verdict *out)
{
    check(h, (struct checking){.out = out,
                               .allowance_ns = allowance_ms * RL_NS_PER_MS,
                               .token_floor = token_floor});
}
