/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace of a client: what it says, what it never says, and that neither a full disk nor a
 * pipe that is not read keeps a lock waiting.
 */
#include "fixture.h"
#include "fleet.h"
#include "inject_shim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TTL_MS = 10000, TRACE_MAX = 4 << 20 };

static const char *trace_path(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/trace", check_dir());
    return path;
}

/* The file so far; valid until the next call. */
static const char *read_trace(void)
{
    static char *text;
    int fd;
    ssize_t size;
    if (!text)
        text = malloc(TRACE_MAX);
    fd = open(trace_path(), O_RDONLY);
    CHECK(fd >= 0);
    size = read(fd, text, TRACE_MAX - 1);
    CHECK(size >= 0);
    close(fd);
    text[size] = '\0';
    return text;
}

static redlock *open_traced(const struct cluster *c, uint32_t flags)
{
    return CLIENT_OPEN(c, .flags = flags, .trace_file = trace_path());
}

/* Every line has a time, an offset, a client, five columns and words; the number of lines. */
static int check_lines(const char *text)
{
    int count = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        int year, micros, pid, number, at = 0;
        long seconds;
        char quorum[64], node[256];
        if (!strchr(line, '\n'))
            FAIL("the last line is not whole: %s", line);
        if (sscanf(line, "%d-%*d-%*dT%*d:%*d:%*d.%*dZ +%ld.%d %d.%d %63s %255s %n", &year,
                   &seconds, &micros, &pid, &number, quorum, node, &at) != 7 ||
            year < 2020 || at == 0 || (line[at] != '"' && line[at] != '-'))
            FAIL("no line of a trace: %.*s", (int)strcspn(line, "\n"), line);
        count++;
    }
    return count;
}

/*
 * The first line behind `from` that has this behind the node's address; fails if there is none.
 */
static const char *after(const char *from, const char *address, const char *words)
{
    char wanted[512];
    const char *at;
    snprintf(wanted, sizeof wanted, " %s %s", address, words);
    at = strstr(from, wanted);
    if (!at)
        FAIL("no \"%s\" in: %s", wanted, from);
    return at;
}

static const char *address_of(const struct cluster *c, int node)
{
    return c->url[node] + strlen("redis://");
}

CASE_NODES(story,
           "A failed attempt reads as requests, replies, votes, the decision and the rollback.")
{
    const char *text, *attempt, *failed;
    cluster_set(c, 0, 2, "redlock:nightly", "foreign", LONG_TTL_MS);
    r = open_traced(c, 0);
    client_warm(r);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "nightly", TTL_MS));
    client_close(r);
    text = read_trace();
    check_lines(text);
    attempt = after(text, "-", "\"nightly\" #1 decide attempt 1 for 10000 ms, 2 of 3");
    CHECK_HAS("needed (A2)\n", attempt);
    failed = after(attempt, "-", "\"nightly\" #1 decide attempt failed: BUSY, ");
    CHECK_HAS("granted (A4)\n", failed);
    for (int i = 0; i < 3; i++) {
        const char *address = address_of(c, i);
        const char *ask, *reply, *vote;
        CHECK(after(text, address, "- - node connected") < attempt);
        CHECK(after(text, address, "- - reply TIME: answered") < attempt);
        CHECK(after(text, address, "- - node may vote") < attempt);
        ask = after(attempt, address, "\"nightly\" #1 ask acquire\n");
        CHECK(ask < failed);
        after(failed, address, "\"nightly\" #1 ask rollback\n");
        if (i == 2)
            continue;
        reply = after(ask, address, "\"nightly\" #1 reply acquire: held by another");
        vote = after(reply, address, "\"nightly\" #1 vote held by another");
        CHECK(vote < failed);
    }
    after(failed, "-", "\"nightly\" #1 decide ended: BUSY\n");
}

CASE_NODES(hold,
           "A lock's life is traced: held, extended, released; and why a node did not vote.")
{
    redlock_lock *lock;
    const char *text, *held, *extended;
    char token[64];
    server_restart(&c->node[2]); /* young */
    r = open_traced(c, 0);
    client_warm(r);
    lock = CLIENT_LOCK(r, "x", TTL_MS, .flags = REDLOCK_FENCED);
    snprintf(token, sizeof token, ", token %lld\n", (long long)redlock_fence(lock));
    CHECK_OK(redlock_extend(lock, TTL_MS));
    client_unlock(lock);
    client_warm(r); /* the third node has answered, too */
    client_close(r);
    text = read_trace();
    check_lines(text);
    CHECK_HAS("may vote in ", after(text, address_of(c, 2), "- - node in quarantine: "));
    CHECK_HAS(" (G1)\n", after(text, address_of(c, 2), "- - node in quarantine: "));
    held = after(text, "-", "\"x\" #1 decide held: 2 of 3 granted, valid for ");
    CHECK_HAS(token, held);
    extended = after(held, "-", "\"x\" #2 decide extended: ");
    after(extended, "-", "\"x\" #3 decide ended: OK\n");
    after(text, address_of(c, 2), "\"x\" #1 reply acquire: granted, token ");
}

