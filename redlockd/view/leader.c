/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/leader.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/target.h"
#include "base/time.h"
#include "io/clock.h"
#include "leases/holdings.h"
#include "view/view.h"

#define RETRY_NS (50 * RL_NS_PER_MS) /* after a look that had too few answers, once */
#define TERM_SIZE 20                 /* 19 digits */

/* One request. */
struct leader_poll {
    struct http_completion completion; /* first: that of its exchange */
    struct leaders *leaders;
    struct leader_watch *watch;
    struct leader_poll *next;
    struct http_exchange *exchange;
    struct access_who who;
    struct access_rule *rule;
    enum access_right right; /* that let it in; it must still have that when it is answered */
    bool is_asked;           /* the look that is under way began after it came */
    bool has_tag;
    struct lease_tag tag;
    int64_t term;   /* that the client knows; -1: any is answered */
    int64_t end_ns; /* answered by the first look that ends after it */
};

/* A name, as long as polls wait for it or a look is under way. */
struct leader_watch {
    enum job_type job_type; /* first: the data of its job */
    bool is_looking;
    bool has_changed; /* or a poll has come, since the look began: look again at once */
    unsigned failures;
    int64_t next_ns; /* the next look; only while none is under way */
    struct leader_watch *next;
    struct leader_poll *polls;
    char name[REDLOCK_NAME_MAX + 1];
};

/* What a look found. */
struct leadership {
    int64_t term; /* 0: there is no leader */
    int64_t remaining_ms;
    const redlock_holder *holder;
    bool is_unsure; /* there is none, unless nodes that did not answer have its key */
};

/* ---- polls ------------------------------------------------------------------------------- */

static struct leader_watch *find(const struct leaders *leaders, const char *name)
{
    struct leader_watch *watch = leaders->watches;

    while (watch && strcmp(watch->name, name) != 0)
        watch = watch->next;
    return watch;
}

/* The state of this lock changed. */
static void note(void *context, const char *name)
{
    struct leaders *leaders = context;
    struct leader_watch *watch = find(leaders, name);

    if (!watch)
        return;
    watch->has_changed = true;
    watch->next_ns = 0;
    loop_wake(&leaders->part);
}

/* As long as there is something to watch. */
static void read_journal(struct leaders *leaders)
{
    struct journal *journal = leaders->view->leases->journal;

    journal->context = leaders;
    journal->on_change = leaders->watches ? note : NULL;
}

/* One that looks is freed with the answer. */
static void forget_if_idle(struct leaders *leaders, struct leader_watch *watch)
{
    struct leader_watch **at = &leaders->watches;

    if (watch->polls || watch->is_looking)
        return;
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    free(watch);
    read_journal(leaders);
}

static void forget_poll(struct leader_poll *poll)
{
    struct leader_poll **at = &poll->watch->polls;

    while (*at != poll)
        at = &(*at)->next;
    *at = poll->next;
    poll->leaders->polls--;
    free(poll);
}

/* A watch without polls goes at its next turn. */
static void on_gone(struct http_completion *completion, enum http_ended how)
{
    struct leader_poll *poll = (struct leader_poll *)(void *)completion;

    (void)how;
    poll->watch->next_ns = 0;
    loop_wake(&poll->leaders->part);
    forget_poll(poll);
}

void leaders_free(struct leaders *leaders)
{
    while (leaders->watches) {
        struct leader_watch *watch = leaders->watches;

        while (watch->polls)
            forget_poll(watch->polls);
        leaders->watches = watch->next;
        free(watch);
    }
}

/* ---- answers ----------------------------------------------------------------------------- */

/* With the nodes that did not answer, may it be on a majority? */
static bool may_be_held(const redlock_info *info, const redlock_report *report)
{
    uint32_t count = (uint32_t)info->holder.votes;

    for (uint32_t i = 0; report && i < report->node_count; i++)
        count += report->node[i].vote != REDLOCK_VOTE_TAKEN &&
                 report->node[i].vote != REDLOCK_VOTE_MISSING;
    return report && info->holder.votes > 0 && count >= report->quorum;
}

