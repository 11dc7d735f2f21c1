/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a secret: from a file, or from a command. Both can take any time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exposed.h"
#include "io/clock.h"
#include "io/secret.h"

#define OUTPUT_MAX (2 * (RL_SECRET_MAX + 1)) /* bytes of a command, more than one line */
#define REAP_EVERY_MS 5                      /* where the end of a process is no event */

extern char **environ;

void *rl_secret_alloc(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, size, MADV_DONTDUMP);
    return memory;
}

void rl_secret_free(void *memory, size_t size)
{
    if (!memory)
        return;
    explicit_bzero(memory, size);
    munmap(memory, size);
}

/* The first line of what was read, ended by NUL. */
static bool take_line(char *bytes, const char *what, const char *path, char *out, char *why)
{
    size_t size;

    bytes[strcspn(bytes, "\r\n")] = '\0';
    size = strlen(bytes);
    if (size == 0)
        snprintf(why, RL_SECRET_WHY_MAX, "the password %s %s has an empty first line", what,
                 path);
    else if (size > RL_SECRET_MAX)
        snprintf(why, RL_SECRET_WHY_MAX, "the password of %s is longer than %d bytes", path,
                 RL_SECRET_MAX);
    else
        memcpy(out, bytes, size + 1);
    return size > 0 && size <= RL_SECRET_MAX;
}

bool rl_secret_read_file(const char *path, char out[RL_SECRET_MAX + 1], bool *is_regular,
                         char why[RL_SECRET_WHY_MAX])
{
    char bytes[RL_SECRET_MAX + 2] = "";
    struct stat info = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool exposed = fd >= 0 && fstat(fd, &info) == 0 && rl_file_is_exposed(&info);
    ssize_t got = fd < 0 || exposed ? -1 : read(fd, bytes, sizeof bytes - 1);
    int failure = errno;
    bool ok = false;

    if (fd >= 0)
        close(fd);
    if (exposed)
        snprintf(why, RL_SECRET_WHY_MAX,
                 "others can write to the password file %s: give it to this user or to root, "
                 "and chmod go-w",
                 path);
    else if (got < 0)
        snprintf(why, RL_SECRET_WHY_MAX, "cannot read the password file %s: %s", path,
                 strerror(failure));
    else
        ok = take_line(bytes, "file", path, out, why);
    *is_regular = S_ISREG(info.st_mode);
    explicit_bzero(bytes, sizeof bytes);
    return ok;
}

bool rl_secret_split(char *command, char *words[RL_SECRET_WORDS_MAX + 1])
{
    char *rest = NULL;
    char *word = strtok_r(command, " \t", &rest);
    int count = 0;

    for (; word && count < RL_SECRET_WORDS_MAX; word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    words[count] = NULL;
    return !word;
}

/* Its standard output goes to fd; 0 and *pid, or an errno value. */
static int spawn(char *const *words, int fd, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;

    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigfillset(&all);
    sigemptyset(&none);
    /* A group of its own, so that what it starts can be killed with it. */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn(pid, words[0], &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Everything it prints, ended by NUL. False: it took too long, or there is too much of it. */
static bool collect(int fd, int64_t deadline_ns, char bytes[OUTPUT_MAX])
{
    size_t size = 0;

    while (size < OUTPUT_MAX - 1) {
        int64_t left_ms = (deadline_ns - rl_now_ns()) / RL_NS_PER_MS;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got;

        if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) <= 0)
            break;
        got = read(fd, bytes + size, OUTPUT_MAX - 1 - size);
        if (got < 0)
            break;
        size += (size_t)got;
        bytes[size] = '\0';
        if (got == 0)
            return true;
    }
    return false;
}

/*
 * Its exit status, as waitpid() has it. 0 also where the program reaps all its children, and
 * has reaped this one: then what it printed has to do. -1: it did not end in time.
 */
static int await_end(pid_t pid, int64_t deadline_ns)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int status = 0;
    pid_t ended;

    for (;;) {
        int64_t left_ms = (deadline_ns - rl_now_ns()) / RL_NS_PER_MS;

        ended = waitpid(pid, &status, WNOHANG);
        if (ended != 0 || left_ms <= 0)
            break;
        /* Before Linux 5.3, or where a sandbox forbids the call: poll() only waits. */
        poll(&end, 1, end.fd >= 0 ? (int)left_ms : REAP_EVERY_MS);
    }
    if (end.fd >= 0)
        close(end.fd);
    if (ended == 0)
        return -1;
    return ended == pid ? status : 0;
}

/* It is still our child, and its number that of no other process. */
static void kill_group(pid_t pid)
{
    siginfo_t info;

    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return;
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

bool rl_secret_run(char *const *words, char out[RL_SECRET_MAX + 1], char why[RL_SECRET_WHY_MAX])
{
    int64_t deadline_ns = rl_now_ns() + RL_SECRET_COMMAND_S * RL_NS_PER_S;
    char bytes[OUTPUT_MAX] = "";
    int ends[2] = {-1, -1};
    pid_t pid;
    bool ok = false;

    int error = pipe2(ends, O_CLOEXEC) == 0 ? spawn(words, ends[1], &pid) : errno;
    if (ends[1] >= 0)
        close(ends[1]);
    if (error != 0) {
        snprintf(why, RL_SECRET_WHY_MAX, "cannot run the password command %s: %s", words[0],
                 strerror(error));
    } else {
        bool complete = collect(ends[0], deadline_ns, bytes);
        int status = complete ? await_end(pid, deadline_ns) : -1;

        if (status == -1)
            kill_group(pid);
        if (!complete && strlen(bytes) == OUTPUT_MAX - 1)
            snprintf(why, RL_SECRET_WHY_MAX, "the password command %s prints too much",
                     words[0]);
        else if (status == -1)
            snprintf(why, RL_SECRET_WHY_MAX,
                     "the password command %s did not end within %d s, and was killed",
                     words[0], RL_SECRET_COMMAND_S);
        else if (WIFSIGNALED(status))
            snprintf(why, RL_SECRET_WHY_MAX, "the password command %s died of signal %d",
                     words[0], WTERMSIG(status));
        else if (WEXITSTATUS(status) != 0)
            snprintf(why, RL_SECRET_WHY_MAX, "the password command %s exited with %d", words[0],
                     WEXITSTATUS(status));
        else
            ok = take_line(bytes, "command", words[0], out, why);
    }
    if (ends[0] >= 0)
        close(ends[0]);
    explicit_bzero(bytes, sizeof bytes);
    return ok;
}
