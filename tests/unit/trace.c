/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "check.h"

#define WORDS_MAX 8
#define LINE_MAX_SIZE 256

static const char *const op_names[] = {
    [RL_OP_ACQUIRE] = "ACQUIRE",   [RL_OP_EXTEND] = "EXTEND",       [RL_OP_RELEASE] = "RELEASE",
    [RL_OP_ROLLBACK] = "ROLLBACK", [RL_OP_INQUIRE] = "INQUIRE",     [RL_OP_REPAIR] = "REPAIR",
    [RL_OP_ALIGN] = "ALIGN",       [RL_OP_ACQUIRE_AGAIN] = "AGAIN", [RL_OP_QUIT] = "QUIT",
    [RL_OP_LEAVE] = "LEAVE",       [RL_OP_TICKET] = "TICKET",
};

static const char *const state_names[] = {
    [RL_IDLE] = "idle",           [RL_ACQUIRING] = "acquiring", [RL_ALIGNING] = "aligning",
    [RL_INQUIRING] = "asking",    [RL_BACKOFF] = "backoff",     [RL_HELD] = "held",
    [RL_RELEASING] = "releasing", [RL_CHECKING] = "checking",   [RL_ENDED] = "ended",
    [RL_PARKED] = "parked",       [RL_TICKETING] = "ticketing", [RL_QUEUED] = "queued",
};

static const struct {
    const char *word;
    enum redlock_vote vote;
} votes[] = {
    {"granted", REDLOCK_VOTE_GRANTED}, {"taken", REDLOCK_VOTE_TAKEN},
    {"missing", REDLOCK_VOTE_MISSING}, {"timedout", REDLOCK_VOTE_SILENT},
    {"refused", REDLOCK_VOTE_REFUSED}, {"auth", REDLOCK_VOTE_AUTH},
    {"proto", REDLOCK_VOTE_PROTO},     {"loading", REDLOCK_VOTE_LOADING},
    {"guarded", REDLOCK_VOTE_GUARDED}, {"toolong", REDLOCK_VOTE_GUARDED},
    {"kept", REDLOCK_VOTE_GRANTED},    {"lacking", REDLOCK_VOTE_MISSING},
};

struct trace {
    struct rl_policy policy;
    struct rl_lock lock;
    struct rl_acquisition acquisition;
    struct rl_node_vote vote[REDLOCK_NODES_MAX];
    uint32_t random;
    struct rl_send last[REDLOCK_NODES_MAX]; /* what each node was asked last, rollbacks aside */
    const char *line;
    int line_number;
};

static enum redlock_vote vote_of(const struct trace *t, const char *word)
{
    for (size_t i = 0; i < sizeof votes / sizeof votes[0]; i++)
        if (strcmp(votes[i].word, word) == 0)
            return votes[i].vote;
    FAIL("trace line %d: unknown vote in: %s", t->line_number, t->line);
}

static enum rl_op op_of(const struct trace *t, const char *word)
{
    for (size_t i = 0; i < sizeof op_names / sizeof op_names[0]; i++)
        if (op_names[i] && strcmp(op_names[i], word) == 0)
            return (enum rl_op)i;
    FAIL("trace line %d: unknown request in: %s", t->line_number, t->line);
}

/* Nodes are numbered from 1, in hexadecimal so that each is one character. */
static void print_nodes(uint16_t nodes, char *out)
{
    for (int i = 0; i < REDLOCK_NODES_MAX; i++)
        if (nodes & (1u << i))
            *out++ = "123456789abcdef"[i];
    *out = '\0';
}

static uint8_t node_of(char digit)
{
    return (uint8_t)(strchr("123456789abcdef", digit) - "123456789abcdef");
}

static uint16_t read_nodes(const char *text)
{
    uint16_t nodes = 0;

    for (; *text; text++)
        nodes |= (uint16_t)(1u << node_of(*text));
    return nodes;
}

static void print_actions(const struct rl_actions *actions, char *out)
{
    char nodes[REDLOCK_NODES_MAX + 1];
    const char *start = out;

    *out = '\0';
    for (uint32_t i = 0; i < actions->send_count; i++) {
        print_nodes(actions->send[i].nodes, nodes);
        out +=
            sprintf(out, "%ssend %s %s", i ? ", " : "", op_names[actions->send[i].op], nodes);
    }
    if (actions->lost)
        out += sprintf(out, "%slost", out > start ? ", " : "");
    if (actions->jeopardy)
        out += sprintf(out, "%sjeopardy", out > start ? ", " : "");
    if (actions->recovered)
        out += sprintf(out, "%srecovered", out > start ? ", " : "");
    if (actions->done)
        sprintf(out, "%sdone %s", out > start ? ", " : "",
                redlock_error_name(actions->done_error));
}

/* The answers to other requests are not waited for. */
static bool is_answered(enum rl_op op)
{
    return op != RL_OP_ROLLBACK && op != RL_OP_QUIT && op != RL_OP_LEAVE;
}

