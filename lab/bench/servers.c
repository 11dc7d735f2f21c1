/* SPDX-License-Identifier: BSD-2-Clause */
#include "servers.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "resp.h"

#define INFO_MAX 16384 /* bytes of an INFO section; real ones are below 1 KiB */

/* Copies the value of `field:value` out of an INFO text; "" when there is none. */
static void info_field(const char *info, const char *field, char *out, size_t size)
{
    size_t length = strlen(field);
    out[0] = '\0';
    for (const char *line = info; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, field, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1;
            snprintf(out, size, "%.*s", (int)strcspn(value, "\r\n"), value);
            return;
        }
    }
}

static void name_version(struct servers *servers, const char *info)
{
    char number[32];
    const char *product;
    info_field(info, "valkey_version", number, sizeof number);
    product = number[0] ? "valkey" : "redis";
    if (!number[0])
        info_field(info, "redis_version", number, sizeof number);
    snprintf(servers->version, sizeof servers->version, "%s %s", product, number);
}

/* Whether the other end is on this machine. */
static bool is_local(int fd)
{
    struct sockaddr_storage peer = {0}, self = {0};
    socklen_t peer_size = sizeof peer, self_size = sizeof self;
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

static int find_one(struct servers *servers, size_t index)
{
    char info[INFO_MAX], pid[16];
    const char *words[] = {"INFO", "server", NULL};
    struct resp *node = resp_url(servers->url[index]);
    bool answered = node && resp_call(node, words, info, sizeof info);
    bool local = node && is_local(node->fd);
    resp_free(node);
    if (!answered) {
        fprintf(stderr, "redlock-bench: %s: INFO server failed\n", servers->url[index]);
        return -1;
    }
    info_field(info, "process_id", pid, sizeof pid);
    servers->pid[index] = (pid_t)atol(pid);
    if (!local || clock_getcpuclockid(servers->pid[index], &servers->clock[index]) != 0)
        servers->local = false;
    if (index == 0)
        name_version(servers, info);
    return 0;
}

int servers_find(struct servers *servers, const char *const *urls, size_t count)
{
    memset(servers, 0, sizeof *servers);
    servers->count = count;
    servers->quorum = count / 2 + 1;
    servers->local = true;
    for (size_t i = 0; i < count; i++) {
        servers->url[i] = urls[i];
        if (find_one(servers, i) != 0)
            return -1;
    }
    return 0;
}

double servers_cpu_s(const struct servers *servers)
{
    double sum_s = 0;
    for (size_t i = 0; i < servers->count; i++) {
        struct timespec t;
        if (!servers->local || clock_gettime(servers->clock[i], &t) != 0)
            return -1;
        sum_s += (double)t.tv_sec + (double)t.tv_nsec / 1e9;
    }
    return sum_s;
}
