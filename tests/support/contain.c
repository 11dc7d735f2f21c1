/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contain SECONDS COMMAND [ARG...]: runs a test, and nothing of it is left when this program
 * ends.
 *
 * ctest starts every test through it (redlock_add_test() in tests/CMakeLists.txt). This process
 * is the subreaper of all that the test starts: what daemonises becomes its child. When the
 * test has ended, when SECONDS have passed, when a signal says so or when ctest dies, it kills
 * its children and those that become its children by that, until there are none.
 *
 * The status is the test's; a test that dies of a signal takes this program along with the same
 * signal. A test that took too long: 124, and a sentence. SECONDS is less than ctest's own
 * limit, which kills without looking for orphans.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 64, EXIT_LATE = 124, EXIT_NOT_STARTED = 127, NAMED_MAX = 64 };

/* The parent of a process and its name; false when it is gone. */
static bool describe(pid_t pid, pid_t *parent, char name[32])
{
    char path[32], line[512], *begin, *end;
    int number = 0;
    size_t length;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    /* "PID (NAME) STATE PARENT ...", and a name may have parentheses of its own. */
    begin = strchr(line, '(');
    end = strrchr(line, ')');
    if (begin == NULL || end == NULL || sscanf(end, ") %*c %d", &number) != 1)
        return false;
    *end = '\0';
    snprintf(name, 32, "%s", begin + 1);
    *parent = number;
    return true;
}

/* Says what is killed, once: what was killed a moment ago may still be there. */
static void print_killed(const char *why, pid_t pid, const char *name)
{
    static pid_t named[NAMED_MAX];
    static int count;
    for (int i = 0; i < count; i++)
        if (named[i] == pid)
            return;
    if (count == NAMED_MAX)
        return;
    named[count++] = pid;
    printf("# %s: killed %s (process %d)\n", why, name, (int)pid);
}

static void kill_children(const char *why)
{
    DIR *dir = opendir("/proc");
    if (dir == NULL) {
        printf("# no /proc: what the test left behind cannot be found\n");
        exit(EXIT_LATE);
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        pid_t parent = 0, pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char name[32];
        if (pid <= 0 || !describe(pid, &parent, name) || parent != getpid())
            continue;
        print_killed(why, pid, name);
        kill(pid, SIGKILL);
    }
    closedir(dir);
}

/* Until there is no child: the children of each that dies become ours. */
static void sweep(const char *why)
{
    static const struct timespec moment = {0, 10 * 1000 * 1000};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        pid_t reaped = waitpid(-1, NULL, WNOHANG);
        if (reaped < 0)
            return; /* ECHILD */
        if (reaped > 0)
            continue;
        kill_children(why);
        sigtimedwait(&child, NULL, &moment);
    }
}

/* As the test died, with no second core file. */
static void die_of(int signal_number)
{
    sigset_t all;
    fflush(stdout);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    sigfillset(&all);
    signal(signal_number, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(signal_number);
    _exit(128 + signal_number); /* a signal that does not kill */
}

static struct timespec left_until(const struct timespec *end)
{
    struct timespec now, left;
    clock_gettime(CLOCK_MONOTONIC, &now);
    left = (struct timespec){end->tv_sec - now.tv_sec, end->tv_nsec - now.tv_nsec};
    if (left.tv_nsec < 0)
        left = (struct timespec){left.tv_sec - 1, left.tv_nsec + 1000000000};
    return left.tv_sec >= 0 ? left : (struct timespec){0, 0};
}

/* Has the test ended? Reaps what became ours on the way: scripts look whether a
 * process is gone. */
static bool has_ended(pid_t test, int *status)
{
    int other;
    for (pid_t pid; (pid = waitpid(-1, &other, WNOHANG)) > 0;)
        if (pid == test) {
            *status = other;
            return true;
        }
    return false;
}

static int watch(pid_t test, long seconds, const sigset_t *awaited)
{
    struct timespec end;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    while (!has_ended(test, &status)) {
        struct timespec left = left_until(&end);
        int got = sigtimedwait(awaited, NULL, &left);
        if (got < 0 && errno == EAGAIN) {
            printf("# not finished after %ld s\n", seconds);
            sweep("too late");
            return EXIT_LATE;
        }
        if (got > 0 && got != SIGCHLD) {
            sweep("interrupted");
            die_of(got);
        }
    }
    sweep("left behind");
    if (WIFSIGNALED(status))
        die_of(WTERMSIG(status));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    char *rest = NULL;
    long seconds = argc > 2 ? strtol(argv[1], &rest, 10) : 0;
    pid_t self, test, starter;
    static const int signals[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigset_t awaited, before;
    if (seconds <= 0 || *rest != '\0') {
        fprintf(stderr, "usage: contain SECONDS COMMAND [ARG...]\n");
        return EXIT_USAGE;
    }
    sigemptyset(&awaited);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&awaited, signals[i]);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    starter = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (getppid() != starter)
        return EXIT_LATE;

    self = getpid();
    test = fork();
    if (test < 0) {
        perror("contain: fork");
        return EXIT_NOT_STARTED;
    }
    if (test == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(EXIT_LATE);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[2], argv + 2);
        fprintf(stderr, "contain: cannot start %s: %s\n", argv[2], strerror(errno));
        _exit(EXIT_NOT_STARTED);
    }
    signal(SIGPIPE, SIG_IGN); /* ctest may be gone */
    return watch(test, seconds, &awaited);
}
