/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

#define MESSAGE_MAX 512

static int connect_manager(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    int fd;

    if ((path[0] != '/' && path[0] != '@') || length >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name has its length and no terminator */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Half of the manager's patience, if it is meant for this process. */
static int64_t watchdog_span_ns(void)
{
    const char *usec = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    long long span_us = usec ? strtoll(usec, NULL, 10) : 0;

    if (span_us <= 0 || span_us > INT64_MAX / 1000 ||
        (pid && strtoll(pid, NULL, 10) != (long long)getpid()))
        return 0;
    return span_us * RL_NS_PER_US / 2;
}

void notify_init(struct notify *notify)
{
    const char *path = getenv("NOTIFY_SOCKET");

    *notify = (struct notify){.fd = path ? connect_manager(path) : -1};
    if (notify->fd >= 0)
        notify->watchdog_ns = watchdog_span_ns();
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_free(struct notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}

static void notify_manager(struct notify *notify, const char *message)
{
    if (notify->fd >= 0)
        send(notify->fd, message, strlen(message), MSG_NOSIGNAL);
}

void notify_ready(struct notify *notify)
{
    notify_manager(notify, "READY=1");
}

void notify_stopping(struct notify *notify)
{
    notify_manager(notify, "STOPPING=1");
}

void notify_reloading(struct notify *notify)
{
    struct timespec now;
    char message[MESSAGE_MAX];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
             (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    notify_manager(notify, message);
}

void notify_status(struct notify *notify, const char *text)
{
    char message[MESSAGE_MAX];

    snprintf(message, sizeof message, "STATUS=%s", text);
    notify_manager(notify, message);
}

int64_t notify_turn(void *context, int64_t now_ns)
{
    struct notify *notify = context;

    if (notify->watchdog_ns == 0)
        return RL_NEVER_NS;
    if (now_ns >= notify->next_ns) {
        notify_manager(notify, "WATCHDOG=1");
        notify->next_ns = now_ns + notify->watchdog_ns;
    }
    return notify->next_ns;
}
