/* SPDX-License-Identifier: BSD-2-Clause */
/* When a secret is read, and which value is in use. */
#include "io/secret.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/exposed.h"
#include "base/time.h"
#include "io/clock.h"

/* A client is not opened without its password; a file that takes longer is a hung one. */
#define FIRST_WAIT_S 10
/* A connection does not wait longer for a file: the last value may still be right. */
#define FILE_WAIT_NS RL_NS_PER_S
/* The command is killed before. */
#define COMMAND_WAIT_NS ((RL_SECRET_COMMAND_S + 1) * RL_NS_PER_S)
/* A command may be as costly as a program in Python: failures run it no more often. */
#define COMMAND_EVERY_NS (2 * RL_NS_PER_S)
/* After a failed reading, or a login that was refused on a connection that goes on. */
#define RETRY_NS (5 * RL_NS_PER_S)

/*
 * One reading: an errand with its own copy of everything, as it may outlive the client. It is
 * one block, all of it outside of core dumps.
 */
struct rl_secret_reading {
    struct rl_errand errand;
    size_t size; /* of the block */
    bool is_command;
    bool is_regular; /* the file that was read */
    bool ok;
    char text[RL_SECRET_MAX + 1];
    char why[RL_SECRET_WHY_MAX];
    char source[]; /* the path, or the command, which the thread cuts into its words */
};

static void destroy(struct rl_errand *errand)
{
    struct rl_secret_reading *reading = (struct rl_secret_reading *)errand;

    rl_secret_free(reading, reading->size);
}

static void work(struct rl_errand *errand)
{
    struct rl_secret_reading *reading = (struct rl_secret_reading *)errand;
    char *words[RL_SECRET_WORDS_MAX + 1];

    if (!reading->is_command)
        reading->ok = rl_secret_read_file(reading->source, reading->text, &reading->is_regular,
                                          reading->why);
    else if (rl_secret_split(reading->source, words))
        reading->ok = rl_secret_run(words, reading->text, reading->why);
}

/* A thread begins to read; 0, or an errno value. wake_fd becomes readable when it is done. */
static int start_reading(const char *source, bool is_command, int wake_fd,
                         struct rl_secret_reading **out)
{
    size_t size = sizeof(struct rl_secret_reading) + strlen(source) + 1;
    struct rl_secret_reading *reading = rl_secret_alloc(size);
    int error;

    if (!reading)
        return ENOMEM;
    reading->errand.work = work;
    reading->errand.destroy = destroy;
    reading->size = size;
    reading->is_command = is_command;
    strcpy(reading->source, source);
    error = rl_errand_init(&reading->errand);
    if (error) {
        destroy(&reading->errand);
        return error;
    }
    error = rl_errand_start(&reading->errand, wake_fd);
    if (error)
        rl_errand_leave(&reading->errand);
    else
        *out = reading;
    return error;
}

/* ---- opening ---- */

/* Can it be run? 0, EINVAL with a sentence, or ENOMEM. */
static int check_command(const char *command, char *why)
{
    char *words[RL_SECRET_WORDS_MAX + 1];
    char *copy = strdup(command);
    struct stat info;
    int error = EINVAL;

    if (!copy)
        return ENOMEM;
    if (!rl_secret_split(copy, words))
        snprintf(why, RL_SECRET_WHY_MAX, "the password command has more than %d words",
                 RL_SECRET_WORDS_MAX);
    else if (!words[0] || words[0][0] != '/')
        snprintf(why, RL_SECRET_WHY_MAX,
                 "the password command must begin with the absolute path of a program");
    else if (stat(words[0], &info) != 0 || access(words[0], X_OK) != 0)
        snprintf(why, RL_SECRET_WHY_MAX, "cannot run the password command %s: %s", words[0],
                 strerror(errno));
    else if (rl_file_is_exposed(&info))
        snprintf(why, RL_SECRET_WHY_MAX,
                 "others can write to the password command %s: give it to this user or to "
                 "root, and chmod go-w",
                 words[0]);
    else
        error = 0;
    free(copy);
    return error;
}

/* The file, by a thread: one that hangs must not hang its reader. 0, or EINVAL with why. */
static int read_first(struct rl_secret *s, const char *path, char why[RL_SECRET_WHY_MAX])
{
    struct rl_secret_reading *reading = NULL;
    int64_t deadline_ns = rl_now_ns() + FIRST_WAIT_S * RL_NS_PER_S, left_ms;
    struct pollfd done = {.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};
    int error = done.fd < 0 ? errno : start_reading(path, false, done.fd, &reading);

    if (error) {
        snprintf(why, RL_SECRET_WHY_MAX, "cannot read the password file %s: %s", path,
                 strerror(error));
        if (done.fd >= 0)
            close(done.fd);
        return EINVAL;
    }
    while (!rl_errand_is_done(&reading->errand) &&
           (left_ms = (deadline_ns - rl_now_ns()) / RL_NS_PER_MS) > 0)
        poll(&done, 1, (int)left_ms);
    if (!rl_errand_is_done(&reading->errand)) {
        snprintf(why, RL_SECRET_WHY_MAX, "the password file %s could not be read within %d s",
                 path, FIRST_WAIT_S);
        error = EINVAL;
    } else if (!reading->ok) {
        snprintf(why, RL_SECRET_WHY_MAX, "%s", reading->why);
        error = EINVAL;
    } else {
        strcpy(s->text, reading->text);
        s->is_changing = reading->is_regular;
    }
    rl_errand_leave(&reading->errand);
    close(done.fd);
    return error;
}