CASE_NODES(silence, "A node that hangs, or is down, is shown by its vote.")
{
    const char *text;
    r = CLIENT_OPEN(c, .node_timeout_ms = 200, .trace_file = trace_path());
    client_warm(r);
    server_freeze(&c->node[0]);
    server_kill(&c->node[1]);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", TTL_MS));
    server_thaw(&c->node[0]);
    client_close(r);
    text = read_trace();
    CHECK_HAS(" (A2)\n", after(text, address_of(c, 0), "\"x\" #1 vote timed out"));
    after(text, address_of(c, 1), "- - node down: ");
    after(text, address_of(c, 1), "\"x\" #1 vote ");
    after(text, "-", "\"x\" #1 decide attempt failed: NOQUORUM, ");
}

#define PASSWORD "s3cr3t-p@ss"
#define KEY "idempotent-key-0123456"

CASE(secrets, "Passwords, values, idempotency keys and fingerprints are not in the trace.")
{
    static const char *const arguments[] = {"--requirepass", PASSWORD, NULL};
    struct cluster c;
    redlock_options o;
    redlock *r;
    char value[REDLOCK_VALUE_MAX + 1], fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];
    redlock_answer *answer = NULL;
    static const char *const renamed[] = {"--rename-command", "AUTH", "", NULL};
    const char *text;
    struct stat info;
    redlock_request q =
        REDLOCK_REQUEST(.label = "backup", .idempotency_key = KEY, .wait_ms = PATIENT_MS);
    redlock_lock *lock = NULL, *second = NULL;
    cluster_start_as(&c, 1, &(struct cluster_form){.extra = arguments, .password = PASSWORD});
    o = client_options(&c);
    o.password = PASSWORD;
    o.trace_file = trace_path();
    r = client_open_with(&o);
    CHECK_OK(redlock_acquire(r, "x", TTL_MS, &q, &lock));
    snprintf(value, sizeof value, "%s", redlock_value(lock));
    CHECK_ERR(REDLOCK_YOURS, redlock_acquire(r, "x", TTL_MS, &q, &second));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
    CHECK_OK(redlock_extend(lock, TTL_MS));
    CHECK_OK(redlock_query(r, "x", &answer));
    snprintf(fingerprint, sizeof fingerprint, "%s", answer->info->holder.fingerprint);
    redlock_answer_free(answer);
    CHECK_OK(redlock_break(r, "x", fingerprint, NULL));
    redlock_lock_free(lock);
    CHECK_OK(redlock_acquire(r, "x", TTL_MS, &q, &lock));
    CHECK_OK(redlock_release_by_key(r, "x", KEY, NULL));
    redlock_lock_free(lock);
    client_close(r);

    /* A server without the commands repeats their arguments. */
    server_kill(&c.node[0]);
    c.node[0].extra = renamed;
    c.node[0].password = NULL;
    server_launch(&c.node[0]);
    server_ready(&c.node[0]);
    r = client_open_with(&o);
    CHECK(client_try(r, "x", TTL_MS) != REDLOCK_OK);
    CHECK_LACKS("s3cr3t", redlock_detail());
    CHECK_LACKS("s3cr3t", redlock_failure_report()->node[0].text);
    client_close(r);

    text = read_trace();
    check_lines(text);
    CHECK_HAS("reply AUTH: answered", text);
    CHECK_HAS("reply AUTH: ERR unknown command", text);
    CHECK_HAS("ask break", text);
    CHECK_LACKS("s3cr3t", text);
    CHECK_LACKS(KEY, text);
    CHECK_LACKS("idempotent", text);
    CHECK_LACKS(value, text);
    CHECK_LACKS(value + strlen(KEY) + 1, text);
    CHECK(strlen(fingerprint) == REDLOCK_FINGERPRINT_SIZE);
    CHECK_LACKS(fingerprint, text);
    CHECK_INT(0, stat(trace_path(), &info));
    CHECK_INT(0600, info.st_mode & 0777);
}

CASE_NODES(hostile_name, "A name with line breaks and quotes stays one line.", .nodes = 1)
{
    r = open_traced(c, 0);
    CHECK_OK(client_try(r, "a\nb\"c\\d", TTL_MS));
    client_close(r);
    check_lines(read_trace());
    CHECK_HAS(" \"a\\x0ab\\x22c\\x5cd\" #1 ask acquire", read_trace());
}

CASE_NODES(environment, "REDLOCK_TRACE names the file where the options name none.", .nodes = 1)
{
    setenv("REDLOCK_TRACE", trace_path(), 1);
    r = client_open(c, REDLOCK_THREAD);
    CHECK_OK(client_try(r, "x", TTL_MS));
    client_close(r);
    CHECK_HAS("\"x\" #1 decide held: 1 of 1", read_trace());
}

CASE_NODES(unwritable,
           "A trace file that cannot be written is reported when the client is opened.",
           .nodes = 1)
{
    redlock_options o = client_options(c);
    r = NULL;
    o.trace_file = "/no/such/directory/trace";
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    CHECK_HAS("/no/such/directory/trace", redlock_detail());
}

