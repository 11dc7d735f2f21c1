/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"

/* Faults of this process itself: blocking them would only hide where they happened. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

static struct {
    int fd;
    bool taken;
    bool typed;                         /* Ctrl-C came to this process */
    bool owed;                          /* Ctrl-C went to the child alone */
    sigset_t mask;                      /* as it was before */
    struct sigaction on_pipe, on_child; /* as they were before */
} found = {.fd = -1};

void signals_ignore_pipe(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, &found.on_pipe);
}

int signals_take(void)
{
    sigset_t all;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&all, faults[i]);
    sigprocmask(SIG_BLOCK, &all, &found.mask);
    /* An ignored SIGCHLD would be inherited and make the kernel swallow exit statuses. */
    sigaction(SIGCHLD, &standard, &found.on_child);
    found.taken = true;
    found.fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    if (found.fd < 0)
        message_fail(EXIT_INTERNAL, "cannot wait for signals: %s", strerror(errno));
    return found.fd;
}

int signals_next(void)
{
    struct signalfd_siginfo info;
    while (read(found.fd, &info, sizeof info) == (ssize_t)sizeof info) {
        bool from_kernel = info.ssi_code > 0;
        if (from_kernel && info.ssi_signo == SIGINT)
            found.typed = true;
        if (from_kernel || info.ssi_pid != (unsigned)getpid())
            return (int)info.ssi_signo;
    }
    return 0;
}

int signals_next_fatal(void)
{
    for (int signal = signals_next(); signal; signal = signals_next()) {
        if (signals_is_fatal(signal))
            return signal;
        if (signals_is_stop(signal)) {
            errors_erase();
            signals_stop_self(signal);
        }
    }
    return 0;
}

void signals_give_back(void)
{
    sigaction(SIGPIPE, &found.on_pipe, NULL);
    if (!found.taken)
        return;
    sigaction(SIGCHLD, &found.on_child, NULL);
    sigprocmask(SIG_SETMASK, &found.mask, NULL);
}

void signals_stop_self(int signal)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    raise(signal);
    /* Delivered here; the kernel drops it when this process group is orphaned. */
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

void signals_child_interrupted(void)
{
    found.owed = true;
}

void signals_die(int signal)
{
    sigset_t one;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigemptyset(&one);
    sigaddset(&one, signal);
    sigaction(signal, &standard, NULL);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}

int signals_finish(int status)
{
    if (status != EXIT_SIGNAL + SIGINT || (!found.typed && !found.owed))
        return status;
    if (found.owed)
        kill(0, SIGINT); /* blocked here until the next line */
    signals_die(SIGINT);
    return status;
}

bool signals_is_stop(int signal)
{
    return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool signals_is_fatal(int signal)
{
    switch (signal) {
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGPIPE:
        return false;
    default:
        return !signals_is_stop(signal);
    }
}
