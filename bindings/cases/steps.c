/* SPDX-License-Identifier: BSD-2-Clause */
#include "steps.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "expect.h"

enum { TTL_MS = 20000, NODE_TIMEOUT_MS = 2000 };

extern char **environ;

typedef bool step_fn(struct world *w, const json_t *step);

/* ---- clients ---------------------------------------------------------------------------- */

static bool step_client(struct world *w, const json_t *step)
{
    struct actor *actor = world_actor(w, field_text(step, "client", "a"));
    const char *nodes[REDLOCK_NODES_MAX];
    struct outcome out;
    redlock_options options =
        REDLOCK_OPTIONS(.flags = REDLOCK_THREAD,
                        .node_timeout_ms =
                            (uint32_t)field_int(step, "node_timeout_ms", NODE_TIMEOUT_MS),
                        .prefix = field_text(step, "prefix", NULL),
                        .node_count = field_texts(step, "nodes", nodes, REDLOCK_NODES_MAX));

    if (options.node_count)
        options.nodes = nodes;
    outcome_take(&out, redlock_open(&options, &actor->client), NULL);
    return expect_outcome(w, step, &out);
}

/* The acquisition is canceled, and no event will come. */
static void end_wait(struct held *held)
{
    if (held->is_pending)
        held->outcome = (struct outcome){.error = REDLOCK_CANCELED};
    held->is_pending = false;
}

static bool step_close(struct world *w, const json_t *step)
{
    struct actor *actor = world_actor(w, field_text(step, "client", "a"));

    for (size_t i = 0; i < LOCKS_MAX; i++)
        if (w->held[i].client == actor->client)
            end_wait(&w->held[i]);
    redlock_close(actor->client);
    actor->client = NULL;
    return true;
}

/* ---- locks ------------------------------------------------------------------------------ */

static int kind_of(const json_t *step)
{
    const char *word = field_text(step, "kind", "mutex");
    int kind = redlock_kind_number(word);

    if (kind >= 0)
        return kind;
    fprintf(stderr, "there is no kind '%s'\n", word);
    exit(2);
}

static bool step_start(struct world *w, const json_t *step)
{
    struct held *held = world_held(w, field_text(step, "lock", "one"));
    const char *more[REDLOCK_NAMES_MAX];
    redlock_request request =
        REDLOCK_REQUEST(.kind = kind_of(step),
                        .flags = (field_flag(step, "renew", false) ? REDLOCK_RENEW : 0u) |
                                 (field_flag(step, "fenced", false) ? REDLOCK_FENCED : 0u) |
                                 (field_flag(step, "fair", false) ? REDLOCK_FAIR : 0u),
                        .wait_ms = field_int(step, "wait_ms", 0),
                        .max_extensions = (uint32_t)field_int(step, "max_extensions", 0),
                        .max_hold_ms = field_int(step, "max_hold_ms", 0),
                        .slots = (uint32_t)field_int(step, "slots", 0),
                        .owner = field_text(step, "owner", NULL),
                        .label = field_text(step, "label", NULL),
                        .more_name_count =
                            field_texts(step, "more_names", more, REDLOCK_NAMES_MAX),
                        .more_names = more, .data = held);
    int error;

    redlock_lock_free(held->lock);
    held->lock = NULL;
    held->losses = 0;
    held->client = step_client_of(w, step);
    error = redlock_start_acquire(held->client, field_text(step, "name", ""),
                                  field_int(step, "ttl_ms", TTL_MS), &request, &held->lock);
    held->is_pending = error == REDLOCK_OK;
    if (error)
        outcome_take(&held->outcome, error, NULL);
    return true;
}

static bool step_outcome(struct world *w, const json_t *step)
{
    struct held *held = world_held(w, field_text(step, "lock", "one"));
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;

    while (held->is_pending) {
        if (world_now_ms() > end_ms)
            return world_fail(w, "no outcome after %d ms", GIVE_UP_MS);
        world_turn(w, held, AGAIN_MS);
    }
    if (held->outcome.error == REDLOCK_OK)
        held->fence = redlock_fence(held->lock);
    return expect_outcome(w, step, &held->outcome);
}

static bool step_acquire(struct world *w, const json_t *step)
{
    return step_start(w, step) && step_outcome(w, step);
}

static bool step_cancel(struct world *w, const json_t *step)
{
    struct held *held = world_held(w, field_text(step, "lock", "one"));

    redlock_cancel(held->lock);
    end_wait(held);
    return true;
}

/* extend, release */
static bool step_operate(struct world *w, const json_t *step)
{
    struct held *held = world_held(w, field_text(step, "lock", "one"));
    bool extends = strcmp(field_text(step, "do", ""), "extend") == 0;

    int error = extends ? redlock_extend(held->lock, field_int(step, "ttl_ms", TTL_MS))
                        : redlock_release(held->lock);
    outcome_take(&held->outcome, error, error ? NULL : redlock_lock_report(held->lock));
    return expect_outcome(w, step, &held->outcome);
}

static bool step_state(struct world *w, const json_t *step)
{
    static const char *const names[] = {"waiting",  "failed", "adopted", "held",
                                        "jeopardy", "lost",   "released"};
    redlock_lock *lock = world_held(w, field_text(step, "lock", "one"))->lock;
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;

    while (strcmp(field_text(step, "is", ""), names[redlock_state(lock)]) != 0) {
        if (world_now_ms() > end_ms)
            return world_fail(w, "it is %s", names[redlock_state(lock)]);
        world_sleep(AGAIN_MS);
    }
    return true;
}

