/* SPDX-License-Identifier: BSD-2-Clause */
/* Passwords that change while a client lives, from files and commands. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD "s3cr3t-old"
#define NEW "s3cr3t-new"

static const char *in_dir(const char *name)
{
    static char path[4][160];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", check_dir(), name);
    return out;
}

/* In one step, as a Secret of Kubernetes is replaced. */
static void write_file(const char *path, const char *text, mode_t mode)
{
    char fresh[200];
    FILE *f;
    snprintf(fresh, sizeof fresh, "%s.new", path);
    f = fopen(fresh, "w");
    CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
    CHECK_INT(0, chmod(fresh, mode));
    CHECK_INT(0, rename(fresh, path));
}

static void start(struct cluster *c, size_t nodes)
{
    cluster_start(c, nodes);
    for (size_t i = 0; i < c->count; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", "locker", "reset", "on",
                                   ">" OLD, "~redlock*", "&redlock*", "+@all", NULL));
}

/* The servers know the new password only, and every connection has ended. */
static void rotate(struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++) {
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", "locker", "resetpass",
                                   ">" NEW, NULL));
        server_cmd(&c->node[i], "CLIENT", "KILL", "USER", "locker", NULL);
    }
}

static redlock_options options_of(const struct cluster *c)
{
    redlock_options o = client_options(c);
    o.username = "locker";
    o.flags = REDLOCK_THREAD;
    return o;
}

/* The password file of the case. */
static const char *password_file(void)
{
    return in_dir("password");
}

/* A client whose password is in the file, with this text; an age of 0: the usual one. */
static redlock *open_by_file(const struct cluster *c, const char *text, uint32_t max_age_ms)
{
    redlock_options o = options_of(c);

    o.password_file = password_file();
    if (max_age_ms)
        o.password_max_age_ms = max_age_ms;
    write_file(o.password_file, text, 0600);
    return client_open_with(&o);
}

static bool is_up(void *data)
{
    bool up = true;

    for (size_t i = 0; i < 3; i++)
        up &= client_node(data, i).state == REDLOCK_NODE_UP;
    return up;
}

static bool is_refused(void *data)
{
    bool refused = true;

    for (size_t i = 0; i < 3; i++)
        refused &= client_node(data, i).reason == REDLOCK_REASON_WRONG_PASSWORD;
    return refused;
}

static int64_t connections(redlock *r)
{
    int64_t count = 0;

    for (size_t i = 0; i < 3; i++)
        count += client_node(r, i).connects;
    return count;
}

/* A renewal succeeds after this call. */
static void await_renewal(const redlock_lock *lock, int64_t ttl_ms)
{
    int64_t after_ns = now_ns() + ttl_ms * RL_NS_PER_MS; /* of what was renewed before */
    AWAIT(redlock_deadline_ns(lock) > after_ns);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(lock));
}

static redlock_lock *hold(redlock *r, const char *name)
{
    redlock_lock *lock =
        CLIENT_LOCK(r, name, RENEWED_TTL_MS, .flags = REDLOCK_RENEW, .wait_ms = GIVE_UP_MS);
    return lock;
}

CASE_NODES(rotation_keeps_the_hold,
           "A new password everywhere and the end of every connection lose no lock.",
           .start = start)
{
    redlock_lock *lock;
    r = open_by_file(c, OLD "\n", 0);
    lock = hold(r, "x");
    write_file(password_file(), NEW "\n", 0600);
    rotate(c);
    await_renewal(lock, RENEWED_TTL_MS);
    CHECK(wait_until(is_up, r));
    client_unlock(hold(r, "y"));
}

CASE_NODES(fixed_password_loses_the_hold,
           "A rotation with a password in the options is AUTH: it cannot be read again.",
           .start = start)
{
    redlock_options o = options_of(c);
    redlock_lock *lock, *refused = NULL;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = GIVE_UP_MS);
    o.password = OLD;
    r = client_open_with(&o);
    lock = hold(r, "x");
    rotate(c);
    CHECK_ERR(REDLOCK_AUTH, redlock_acquire(r, "y", RENEWED_TTL_MS, &q, &refused));
    redlock_lock_free(lock);
}

/* A node that is being connected to at the end of the wait has no reason. */
static bool acquire_is_refused(void *data)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 300);
    redlock_lock *lock = NULL;
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_acquire(data, "x", RENEWED_TTL_MS, &q, &lock));
    CHECK_LACKS("s3cr3t", redlock_detail());
    return redlock_failure_report()->node[0].reason == REDLOCK_REASON_WRONG_PASSWORD;
}

CASE_NODES(late_file_is_waited_for,
           "A request goes on, refused, until the file has the new password.", .start = start)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = GIVE_UP_MS);
    redlock_lock *lock = NULL;
    r = open_by_file(c, OLD, 0);
    client_unlock(hold(r, "x"));
    rotate(c);
    /* With the file as it was: refused, by nodes that have accepted it before. */
    CHECK(wait_until(is_refused, r));
    CHECK(wait_until(acquire_is_refused, r));
    CHECK_OK(redlock_start_acquire(r, "x", RENEWED_TTL_MS, &q, &lock));
    write_file(password_file(), NEW, 0600);
    EXPECT(r, ACQUIRED, REDLOCK_OK, lock);
}