static void remember_sends(struct trace *t, const struct rl_actions *actions)
{
    for (uint32_t i = 0; i < actions->send_count; i++)
        for (int node = 0; node < t->policy.node_count; node++)
            if (is_answered(actions->send[i].op) && actions->send[i].nodes & (1u << node))
                t->last[node] = actions->send[i];
}

static void step(struct trace *t, struct rl_event *event, const char *expected)
{
    struct rl_actions actions;
    char actual[LINE_MAX_SIZE];

    event->random = t->random;
    rl_lock_step(&t->lock, event, &actions);
    /* As the engine does: any use from now on crashes. */
    if (t->lock.state == RL_HELD)
        t->lock.acquisition = NULL;
    print_actions(&actions, actual);
    if (strcmp(actual, expected) != 0)
        FAIL("trace line %d: %s\n  expected: %s\n  actual:   %s", t->line_number, t->line,
             expected, actual);
    remember_sends(t, &actions);
}

/* "700" ms that the key lives, "@5" a token, "#9" a ticket,
 * "place=2", "ahead=300", "slot=3". */
static void read_detail(const struct trace *t, const char *word, struct rl_answer *out)
{
    if (word[0] == '@')
        out->token = atoll(word + 1);
    else if (word[0] == '#')
        out->ticket = atoll(word + 1);
    else if (strncmp(word, "place=", 6) == 0)
        out->place = (uint32_t)atoi(word + 6);
    else if (strncmp(word, "ahead=", 6) == 0)
        out->ahead_ms = atoll(word + 6);
    else if (strncmp(word, "slot=", 5) == 0)
        out->free_slot[0] = (uint16_t)atoi(word + 5);
    else if (strncmp(word, "owners=", 7) == 0)
        out->owners_token = atoll(word + 7);
    else if (word[0] >= '0' && word[0] <= '9')
        out->key_ttl_ms = atoll(word);
    else
        FAIL("trace line %d: what is '%s' in: %s", t->line_number, word, t->line);
}

/* Of several nodes in the order of the line: only the last answer may have a consequence. */
static void answers(struct trace *t, struct rl_event *event, char **words, const char *expected)
{
    event->type = RL_EVENT_ANSWER;
    event->answer.vote = vote_of(t, words[1]);
    event->answer.key_ttl_ms = -1;
    event->answer.beyond_max_ttl = strcmp(words[1], "toolong") == 0;
    event->answer.in_quarantine = strcmp(words[1], "kept") == 0;
    event->answer.of_new_term = strcmp(words[1], "lacking") == 0;
    for (int i = 2; words[i]; i++)
        read_detail(t, words[i], &event->answer);
    for (const char *node = words[0]; *node; node++) {
        event->node = node_of(*node);
        event->op = t->last[event->node].op;
        event->round = t->last[event->node].round;
        step(t, event, node[1] ? "" : expected);
    }
}

static void late_answer(struct trace *t, struct rl_event *event, char **words,
                        const char *expected)
{
    event->type = RL_EVENT_ANSWER;
    event->round = (uint32_t)atoi(words[1]);
    event->op = op_of(t, words[2]);
    event->node = node_of(*words[3]);
    event->answer.vote = vote_of(t, words[4]);
    event->answer.key_ttl_ms = -1;
    step(t, event, expected);
}

/* False: the line is no check. */
static bool check(struct trace *t, char **words, int64_t now_ns)
{
    char nodes[REDLOCK_NODES_MAX + 1];

    if (strcmp(words[0], "state") == 0) {
        CHECK_STR(words[1], state_names[t->lock.state]);
    } else if (strcmp(words[0], "remaining") == 0) {
        int64_t left_ns = t->lock.deadline_ns ? t->lock.deadline_ns - now_ns : 0;

        if (left_ns / RL_NS_PER_MS != atoll(words[1]))
            FAIL("trace line %d: %s\n  actual: %" PRId64 " ms", t->line_number, t->line,
                 left_ns / RL_NS_PER_MS);
    } else if (strcmp(words[0], "place") == 0) {
        CHECK_INT(atoll(words[1]), t->acquisition.place);
    } else if (strcmp(words[0], "slot") == 0) {
        CHECK_INT(atoll(words[1]), t->lock.slot);
    } else if (strcmp(words[0], "ticket") == 0) {
        CHECK_INT(atoll(words[1]), t->acquisition.ticket);
    } else if (strcmp(words[0], "token") == 0) {
        CHECK_INT(atoll(words[1]), t->lock.token);
    } else if (strcmp(words[0], "keys") == 0) {
        print_nodes(t->lock.nodes_with_key, nodes);
        CHECK_STR(words[1], nodes);
    } else if (strcmp(words[0], "timer-at") == 0) {
        int64_t due_ns = rl_lock_timer_ns(&t->lock);

        if (due_ns / RL_NS_PER_MS != atoll(words[1]))
            FAIL("trace line %d: %s\n  actual: %" PRId64 " ms", t->line_number, t->line,
                 due_ns == RL_NEVER_NS ? -1 : due_ns / RL_NS_PER_MS);
    } else {
        return false;
    }
    return true;
}