static void *lock_often(void *data)
{
    char name[48];
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "%p-%d", data, i);
        CHECK_OK(client_try(data, name, TTL_MS));
    }
    return NULL;
}

CASE(shared_file, "Several clients and quorums write whole lines to one file.")
{
    struct fleet f;
    redlock_options o;
    const char *text;
    int held = 0, in_a = 0;
    redlock *r[3];
    pthread_t thread[3];
    fleet_start(&f, 2, 1);
    o = fleet_options(&f);
    o.flags = REDLOCK_THREAD;
    o.trace_file = trace_path();
    for (int i = 0; i < 3; i++) {
        r[i] = client_open_with(&o);
        client_warm(r[i]);
    }
    for (int i = 0; i < 3; i++)
        CHECK_INT(0, pthread_create(&thread[i], NULL, lock_often, r[i]));
    for (int i = 0; i < 3; i++)
        CHECK_INT(0, pthread_join(thread[i], NULL));
    for (int i = 0; i < 3; i++)
        client_close(r[i]);
    text = read_trace();
    check_lines(text);
    for (const char *at = text; (at = strstr(at, " decide held: ")) != NULL; at++)
        held++;
    for (const char *at = text; (at = strstr(at, " a 127.0.0.1:")) != NULL; at++)
        in_a++;
    CHECK_INT(150, held);
    CHECK(in_a > 0);
}

CASE_NODES(child, "A forked child adds nothing to the trace.", .nodes = 1)
{
    struct stat before, now;
    int status = 0;
    redlock_lock *lock = NULL;
    pid_t pid;
    r = open_traced(c, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_OK(redlock_start_acquire(r, "y", TTL_MS, NULL, &lock));
    CHECK_INT(0, stat(trace_path(), &before));
    pid = fork();
    if (pid == 0) {
        redlock_lock_free(lock);
        client_close(r);
        _exit(0);
    }
    CHECK_INT(pid, waitpid(pid, &status, 0));
    CHECK_INT(0, status);
    CHECK_INT(0, stat(trace_path(), &now));
    CHECK_INT(before.st_size, now.st_size);
}

CASE_NODES(full_disk, "A full disk loses lines and keeps no lock waiting.")
{
    r = CLIENT_OPEN(c, .trace_file = "/dev/full");
    for (int i = 0; i < 20; i++)
        CHECK_OK(client_try(r, "x", TTL_MS));
}

/* Everything that is in the pipe. */
static size_t empty_pipe(int fd, char *out, size_t room)
{
    size_t size = 0;
    ssize_t got;
    while (size < room && (got = read(fd, out + size, room - size)) > 0)
        size += (size_t)got;
    return size;
}

#define NOTED " - - - - trace "

CASE_NODES(full_pipe, "A pipe that is not read loses lines, which the next that fits counts.")
{
    static char text[1 << 20];
    int fd;
    size_t size;
    unsigned long dropped = 0, held = 0;
    const char *last = NULL;
    CHECK_INT(0, mkfifo(trace_path(), 0600));
    r = open_traced(c, 0); /* with no reader yet */
    fd = open(trace_path(), O_RDONLY | O_NONBLOCK);
    CHECK(fd >= 0);
    for (int i = 0; i < 100; i++)
        CHECK_OK(client_try(r, "x", TTL_MS));
    size = empty_pipe(fd, text, sizeof text / 2);
    CHECK(size > 0);
    CHECK_OK(client_try(r, "last", TTL_MS));
    size += empty_pipe(fd, text + size, sizeof text - size - 1);
    text[size] = '\0';
    /* What is small may have fitted where more did not: it is written more than once then. */
    for (const char *at = text; (at = strstr(at, NOTED)) != NULL; last = at++)
        dropped += strtoul(at + strlen(NOTED), NULL, 10);
    CHECK(last != NULL);
    CHECK_HAS("\"last\" #1 decide held: ", last);
    /* A lock has ten lines at least: three decisions, requests, two replies and two votes. */
    for (const char *at = text; (at = strstr(at, "\"x\" #1 decide held: ")) != NULL; at++)
        held++;
    CHECK_BETWEEN((100 - held) * 10, 100 * 100, dropped);
    client_close(r);
    close(fd);
}

CASE_NODES(no_reader,
           "The reader of a pipe that ends takes the process along no more than a full pipe.",
           .nodes = 1)
{
    int fd;
    CHECK_INT(0, mkfifo(trace_path(), 0600));
    r = open_traced(c, 0);
    fd = open(trace_path(), O_RDONLY | O_NONBLOCK);
    CHECK_OK(client_try(r, "x", TTL_MS));
    close(fd);
    CHECK_OK(client_try(r, "x", TTL_MS));
}

/* With several nodes, replies that are late keep memory for longer. */
CASE_NODES(no_allocation, "A traced client allocates nothing per lock.", .nodes = 1)
{
    r = open_traced(c, 0);
    client_warm(r);
    for (int i = 0; i < 100; i++)
        CHECK_OK(client_try(r, "x", TTL_MS));
    inject_arm(INJECT_MEMORY, 0, 0, false);
    for (int i = 0; i < 200; i++)
        CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_INT(0, inject_disarm());
}
