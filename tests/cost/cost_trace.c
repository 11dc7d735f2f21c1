/* SPDX-License-Identifier: BSD-2-Clause */
#include "cost_counts.h"

#include "check.h"
#include "cost_own.h"
#include "cost_shim.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { EXIT_NO_FILTER = 76 };

/* Distinguished by name; another number for the same thing where an architecture has one. */
static const struct {
    long number;
    enum trace_call call;
} numbers[] = {
    {SYS_sendto, TRACE_SEND},
    {SYS_recvfrom, TRACE_RECEIVE},
    {SYS_epoll_pwait, TRACE_EPOLL_WAIT},
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, TRACE_EPOLL_WAIT},
#endif
    {SYS_timerfd_settime, TRACE_TIMER},
    {SYS_read, TRACE_READ},
    {SYS_write, TRACE_WRITE},
    {SYS_futex, TRACE_FUTEX},
};

/* Every call stops for the tracer, once, before it is made. */
static bool stop_at_calls(void)
{
    struct sock_filter always[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE)};
    struct sock_fprog program = {1, always};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static pid_t start(void (*run)(void *), void *argument, int *go)
{
    int gate[2];
    pid_t parent, pid;
    if (pipe(gate) != 0)
        FAIL("no pipe");
    parent = getpid();
    pid = fork();
    if (pid < 0)
        FAIL("fork failed");
    if (pid == 0) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(gate[1]);
        if (getppid() != parent || read(gate[0], &byte, 1) != 1)
            _exit(1);
        close(gate[0]);
        if (!stop_at_calls())
            _exit(EXIT_NO_FILTER);
        run(argument);
        _exit(0);
    }
    close(gate[0]);
    *go = gate[1];
    return pid;
}

/* State of one tracing: 0 before the first mark, 1 counting, 2 after the second. */
static void count(struct trace *trace, int *state, const struct __ptrace_syscall_info *info)
{
    uint64_t number = info->seccomp.nr;
    if (number == SYS_ppoll && info->seccomp.args[4] == OWN_BEGIN && *state == 0) {
        trace->at_begin(trace->data);
        *state = 1;
        return;
    }
    if (number == SYS_ppoll && info->seccomp.args[4] == OWN_END && *state == 1) {
        trace->at_end(trace->data);
        *state = 2;
        return;
    }
    if (*state != 1 || (number == SYS_ppoll && info->seccomp.args[4] == OWN_WAIT))
        return;
    if (number == SYS_timerfd_settime && info->seccomp.args[3] == (uintptr_t)&shim_own_timer)
        return;
    /* A call only on machines without a clock in the vDSO: the shim counts readings. */
    if (number == SYS_clock_gettime)
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if ((uint64_t)numbers[i].number == number) {
            trace->calls[numbers[i].call]++;
            return;
        }
    trace->calls[TRACE_OTHER]++;
    if (number < TRACE_NUMBERS_MAX)
        trace->others[number]++;
}

/* The signal to go on with. */
static int handle_stop(struct trace *trace, int *state, pid_t pid, int status)
{
    struct __ptrace_syscall_info info;
    int event = status >> 16;
    if (event == 0)
        return WSTOPSIG(status);
    if (event != PTRACE_EVENT_SECCOMP)
        return 0; /* a new thread, from either side */
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) <= 0)
        FAIL("PTRACE_GET_SYSCALL_INFO: %s", strerror(errno));
    count(trace, state, &info);
    return 0;
}

void trace_run(struct trace *trace, void (*run)(void *), void *argument)
{
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACESECCOMP;
    int go = -1, status = 0, state = 0;
    pid_t child = start(run, argument, &go);

    if (ptrace(PTRACE_SEIZE, child, NULL, (void *)options) != 0) {
        int error = errno;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        check_skip("no system calls counted: ptrace is not permitted here: %s",
                   strerror(error));
    }
    if (write(go, "g", 1) != 1)
        FAIL("the process to trace has ended");
    close(go);
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno != EINTR)
            FAIL("waitpid: %s", strerror(errno));
        if (pid > 0 && WIFSTOPPED(status))
            ptrace(PTRACE_CONT, pid, NULL,
                   (void *)(long)handle_stop(trace, &state, pid, status));
        else if (pid == child && (WIFEXITED(status) || WIFSIGNALED(status)))
            break;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_FILTER)
        check_skip("no system calls counted: seccomp filters are not permitted here");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        FAIL("the counted process ended with status %x", (unsigned)status);
    CHECK_INT(2, state);
}
