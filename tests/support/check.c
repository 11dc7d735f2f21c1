/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include "clock.h"
#include "pulse.h"

#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CASES_MAX = 128,
    CASE_SECONDS = CHECK_SANITIZED ? 800 : 500, /* for what hangs; below the limit of ctest */
    EXIT_SKIPPED = 77,                          /* what ctest reads as "skipped" */
};

struct check_case {
    const char *name;
    const char *intent;
    void (*run)(void);
    int runs;
};

static struct check_case cases[CASES_MAX];
static size_t case_count;
static char case_dir[64];
static int run_number;
static void (*at_begin)(void);
static void (*_Atomic at_end)(void);

/* The library's own words. Weak: unit tests link only the parts they test. */
__attribute__((weak)) const char *redlock_error_name(int error);
__attribute__((weak)) const char *redlock_detail(void);

void check_register(const char *name, const char *intent, void (*run)(void), int runs)
{
    if (case_count == CASES_MAX)
        abort();
    cases[case_count++] = (struct check_case){name, intent, run, runs};
}

int check_run(void)
{
    return run_number;
}

uint32_t check_flags(const uint32_t *each)
{
    printf("# flags %#x\n", each[run_number]);
    return each[run_number];
}

void check_at_begin(void (*begin)(void))
{
    at_begin = begin;
}

void check_at_end(void (*end)(void))
{
    at_end = end;
}

const char *check_dir(void)
{
    return case_dir;
}

void check_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("# ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    fflush(stdout);
    _exit(EXIT_SKIPPED);
}

void check_fail(const char *file, int line, const char *format, ...)
{
    char text[2048];
    const char *base;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    base = strrchr(file, '/');
    printf("# %s:%d: %s\n", base != NULL ? base + 1 : file, line, text);
    fflush(stdout);
    _exit(1);
}

void check_int(const char *file, int line, const char *what, int64_t expected, int64_t actual)
{
    if (expected != actual)
        check_fail(file, line, "%s: expected %lld, got %lld", what, (long long)expected,
                   (long long)actual);
}

void check_between(const char *file, int line, const char *what, int64_t low, int64_t high,
                   int64_t actual)
{
    if (actual < low || actual > high)
        check_fail(file, line, "%s: expected %lld to %lld, got %lld", what, (long long)low,
                   (long long)high, (long long)actual);
}

void check_str(const char *file, int line, const char *what, const char *expected,
               const char *actual)
{
    if (actual == NULL || strcmp(expected, actual) != 0)
        check_fail(file, line, "%s: expected \"%s\", got \"%s\"", what, expected,
                   actual != NULL ? actual : "(null)");
}

void check_has(const char *file, int line, const char *what, const char *needle,
               const char *haystack, bool wanted)
{
    if ((strstr(haystack, needle) != NULL) != wanted)
        check_fail(file, line, "%s: expected %s\"%s\" in \"%s\"", what, wanted ? "" : "no ",
                   needle, haystack);
}

void check_err(const char *file, int line, const char *what, int expected, int actual)
{
    if (expected == actual)
        return;
    if (redlock_error_name == NULL || redlock_detail == NULL)
        check_fail(file, line, "%s: expected %d, got %d", what, expected, actual);
    check_fail(file, line, "%s: expected %s, got %s (%d): %s", what,
               redlock_error_name(expected), redlock_error_name(actual), actual,
               redlock_detail());
}

void check_never(const char *file, int line, const char *what, int64_t count)
{
    if (count != 0)
        check_fail(file, line, "unsafe: %s: %lld", what, (long long)count);
}

void check_never_granted(const char *file, int line, const char *what, int expected, int actual)
{
    if (actual == 0)
        check_fail(file, line, "unsafe: %s: granted", what);
    check_err(file, line, what, expected, actual);
}

long check_setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtol(text, NULL, 10) : otherwise;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    (void)status;
    (void)kind;
    (void)ftw;
    return remove(path);
}

/* In the child: dies with the runner, leads a group of its own, has a deadline. */
static void run_case(const struct check_case *c, pid_t runner)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != runner)
        _exit(1);
    setpgid(0, 0);
    signal(SIGPIPE, SIG_IGN);
    umask(022); /* files that others can write are refused */
    alarm((unsigned int)check_setting("REDLOCK_TEST_SECONDS", CASE_SECONDS));
    if (at_begin)
        at_begin();
    c->run();
    if (at_end)
        at_end();
    fflush(stdout);
    exit(0); /* not _exit(): leaks are looked for on the way out */
}

static int run_and_wait(const struct check_case *c)
{
    siginfo_t info;
    int status = -1;
    pid_t runner, pid;
    snprintf(case_dir, sizeof case_dir, "/tmp/redlock-test-XXXXXX");
    if (mkdtemp(case_dir) == NULL) {
        perror("mkdtemp");
        return -1;
    }
    fflush(stdout);
    pulse_prepare();
    runner = getpid();
    pid = fork();
    if (pid < 0) {
        perror("fork");
        return -1;
    }
    if (pid == 0)
        run_case(c, runner);
    setpgid(pid, pid);
    pulse_start();

    /* The group is swept while the unreaped leader still keeps its number from reuse. */
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0)
        continue;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    while (wait(NULL) > 0)
        continue; /* its orphans, which come to the runner: see main() */
    pulse_stop();
    nftw(case_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}

/* Returns 0 passed, EXIT_SKIPPED or 1. */
static int run_and_report(const struct check_case *c)
{
    int64_t start_ms = now_ms();
    int status = run_and_wait(c);
    long long took_ms = now_ms() - start_ms;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        printf("ok - %s (%lld ms)\n", c->name, took_ms);
        return 0;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
        printf("ok - %s # skipped\n", c->name);
        return EXIT_SKIPPED;
    }
    printf("# intent: %s\n", c->intent);
    printf("# the machine was late by %lld ms meanwhile\n", (long long)pulse_late_ms());
    if (WIFSIGNALED(status))
        printf("# ended by %s after %lld ms%s\n", strsignal(WTERMSIG(status)), took_ms,
               WTERMSIG(status) == SIGALRM ? " (too slow)" : "");
    else
        printf("# exit status %d\n", WEXITSTATUS(status));
    printf("not ok - %s (%lld ms)\n", c->name, took_ms);
    return 1;
}

static bool wanted(const struct check_case *c, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], c->name) == 0)
            return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    bool list;
    int run = 0, skipped = 0, failed = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    list = argc > 1 && strcmp(argv[1], "--list") == 0;
    for (size_t i = 0; i < case_count; i++) {
        if (list) {
            printf("%s: %s\n", cases[i].name, cases[i].intent);
        } else if (wanted(&cases[i], argc, argv)) {
            int result = 0;
            for (run_number = 0; run_number < cases[i].runs && result == 0; run_number++)
                result = run_and_report(&cases[i]);
            run++;
            skipped += result == EXIT_SKIPPED;
            failed += result == 1;
        }
    }
    if (list)
        return 0;
    if (run == 0 || (argc > 1 && run != argc - 1)) {
        printf("# no such case\n");
        return 1;
    }
    if (failed > 0)
        return 1;
    return skipped == run ? EXIT_SKIPPED : 0;
}
