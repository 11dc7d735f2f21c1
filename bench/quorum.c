/* SPDX-License-Identifier: BSD-2-Clause */
#include "quorum.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define START_WAIT_MS 10000 /* for the servers to run and say where */
#define STOP_WAIT_MS 10000  /* for redlock dev to end; it kills what does not */

const char *quorum_command(void)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
    if (length > 0) {
        path[length] = '\0';
        char *name = strrchr(path, '/');
        if (name) {
            strcpy(name, "/../redlock");
            if (access(path, X_OK) == 0)
                return path;
        }
    }
    return "redlock";
}

static void become_dev(int output_fd, const char *server)
{
    int null_fd = open("/dev/null", O_RDWR);
    /* It must end when this process is killed. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(null_fd, STDIN_FILENO);
    dup2(output_fd, STDOUT_FILENO);
    dup2(null_fd, STDERR_FILENO);
    unsetenv("REDLOCK_DEV");
    execlp(quorum_command(), "redlock", "dev", "-n", "5", "--server", server, (char *)NULL);
    _exit(127);
}

/* Reads until the line that names the nodes has come. */
static int read_nodes(struct quorum *quorum)
{
    static const char head[] = "export REDLOCK_NODES=";
    int64_t give_up_ns = now_ns() + START_WAIT_MS * 1000000LL;
    size_t have = 0;
    while (have < sizeof quorum->nodes_text - 1 && now_ns() < give_up_ns) {
        struct pollfd ready = {.fd = quorum->output_fd, .events = POLLIN};
        if (poll(&ready, 1, 100) <= 0)
            continue;
        ssize_t n = read(quorum->output_fd, quorum->nodes_text + have,
                         sizeof quorum->nodes_text - 1 - have);
        if (n <= 0)
            return -1;
        have += (size_t)n;
        quorum->nodes_text[have] = '\0';
        char *end = strchr(quorum->nodes_text, '\n');
        if (!end)
            continue;
        *end = '\0';
        if (strncmp(quorum->nodes_text, head, sizeof head - 1) != 0)
            return -1;
        quorum->node_count =
            split_words(quorum->nodes_text + sizeof head - 1, quorum->node, REDLOCK_NODES_MAX);
        return quorum->node_count > 0 && quorum->node_count <= REDLOCK_NODES_MAX ? 0 : -1;
    }
    return -1;
}

int quorum_start(struct quorum *quorum, const char *server)
{
    int ends[2];
    *quorum = (struct quorum){.pid = -1, .output_fd = -1};
    if (pipe(ends) != 0)
        return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    quorum->pid = fork();
    if (quorum->pid == 0)
        become_dev(ends[1], server);
    close(ends[1]);
    quorum->output_fd = ends[0];
    if (quorum->pid < 0 || read_nodes(quorum) != 0) {
        quorum_stop(quorum);
        return -1;
    }
    return 0;
}

void quorum_stop(struct quorum *quorum)
{
    struct timespec tick = {.tv_nsec = 10000000};
    if (quorum->pid > 0) {
        int64_t give_up_ns = now_ns() + STOP_WAIT_MS * 1000000LL;
        kill(quorum->pid, SIGTERM);
        while (waitpid(quorum->pid, NULL, WNOHANG) == 0) {
            if (now_ns() >= give_up_ns)
                kill(quorum->pid, SIGKILL);
            nanosleep(&tick, NULL);
        }
    }
    if (quorum->output_fd >= 0)
        close(quorum->output_fd);
    *quorum = (struct quorum){.pid = -1, .output_fd = -1};
}
