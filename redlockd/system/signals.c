/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void ready(struct loop_source *source, uint32_t events)
{
    struct signals *signals = (struct signals *)(void *)source;
    struct signalfd_siginfo info;

    (void)events;
    while (read(source->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP)
            signals->on_reload(signals->context);
        else
            signals->on_end(signals->context);
    }
}

static sigset_t handled(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

void signals_hold(void)
{
    sigset_t set = handled();

    sigprocmask(SIG_BLOCK, &set, NULL);
}

void signals_let_go(void)
{
    sigset_t set = handled();

    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int signals_open(struct signals *signals, struct loop *loop)
{
    sigset_t set = handled();
    int fd;

    signals_hold();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ,
           /* an audit log at the limit of its size fails to be written, and that is all */
           SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return -1;
    signals->source.ready = ready;
    if (loop_add(loop, &signals->source, fd, EPOLLIN) == 0) {
        signals->loop = loop;
        return 0;
    }
    close(fd);
    return -1;
}

void signals_close(struct signals *signals)
{
    if (!signals->loop)
        return;
    loop_remove(signals->loop, &signals->source);
    close(signals->source.fd);
    signals->loop = NULL;
}