static void event_line(struct trace *t, char **words, int64_t now_ns, const char *expected)
{
    struct rl_event event = {.now_ns = now_ns};

    if (strcmp(words[0], "acquire") == 0) {
        event.type = RL_EVENT_ACQUIRE;
        event.ttl_ns = atoll(words[1]) * RL_NS_PER_MS;
        if (words[2] && words[3])
            event.wait_deadline_ns = strcmp(words[3], "forever") == 0
                                         ? RL_NEVER_NS
                                         : now_ns + atoll(words[3]) * RL_NS_PER_MS;
        if (words[2] && words[3] && words[4]) {
            event.parked = strcmp(words[4], "parked") == 0;
            event.yields = strcmp(words[4], "yields") == 0;
        }
        step(t, &event, expected);
    } else if (strcmp(words[0], "extend") == 0) {
        event.type = RL_EVENT_EXTEND;
        event.ttl_ns = atoll(words[1]) * RL_NS_PER_MS;
        step(t, &event, expected);
    } else if (strcmp(words[0], "timer") == 0) {
        event.type = RL_EVENT_TIMER;
        event.warm_at_ns = now_ns + t->policy.node_timeout_ns;
        if (words[1] && words[2])
            event.warming = read_nodes(words[2]);
        step(t, &event, expected);
    } else if (strcmp(words[0], "release") == 0 || strcmp(words[0], "cancel") == 0) {
        event.type = words[0][0] == 'r' ? RL_EVENT_RELEASE : RL_EVENT_CANCEL;
        step(t, &event, expected);
    } else if (strcmp(words[0], "out") == 0) {
        event.type = RL_EVENT_NODE_OUT;
        event.node = node_of(*words[1]);
        step(t, &event, expected);
    } else if (strcmp(words[0], "term") == 0 || strcmp(words[0], "greeted") == 0) {
        event.type = words[0][0] == 't' ? RL_EVENT_TERM : RL_EVENT_GREETED;
        event.node = node_of(*words[1]);
        event.rose = words[2] != NULL;
        step(t, &event, expected);
    } else if (strcmp(words[0], "too-late") == 0) {
        event.type = RL_EVENT_TOO_LATE;
        step(t, &event, expected);
    } else if (strcmp(words[0], "abandon") == 0) {
        event.type = RL_EVENT_OUR_CLOCK;
        step(t, &event, expected);
    } else if (strcmp(words[0], "unpark") == 0) {
        event.type = RL_EVENT_UNPARK;
        event.client_holds = words[1] != NULL;
        step(t, &event, expected);
    } else if (strcmp(words[0], "wake") == 0) {
        event.type = RL_EVENT_WAKE;
        event.nodes = read_nodes(words[1]);
        event.behind_release = words[2] && strcmp(words[2], "over") == 0;
        event.slot = (uint16_t)(words[2] && !event.behind_release ? atoi(words[2]) : 0);
        step(t, &event, expected);
    } else if (strcmp(words[0], "adopt") == 0) {
        rl_lock_adopt(&t->lock);
        t->lock.acquisition = NULL;
    } else if (strcmp(words[0], "late") == 0) {
        late_answer(t, &event, words, expected);
    } else {
        answers(t, &event, words, expected);
    }
}

static void run_line(struct trace *t, char *line)
{
    char *words[WORDS_MAX + 1] = {0};
    char *expected = strstr(line, "->");
    char *save, *word;
    int count = 0, used;
    double now_ms;

    if (expected) {
        *expected = '\0';
        expected += 2;
        expected += strspn(expected, " ");
    }
    if (sscanf(line, " [%lf]%n", &now_ms, &used) != 1)
        FAIL("trace line %d: no time in: %s", t->line_number, t->line);
    for (word = strtok_r(line + used, " ", &save); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    if (!check(t, words, (int64_t)(now_ms * RL_NS_PER_MS)))
        event_line(t, words, (int64_t)(now_ms * RL_NS_PER_MS), expected ? expected : "");
}

void trace_run(const struct trace_options *options, const char *text)
{
    struct trace t = {
        .policy =
            {
                .node_count = options->node_count,
                .quorum = rl_quorum(options->node_count),
                .all_nodes = rl_all_nodes(options->node_count),
                .drift_ppm = 10000,
                .node_timeout_ns = 50 * RL_NS_PER_MS,
                .retry_min_ns = 10 * RL_NS_PER_MS,
                .retry_max_ns = 250 * RL_NS_PER_MS,
            },
        .random = options->random,
    };
    char line[LINE_MAX_SIZE], shown[LINE_MAX_SIZE];

    rl_lock_init(&t.lock, &t.policy, &options->terms, t.vote, &t.acquisition);
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchrnul(text, '\n');
        t.line_number++;
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        snprintf(shown, sizeof shown, "%s", line);
        t.line = shown;
        if (line[strspn(line, " ")])
            run_line(&t, line);
    }
}
