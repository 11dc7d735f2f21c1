/* SPDX-License-Identifier: BSD-2-Clause */
#include "processes.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clients.h"

#define AWAIT_TURNS 3000 /* of 10 ms */

pid_t process_fork(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        err(1, "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
    }
    return pid;
}

pid_t process_start(const char *const *argv, const char *log)
{
    pid_t pid = process_fork();

    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

        if (fd >= 0) {
            dup2(fd, STDOUT_FILENO);
            dup2(fd, STDERR_FILENO);
        }
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        err(1, "%s", argv[0]);
    }
    return pid;
}

int process_end(pid_t pid, int signal)
{
    int status = 0;

    kill(pid, signal);
    waitpid(pid, &status, 0);
    return status;
}

double process_cpu_us(pid_t pid)
{
    clockid_t clock;
    struct timespec used;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        errx(1, "process %d is gone", (int)pid);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

long process_memory_kib(pid_t pid)
{
    char path[64], line[256];
    long sum = 0, kib;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    file = fopen(path, "re");
    if (!file)
        err(1, "%s", path);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Clean: %ld", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &kib) == 1)
            sum += kib;
    fclose(file);
    return sum;
}

void process_await(const char *address)
{
    for (int i = 0; i < AWAIT_TURNS; i++) {
        int fd = clients_try(address);

        if (fd >= 0) {
            close(fd);
            return;
        }
        usleep(10000);
    }
    errx(1, "nothing listens on %s", address);
}