/* Its token, if it was granted here; else what a majority of the counters has reached: less
 * than that while nodes that have reached it do not answer. */
static int64_t term_of(const struct leaders *leaders, const redlock_answer *answer)
{
    const struct lease_held *held;
    struct lease_tag tag = {{0}};

    memcpy(tag.text, answer->info->holder.value, LEASE_TAG_SIZE);
    held = holdings_find(leaders->view->leases, &tag, answer->name);
    return held && held->fence > 0 ? held->fence : answer->info->fence;
}

static struct leadership leadership_of(const struct leaders *leaders,
                                       const redlock_answer *answer)
{
    const redlock_info *info = answer->info;
    bool may_have_token = redlock_kind_traits(info->kind) & REDLOCK_KIND_EXCLUSIVE;

    if (!info->held)
        return (struct leadership){.remaining_ms = -1,
                                   .is_unsure = may_be_held(info, answer->report)};
    /* A lock without a token has no term. */
    if (!may_have_token || info->fence <= 0)
        return (struct leadership){.remaining_ms = -1};
    return (struct leadership){.term = term_of(leaders, answer),
                               .remaining_ms = info->holder.remaining_ms,
                               .holder = &info->holder};
}

static void answer(struct leaders *leaders, const struct leader_poll *poll,
                   const struct leadership *found)
{
    struct http_body *body = &leaders->view->body;
    struct rl_json *json = &body->json;
    const char *label = found->term ? found->holder->label : "";
    bool leads =
        found->term && poll->has_tag && lease_has_tag(found->holder->value, &poll->tag);
    /* A candidate that may not read learns its own label, and no other. */
    bool may_read = leads || access_gives(leaders->view->leases->access, &poll->who, poll->rule,
                                          ACCESS_READ);

    http_body_begin(body);
    rl_json_string(json, "name", poll->watch->name);
    rl_json_known(json, "term", found->term ? found->term : -1);
    rl_json_string(json, "label", may_read && label[0] ? label : NULL);
    rl_json_known(json, "remaining_ms", found->remaining_ms);
    if (poll->has_tag)
        rl_json_bool(json, "leads", leads);
    http_body_answer(body, poll->exchange, 200);
}

/* False: it goes on waiting. */
static bool settle(struct leaders *leaders, struct leader_poll *poll,
                   const redlock_event *event, const struct leadership *found, int64_t now_ns)
{
    bool is_over = now_ns >= poll->end_ns;
    bool is_passing = event->error == REDLOCK_NOQUORUM || event->error == REDLOCK_GUARDED;
    /* Terms grow: the nodes that have reached that of the client do not answer. */
    bool is_past = found->term && found->term < poll->term;

    if (!poll->is_asked)
        return false;
    poll->is_asked = false;
    if (!is_over &&
        (event->error ? is_passing : found->term == poll->term || found->is_unsure || is_past))
        return false;
    poll->exchange->completion = NULL;
    if (!access_still_gives(leaders->view->leases->access, &poll->who, poll->rule,
                            poll->exchange, poll->right))
        http_answer_problem(poll->exchange, 403, "FORBIDDEN", "no rule allows that", NULL);
    else if (event->error)
        view_answer_error(leaders->view, poll->exchange, event->error, event->detail);
    else if (is_past)
        view_answer_error(leaders->view, poll->exchange, REDLOCK_NOQUORUM,
                          "the nodes that answer have not reached this term");
    else
        answer(leaders, poll, found);
    return true;
}

