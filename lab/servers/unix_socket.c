/* SPDX-License-Identifier: BSD-2-Clause */
#include "unix_socket.h"

#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket for that address, with which `use` is to succeed. */
static int open_unix(const char *path, int type,
                     int (*use)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd;
    if (strlen(path) >= sizeof a.sun_path)
        return -1;
    strcpy(a.sun_path, path);
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd >= 0 && use(fd, (struct sockaddr *)&a, sizeof a) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int unix_listen(const char *path, int type)
{
    int fd = open_unix(path, type, bind);
    if (fd >= 0)
        listen(fd, 128);
    return fd;
}

int unix_connect(const char *path, int type)
{
    return open_unix(path, type, connect);
}
