/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"

#define FIRST_INHERITED 3
#define BACKLOG 1024

/* ---- of the manager --------------------------------------------------------------------- */

static int adopt(int fd)
{
    int listens = 0;
    socklen_t size = sizeof listens;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        !listens)
        return -1;
    return fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0
               ? 0
               : -1;
}

int sockets_inherited(int *fds, int most, char *why, size_t why_size)
{
    const char *pid = getenv("LISTEN_PID");
    const char *number = getenv("LISTEN_FDS");
    long count = 0;

    if (pid && number && strtol(pid, NULL, 10) == (long)getpid())
        count = strtol(number, NULL, 10);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (count < 0 || count > most) {
        snprintf(why, why_size, "the service manager passed %ld sockets: at most %d are served",
                 count, most);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        fds[i] = FIRST_INHERITED + i;
        if (adopt(fds[i]) < 0) {
            snprintf(why, why_size,
                     "descriptor %d of the service manager is no listening stream socket",
                     fds[i]);
            return -1;
        }
    }
    return (int)count;
}

/* ---- our own ---------------------------------------------------------------------------- */

static int fail(int fd, const char *what, const char *address, char *why, size_t why_size)
{
    snprintf(why, why_size, "cannot %s %s: %s", what, address, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* True: a process accepts connections there. */
static bool is_served(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 &&
                   connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                   errno == ECONNREFUSED;

    if (fd >= 0)
        close(fd);
    return !refused;
}

static int check_path(const char *path, char *why, size_t why_size)
{
    const size_t room = sizeof((struct sockaddr_un *)NULL)->sun_path;

    if (path[0] == '/' && strlen(path) < room)
        return 0;
    snprintf(why, why_size, "unix:%s: a unix socket needs an absolute path below %zu bytes",
             path, room);
    return -1;
}

int64_t sockets_group(const char *group, char *why, size_t why_size)
{
    const struct group *found = getgrnam(group);
    int64_t number;

    if (found)
        return found->gr_gid;
    number = rl_number_read(rl_slice_of(group), UINT32_MAX - 1);
    if (number >= 0)
        return number;
    snprintf(why, why_size, "listen: group=%s: there is no such group", group);
    return -1;
}

/* For a socket that does not listen yet: until then a connection is refused. */
static int give_away(int fd, const char *path, unsigned mode, int64_t gid, const char *group,
                     char *why, size_t why_size)
{
    if (gid >= 0 && chown(path, (uid_t)-1, (gid_t)gid) != 0) {
        snprintf(why, why_size,
                 "cannot give %s to group %s: %s: the daemon's user must be a member of it",
                 path, group, strerror(errno));
        close(fd);
        return -1;
    }
    return chmod(path, mode) == 0 ? fd : fail(fd, "listen on", path, why, why_size);
}

static int open_unix(const char *path, unsigned mode, const char *group, char *why,
                     size_t why_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int64_t gid = -1;
    struct stat info;
    int fd;

    if (check_path(path, why, why_size) < 0 ||
        (group && (gid = sockets_group(group, why, why_size)) < 0))
        return -1;
    strcpy(address.sun_path, path);
    /* Only what is surely a leftover: a socket that refuses connections. */
    if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode)) {
        if (is_served(&address)) {
            snprintf(why, why_size, "another process listens on %s", path);
            return -1;
        }
        unlink(path);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return fail(fd, "listen on", path, why, why_size);
    fd = give_away(fd, path, mode, gid, group, why, why_size);
    if (fd >= 0 && listen(fd, BACKLOG) != 0)
        return fail(fd, "listen on", path, why, why_size);
    return fd;
}

/* HOST:PORT or [HOST]:PORT into its two parts. */
static int split(const char *address, char *host, size_t host_size, const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t length;

    if (!colon || colon == address || colon[1] == '\0')
        return -1;
    *port = colon + 1;
    length = (size_t)(colon - address);
    if (address[0] == '[' && colon[-1] == ']') {
        address++;
        length -= 2;
    } else if (memchr(address, ':', length)) {
        return -1;
    }
    if (length == 0 || length >= host_size)
        return -1;
    memcpy(host, address, length);
    host[length] = '\0';
    return 0;
}

/* NULL with a sentence; else for freeaddrinfo(). */
static struct addrinfo *find(const char *address, char *why, size_t why_size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found;
    const char *port;
    char host[64];

    if (split(address, host, sizeof host, &port) == 0 &&
        getaddrinfo(host, port, &hints, &found) == 0)
        return found;
    snprintf(why, why_size, "%s is neither unix:/path nor ADDRESS:PORT in numbers", address);
    return NULL;
}

static int open_tcp(const char *address, char *why, size_t why_size)
{
    struct addrinfo *found = find(address, why, why_size);
    int one = 1;
    int fd;

    if (!found)
        return -1;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
        freeaddrinfo(found);
        return fd;
    }
    freeaddrinfo(found);
    return fail(fd, "listen on", address, why, why_size);
}

int sockets_open(const char *address, unsigned mode, const char *group, char *why,
                 size_t why_size)
{
    if (strncmp(address, "unix:", 5) == 0)
        return open_unix(address + 5, mode, group, why, why_size);
    return open_tcp(address, why, why_size);
}

int sockets_connect(const char *address, unsigned timeout_s, char *why, size_t why_size)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct addrinfo local = {
        .ai_family = AF_UNIX, .ai_addr = (struct sockaddr *)&path, .ai_addrlen = sizeof path};
    bool is_unix = strncmp(address, "unix:", 5) == 0;
    struct timeval timeout = {.tv_sec = timeout_s};
    struct addrinfo *found = NULL;
    const struct addrinfo *to;
    int fd;

    if (is_unix && check_path(address + 5, why, why_size) < 0)
        return -1;
    if (is_unix)
        strcpy(path.sun_path, address + 5);
    else if (!(found = find(address, why, why_size)))
        return -1;
    to = is_unix ? &local : found;
    fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0 ||
        connect(fd, to->ai_addr, to->ai_addrlen) != 0)
        fd = fail(fd, "connect to", address, why, why_size);
    if (found)
        freeaddrinfo(found);
    return fd;
}

static bool is_local(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;

        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;

        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
    return address->sa_family == AF_UNIX;
}

bool sockets_is_local(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;

    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
           is_local((struct sockaddr *)&address);
}

int sockets_check(const char *address, char *why, size_t why_size)
{
    struct addrinfo *found;
    int result;

    if (strncmp(address, "unix:", 5) == 0)
        return check_path(address + 5, why, why_size) < 0 ? -1 : 1;
    found = find(address, why, why_size);
    if (!found)
        return -1;
    result = is_local(found->ai_addr);
    freeaddrinfo(found);
    return result;
}

void sockets_name(int fd, char *text, size_t size)
{
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_storage storage;
    } address;
    socklen_t length = sizeof address;
    char host[64], port[8];

    memset(&address, 0, sizeof address);
    snprintf(text, size, "?");
    if (getsockname(fd, &address.any, &length) != 0)
        return;
    if (address.any.sa_family == AF_UNIX) {
        snprintf(text, size, "unix:%s", address.local.sun_path);
        return;
    }
    if (getnameinfo(&address.any, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(text, size, address.any.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                 port);
}
