/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One descriptor to wait on for everything: an epoll set with the sockets, a timer and a
 * wake-up. The descriptor of the set itself is pollable, which is what embeds a client in any
 * event loop.
 */
#ifndef RL_IO_REACTOR_H
#define RL_IO_REACTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define RL_REACTOR_EVENTS_MAX 36

struct rl_reactor {
    int epoll_fd;
    int timer_fd;
    int wake_fd;      /* eventfd: new work, or a name that was resolved */
    int64_t armed_ns; /* what the timer is set to; RL_NEVER_NS: nothing, or it has fired */
    bool unarmed;     /* it could not be set to what is due: the driver must look by itself */
};

/*
 * What epoll hands back in data.u32: a node's number, that of its subscriber, or one of these.
 */
#define RL_REACTOR_SUBSCRIBER 0x80u
#define RL_REACTOR_ELECTOR 0x200u /* and node * RL_ELECTORS_MAX + elector */
#define RL_REACTOR_TIMER 0x100u
#define RL_REACTOR_WAKE 0x101u
#define RL_REACTOR_THREAD 0x102u /* a thread that locks are bound to has ended */

/* -1 with errno, also below. */
int rl_reactor_init(struct rl_reactor *reactor);
void rl_reactor_free(struct rl_reactor *reactor);

int rl_reactor_add(struct rl_reactor *reactor, int fd, uint32_t events, uint32_t tag);
void rl_reactor_remove(struct rl_reactor *reactor, int fd);
int rl_reactor_change(struct rl_reactor *reactor, int fd, uint32_t events, uint32_t tag);

/* Makes sure that a wait ends by this time. Costs nothing when it does so already. */
void rl_reactor_arm(struct rl_reactor *reactor, int64_t due_ns);

/*
 * Waits; the number of events, -1 after a signal. Looks at the descriptors only: everything
 * else may change.
 */
int rl_reactor_wait(struct rl_reactor *reactor, struct epoll_event *events, int timeout_ms);

void rl_reactor_wake(struct rl_reactor *reactor);

#endif
