/* SPDX-License-Identifier: BSD-2-Clause */
/* How long after kill -9 of a client the nodes know nothing of it any more. */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "clients.h"
#include "cycles.h"
#include "io/clock.h"
#include "lab/stats/series.h"
#include "parts.h"
#include "processes.h"
#include "resp.h"

#define DEATHS 1000
#define NODES_MAX 16
#define STREAM_NAME "bench:stream"
#define PATIENCE_NS (20 * RL_NS_PER_S)

/* A client that waits in the queue of a lock that is held; or one that holds a lock by
 * its open stream. */
enum death { DEATH_OF_WAITER, DEATH_OF_STREAM };

struct nodes {
    struct resp *node[NODES_MAX];
    unsigned count;
};

static void connect_nodes(struct nodes *nodes)
{
    char text[1024], *next = text, *word;

    snprintf(text, sizeof text, "%s", getenv("REDLOCK_NODES"));
    nodes->count = 0;
    while ((word = strsep(&next, ",")) != NULL && nodes->count < NODES_MAX)
        if (!(nodes->node[nodes->count++] = resp_url(word)))
            err(1, "%s", word);
}

/* On how many nodes is the key? */
static unsigned count_of(const struct nodes *nodes, const char *key)
{
    const char *command[] = {"EXISTS", key, NULL};
    unsigned count = 0;

    for (unsigned i = 0; i < nodes->count; i++)
        if (resp_send(nodes->node[i], command) != 0)
            err(1, "send");
    for (unsigned i = 0; i < nodes->count; i++) {
        char answer[64];

        if (resp_read(nodes->node[i], answer, sizeof answer) != 0)
            err(1, "recv");
        count += answer[0] == '1';
    }
    return count;
}

/* Until all nodes have the key, or none. */
static void await(const struct nodes *nodes, const char *key, bool wanted)
{
    int64_t end_ns = rl_now_ns() + PATIENCE_NS;

    while (count_of(nodes, key) != (wanted ? nodes->count : 0))
        if (rl_now_ns() > end_ns)
            errx(1, "%s stays %s", key, wanted ? "away" : "there");
}

static size_t write_request(enum death kind, unsigned number, char *out, size_t size)
{
    static const char body[] = "{\"wait_ms\":50000,\"fair\":true}";
    bool stream = kind == DEATH_OF_STREAM;

    return (size_t)snprintf(out, size,
                            "PUT /v1/locks/%s HTTP/1.1\r\nHost: localhost\r\n"
                            "Lease-Id: lease-to-be-killed-%010u-%u-%u\r\n%s"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            stream ? STREAM_NAME : CYCLES_HELD, (unsigned)getppid(), kind,
                            number, stream ? "Accept: text/event-stream\r\n" : "",
                            sizeof body - 1, body);
}

/* The client: sends its request and waits for its end. */
static pid_t start_client(enum death kind, const char *address, unsigned number)
{
    pid_t pid = process_fork();

    if (pid == 0) {
        char request[512], bytes[4096];
        size_t size = write_request(kind, number, request, sizeof request);
        int fd = clients_connect(address);

        if (send(fd, request, size, MSG_NOSIGNAL) != (ssize_t)size)
            _exit(1);
        while (recv(fd, bytes, sizeof bytes, 0) > 0)
            continue;
        _exit(1);
    }
    return pid;
}

static bool is_served(enum death kind, const char *address)
{
    char request[512], bytes[256] = "";
    size_t size = write_request(kind, 0, request, sizeof request);
    int fd;

    if (kind == DEATH_OF_WAITER)
        return true;
    fd = clients_connect(address);
    if (send(fd, request, size, MSG_NOSIGNAL) != (ssize_t)size ||
        recv(fd, bytes, sizeof bytes - 1, 0) <= 0)
        err(1, "stream");
    close(fd);
    return strncmp(bytes, "HTTP/1.1 200", 12) == 0;
}

/* `count` times. False: the daemon does not serve such requests. */
static bool run(enum death kind, const char *address, unsigned count, struct latency *took)
{
    const char *key =
        kind == DEATH_OF_STREAM ? "redlock:" STREAM_NAME : "redlock.queue:" CYCLES_HELD;
    struct nodes nodes;

    if (!is_served(kind, address))
        return false;
    connect_nodes(&nodes);
    await(&nodes, key, false);
    for (unsigned i = 1; i <= count; i++) {
        pid_t pid = start_client(kind, address, i);
        int64_t from_ns;

        await(&nodes, key, true);
        from_ns = rl_now_ns();
        process_end(pid, SIGKILL);
        await(&nodes, key, false);
        latency_add(took, rl_now_ns() - from_ns);
    }
    for (unsigned i = 0; i < nodes.count; i++)
        resp_free(nodes.node[i]);
    return true;
}

static void kill_some(struct bench *bench, enum death kind, const char *what)
{
    static struct latency took;
    char text[128];

    took = (struct latency){0};
    snprintf(text, sizeof text, "%s, p99 of %d", what, DEATHS);
    if (!run(kind, bench->address, DEATHS, &took)) {
        table_left_out(text, "streams are not served");
        return;
    }
    table_note(what, "p50 %.2f ms, longest %.2f ms", latency_quantile_us(&took, 0.5) / 1e3,
               latency_quantile_us(&took, 1) / 1e3);
    table_most(text, latency_quantile_us(&took, 0.99) / 1e3, 10, " ms");
}

void part_deaths(struct bench *bench)
{
    kill_some(bench, DEATH_OF_WAITER, "waiter killed -> out of the queue of every node");
    kill_some(bench, DEATH_OF_STREAM,
              "client of a stream killed -> its lock free on every node");
}