/* When the nodes are queried next. */
static int64_t next_look_ns(const struct leader_watch *watch, const struct leadership *found,
                            int64_t now_ns)
{
    int64_t next_ns = now_ns + (watch->failures == 1 ? RETRY_NS : LEADER_LOOK_NS);
    int64_t left_ms = found->remaining_ms;

    if (left_ms >= 0 && left_ms < LEADER_LOOK_NS / RL_NS_PER_MS)
        next_ns = now_ns + (left_ms + 1) * RL_NS_PER_MS;
    for (const struct leader_poll *poll = watch->polls; poll; poll = poll->next)
        if (poll->end_ns < next_ns)
            next_ns = poll->end_ns;
    return watch->has_changed ? now_ns : next_ns;
}

void leaders_answered(struct leaders *leaders, const redlock_event *event)
{
    struct leader_watch *watch = event->data;
    struct leadership found = {.remaining_ms = -1};
    int64_t now_ns = rl_now_ns();
    struct leader_poll *next;

    if (!event->error)
        found = leadership_of(leaders, event->answer);
    watch->is_looking = false;
    watch->failures = event->error ? watch->failures + 1 : 0;
    for (struct leader_poll *poll = watch->polls; poll; poll = next) {
        next = poll->next;
        if (settle(leaders, poll, event, &found, now_ns))
            forget_poll(poll);
    }
    watch->next_ns = next_look_ns(watch, &found, now_ns);
    loop_due(&leaders->part, watch->next_ns);
    forget_if_idle(leaders, watch);
}

/* ---- looks ------------------------------------------------------------------------------- */

static void look(struct leaders *leaders, struct leader_watch *watch)
{
    redlock_job job;
    int error = redlock_start_query(leaders->view->leases->client, watch->name, watch, &job);

    watch->has_changed = false;
    for (struct leader_poll *poll = watch->polls; poll; poll = poll->next)
        poll->is_asked = true;
    watch->is_looking = true;
    if (!error) {
        loop_wake(&leaders->view->leases->library);
        return;
    }
    leaders_answered(
        leaders, &(redlock_event){.error = error, .detail = redlock_detail(), .data = watch});
}

int64_t leaders_turn(void *context, int64_t now_ns)
{
    struct leaders *leaders = context;
    int64_t next_ns = RL_NEVER_NS;
    struct leader_watch *next;

    for (struct leader_watch *watch = leaders->watches; watch; watch = next) {
        next = watch->next;
        if (watch->is_looking)
            continue;
        if (now_ns < watch->next_ns)
            next_ns = watch->next_ns < next_ns ? watch->next_ns : next_ns;
        else if (watch->polls)
            look(leaders, watch);
        else
            forget_if_idle(leaders, watch);
    }
    return next_ns;
}

void leaders_reload(struct leaders *leaders)
{
    struct access *access = leaders->view->leases->access;

    for (struct leader_watch *watch = leaders->watches; watch; watch = watch->next)
        for (struct leader_poll *poll = watch->polls; poll; poll = poll->next)
            poll->rule = access_rule_of(access, &poll->who, watch->name);
}

void leaders_drain(struct leaders *leaders)
{
    leaders->is_draining = true;
    for (struct leader_watch *watch = leaders->watches; watch; watch = watch->next) {
        watch->has_changed = true;
        watch->next_ns = 0;
        for (struct leader_poll *poll = watch->polls; poll; poll = poll->next)
            poll->end_ns = 0;
    }
    loop_wake(&leaders->part);
}

/* ---- begun ------------------------------------------------------------------------------- */

