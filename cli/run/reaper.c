/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/process.h"

#define DISMISSED 0 /* instead of the number of a group */

/* A reader of our output must not wait for this process to close it. */
static void let_go(int except_fd)
{
    unsigned except = (unsigned)except_fd;
    long most;
    if ((except == 0 || close_range(0, except - 1, 0) == 0) &&
        close_range(except + 1, ~0u, 0) == 0)
        return;
    /* A kernel before 5.9. */
    most = sysconf(_SC_OPEN_MAX);
    if (most < 0 || most > 1024)
        most = 1024; /* this early in its life, the parent has but a handful */
    for (int fd = 0; fd < most; fd++) {
        if (fd != except_fd)
            close(fd);
    }
}

/* Never returns. All signals are blocked already, so that only KILL could end it. */
static void wait_for_death(int fd)
{
    pid_t group = DISMISSED, word;
    ssize_t size;
    process_set_title("redlock reaper");
    setsid();
    let_go(fd);
    while ((size = read(fd, &word, sizeof word)) != 0) {
        if (size == (ssize_t)sizeof word)
            group = word;
        else if (size > 0 || errno != EINTR)
            break;
    }
    if (size == 0 && group > 1)
        kill(-group, SIGKILL);
    _exit(EXIT_SUCCESS);
}

int reaper_start(void)
{
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    /* Forked twice: it is not a child of this process, so process_tree_kill() does
     * not find it. */
    pid = fork();
    if (pid == 0) {
        close(ends[1]);
        if (fork() == 0)
            wait_for_death(ends[0]);
        _exit(EXIT_SUCCESS);
    }
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return -1;
    }
    waitpid(pid, NULL, 0);
    return ends[1];
}

static void send_word(int fd, pid_t word)
{
    ssize_t ignored = fd >= 0 ? write(fd, &word, sizeof word) : 0;
    (void)ignored;
}

void reaper_add_group(int fd)
{
    send_word(fd, getpid());
}

void reaper_dismiss(int fd)
{
    send_word(fd, DISMISSED);
}
