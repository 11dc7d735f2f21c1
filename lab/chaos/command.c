/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"

#include "hold.h"
#include "holder.h"
#include "random.h"
#include "record.h"
#include "rig.h"

#include "clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 20,
    NODE_TIMEOUT_MS = 150, /* a busy machine is no fault */
    START_MS = 3000,   /* what two processes may take to start and to end, beyond the wait */
    SERVED_MS = 20000, /* the same where an answer of the service may be lost */
    KILLED_EVERY = 20,
    STOPPED_EVERY = 20,
    STOPPED_MAX_MS = 2500,
    WORDS_MAX = 40,
    BUSY = 75, /* exit statuses of redlock(1) */
    NO_QUORUM = 69,
    LOST = 76,
};

void command_nodes(const struct cluster *cluster, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < cluster->count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? "," : "",
                                 cluster->urls[i]);
}

void command_forget_settings(void)
{
    static const char *const names[] = {"REDLOCK_NODES", "REDLOCK_SERVICE", "REDLOCK_OWNER",
                                        "REDLOCK_HELD"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    setenv("REDLOCK_CONFIG", "/dev/null", 1);
}

/* The words of a command line; those with numbers are kept in `text`. */
struct words {
    const char *word[WORDS_MAX];
    size_t count;
    char text[1024];
    size_t used;
};

static void put(struct words *w, const char *word)
{
    if (w->count + 1 < WORDS_MAX)
        w->word[w->count++] = word;
}

static void put_text(struct words *w, int64_t number, const char *unit)
{
    char *at = w->text + w->used;
    put(w, at);
    w->used +=
        (size_t)snprintf(at, sizeof w->text - w->used, "%lld%s", (long long)number, unit) + 1;
}

static void put_number(struct words *w, const char *option, int64_t number, const char *unit)
{
    put(w, option);
    put_text(w, number, unit);
}

static void put_kind(struct words *w, const struct crew *c, const struct hold *h)
{
    switch ((enum redlock_kind)h->kind) {
    case REDLOCK_MUTEX:
        return;
    case REDLOCK_SHARED:
        put(w, "--shared");
        return;
    case REDLOCK_SEMAPHORE:
        put_number(w, "--slots", PRINTERS, "");
        return;
    case REDLOCK_REENTRANT:
        put(w, "--owner");
        put(w, c->owner);
        return;
    }
}

static void write_words(struct words *w, const struct crew *c, const struct hold *h,
                        const char *nodes)
{
    put(w, "redlock");
    put(w, h->command.run ? "run" : "hold");
    if (!h->command.run) {
        put(w, "-v");
        put(w, "--json");
    } else {
        put(w, "-q");
    }
    put(w, "--nodes");
    put(w, nodes);
    put_number(w, "--node-timeout", NODE_TIMEOUT_MS, "ms");
    put_number(w, "--max-ttl", c->rig->schedule->max_ttl_ms, "ms");
    put_number(w, "--ttl", h->ttl_ms, "ms");
    put_number(w, "--wait", h->wait_ms, "ms");
    if (h->fair)
        put(w, "--fair");
    if (c->rig->schedule->regime == REGIME_STRICT) {
        put(w, "--guard");
        put(w, "strict");
    }
    put_kind(w, c, h);
    for (int i = 0; i < NAMES; i++)
        if (h->names >> i & 1)
            put(w, name_text[i]);
    if (h->command.run) {
        put(w, "--");
        put(w, HOLDER);
    }
    w->word[w->count] = NULL;
}

/* What holder.c has to know. */
static void hand_over(const struct crew *c, const struct hold *h)
{
    char text[96];
    struct record r = hold_record(c, h, (struct record){.what = RECORD_GRANT});
    int history = dup(c->rig->history); /* without FD_CLOEXEC */
    snprintf(text, sizeof text, HOLDER_FORMAT, history, r.worker, r.life, r.hold, r.kind,
             r.names, r.flags);
    setenv(HOLDER_ABOUT, text, 1);
}

const char *command_go(void)
{
    const char *program = getenv("CHAOS_GO");
    return program != NULL && program[0] != '\0' ? program : NULL;
}

/* Streams go straight to a replica, as those of stream.c; `way` keeps the text of
 * the first word. */
static void write_go_words(struct words *w, const struct crew *c, const struct hold *h,
                           char way[128])
{
    const struct balancer *b = &c->rig->replicas.balancer;
    snprintf(way, 128, "unix:%s", h->streamed ? b->replica[h->number % REPLICAS] : b->path);
    put(w, command_go());
    put(w, way);
    put(w, h->streamed ? "1" : "0");
    for (int i = 0; i < NAMES; i++)
        if (h->names >> i & 1)
            put(w, name_text[i]);
    put_text(w, h->ttl_ms, "");
    put_text(w, h->wait_ms, "");
    put(w, h->fair ? "1" : "0");
    put(w, redlock_kind_text(h->kind));
    put_text(w, PRINTERS, "");
    put(w, c->owner);
    w->word[w->count] = NULL;
}

static void become_command(const struct crew *c, const struct hold *h, int input, int output)
{
    char nodes[2048], service[128];
    struct words words = {.count = 0};
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(quiet, STDERR_FILENO);
    if (h->command.run)
        hand_over(c, h);
    command_forget_settings();
    if (c->way == WAY_GO) {
        write_go_words(&words, c, h, service);
        execv(words.word[0], (char *const *)words.word);
        _exit(127);
    }
    command_nodes(&c->rig->cluster, nodes, sizeof nodes);
    write_words(&words, c, h, nodes);
    execv(REDLOCK, (char *const *)words.word);
    _exit(127);
}

static void start(struct crew *c, struct hold *h)
{
    int input[2], output[2];
    struct command *m = &h->command;
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0 || (m->pid = fork()) < 0)
        _exit(5);
    if (m->pid == 0)
        become_command(c, h, input[0], output[1]);
    close(input[0]);
    close(output[1]);
    m->input = input[1];
    m->output = output[0];
    m->size = 0;
}