CASE_NODES(login_again_by_age,
           "Connections that are up log in again by the age of the password.", .start = start)
{
    redlock_lock *lock;
    int64_t before;
    r = open_by_file(c, OLD, 100);
    lock = hold(r, "x");
    CHECK(wait_until(is_up, r));
    before = connections(r);
    for (size_t i = 0; i < 3; i++) {
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", "locker", ">" NEW, NULL));
        server_forget_commands(&c->node[i]);
    }
    write_file(password_file(), NEW, 0600);
    for (size_t i = 0; i < 3; i++)
        AWAIT(strstr(server_cmd(&c->node[i], "INFO", "commandstats", NULL), "cmdstat_auth:") !=
              NULL);
    client_unlock(lock);
    CHECK_INT(before, connections(r));
}

static bool has_warned(void *data)
{
    static char text[4096];
    text[0] = '\0';
    read_warnings(data, text, sizeof text);
    CHECK_LACKS("s3cr3t", text);
    return strstr(text, "is refused; the connection goes on") != NULL;
}

CASE_NODES(refused_login_keeps_the_connection,
           "A refused login ends no connection that is up, and warns.", .start = start)
{
    redlock_lock *lock;
    int64_t before;
    r = open_by_file(c, OLD, 100);
    lock = hold(r, "x");
    CHECK(wait_until(is_up, r));
    before = connections(r);
    write_file(password_file(), "s3cr3t-wrong", 0600);
    CHECK(wait_until(has_warned, r));
    client_unlock(hold(r, "y"));
    client_unlock(lock);
    CHECK_INT(before, connections(r));
}

CASE_NODES(login_again_on_request,
           "redlock_reload_passwords() reads the file and logs in at once.", .start = start)
{
    r = open_by_file(c, OLD, 0);
    client_warm(r);
    server_forget_commands(&c->node[0]);
    CHECK_OK(redlock_reload_passwords(r));
    AWAIT(strstr(server_cmd(&c->node[0], "INFO", "commandstats", NULL), "cmdstat_auth:") !=
          NULL);
    client_close(r);
    CHECK_ERR(REDLOCK_INVAL, redlock_reload_passwords(NULL));
}

CASE_NODES(hung_file_delays_nothing,
           "A password file that hangs stalls no lock: the last value is used.", .start = start)
{
    redlock_lock *lock;
    int64_t before;
    r = open_by_file(c, OLD, 0);
    lock = hold(r, "x");
    CHECK(wait_until(is_up, r));
    /* A pipe without a writer: open() does not return. */
    CHECK_INT(0, unlink(password_file()));
    CHECK_INT(0, mkfifo(password_file(), 0600));
    before = connections(r);
    server_cmd(&c->node[0], "CLIENT", "KILL", "USER", "locker", NULL);
    client_unlock(hold(r, "y"));
    await_renewal(lock, RENEWED_TTL_MS);
    CHECK(wait_until(is_up, r));
    CHECK(connections(r) > before);
}

static void check_invalid(const redlock_options *o, const char *words)
{
    redlock *r = NULL;

    CHECK_ERR(REDLOCK_INVAL, redlock_open(o, &r));
    CHECK_HAS(words, redlock_detail());
}

CASE(hung_file_at_the_start, "A client whose password file hangs is INVAL, with which file.")
{
    const char *node = "127.0.0.1:1";
    redlock_options o = REDLOCK_OPTIONS(.nodes = &node, .node_count = 1);
    FILE *f;
    o.password_file = in_dir("password");
    CHECK_INT(0, mkfifo(o.password_file, 0600));
    check_invalid(&o, "could not be read within 10 s");
    CHECK_HAS(o.password_file, redlock_detail());
    /* With a writer its thread ends. */
    f = fopen(o.password_file, "w");
    CHECK(f != NULL);
    fclose(f);
}

/* Prints the file `secret`, and leaves a line in the file `runs`. */
static const char *make_command(const char *body)
{
    char text[600];
    const char *path = in_dir("command");
    snprintf(text, sizeof text, "#!/bin/sh\necho run >> %s\n%s\n", in_dir("runs"), body);
    write_file(path, text, 0700);
    return path;
}

static int runs(void)
{
    FILE *f = fopen(in_dir("runs"), "r");
    int count = 0;
    for (int c = f ? fgetc(f) : EOF; c != EOF; c = fgetc(f))
        count += c == '\n';
    if (f)
        fclose(f);
    return count;
}

CASE_NODES(command_prints_the_password,
           "A command is run once for all connections, and again when it is refused.",
           .start = start)
{
    char body[300], command[300];
    redlock_options o;
    redlock_lock *lock;
    write_file(in_dir("secret"), OLD "\n", 0600);
    snprintf(body, sizeof body, "cat \"$1\"");
    snprintf(command, sizeof command, "%s  %s", make_command(body), in_dir("secret"));
    o = options_of(c);
    o.password_command = command;
    r = client_open_with(&o);
    lock = hold(r, "x");
    CHECK(wait_until(is_up, r));
    CHECK_INT(1, runs());
    write_file(in_dir("secret"), NEW "\n", 0600);
    rotate(c);
    await_renewal(lock, RENEWED_TTL_MS);
    CHECK(wait_until(is_up, r));
    client_unlock(lock);
    CHECK_BETWEEN(2, 4, runs());
}

