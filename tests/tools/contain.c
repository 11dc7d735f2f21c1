/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that starts every test (support/contain.c): nothing that a test starts is left
 * when it ends, takes too long, or is given up.
 */
#include "check.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 20000 };

/* A session of its own, a parent that is gone, deaf to what can be ignored; $1 gets its pid. */
#define DAEMON                                                                                 \
    "(setsid sh -c 'trap \"\" HUP INT TERM; echo $$ >\"$1.new\"; mv \"$1.new\" \"$1\"; "       \
    "exec sleep 1000' sh \"$1\" >/dev/null &); "

/* `contain SECONDS sh -c SCRIPT sh FILE`, its output in a file. */
static pid_t start(const char *seconds, const char *script, const char *file)
{
    char out[96];
    pid_t pid;
    int fd;
    snprintf(out, sizeof out, "%s/out", check_dir());
    fflush(stdout);
    pid = fork();
    if (pid != 0)
        return pid;
    fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    execl(CONTAIN, CONTAIN, seconds, "sh", "-c", script, "sh", file, (char *)NULL);
    _exit(99);
}

static const char *path(const char *name)
{
    static char text[96];
    snprintf(text, sizeof text, "%s/%s", check_dir(), name);
    return text;
}

static const char *output(void)
{
    static char text[4096];
    FILE *file = fopen(path("out"), "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static pid_t number_in(const char *name)
{
    int number = 0;
    FILE *file;
    AWAIT(access(path(name), F_OK) == 0);
    file = fopen(path(name), "r");
    CHECK(file != NULL && fscanf(file, "%d", &number) == 1);
    fclose(file);
    CHECK(number > 1);
    return number;
}

static bool is_gone(void *pid)
{
    return kill(*(pid_t *)pid, 0) != 0 && errno == ESRCH;
}

static int end_of(pid_t pid)
{
    int status = 0;
    CHECK_INT(pid, waitpid(pid, &status, 0));
    return status;
}

CASE(status_passes, "The container ends with the test's status, or by its signal.")
{
    int status;
    CHECK_INT(0, WEXITSTATUS(end_of(start("20", "exit 0", ""))));
    CHECK_INT(77, WEXITSTATUS(end_of(start("20", "exit 77", ""))));
    CHECK_INT(127, WEXITSTATUS(end_of(start("20", "exec /no/such/program", ""))));
    status = end_of(start("20", "kill -SEGV $$", ""));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK_STR("", output());
}

CASE(late_with_a_daemon, "A test that hangs is killed together with the daemon it started.")
{
    const char *file = path("daemon");
    pid_t contain = start("2", DAEMON "exec sleep 1000", file);
    pid_t daemon = number_in("daemon");
    int status = end_of(contain);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 124);
    CHECK(is_gone(&daemon));
    CHECK_HAS("# not finished after 2 s", output());
    CHECK_HAS("killed sleep", output());
}

CASE(ended_with_a_daemon, "A daemon that a test leaves behind is killed when the test ends.")
{
    pid_t contain = start("20",
                          DAEMON "until grep -qs sleep \"/proc/$(cat \"$1\")/comm\"; "
                                 "do sleep 0.01; done; exit 3",
                          path("daemon"));
    pid_t daemon = number_in("daemon");
    CHECK_INT(3, WEXITSTATUS(end_of(contain)));
    CHECK(is_gone(&daemon));
    CHECK_HAS("# left behind: killed sleep", output());
}

CASE(interrupted_with_a_daemon, "A signal to the container ends the test and its daemon.")
{
    pid_t contain = start("20", DAEMON "exec sleep 1000", path("daemon"));
    pid_t daemon = number_in("daemon");
    int status;
    kill(contain, SIGTERM);
    status = end_of(contain);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK(is_gone(&daemon));
}

CASE(starter_dies, "When the container's parent dies, the test and its daemon are killed.")
{
    const char *file = path("daemon");
    pid_t starter = fork();
    pid_t daemon;
    CHECK(starter >= 0);
    if (starter == 0) {
        start("20", DAEMON "exec sleep 1000", file);
        for (;;)
            pause();
    }
    daemon = number_in("daemon");
    kill(starter, SIGKILL);
    end_of(starter);
    CHECK(wait_until(is_gone, &daemon));
}

CASE(orphans_are_reaped, "A process whose parent is gone does not stay as a zombie.")
{
    pid_t contain = start("20",
                          "(sh -c 'echo $$ >\"$1.new\"; mv \"$1.new\" \"$1\"' sh \"$1\" &) ;"
                          "while [ ! -e \"$1\" ]; do sleep 0.01; done; read -r pid <\"$1\";"
                          "while kill -0 $pid; do sleep 0.01; done 2>/dev/null; exit 5",
                          path("orphan"));
    CHECK_INT(5, WEXITSTATUS(end_of(contain)));
}