static bool step_lost(struct world *w, const json_t *step)
{
    struct held *held = world_held(w, field_text(step, "lock", "one"));
    int64_t end_ms = world_now_ms() + GIVE_UP_MS;

    while (held->losses == 0 && world_now_ms() < end_ms)
        world_turn(w, held, AGAIN_MS);
    if (held->losses != 1 || !strstr(held->lost_said, field_text(step, "says", "")))
        return world_fail(w, "lost came %d times: %s", held->losses, held->lost_said);
    return true;
}

static bool step_remaining(struct world *w, const json_t *step)
{
    int64_t left_ms =
        redlock_remaining_ms(world_held(w, field_text(step, "lock", "one"))->lock);

    return (left_ms >= field_int(step, "from_ms", 0) &&
            left_ms <= field_int(step, "to_ms", 0)) ||
           world_fail(w, "%lld ms remain", (long long)left_ms);
}

static bool step_fences(struct world *w, const json_t *step)
{
    const char *locks[LOCKS_MAX];
    size_t count = field_texts(step, "locks", locks, LOCKS_MAX);
    int64_t last = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t fence = world_held(w, locks[i])->fence;

        if (fence <= last)
            return world_fail(w, "token %lld of '%s' after %lld", (long long)fence, locks[i],
                              (long long)last);
        last = fence;
    }
    return true;
}

static bool step_no_fence(struct world *w, const json_t *step)
{
    return world_held(w, field_text(step, "lock", "one"))->fence == 0 ||
           world_fail(w, "it has a token");
}

static bool step_slots(struct world *w, const json_t *step)
{
    const char *locks[LOCKS_MAX];
    size_t count = field_texts(step, "locks", locks, LOCKS_MAX);
    uint64_t seen = 0;

    for (size_t i = 0; i < count; i++) {
        int slot = redlock_slot(world_held(w, locks[i])->lock);

        if (slot < 1 || slot > field_int(step, "of", 0) || seen >> slot & 1)
            return world_fail(w, "'%s' has slot %d", locks[i], slot);
        seen |= UINT64_C(1) << slot;
    }
    return true;
}

/* ---- nodes and time --------------------------------------------------------------------- */

static bool run_command(struct world *w, const char *const *argv)
{
    pid_t pid;
    int status = 0;

    if (posix_spawn(&pid, w->command, NULL, NULL, (char *const *)argv, environ) != 0)
        return world_fail(w, "%s cannot be started", w->command);
    waitpid(pid, &status, 0);
    return status == 0 || world_fail(w, "redlock %s %s: status %d", argv[1], argv[2], status);
}

/* kill, restart, hang, resume: the words of `redlock dev`, but for one. */
static bool step_node(struct world *w, const json_t *step)
{
    const char *what = field_text(step, "do", "");
    char number[16];
    const char *argv[] = {"redlock", "dev", strcmp(what, "restart") == 0 ? "start" : what,
                          number, NULL};

    snprintf(number, sizeof number, "%d", (int)field_int(step, "node", 1));
    return run_command(w, argv);
}

static bool step_admit(struct world *w, const json_t *step)
{
    const char *argv[] = {"redlock", "init", "--yes", "--force", "--node-timeout", "5s", NULL};

    (void)step;
    return run_command(w, argv);
}

static bool step_pass(struct world *w, const json_t *step)
{
    (void)w;
    world_sleep(field_int(step, "ms", 0));
    return true;
}

/* Every field that a step may have: a field that is not known here would
 * silently expect nothing. */
#define LOOKS " client name expect says "
#define REQUEST                                                                                \
    LOOKS "lock kind ttl_ms slots owner more_names wait_ms renew fenced fair label "           \
          "max_extensions max_hold_ms votes label_in_the_way "

static const struct {
    const char *word;
    step_fn *play;
    const char *fields;
} steps[] = {
    {"client", step_client, " client prefix node_timeout_ms nodes expect says never_says "},
    {"close", step_close, " client "},
    {"ping", step_ping, " client expect votes "},
    {"quorum_of", step_quorum_of, " client name is "},
    {"start", step_start, REQUEST},
    {"outcome", step_outcome, " lock expect says "},
    {"acquire", step_acquire, REQUEST},
    {"cancel", step_cancel, " lock "},
    {"extend", step_operate, " lock ttl_ms expect says votes "},
    {"release", step_operate, " lock expect says votes "},
    {"state", step_state, " lock is "},
    {"lost", step_lost, " lock says "},
    {"remaining", step_remaining, " lock from_ms to_ms "},
    {"fences", step_fences, " locks "},
    {"slots", step_slots, " locks of "},
    {"no_fence", step_no_fence, " lock "},
    {"query", step_look, LOOKS "held kind label holders waiters slots owner keep_mark "},
    {"list", step_look, LOOKS "has lacks "},
    {"break", step_break, LOOKS "mark literal_mark label "},
    {"kill", step_node, " node "},
    {"restart", step_node, " node "},
    {"hang", step_node, " node "},
    {"resume", step_node, " node "},
    {"admit", step_admit, " "},
    {"pass", step_pass, " ms "},
};

bool step_play(struct world *w, const json_t *step)
{
    const char *word = field_text(step, "do", "");
    const char *name;
    json_t *value;

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(word, steps[i].word) != 0)
            continue;
        json_object_foreach((json_t *)step, name, value)
        {
            char padded[NAME_MAX_BYTES];

            snprintf(padded, sizeof padded, " %s ", name);
            if (strcmp(name, "do") != 0 && !strstr(steps[i].fields, padded))
                return world_fail(w, "this runner does not know the field '%s'", name);
        }
        return steps[i].play(w, step) && !w->why[0];
    }
    return world_fail(w, "this runner does not know the step '%s'", word);
}
