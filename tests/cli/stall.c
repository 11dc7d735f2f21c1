/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD into `redlock run`: stops the process where REDLOCK_STALL says, once.
 *
 *   granted  right after the wait for the lock, before anything looks at what is left of it
 *   fork     in the parent, right before the command is forked
 *   child    in the child, right after it
 *
 * and `names` stops a thread that looks a name up while there is a file REDLOCK_STALL_WHILE.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t self;
static int forks;

__attribute__((constructor)) static void begin(void)
{
    self = getpid();
}

static void stall(const char *where)
{
    static int stalled;
    const char *wanted = getenv("REDLOCK_STALL");
    if (stalled || !wanted || strcmp(wanted, where) != 0)
        return;
    stalled = 1;
    kill(getpid(), SIGSTOP);
}

pid_t fork(void)
{
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    /* The first is for the process that outlives this one. */
    int is_command = getpid() == self && ++forks == 2;
    if (is_command)
        stall("fork");
    pid_t pid = real();
    if (is_command && pid == 0)
        stall("child");
    return pid;
}

/* The wait for the lock has a timer, which is closed when the wait is over. */
int close(int fd)
{
    int (*real)(int);
    char path[32] = "/proc/self/fd/", name[32] = "";
    *(void **)&real = dlsym(RTLD_NEXT, "close");
    path[14] = (char)('0' + fd / 10 % 10);
    path[15] = (char)('0' + fd % 10);
    if (fd < 10) {
        path[14] = path[15];
        path[15] = '\0';
    }
    ssize_t length = fd >= 0 && fd < 100 ? readlink(path, name, sizeof name - 1) : -1;
    int result = real(fd);
    if (getpid() == self && length > 0 && strcmp(name, "anon_inode:[timerfd]") == 0)
        stall("granted");
    return result;
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **list)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    const char *wanted = getenv("REDLOCK_STALL"), *file = getenv("REDLOCK_STALL_WHILE");
    int is_name = !hints || !(hints->ai_flags & AI_NUMERICHOST);
    while (is_name && wanted && file && strcmp(wanted, "names") == 0 && access(file, F_OK) == 0)
        poll(NULL, 0, 20);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(host, port, hints, list);
}
