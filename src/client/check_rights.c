/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/audit.h"

#include <stdio.h>
#include <string.h>

#include "protocol/answer.h"

void rl_check_rights(const struct rl_check *c)
{
    static const char *const names[3] = {"acquire", "extend", "release"};
    const char *refusal = c->audit->refusal[c->i];
    const char *user = c->node->login.user ? c->node->login.user : "default";
    const char *right;
    size_t right_size = rl_answer_missing_right(refusal, &right); /* 0: it was not named */
    char remedy[RL_SENTENCE_MAX];

    for (int op = 0; op < 3; op++) {
        uint8_t vote = c->audit->rights[op].node[c->i].vote;

        if (vote == REDLOCK_VOTE_GRANTED || vote == REDLOCK_VOTE_GUARDED)
            continue;
        snprintf(remedy, sizeof remedy,
                 "on the node: ACL SETUSER %.64s +%.*s; redlock-nodes(7) lists all rights",
                 user, (int)right_size, right_size ? right : "");
        rl_check_report(c, REDLOCK_CHECK_FAIL, rl_reason_of_vote(vote),
                        vote == REDLOCK_VOTE_NOPERM && right_size ? remedy : NULL,
                        "cannot %s: %s%s%s", names[op], redlock_vote_text(vote),
                        refusal[0] ? ": " : "", refusal);
        return;
    }
    RL_PASS(c, "acquire, extend, release");
}

void rl_check_fencing(const struct rl_check *c)
{
    const struct rl_audit_counters *counters = &c->audit->counters[c->i];
    uint8_t vote = c->audit->fencing[0].node[c->i].vote;

    if (vote != REDLOCK_VOTE_GRANTED && vote != REDLOCK_VOTE_GUARDED)
        rl_check_report(c, REDLOCK_CHECK_WARN, rl_reason_of_vote(vote), NULL,
                        "gives no fencing tokens");
    else if (counters->bad_count > 0)
        RL_SAY(c, WARN, COUNTER, "%u counter%s that no clock can have reached: %.100s%s",
               counters->bad_count, counters->bad_count == 1 ? "" : "s", counters->example,
               counters->bad_count == 1 ? "" : ", ...");
    else if (!counters->complete)
        rl_check_report(
            c, REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_RIGHTS,
            "give the user that runs the audit +scan, or look at redlock.fence* by hand",
            "gives fencing tokens; not every counter was looked at (no right to SCAN, too "
            "slow, or too many keys)");
    else
        RL_PASS(c, "gives fencing tokens");
}

/* Not what was answered matters here, but whether the server refused to do it. */
static bool is_denied(const struct rl_survey *surveys, int count, uint8_t i)
{
    for (int k = 0; k < count; k++)
        if (surveys[k].node[i].vote == REDLOCK_VOTE_NOPERM ||
            surveys[k].node[i].vote == REDLOCK_VOTE_ERROR)
            return true;
    return false;
}

void rl_check_waiting(const struct rl_check *c)
{
    if (is_denied(c->audit->queue, 3, c->i))
        RL_SAY(c, WARN, RIGHTS,
               "this user may not queue here: a request that has to wait is refused");
    else if (!c->audit->woken[c->i])
        rl_check_report(
            c, REDLOCK_CHECK_WARN, REDLOCK_REASON_RIGHTS,
            "allow +subscribe and the channels &redlock* for this user",
            "does not tell us when a lock becomes free: a waiter looks about once a second");
    else
        RL_PASS(c, "queues waiters and wakes them");
}

/* The next of a list of words; `head` stands before the first. */
static void add_word(char list[RL_SENTENCE_MAX], const char *head, const char *word)
{
    size_t used = strlen(list);

    snprintf(list + used, RL_SENTENCE_MAX - used, "%s%s", used ? ", " : head, word);
}

void rl_check_kinds(const struct rl_check *c)
{
    char granted[RL_SENTENCE_MAX] = "";
    char missing[RL_SENTENCE_MAX] = "";

    for (int kind = RL_AUDIT_FIRST_KIND; kind < RL_KIND_COUNT; kind++) {
        if (is_denied(c->audit->kinds[kind], 3, c->i))
            add_word(missing, "no locks of the kinds ", redlock_kind_text(kind));
        else
            add_word(granted, "", redlock_kind_text(kind));
    }
    if (!missing[0] && is_denied(&c->audit->look, 1, c->i))
        add_word(missing, "", "does not tell the holder of a lock");
    if (missing[0])
        RL_SAY(c, WARN, RIGHTS, "%s", missing);
    else
        RL_PASS(c, "%s", granted);
}
