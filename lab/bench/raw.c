/* SPDX-License-Identifier: BSD-2-Clause */
#include "raw.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_TIMEOUT_S 5
#define COMMAND_MAX 4096

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int connect_tcp(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int fd = -1;
    if (getaddrinfo(host, port, &hints, &list) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    int one = 1;
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* Splits host:port or [ipv6]:port; the port defaults to 6379. Returns -1 if it is neither. */
static int split_address(const char *text, char *host, size_t host_size, char *port,
                         size_t port_size)
{
    const char *rest;
    size_t length;
    if (*text == '[') {
        length = strcspn(++text, "]");
        if (text[length] != ']')
            return -1;
        rest = text + length + 1;
    } else {
        length = strcspn(text, ":/@");
        rest = text + length;
    }
    if (length == 0 || length >= host_size)
        return -1;
    memcpy(host, text, length);
    host[length] = '\0';
    snprintf(port, port_size, "6379");
    if (*rest == ':') {
        snprintf(port, port_size, "%.*s", (int)strspn(rest + 1, "0123456789"), rest + 1);
        rest += 1 + strspn(rest + 1, "0123456789");
    }
    return *rest == '\0' || strcmp(rest, "/") == 0 || strcmp(rest, "/0") == 0 ? 0 : -1;
}

int raw_connect(const char *url)
{
    char host[256];
    char port[8];
    int fd;
    if (strncmp(url, "unix://", 7) == 0) {
        fd = connect_unix(url + 7);
    } else {
        const char *address = strncmp(url, "redis://", 8) == 0 ? url + 8 : url;
        if (split_address(address, host, sizeof host, port, sizeof port) != 0) {
            fputs("redlock-bench: the floor speaks plainly to redis://host:port and "
                  "unix:///path only; a node's URL has more\n",
                  stderr);
            return -1;
        }
        fd = connect_tcp(host, port);
    }
    if (fd < 0) {
        fprintf(stderr, "redlock-bench: %s: %s\n", url, strerror(errno));
        return -1;
    }
    struct timeval timeout = {.tv_sec = REPLY_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return fd;
}

bool raw_is_local(int fd)
{
    struct sockaddr_storage peer = {0};
    struct sockaddr_storage self = {0};
    socklen_t peer_size = sizeof peer;
    socklen_t self_size = sizeof self;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0 ||
        getsockname(fd, (struct sockaddr *)&self, &self_size) != 0)
        return false;
    if (peer.ss_family == AF_INET)
        return ((struct sockaddr_in *)&peer)->sin_addr.s_addr ==
               ((struct sockaddr_in *)&self)->sin_addr.s_addr;
    if (peer.ss_family == AF_INET6)
        return memcmp(&((struct sockaddr_in6 *)&peer)->sin6_addr,
                      &((struct sockaddr_in6 *)&self)->sin6_addr, sizeof(struct in6_addr)) == 0;
    return peer.ss_family == AF_UNIX;
}

size_t raw_encode(char *out, size_t size, const char *const *words, size_t word_count)
{
    int length = snprintf(out, size, "*%zu\r\n", word_count);
    for (size_t i = 0; i < word_count && (size_t)length < size; i++)
        length += snprintf(out + length, size - (size_t)length, "$%zu\r\n%s\r\n",
                           strlen(words[i]), words[i]);
    return (size_t)length < size ? (size_t)length : 0;
}

/* Reads on until `needed` bytes are there; returns the number read or -1. */
static ssize_t fill(int fd, char *buffer, size_t have, size_t needed, size_t size)
{
    while (have < needed) {
        ssize_t n = needed <= size ? recv(fd, buffer + have, size - have, 0) : 0;
        if (n <= 0)
            return -1;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

int raw_call(int fd, const char *const *words, size_t word_count, char *reply, size_t size)
{
    char buffer[COMMAND_MAX * 8];
    size_t length = raw_encode(buffer, COMMAND_MAX, words, word_count);
    if (length == 0 || send(fd, buffer, length, MSG_NOSIGNAL) != (ssize_t)length)
        return -1;

    ssize_t have = 0;
    char *end = NULL;
    while (!end) {
        have = fill(fd, buffer, (size_t)have, (size_t)have + 1, sizeof buffer - 1);
        if (have < 0)
            return -1;
        buffer[have] = '\0';
        end = strstr(buffer, "\r\n");
    }
    *end = '\0';
    const char *text = buffer + 1;
    if (buffer[0] == '$' && buffer[1] != '-') {
        size_t bulk = (size_t)strtoul(buffer + 1, NULL, 10);
        size_t start = (size_t)(end + 2 - buffer);
        if (bulk > sizeof buffer ||
            fill(fd, buffer, (size_t)have, start + bulk + 2, sizeof buffer - 1) < 0)
            return -1;
        buffer[start + bulk] = '\0';
        text = buffer + start;
    }
    snprintf(reply, size, "%s", text);
    return (unsigned char)buffer[0];
}
