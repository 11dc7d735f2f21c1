/* SPDX-License-Identifier: BSD-2-Clause */
#include "servers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const char *quorum_command(void)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
    if (length > 0) {
        char *name;
        path[length] = '\0';
        name = strrchr(path, '/');
        if (name) {
            strcpy(name, "/../../redlock");
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
    execlp(quorum_command(), "redlock", "dev", "-c", "5", "--server", server, (char *)NULL);
    _exit(127);
}

/* The first line names the nodes. It comes, or the process ends: it waits for no
 * server for ever. */
static int read_nodes(struct quorum *quorum)
{
    static const char head[] = "export REDLOCK_NODES=";
    char *text = quorum->nodes_text;
    if (!fgets(text, sizeof quorum->nodes_text, quorum->output) ||
        strncmp(text, head, sizeof head - 1) != 0)
        return -1;
    quorum->node_count = split_words(text + sizeof head - 1, quorum->node, REDLOCK_NODES_MAX);
    return quorum->node_count > 0 && quorum->node_count <= REDLOCK_NODES_MAX ? 0 : -1;
}

int quorum_start(struct quorum *quorum, const char *server)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *quorum = (struct quorum){.output = fdopen(ends[0], "r")};
    quorum->pid = fork();
    if (quorum->pid == 0)
        become_dev(ends[1], server);
    close(ends[1]);
    if (quorum->pid > 0 && quorum->output && read_nodes(quorum) == 0)
        return 0;
    quorum_stop(quorum);
    return -1;
}

void quorum_stop(struct quorum *quorum)
{
    if (quorum->pid > 0) {
        kill(quorum->pid, SIGTERM);
        waitpid(quorum->pid, NULL, 0); /* it kills servers that do not end */
    }
    if (quorum->output)
        fclose(quorum->output);
    *quorum = (struct quorum){.pid = -1};
}