CASE_NODES(slow_command_is_waited_for, "The first attempt waits for a slow command.",
           .start = start)
{
    redlock_options o = options_of(c);
    o.password_command = make_command("sleep 0.7; echo " OLD);
    o.node_timeout_ms = STEADY_MS / 2;
    r = client_open_with(&o);
    CHECK_OK(client_try(r, "x", 10000));
    for (size_t i = 0; i < 3; i++) {
        /* Half of the time that the command took would be the error of a clock dated before. */
        CHECK_BETWEEN(0, 300000, client_node(r, i).clock_error_us);
    }
}

CASE_NODES(command_fails,
           "A command that fails is a reason of the node, without what it printed.",
           .start = start)
{
    redlock_options o = options_of(c);
    o.password_command = make_command("echo s3cr3t-half; exit 3");
    r = client_open_with(&o);
    CHECK_ERR(REDLOCK_AUTH, CLIENT_TRY(r, "x", RENEWED_TTL_MS, .wait_ms = GIVE_UP_MS));
    CHECK_HAS("exited with 3", redlock_failure_report()->node[0].text);
    CHECK_LACKS("s3cr3t", redlock_failure_report()->node[0].text);
}

CASE_NODES(command_hangs, "A command that hangs delays neither a lock nor the close.",
           .start = start)
{
    char body[300];
    redlock_options o;
    redlock_lock *lock;
    int64_t start_ms;
    FILE *f;
    int pid = 0;
    write_file(in_dir("secret"), OLD "\n", 0600);
    snprintf(body, sizeof body, "cat %s 2>/dev/null || { echo $$ > %s; exec sleep 60; }",
             in_dir("secret"), in_dir("pid"));
    o = options_of(c);
    o.password_command = make_command(body);
    r = client_open_with(&o);
    lock = hold(r, "x");
    CHECK(wait_until(is_up, r));
    CHECK_INT(0, unlink(in_dir("secret")));
    CHECK_OK(redlock_reload_passwords(r));
    start_ms = now_ms();
    await_renewal(lock, RENEWED_TTL_MS);
    client_unlock(lock);
    client_close(r);
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    /* Its own time is 10 s: it would outlive the case. */
    f = fopen(in_dir("pid"), "r");
    CHECK(f != NULL && fscanf(f, "%d", &pid) == 1 && pid > 1);
    fclose(f);
    CHECK_INT(0, kill(pid, SIGKILL));
}

CASE(command_refused, "What cannot be run as a command is INVAL at once, with what to do.")
{
    const char *node = "127.0.0.1:1";
    redlock_options o = REDLOCK_OPTIONS(.nodes = &node, .node_count = 1);
    char many[200] = "/bin/true";
    o.password_command = "cat secret";
    check_invalid(&o, "absolute path");
    o.password_command = "/nonexistent/command";
    check_invalid(&o, "cannot run the password command /nonexistent/command");
    for (int i = 0; i < 40; i++)
        strcat(many, " x");
    o.password_command = many;
    check_invalid(&o, "more than 32 words");
    o.password_command = make_command("true");
    CHECK_INT(0, chmod(o.password_command, 0777));
    check_invalid(&o, "others can write");
    o.password_file = "/dev/null";
    check_invalid(&o, "give one of");
}

/* Is the region of this process that has `text` left out of core dumps? Fails if
 * none has it. */
static bool is_dumped(const char *text)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool found = false, has_text = false, dumped = false;
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3)
            has_text = strcmp(rights, "rw-p") == 0 && !strchr(line, '[') &&
                       memmem((void *)from, to - from, text, strlen(text)) != NULL;
        found |= has_text;
        if (has_text && strncmp(line, "VmFlags:", 8) == 0)
            dumped |= strstr(line, " dd") == NULL;
    }
    fclose(maps);
    CHECK(found);
    return dumped;
}

CASE_NODES(password_not_in_core_dumps,
           "The password of a file is in no memory that a core dump has.", .start = start)
{
    redlock_options o;
    char text[] = "S3CR3T-OLD";
    FILE *f;
    if (CHECK_SANITIZED)
        check_skip("a sanitizer's memory is too large to be searched");
    o = options_of(c);
    o.password_file = in_dir("password");
    /* Not a literal of this program: it is put together when it is written. */
    for (char *at = text; *at; at++)
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at + 'a' - 'A') : *at;
    f = fopen(o.password_file, "w");
    setvbuf(f, NULL, _IONBF, 0);
    fputs(text, f);
    fclose(f);
    CHECK_INT(0, chmod(o.password_file, 0600));
    r = client_open_with(&o);
    client_warm(r);
    CHECK(!is_dumped(text));
}