int rl_secret_open(struct rl_secret *s, const char *text, const char *path, const char *command,
                   int64_t max_age_ns, char why[RL_SECRET_WHY_MAX])
{
    int error = 0;
    size_t size;

    *s = (struct rl_secret){.max_age_ns = max_age_ns, .wake_fd = -1, .due_ns = INT64_MAX};
    if (!text && !path && !command)
        return 0;
    size = text && strlen(text) > RL_SECRET_MAX ? strlen(text) + 1 : RL_SECRET_MAX + 1;
    s->text = rl_secret_alloc(size);
    if (!s->text)
        return ENOMEM;
    s->text_size = size;
    if (text) {
        strcpy(s->text, text);
    } else if (path) {
        error = read_first(s, path, why);
        s->path = strdup(path);
    } else {
        error = check_command(command, why);
        s->is_changing = true;
        s->command = strdup(command);
    }
    if (!error && ((path && !s->path) || (command && !s->command)))
        error = ENOMEM;
    if (error) {
        rl_secret_close(s);
        return error;
    }
    s->read_ns = rl_now_ns();
    if (s->is_changing)
        s->due_ns = s->read_ns + max_age_ns;
    return 0;
}

void rl_secret_close(struct rl_secret *s)
{
    if (s->reading)
        rl_errand_leave(&s->reading->errand);
    free(s->path);
    free(s->command);
    rl_secret_free(s->text, s->text_size);
    *s = (struct rl_secret){.due_ns = INT64_MAX};
}

/* ---- reading again ---- */

static void note_failure(struct rl_secret *s, const char *why, int64_t now_ns)
{
    int size = (int)sizeof s->failure - 1;

    s->has_news |= strncmp(s->failure, why, sizeof s->failure - 1) != 0;
    snprintf(s->failure, sizeof s->failure, "%.*s", size, why);
    if (s->due_ns > now_ns + RETRY_NS)
        s->due_ns = now_ns + RETRY_NS;
}

static void begin(struct rl_secret *s, int64_t now_ns)
{
    const char *source = s->command ? s->command : s->path;
    int error;

    s->began_ns = now_ns;
    s->is_overdue = false;
    s->due_ns = now_ns + s->max_age_ns;
    error = start_reading(source, s->command != NULL, s->wake_fd, &s->reading);
    if (error)
        note_failure(s, strerror(error), now_ns);
}

void rl_secret_want(struct rl_secret *s, int64_t now_ns)
{
    bool is_fresh = s->text[0] && !s->is_refused && now_ns - s->read_ns < s->max_age_ns;

    if (s->reading ||
        (s->command && (is_fresh || (s->began_ns && now_ns - s->began_ns < COMMAND_EVERY_NS))))
        return;
    begin(s, now_ns);
}

bool rl_secret_is_settled(const struct rl_secret *s)
{
    return !s->reading || s->is_overdue;
}

void rl_secret_refused(struct rl_secret *s, int64_t now_ns)
{
    s->is_refused = true;
    if (s->due_ns > now_ns + RETRY_NS)
        s->due_ns = now_ns + RETRY_NS;
}

void rl_secret_renew(struct rl_secret *s, int64_t now_ns)
{
    if (!s->is_changing)
        return;
    s->wants_another = s->reading != NULL;
    s->due_ns = now_ns;
}

static void take(struct rl_secret *s, int64_t now_ns)
{
    const struct rl_secret_reading *reading = s->reading;
    bool is_new = reading->ok && strcmp(reading->text, s->text) != 0;

    if (reading->ok) {
        strcpy(s->text, reading->text);
        s->read_ns = now_ns;
        s->failure[0] = '\0';
        /* The same value may be right by now: the server can be the one that is late. */
        s->version += is_new || s->is_renewal;
        s->is_refused = false;
        s->due_ns = now_ns + s->max_age_ns;
    } else {
        note_failure(s, reading->why, now_ns);
    }
    if (s->wants_another)
        s->due_ns = now_ns;
    s->wants_another = s->is_renewal = s->is_overdue = false;
    rl_errand_leave(&s->reading->errand);
    s->reading = NULL;
}

void rl_secret_tick(struct rl_secret *s, int64_t now_ns)
{
    if (s->reading && rl_errand_is_done(&s->reading->errand))
        take(s, now_ns);
    if (s->reading) {
        s->is_overdue = now_ns - s->began_ns >= (s->command ? COMMAND_WAIT_NS : FILE_WAIT_NS);
        if (s->is_overdue && !s->failure[0])
            note_failure(s, "the password cannot be read: its file system does not answer",
                         now_ns);
    } else if (now_ns >= s->due_ns) {
        begin(s, now_ns);
        s->is_renewal = s->reading != NULL;
    }
}

int64_t rl_secret_due_ns(const struct rl_secret *s)
{
    if (!s->reading)
        return s->due_ns;
    return s->is_overdue ? INT64_MAX
                         : s->began_ns + (s->command ? COMMAND_WAIT_NS : FILE_WAIT_NS);
}
