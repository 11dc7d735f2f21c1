/* SPDX-License-Identifier: BSD-2-Clause */
#include "claims.h"

#include "schedule.h"

#include <redlock.h>

#include <stdlib.h>

static void note(struct claim *c, const struct record *r)
{
    switch (r->what) {
    case RECORD_ASK:
        *c = (struct claim){.number = r->hold,
                            .worker = r->worker,
                            .life = r->life,
                            .kind = r->kind,
                            .names = r->names,
                            .flags = r->flags,
                            .asked_ns = r->at_ns,
                            .wait_until_ns = r->deadline_ns,
                            .ttl_ms = r->value};
        break;
    case RECORD_GRANT:
        c->granted_ns = r->at_ns;
        c->deadline_ns = r->deadline_ns;
        c->looked_ns = r->at_ns;
        c->token = r->token;
        c->slot = r->slot;
        break;
    case RECORD_DENY:
        c->denied_ns = r->at_ns;
        break;
    case RECORD_SEEN:
        c->looked_ns = r->at_ns;
        if (r->deadline_ns != 0)
            c->deadline_ns = r->deadline_ns;
        else if (c->gone_ns == 0)
            c->gone_ns = r->at_ns;
        break;
    case RECORD_RELEASE:
        c->released_ns = r->at_ns;
        break;
    case RECORD_LOST:
        c->lost_ns = r->at_ns;
        break;
    }
}

static void earlier(int64_t *end_ns, int64_t at_ns)
{
    if (at_ns != 0 && at_ns < *end_ns)
        *end_ns = at_ns;
}

static void find_end(struct claim *c)
{
    if (c->granted_ns == 0)
        return;
    c->end_ns = c->deadline_ns;
    earlier(&c->end_ns, c->released_ns);
    earlier(&c->end_ns, c->lost_ns);
    earlier(&c->end_ns, c->gone_ns);
    if (c->end_ns < c->granted_ns)
        c->end_ns = c->granted_ns;
}

static bool is_about_claim(const struct record *r)
{
    return r->what <= RECORD_LOST;
}

/* `redlock hold`, and the close of a stream, give the lock back when the worker is dead. */
static void end_of_worker(struct claims *c, const struct record *r)
{
    for (size_t i = 0; i < c->count; i++) {
        struct claim *k = &c->claim[i];
        bool by_hold = (k->flags & RECORD_COMMAND) && !(k->flags & RECORD_RUN);
        bool by_stream = k->flags & RECORD_STREAM;
        if ((by_hold || by_stream) && k->worker == r->worker && k->granted_ns != 0 &&
            k->gone_ns == 0)
            k->gone_ns = r->at_ns;
    }
}

/* It may have been ended even if the one that did it does not know. */
static void note_eviction(struct claims *c, const struct record *r)
{
    struct claim *k = r->hold < c->count ? &c->claim[r->hold] : NULL;
    if (k == NULL)
        return;
    if (k->evict_asked_ns == 0)
        k->evict_asked_ns = r->value;
    if (k->evicted_ns == 0 && r->error == REDLOCK_OK)
        k->evicted_ns = r->at_ns;
}

struct claims claims_read(const struct history *h)
{
    struct claims c = {0};
    for (size_t i = 0; i < h->count; i++)
        if (is_about_claim(&h->record[i]) && h->record[i].hold >= c.count)
            c.count = h->record[i].hold + 1;
    c.claim = calloc(c.count + 1, sizeof *c.claim);
    if (c.claim == NULL)
        abort();
    for (size_t i = 0; i < h->count; i++)
        if (is_about_claim(&h->record[i]))
            note(&c.claim[h->record[i].hold], &h->record[i]);
        else if (h->record[i].what == RECORD_FAULT && h->record[i].kind == FAULT_KILL_CLIENT)
            end_of_worker(&c, &h->record[i]);
    for (size_t i = 0; i < h->count; i++)
        if (h->record[i].what == RECORD_EVICT)
            note_eviction(&c, &h->record[i]);
    for (size_t i = 0; i < c.count; i++)
        find_end(&c.claim[i]);
    return c;
}

void claims_free(struct claims *c)
{
    free(c->claim);
    *c = (struct claims){0};
}

struct stretches stretches_read(const struct history *h)
{
    struct stretches s = {0};
    s.stretch = calloc(h->count + 1, sizeof *s.stretch);
    if (s.stretch == NULL)
        abort();
    for (size_t i = 0; i < h->count; i++) {
        const struct record *r = &h->record[i];
        if (r->what == RECORD_FAULT)
            s.stretch[s.count++] =
                (struct stretch){r->at_ns, INT64_MAX, r->kind, r->worker, r->value};
        if (r->what == RECORD_LATE)
            s.stretch[s.count++] = (struct stretch){r->at_ns - r->value, r->at_ns,
                                                    FAULT_MACHINE, r->worker - 1, r->value};
        for (size_t k = s.count; r->what == RECORD_HEALED && k > 0; k--) {
            struct stretch *open = &s.stretch[k - 1];
            if (open->kind == r->kind && open->target == r->worker &&
                open->to_ns == INT64_MAX) {
                open->to_ns = r->at_ns;
                break;
            }
        }
    }
    return s;
}

void stretches_free(struct stretches *s)
{
    free(s->stretch);
    *s = (struct stretches){0};
}
