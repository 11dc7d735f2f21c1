/* SPDX-License-Identifier: BSD-2-Clause */
#include "ports.h"

#include "check.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* Below the range that the kernel hands out to outgoing connections. */
enum { PORT_FIRST = 12000, PORT_LAST = 32000, TRIES_MAX = 200 };

static struct sockaddr_in loopback(int number)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)number),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
}

struct port port_reserve(void)
{
    int yes = 1;
    for (int i = 0; i < TRIES_MAX; i++) {
        uint32_t random = 0;
        int number, fd;
        struct sockaddr_in address;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            FAIL("getrandom failed");
        number = PORT_FIRST + (int)(random % (PORT_LAST - PORT_FIRST));
        address = loopback(number);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            FAIL("socket failed");
        /* Exclusive while binding, shared with our own server afterwards. */
        if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            return (struct port){number, fd};
        }
        close(fd);
    }
    FAIL("no free port in %d tries", TRIES_MAX);
}

void port_release(struct port *p)
{
    if (p->fd > 0)
        close(p->fd);
    p->fd = -1;
}

int port_listen(const struct port *p)
{
    int yes = 1;
    struct sockaddr_in address = loopback(p->number);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        FAIL("socket failed");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 128) != 0)
        FAIL("cannot listen on port %d", p->number);
    return fd;
}

int port_connect(int number)
{
    int yes = 1;
    struct sockaddr_in address = loopback(number);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

int port_have_ipv6(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result;
    if (fd < 0)
        return 0;
    result = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return result;
}