/* Its exit status; 128 and the number of the signal that ended it. */
static int reap(struct hold *h)
{
    struct command *m = &h->command;
    int status = 0;
    close(m->input);
    waitpid(m->pid, &status, 0);
    close(m->output);
    m->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The number behind a word of the line, 0 without. */
static int64_t number_after(const char *line, const char *word)
{
    const char *at = strstr(line, word);
    return at != NULL ? atoll(at + strlen(word)) : 0;
}

enum event { NOTHING, HELD, OVER };

static enum event take_line(struct hold *h, const char *line)
{
    bool run = h->command.run;
    int64_t deadline_ns = number_after(line, run ? " until " : "\"deadline_ns\":");
    if (deadline_ns != 0)
        h->deadline_ns = deadline_ns;
    if (strstr(line, run ? "held " : "\"event\":\"held\"") != NULL) {
        h->fence = number_after(line, run ? " fence " : "\"fence\":");
        return HELD;
    }
    return strstr(line, "\"event\":\"lost\"") != NULL ? OVER : NOTHING;
}

/* The next thing that matters within the time; the end of its output is OVER, too. */
static enum event listen_for(struct hold *h, int64_t timeout_ms)
{
    struct command *m = &h->command;
    int64_t end_ms = now_ms() + timeout_ms;
    for (;;) {
        char *newline = memchr(m->lines, '\n', m->size);
        ssize_t got;
        struct pollfd poller;
        int64_t left_ms;
        if (newline != NULL) {
            enum event event;
            *newline = '\0';
            event = take_line(h, m->lines);
            m->size -= (size_t)(newline + 1 - m->lines);
            memmove(m->lines, newline + 1, m->size);
            if (event != NOTHING)
                return event;
            continue;
        }
        poller = (struct pollfd){m->output, POLLIN, 0};
        left_ms = end_ms - now_ms();
        if (poll(&poller, 1, left_ms > 0 ? (int)left_ms : 0) <= 0)
            return NOTHING;
        got = read(m->output, m->lines + m->size, sizeof m->lines - m->size);
        if (got <= 0)
            return OVER;
        m->size += (size_t)got;
    }
}

/*
 * 0 when it is held, else the exit status. A grant that is over before anything could be
 * started (a TTL may be as short as 300 ms) is requested anew while the wait lasts.
 */
static int take_in_time(struct crew *c, struct hold *h, int64_t end_ns)
{
    int64_t wait_ms = h->wait_ms;
    int status = LOST;
    while (status == LOST) {
        enum event event;
        h->deadline_ns = 0;
        start(c, h);
        do
            event = listen_for(h, LOOK_MS);
        while (event == NOTHING);
        status = event == HELD ? 0 : reap(h);
        if (event != HELD && status == 0)
            status = LOST;
        h->wait_ms = (end_ns - now_ns()) / RL_NS_PER_MS;
        if (h->wait_ms <= 0)
            break;
    }
    h->wait_ms = wait_ms;
    return status;
}

bool command_take(struct crew *c, struct hold *h)
{
    int status;
    int64_t slack_ms;
    struct record r;
    h->command.run = c->way == WAY_COMMAND && random_next(&c->random) % 2;
    slack_ms = c->way == WAY_GO ? SERVED_MS : START_MS;
    r = (struct record){.what = RECORD_ASK, .at_ns = now_ns()};
    r.deadline_ns = h->wait_ms > 0 ? r.at_ns + (h->wait_ms + slack_ms) * RL_NS_PER_MS : 0;
    hold_note(c, h, r);
    status = take_in_time(c, h, r.at_ns + h->wait_ms * RL_NS_PER_MS);
    if (status == 0) {
        /* holder.c has noted its own start. */
        if (!h->command.run)
            hold_note(c, h,
                      (struct record){.what = RECORD_GRANT,
                                      .deadline_ns = h->deadline_ns,
                                      .token = h->fence});
        return true;
    }
    hold_note(c, h,
              (struct record){.what = RECORD_DENY,
                              .error = status == BUSY ? REDLOCK_TIMEOUT : REDLOCK_NOQUORUM});
    if (status != BUSY && status != NO_QUORUM && status != LOST) {
        fprintf(stderr, "worker %d: %s ended with %d\n", c->index + 1,
                h->command.run ? "run" : "hold", status);
        _exit(6);
    }
    return false;
}

/* Now and then it fares ill. A stopped run could not stop its command: only hold is stopped. */
static void hurt(struct crew *c, struct hold *h)
{
    if (random_between(&c->random, 1, KILLED_EVERY) == 1)
        kill(h->command.pid, SIGKILL);
    else if (!h->command.run && random_between(&c->random, 1, STOPPED_EVERY) == 1) {
        kill(h->command.pid, SIGSTOP);
        sleep_ms(random_between(&c->random, 1, STOPPED_MAX_MS));
        kill(h->command.pid, SIGCONT);
    }
}

void command_stay(struct crew *c, struct hold *h)
{
    int64_t end_ms = now_ms() + h->stay_ms;
    hurt(c, h);
    for (int64_t left_ms; (left_ms = end_ms - now_ms()) > 0;) {
        enum event event = listen_for(h, left_ms < LOOK_MS ? left_ms : LOOK_MS);
        if (event == OVER)
            h->deadline_ns = 0;
        if (!h->command.run)
            hold_note(
                c, h,
                (struct record){.what = RECORD_SEEN,
                                .deadline_ns = hold_remaining_ms(h) > 0 ? h->deadline_ns : 0});
        if (event == OVER)
            return;
    }
}

void command_end(struct crew *c, struct hold *h)
{
    int status;
    if (!h->command.run)
        hold_note(c, h, (struct record){.what = RECORD_RELEASE});
    status = reap(h);
    hold_note(c, h,
              (struct record){.what = RECORD_RELEASED,
                              .error = status == 0 ? REDLOCK_OK : REDLOCK_LOST});
    h->deadline_ns = 0;
}
