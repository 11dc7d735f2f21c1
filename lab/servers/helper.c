/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper.h"

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void *helper_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        FAIL("mmap of %zu bytes failed", size);
    return memory;
}

pid_t helper_start(void (*serve)(void *), void *argument)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        FAIL("fork failed");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            serve(argument);
        _exit(0);
    }
    return pid;
}

void helper_stop(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

void helper_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

void helpers_join(const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++) {
        int status = -1;
        CHECK(waitpid(pids[i], &status, 0) == pids[i]);
        CHECK_INT(0, status);
    }
}

struct session {
    struct helper_connection connection;
    void (*serve)(struct helper_connection *);
};

static void *run_session(void *data)
{
    struct session *s = data;
    s->serve(&s->connection);
    close(s->connection.fd);
    free(s);
    return NULL;
}

void helper_accept_loop(int listener, void (*serve)(struct helper_connection *), void *argument)
{
    for (int number = 1;; number++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        struct session *s;
        pthread_t thread;
        if (fd < 0)
            _exit(1);
        s = malloc(sizeof *s);
        if (s == NULL)
            _exit(1);
        *s = (struct session){{fd, number, argument}, serve};
        if (pthread_create(&thread, NULL, run_session, s) != 0)
            _exit(1);
        pthread_detach(thread);
    }
}

int helper_write(int fd, const void *data, size_t size)
{
    const char *p = data;
    while (size > 0) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL);
        if (n <= 0)
            return -1;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}
