/* SPDX-License-Identifier: BSD-2-Clause */
#include "etcd.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"
#include "processes.h"

#define ELECTION_TURNS 600 /* of 100 ms */

bool etcd_is_there(void)
{
    return system("command -v etcd >/dev/null 2>&1") == 0;
}

/* Free a moment ago: members have to know each other's before they start. */
static int free_port(void)
{
    struct sockaddr_in place = {.sin_family = AF_INET};
    socklen_t size = sizeof place;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&place, sizeof place) != 0 ||
        getsockname(fd, (struct sockaddr *)&place, &size) != 0)
        err(1, "a free port");
    close(fd);
    return ntohs(place.sin_port);
}

static void start_member(struct etcd *etcd, int i, int port, int peer_port, char *cluster,
                         const char *directory)
{
    char name[16], data[160], log[160], client[64], peer[64];
    const char *argv[] = {"etcd",  "--name",
                          name,    "--data-dir",
                          data,    "--listen-client-urls",
                          client,  "--advertise-client-urls",
                          client,  "--listen-peer-urls",
                          peer,    "--initial-advertise-peer-urls",
                          peer,    "--initial-cluster",
                          cluster, "--initial-cluster-state",
                          "new",   NULL};

    snprintf(name, sizeof name, "m%d", i);
    snprintf(data, sizeof data, "%s/m%d", directory, i);
    snprintf(log, sizeof log, "%s/m%d.log", directory, i);
    snprintf(client, sizeof client, "http://127.0.0.1:%d", port);
    snprintf(peer, sizeof peer, "http://127.0.0.1:%d", peer_port);
    etcd->pids[i] = process_start(argv, -1, log);
}

/* True: this member is elected. */
static bool leads(const char *address)
{
    static const char request[] =
        "POST /v3/maintenance/status HTTP/1.1\r\nHost: h\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    int fd = clients_connect(address);
    char body[4096];
    int status = clients_ask(fd, request, sizeof request - 1, body, sizeof body);
    const char *member = strstr(body, "\"member_id\":\""),
               *leader = strstr(body, "\"leader\":\"");

    close(fd);
    if (status != 200 || !member || !leader)
        return false;
    member += strlen("\"member_id\":\"");
    leader += strlen("\"leader\":\"");
    return strncmp(member, leader, strcspn(member, "\"") + 1) == 0;
}

void etcd_start(struct etcd *etcd, const char *directory)
{
    int ports[2 * ETCD_MEMBERS];
    char cluster[256] = "", address[ETCD_MEMBERS][32];

    for (int i = 0; i < 2 * ETCD_MEMBERS; i++)
        ports[i] = free_port();
    for (int i = 0; i < ETCD_MEMBERS; i++)
        snprintf(cluster + strlen(cluster), sizeof cluster - strlen(cluster),
                 "%sm%d=http://127.0.0.1:%d", i ? "," : "", i, ports[ETCD_MEMBERS + i]);
    for (int i = 0; i < ETCD_MEMBERS; i++)
        start_member(etcd, i, ports[i], ports[ETCD_MEMBERS + i], cluster, directory);
    for (int i = 0; i < ETCD_MEMBERS; i++) {
        snprintf(address[i], sizeof address[i], "127.0.0.1:%d", ports[i]);
        process_await(address[i]);
    }
    for (int turn = 0; turn < ELECTION_TURNS; turn++) {
        for (int i = 0; i < ETCD_MEMBERS; i++)
            if (leads(address[i])) {
                memcpy(etcd->leader, address[i], sizeof etcd->leader);
                return;
            }
        usleep(100000);
    }
    errx(1, "the members of etcd elected none: see %s/m0.log", directory);
}

void etcd_stop(struct etcd *etcd)
{
    for (int i = 0; i < ETCD_MEMBERS; i++)
        process_end(etcd->pids[i], SIGKILL);
}
