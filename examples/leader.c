/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two candidates in one event loop. Leaders resign, and an operator deposes one: terms grow.
 * One that is deposed may learn of it a moment after its successor was elected.
 *
 *     redlock dev -c 3 -- ./leader
 */
#include <inttypes.h>
#include <redlock.h>
#include <stdio.h>

#include "lead.h"

#define NAME "example:leader"
#define TTL_MS 5000
#define TERMS 4
#define PATIENCE_MS 60000

/* The second term is ended from outside, as by `redlock break`; the others by resigning. */
static int end_term(struct lead *leader, redlock *client, int terms)
{
    redlock_answer *answer = NULL;
    int error = REDLOCK_OK;
    if (terms != 2) {
        lead_resign(leader);
        return lead_stand(leader);
    }
    error = redlock_query(client, NAME, &answer);
    if (error == REDLOCK_OK)
        error = redlock_break(client, NAME, answer->info->holder.fingerprint, NULL);
    redlock_answer_free(answer);
    return error;
}

int main(void)
{
    redlock *client, *operator_client;
    redlock_options threaded = REDLOCK_OPTIONS(.flags = REDLOCK_THREAD);
    struct lead candidate[2] = {
        {.name = NAME, .label = "candidate 1", .ttl_ms = TTL_MS},
        {.name = NAME, .label = "candidate 2", .ttl_ms = TTL_MS},
    };
    int64_t last_term = 0;
    int terms = 0, deposed = 0;
    int error = redlock_open(NULL, &client);

    if (error == REDLOCK_OK &&
        (error = redlock_open(&threaded, &operator_client)) != REDLOCK_OK)
        redlock_close(client);
    if (error != REDLOCK_OK) {
        fprintf(stderr, "%s\n", redlock_detail());
        return 1;
    }
    for (int i = 0; i < 2 && error == REDLOCK_OK; i++) {
        candidate[i].client = client;
        error = lead_stand(&candidate[i]);
    }
    while (error == REDLOCK_OK && (terms < TERMS || deposed == 0)) {
        const redlock_event *event;
        int got = redlock_next(client, &event, PATIENCE_MS);
        if (got <= 0)
            error = got < 0 ? got : REDLOCK_TIMEOUT;
        for (int i = 0; got > 0 && error == REDLOCK_OK && i < 2; i++) {
            struct lead *l = &candidate[i];
            switch (lead_take(l, event)) {
            case LEAD_ELECTED:
                printf("%s leads, term %" PRId64 "\n", l->label, l->term);
                if (l->term <= last_term)
                    error = REDLOCK_LOST;
                last_term = l->term;
                if (error == REDLOCK_OK && ++terms < TERMS)
                    error = end_term(l, operator_client, terms);
                break;
            case LEAD_DEPOSED:
                printf("%s was deposed\n", l->label);
                deposed++;
                error = lead_stand(l);
                break;
            case LEAD_FAILED:
                fprintf(stderr, "%s\n", event->detail);
                error = event->error;
                break;
            case LEAD_NO_NEWS:
                break;
            }
        }
    }
    if (error != REDLOCK_OK)
        fprintf(stderr, "this did not go as it should: %s\n", redlock_strerror(error));
    lead_resign(&candidate[0]);
    lead_resign(&candidate[1]);
    redlock_close(operator_client);
    redlock_close(client);
    return error == REDLOCK_OK ? 0 : 1;
}
