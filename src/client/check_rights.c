/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/audit.h"

#include <stdio.h>
#include <string.h>

#include "protocol/answer.h"

static const char *const rights_names[3] = {"acquire", "extend", "release"};

/* False: the server did not name it. */
static bool describe_missing_right(const struct rl_audit *audit, uint8_t i,
                                   char remedy[RL_SENTENCE_MAX])
{
    const struct rl_login *login = &audit->client->engine.node[i].login;
    const char *command;
    size_t size = rl_answer_missing_right(audit->refusal[i], &command);

    snprintf(remedy, RL_SENTENCE_MAX,
             "on the node: ACL SETUSER %.64s +%.*s; redlock(1) lists all rights",
             login->user ? login->user : "default", (int)size, command);
    return size > 0;
}

static void check_rights(const struct rl_audit *audit, uint8_t i)
{
    char text[RL_SENTENCE_MAX], remedy[RL_SENTENCE_MAX];
    bool is_named;

    for (int op = 0; op < 3; op++) {
        uint8_t vote = audit->rights[op].node[i].vote;

        if (vote == REDLOCK_VOTE_GRANTED || vote == REDLOCK_VOTE_GUARDED)
            continue;
        snprintf(text, sizeof text, "cannot %s: %s%s%s", rights_names[op],
                 redlock_vote_text(vote), audit->refusal[i][0] ? ": " : "", audit->refusal[i]);
        is_named = vote == REDLOCK_VOTE_NOPERM && describe_missing_right(audit, i, remedy);
        rl_audit_say(audit, i, "rights", REDLOCK_CHECK_FAIL, rl_reason_of_vote(vote), text,
                     is_named ? remedy : NULL);
        return;
    }
    rl_audit_pass(audit, i, "rights", "acquire, extend, release");
}

static void check_fencing(const struct rl_audit *audit, uint8_t i)
{
    const struct rl_audit_counters *counters = &audit->counters[i];
    uint8_t vote = audit->fencing[0].node[i].vote;
    char text[RL_SENTENCE_MAX];

    snprintf(text, sizeof text, "%u counter%s that no clock can have reached: %.100s%s",
             counters->bad_count, counters->bad_count == 1 ? "" : "s", counters->example,
             counters->bad_count == 1 ? "" : ", ...");
    if (vote != REDLOCK_VOTE_GRANTED && vote != REDLOCK_VOTE_GUARDED)
        rl_audit_say(audit, i, "fencing", REDLOCK_CHECK_WARN, rl_reason_of_vote(vote),
                     "gives no fencing tokens", NULL);
    else if (counters->bad_count > 0)
        rl_audit_say(audit, i, "fencing", REDLOCK_CHECK_WARN, REDLOCK_REASON_COUNTER, text,
                     NULL);
    else if (!counters->complete)
        rl_audit_say(
            audit, i, "fencing", REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_RIGHTS,
            "gives fencing tokens; not every counter was looked at (no right to SCAN, too "
            "slow, or too many keys)",
            "give the user that runs the audit +scan, or look at redlock.fence* by hand");
    else
        rl_audit_pass(audit, i, "fencing", "gives fencing tokens");
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

static void check_waiting(const struct rl_audit *audit, uint8_t i)
{
    if (is_denied(audit->queue, 3, i))
        rl_audit_say(audit, i, "waiting", REDLOCK_CHECK_WARN, REDLOCK_REASON_RIGHTS,
                     "this user may not queue here: a request that has to wait is refused",
                     NULL);
    else if (!audit->woken[i])
        rl_audit_say(
            audit, i, "waiting", REDLOCK_CHECK_WARN, REDLOCK_REASON_RIGHTS,
            "does not tell us when a lock becomes free: a waiter looks about once a second",
            "allow +subscribe and the channels &redlock* for this user");
    else
        rl_audit_pass(audit, i, "waiting", "queues waiters and wakes them");
}

/* The next of a list of words; `head` stands before the first. */
static void add_word(char list[RL_SENTENCE_MAX], const char *head, const char *word)
{
    size_t used = strlen(list);

    snprintf(list + used, RL_SENTENCE_MAX - used, "%s%s", used ? ", " : head, word);
}

static void check_kinds(const struct rl_audit *audit, uint8_t i)
{
    char granted[RL_SENTENCE_MAX] = "";
    char missing[RL_SENTENCE_MAX] = "";

    for (int kind = RL_AUDIT_FIRST_KIND; kind < RL_KIND_COUNT; kind++) {
        if (is_denied(audit->kinds[kind], 3, i))
            add_word(missing, "no locks of the kinds ", redlock_kind_text(kind));
        else
            add_word(granted, "", redlock_kind_text(kind));
    }
    if (!missing[0] && is_denied(&audit->look, 1, i))
        add_word(missing, "", "does not tell the holder of a lock");
    rl_audit_say(audit, i, "kinds", missing[0] ? REDLOCK_CHECK_WARN : REDLOCK_CHECK_OK,
                 missing[0] ? REDLOCK_REASON_RIGHTS : REDLOCK_REASON_NONE,
                 missing[0] ? missing : granted, NULL);
}

void rl_check_rights(const struct rl_audit *audit, uint8_t i, uint64_t doubts)
{
    /* The first of several addresses of one server has the key that the others find held. */
    if ((doubts & RL_DOUBT(SAME_SERVER)) && audit->rights[0].node[i].vote == REDLOCK_VOTE_TAKEN)
        return;
    check_rights(audit, i);
    check_fencing(audit, i);
    check_waiting(audit, i);
    check_kinds(audit, i);
}