/* The parameters and the lease id. NULL, or why not, and *code. */
static const char *read_poll(const struct http_request *request, struct leader_poll *poll,
                             const char **code)
{
    static const char *const names[] = {"term", "wait_ms", NULL};
    unsigned wait_ms = LEADER_WAIT_MAX_MS;
    char text[TERM_SIZE];
    struct rl_slice id;
    int count = http_request_field(request, HTTP_FIELD_LEASE_ID, &id);
    int size = rl_target_query_get(request->query, "term", text, sizeof text);
    int64_t term =
        size < 0 ? -1 : rl_number_read((struct rl_slice){text, (size_t)size}, INT64_MAX);
    int wait =
        rl_target_query_number(request->query, "wait_ms", 0, LEADER_WAIT_MAX_MS, &wait_ms);

    *code = "LEASE_ID";
    poll->has_tag = count > 0;
    if (count > 1 || (count == 1 && !lease_tag_of(id, &poll->tag)))
        return "send one Lease-Id, as that of PUT, or none";
    *code = "QUERY";
    if (!rl_target_query_only(request->query, names) || size == RL_TARGET_BAD ||
        wait == RL_TARGET_BAD || (size >= 0 && term < 0) ||
        (size == RL_TARGET_ABSENT && wait != RL_TARGET_ABSENT))
        return "term is that of an answer, or 0 for none; wait_ms is 0 to 50000, with term "
               "only; and that is all";
    poll->term = term;
    poll->end_ns = size >= 0 ? rl_now_ns() + wait_ms * RL_NS_PER_MS : 0;
    return NULL;
}

/* False: answered with 429 or 503. Every watch has a poll, or is freed soon. */
static bool has_room(const struct leaders *leaders, struct http_exchange *exchange,
                     const char *name, const char *principal)
{
    unsigned watches = 0, own_watches = 0, own_polls = 0;
    bool is_watched = false, is_own = false;

    for (const struct leader_watch *watch = leaders->watches; watch; watch = watch->next) {
        unsigned before = own_polls;
        bool is_it = strcmp(watch->name, name) == 0;

        for (const struct leader_poll *poll = watch->polls; poll; poll = poll->next)
            own_polls += strcmp(poll->who.principal, principal) == 0;
        watches++;
        own_watches += own_polls > before;
        is_watched |= is_it;
        is_own |= is_it && own_polls > before;
    }
    if (own_polls >= LEADER_POLLS_OF_ONE_MAX ||
        (!is_own && own_watches >= LEADER_NAMES_OF_ONE_MAX)) {
        http_answer_problem(exchange, 429, "POLLS",
                            "too many polls for leaders of this principal wait already", NULL);
        return false;
    }
    if (leaders->polls >= LEADER_POLLS_MAX || (!is_watched && watches >= LEADER_NAMES_MAX)) {
        http_answer_problem(exchange, 503, "POLLS", "too many polls for leaders wait already",
                            NULL);
        return false;
    }
    return true;
}

static struct leader_watch *watch_of(struct leaders *leaders, const char *name)
{
    struct leader_watch *watch = find(leaders, name);

    if (watch)
        return watch;
    watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->job_type = JOB_LEADER;
    strcpy(watch->name, name);
    watch->next = leaders->watches;
    leaders->watches = watch;
    read_journal(leaders);
    return watch;
}

void leaders_begin(struct leaders *leaders, const struct routed *routed)
{
    struct http_exchange *exchange = routed->exchange;
    struct leader_poll poll = {.completion.ended = on_gone,
                               .leaders = leaders,
                               .exchange = exchange,
                               .who = routed->who,
                               .rule = routed->rule,
                               .right = routed->right};
    const char *code, *why = read_poll(routed->request, &poll, &code);
    struct leader_poll *kept;

    if (why) {
        http_answer_problem(exchange, 400, code, why, NULL);
        return;
    }
    if (!has_room(leaders, exchange, routed->name, routed->who.principal))
        return;
    kept = malloc(sizeof *kept);
    poll.watch = kept ? watch_of(leaders, routed->name) : NULL;
    if (!poll.watch) {
        free(kept);
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", NULL);
        return;
    }
    if (leaders->is_draining)
        poll.end_ns = 0;
    poll.next = poll.watch->polls;
    *kept = poll;
    poll.watch->polls = kept;
    leaders->polls++;
    poll.watch->has_changed = true; /* it is not answered by a look that is under way */
    poll.watch->next_ns = 0;
    exchange->completion = &kept->completion;
    loop_wake(&leaders->part);
}
