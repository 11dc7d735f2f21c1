/* SPDX-License-Identifier: BSD-2-Clause */
/* A library to preload: what a program connects to by TCP is the unix socket $WRK_SOCKET. For
 * wrk, which knows no unix sockets. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Takes the place of libc's, hence its parameters. */
int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    const char *path = getenv("WRK_SOCKET");
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    int flags = fcntl(fd, F_GETFL), unix_fd, failed;

    if (!path || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return (int)syscall(SYS_connect, fd, address, size);
    snprintf(local.sun_path, sizeof local.sun_path, "%s", path);
    unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (unix_fd < 0)
        return -1;
    failed = syscall(SYS_connect, unix_fd, &local, sizeof local) != 0 ||
             fcntl(unix_fd, F_SETFL, flags) != 0 || dup2(unix_fd, fd) < 0;
    close(unix_fd);
    return failed ? -1 : 0;
}
