/* SPDX-License-Identifier: BSD-2-Clause */
#include "hang.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 4096 /* more than this process opens */

/* The child of a process with threads: nothing here needs a lock or memory. */
static void continue_at_end(int pipe_fd, pid_t server)
{
    char byte;
    setsid(); /* Ctrl-C must not end this process */
    /* Connections that the parent closes must not stay open here. */
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
        if (fd != pipe_fd)
            close(fd);
    while (read(pipe_fd, &byte, 1) > 0)
        ;
    kill(server, SIGCONT);
    _exit(0);
}

int hang_begin(struct hang *hang, pid_t server)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("redlock-bench: pipe");
        return -1;
    }
    hang->guardian = fork();
    if (hang->guardian == 0)
        continue_at_end(ends[0], server);
    close(ends[0]);
    hang->pipe_fd = ends[1];
    if (hang->guardian > 0 && kill(server, SIGSTOP) == 0)
        return 0;
    perror("redlock-bench: hanging a server");
    hang_end(hang);
    return -1;
}

void hang_end(struct hang *hang)
{
    close(hang->pipe_fd);
    if (hang->guardian > 0)
        waitpid(hang->guardian, NULL, 0);
}
