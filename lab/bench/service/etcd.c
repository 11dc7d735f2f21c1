/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a user would pick instead: three members of etcd on loopback, with their data where the
 * benchmark runs.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "clients.h"
#include "cycles.h"
#include "lab/stats/series.h"
#include "parts.h"
#include "processes.h"

#define MEMBERS 3
#define ELECTION_TURNS 600 /* of 100 ms */
#define MANY 64
#define ETCD_TURNS 3
#define ETCD_SLICE_NS (3 * RL_NS_PER_S)

struct etcd {
    pid_t pids[MEMBERS];
    char leader[32]; /* 127.0.0.1:PORT: callers ask it, so that no member has to pass on */
};

static bool etcd_is_there(void)
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
    char name[16], data[256], log[256], client[64], peer[64];
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
    etcd->pids[i] = process_start(argv, log);
}

/* True: this member is elected. */
static bool leads(const char *address)
{
    static const char request[] =
        "POST /v3/maintenance/status HTTP/1.1\r\nHost: h\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    int fd = clients_connect(address);
    char body[4096];
    int status = clients_exchange(fd, request, sizeof request - 1, body, sizeof body);
    const char *member = strstr(body, "\"member_id\":\""),
               *leader = strstr(body, "\"leader\":\"");

    close(fd);
    if (status != 200 || !member || !leader)
        return false;
    member += strlen("\"member_id\":\"");
    leader += strlen("\"leader\":\"");
    return strncmp(member, leader, strcspn(member, "\"") + 1) == 0;
}

/* Elected and ready when it returns. */
static void etcd_start(struct etcd *etcd, const char *directory)
{
    int ports[2 * MEMBERS];
    char cluster[256] = "", address[MEMBERS][32];

    for (int i = 0; i < 2 * MEMBERS; i++)
        ports[i] = free_port();
    for (int i = 0; i < MEMBERS; i++)
        snprintf(cluster + strlen(cluster), sizeof cluster - strlen(cluster),
                 "%sm%d=http://127.0.0.1:%d", i ? "," : "", i, ports[MEMBERS + i]);
    for (int i = 0; i < MEMBERS; i++)
        start_member(etcd, i, ports[i], ports[MEMBERS + i], cluster, directory);
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(address[i], sizeof address[i], "127.0.0.1:%d", ports[i]);
        process_await(address[i]);
    }
    for (int turn = 0; turn < ELECTION_TURNS; turn++) {
        for (int i = 0; i < MEMBERS; i++)
            if (leads(address[i])) {
                memcpy(etcd->leader, address[i], sizeof etcd->leader);
                return;
            }
        usleep(100000);
    }
    errx(1, "the members of etcd elected none: see %s/m0.log", directory);
}

static void etcd_stop(struct etcd *etcd)
{
    for (int i = 0; i < MEMBERS; i++)
        process_end(etcd->pids[i], SIGKILL);
}

struct figure {
    struct series per_s, p50_us;
};

static void measure(struct figure *figure, const char *address, const struct cycle *cycle,
                    unsigned count, int64_t duration_ns)
{
    static struct clients callers;
    struct clients_result result = {0};

    clients_open(&callers, address, count);
    /* The leases that a cycle keeps come from the one that makes them. */
    if (cycle == &cycle_etcd_kept) {
        struct clients_result first = {0};

        clients_run(&callers, &cycle_etcd, RL_NS_PER_MS, &first);
    }
    clients_run(&callers, cycle, duration_ns, &result);
    clients_close(&callers);
    series_add(&figure->per_s, (double)result.cycles / result.seconds);
    series_add(&figure->p50_us, latency_quantile_us(&result.cycle, 0.5));
}

static void print_figure(const char *what, struct figure *one, struct figure *many)
{
    table_note(what, "%.0f/s and p50 %.2f ms with one caller, %.0f/s with 64",
               series_median(&one->per_s), series_median(&one->p50_us) / 1e3,
               series_median(&many->per_s));
}

void part_etcd(struct bench *bench)
{
    static struct figure ours[2], leased[2], kept[2];
    char directory[BENCH_PATH_MAX];
    struct etcd etcd;
    double best_many, best_one;

    if (!etcd_is_there()) {
        table_left_out("beside etcd", "etcd is not installed");
        return;
    }
    snprintf(directory, sizeof directory, "%s/etcd", bench->directory);
    if (mkdir(directory, 0700) != 0)
        err(1, "%s", directory);
    etcd_start(&etcd, directory);
    for (int i = 0; i < ETCD_TURNS; i++)
        for (int many = 0; many < 2; many++) {
            unsigned count = many ? MANY : 1;

            measure(&ours[many], bench->address, &cycle_redlockd, count, RL_NS_PER_S);
            measure(&leased[many], etcd.leader, &cycle_etcd, count, ETCD_SLICE_NS);
            measure(&kept[many], etcd.leader, &cycle_etcd_kept, count, ETCD_SLICE_NS);
        }
    etcd_stop(&etcd);
    print_figure("redlockd, acquire and release", &ours[0], &ours[1]);
    print_figure("etcd, lease, lock and unlock", &leased[0], &leased[1]);
    print_figure("etcd, lock and unlock with a lease that is kept", &kept[0], &kept[1]);
    /* Against the faster of its two ways. */
    best_many = series_median(&kept[1].per_s) > series_median(&leased[1].per_s)
                    ? series_median(&kept[1].per_s)
                    : series_median(&leased[1].per_s);
    best_one = series_median(&kept[0].p50_us) < series_median(&leased[0].p50_us)
                   ? series_median(&kept[0].p50_us)
                   : series_median(&leased[0].p50_us);
    table_least("cycles/s with 64 callers / etcd's", series_median(&ours[1].per_s) / best_many,
                10, "");
    table_most("p50 of a cycle with one caller / etcd's",
               series_median(&ours[0].p50_us) / best_one, 0.33, "");
}
