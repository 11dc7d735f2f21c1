/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define REAP_AT_ONCE 1024 /* the next SIGCHLD goes on from there */

void process_tree_adopt_orphans(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The children of one thread of this process. */
static void kill_children_of(const char *thread)
{
    char path[64];
    int pid;
    FILE *children;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    children = fopen(path, "re");
    if (!children)
        return;
    while (fscanf(children, "%d", &pid) == 1) {
        if (pid > 1)
            kill(pid, SIGKILL);
    }
    fclose(children);
}

void process_tree_kill(void)
{
    DIR *threads = opendir("/proc/self/task");
    if (!threads)
        return;
    for (struct dirent *entry; (entry = readdir(threads));) {
        if (entry->d_name[0] != '.')
            kill_children_of(entry->d_name);
    }
    closedir(threads);
}

void process_tree_reap(pid_t except)
{
    for (int i = 0; i < REAP_AT_ONCE; i++) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == except)
            return;
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

bool process_tree_is_gone(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}
