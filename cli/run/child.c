/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quote.h"
#include "run/reaper.h"
#include "system/path.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define LOOK_EVERY_MS 20 /* at a child that takes its time to begin */

static bool we_are_foreground(const struct child *c)
{
    return c->tty_fd >= 0 && tcgetpgrp(c->tty_fd) == getpgrp();
}

static bool redirect(int output_fd)
{
    int input_fd = open("/dev/null", O_RDONLY);
    return input_fd >= 0 && dup2(input_fd, STDIN_FILENO) >= 0 &&
           dup2(output_fd, STDOUT_FILENO) >= 0 && dup2(output_fd, STDERR_FILENO) >= 0 &&
           (input_fd <= STDERR_FILENO || close(input_fd) == 0);
}

static void fail(int outcome_fd, int error)
{
    ssize_t ignored = write(outcome_fd, &error, sizeof error);
    (void)ignored;
    _exit(EXIT_NOT_FOUND);
}

/* Never returns. Only async-signal-safe calls: the parent may have threads. */
static void become(struct child *c, char *const argv[], int64_t start_by_ns, pid_t parent,
                   int outcome_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_SIGNAL + SIGKILL); /* it died before prctl() */
    setpgid(0, 0);
    reaper_add_group(c->reaper_fd);
    if (c->output_fd >= 0 && !redirect(c->output_fd))
        fail(outcome_fd, errno);
    if (c->foreground)
        tcsetpgrp(c->tty_fd, getpid()); /* SIGTTOU is blocked until the next line */
    signals_give_back();
    /* Either process may have been stopped since the parent looked at the lock. */
    if (start_by_ns && timer_now_ns() >= start_by_ns)
        fail(outcome_fd, ETIME);
    execvp(argv[0], argv);
    fail(outcome_fd, errno);
}

void child_prepare(struct child *c, int output_fd, int reaper_fd)
{
    *c = (struct child){
        .tty_fd = -1, .reaper_fd = reaper_fd, .output_fd = output_fd, .outcome_fd = -1};
    if (output_fd < 0)
        c->tty_fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

int child_fork(struct child *c, char *const argv[], int64_t start_by_ns)
{
    int outcome[2], error;
    pid_t parent, pid;
    /* In a pipeline the terminal belongs to the whole of it: take it only when requested (the
     * child stops with SIGTTIN), not from under a pager. */
    c->wants_tty = c->tty_fd >= 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    c->foreground = c->wants_tty && we_are_foreground(c);
    if (pipe2(outcome, O_CLOEXEC) != 0)
        return errno;
    parent = getpid();
    pid = fork();
    error = pid < 0 ? errno : 0;
    if (pid == 0)
        become(c, argv, start_by_ns, parent, outcome[1]);
    close(outcome[1]);
    if (error) {
        close(outcome[0]);
        return error;
    }
    setpgid(pid, pid); /* both sides do it: a signal may have to be passed on at once */
    c->pid = pid;
    c->outcome_fd = outcome[0];
    return 0;
}

void child_read_outcome(struct child *c)
{
    int error = 0;
    ssize_t size;
    if (c->outcome_fd < 0)
        return;
    do
        size = read(c->outcome_fd, &error, sizeof error);
    while (size < 0 && errno == EINTR);
    close(c->outcome_fd);
    c->outcome_fd = -1;
    if (size == (ssize_t)sizeof error)
        c->start_error = error;
}

/* Ctrl-Z may stop the child before it executes anything; then only this process
 * can continue it. */
static void await_outcome(struct child *c)
{
    struct pollfd watched = {.fd = c->outcome_fd, .events = POLLIN};
    siginfo_t info = {0};
    while (poll(&watched, 1, LOOK_EVERY_MS) == 0) {
        if (waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG) == 0 &&
            info.si_pid == c->pid)
            kill(c->pid, SIGCONT);
    }
    child_read_outcome(c);
}

int child_start(struct child *c, char *const argv[], int output_fd, int reaper_fd)
{
    int error;
    child_prepare(c, output_fd, reaper_fd);
    error = child_fork(c, argv, 0);
    if (error)
        return error;
    await_outcome(c);
    if (c->start_error) {
        reaper_dismiss(reaper_fd);
        waitpid(c->pid, NULL, 0);
        c->pid = 0;
    }
    return c->start_error;
}

void child_signal(const struct child *c, int signal)
{
    if (c->pid > 0 && !c->ended)
        kill(-c->pid, signal);
}

static void take_terminal_back(struct child *c)
{
    if (c->foreground && tcgetpgrp(c->tty_fd) == c->pid)
        tcsetpgrp(c->tty_fd, getpgrp()); /* SIGTTOU is blocked */
    c->foreground = false;
}

int child_check(struct child *c, bool kill_group)
{
    int status = 0;
    siginfo_t ended = {0}, stopped = {0};
    if (c->pid <= 0 || c->ended)
        return 0;
    if (waitid(P_PID, (id_t)c->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != c->pid)
        return waitid(P_PID, (id_t)c->pid, &stopped, WSTOPPED | WNOHANG) == 0
                   ? stopped.si_status
                   : 0;
    /* Until it has been waited for, no other process can get its number. */
    if (kill_group)
        kill(-c->pid, SIGKILL);
    reaper_dismiss(c->reaper_fd);
    waitpid(c->pid, &status, 0);
    child_read_outcome(c);
    c->ended = true;
    c->wait_status = status;
    if (c->foreground && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        signals_child_interrupted();
    take_terminal_back(c);
    return 0;
}

bool child_stopped(struct child *c, int signal)
{
    if (signal == SIGTTIN || signal == SIGTTOU) {
        c->wants_tty = true;
        if (we_are_foreground(c))
            return true; /* this process may give it the terminal */
    }
    if (!c->foreground && (c->tty_fd < 0 || !signals_is_stop(signal)))
        return false; /* another process stopped it on purpose and will continue it */
    if (!signals_is_stop(signal))
        signal = SIGTSTP;
    if (c->foreground)
        kill(0, signal); /* the terminal would have stopped all of our job */
    take_terminal_back(c);
    signals_stop_self(signal);
    return true;
}

void child_continue(struct child *c)
{
    if (c->ended)
        return;
    if (c->wants_tty && we_are_foreground(c) && tcsetpgrp(c->tty_fd, c->pid) == 0)
        c->foreground = true;
    child_signal(c, SIGCONT);
}

int child_exit_status(const struct child *c)
{
    return WIFSIGNALED(c->wait_status) ? EXIT_SIGNAL + WTERMSIG(c->wait_status)
                                       : WEXITSTATUS(c->wait_status);
}

int child_explain(const char *command, int error)
{
    char shown[RL_QUOTE_MAX], found[PATH_FIND_MAX];
    int status;
    bool line;
    /* A directory of PATH that is closed to us is no reason to call the file unusable. */
    if (error == EACCES && !strchr(command, '/') && !path_find(command, true, found))
        error = ENOENT;
    rl_quote(shown, command);
    status = error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    /* A whole command line in one word is what a shell is for. */
    line = error == ENOENT && strpbrk(command, " \t|&;<>$(");
    return message_fail(status, "cannot run '%s': %s%s", shown, strerror(error),
                        line ? "; for a command line in one word: -- sh -c 'LINE'" : "");
}

void child_close(struct child *c)
{
    if (c->outcome_fd >= 0)
        close(c->outcome_fd);
    c->outcome_fd = -1;
    if (c->tty_fd < 0)
        return;
    take_terminal_back(c);
    close(c->tty_fd);
    c->tty_fd = -1;
}
