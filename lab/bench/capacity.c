/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-capacity: what one lock costs, in all that a plan for many of them needs: CPU of the
 * client and of each server, bytes and packets between them. And what that comes to for a
 * million locks a second. docs/capacity.md is made from its output.
 *
 * REDLOCK_NODES names the nodes, with or without quorums. Everything may share one machine:
 * costs per lock are CPU time and bytes, which the sharing changes little, unlike the rate.
 */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/callers/callers.h"
#include "redlock.h"
#include "resp.h"

#define NODES_MAX 128
#define CALLERS_MAX 16384
#define TTL_MS 10000
#define MILLION 1e6
#define LOAD 0.7 /* of a core, in plans: what is busier than that makes others wait */

struct nodes {
    struct resp *node[NODES_MAX];
    size_t count;
    size_t quorum_count;
};

/* Those that the client of this environment has. */
static bool find_nodes(struct nodes *n, redlock *client)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    for (; n->count < NODES_MAX && redlock_node(client, n->count, &info) == REDLOCK_OK;
         n->count++) {
        n->node[n->count] = resp_url(info.address);
        if (!n->node[n->count])
            return false;
        n->quorum_count = info.quorum_index + 1;
    }
    return n->count > 0;
}

/* What all nodes together have done so far, by their own account. */
struct account {
    double cpu_s, bytes_in, bytes_out, commands, reads, writes;
};

static double field(const char *info, const char *name)
{
    const char *at = strstr(info, name);
    return at ? strtod(at + strlen(name), NULL) : 0;
}

static void add_section(struct resp *node, const char *section, struct account *a)
{
    const char *words[] = {"INFO", section, NULL};
    char info[16384];
    if (!resp_call(node, words, info, sizeof info))
        return;
    a->cpu_s += field(info, "\nused_cpu_sys:") + field(info, "\nused_cpu_user:");
    a->bytes_in += field(info, "\ntotal_net_input_bytes:");
    a->bytes_out += field(info, "\ntotal_net_output_bytes:");
    a->commands += field(info, "\ntotal_commands_processed:");
    a->reads += field(info, "\ntotal_reads_processed:");
    a->writes += field(info, "\ntotal_writes_processed:");
}

static struct account settle_account(const struct nodes *n)
{
    struct account a = {0};
    for (size_t i = 0; i < n->count; i++) {
        add_section(n->node[i], "cpu", &a);
        add_section(n->node[i], "stats", &a);
    }
    return a;
}

struct settings {
    double seconds;
    unsigned in_flight; /* per quorum */
    bool threaded, plan;
};

struct cost {
    double rate, client_us, server_us;                   /* per lock; server: each node */
    double commands, bytes_in, bytes_out, reads, writes; /* per lock and node */
    double failures;
};

/* Of the nodes of REDLOCK_NODES. */
static redlock *open_client(const struct settings *s, uint32_t flags)
{
    redlock_options o = REDLOCK_OPTIONS(.flags = flags | (s->threaded ? REDLOCK_THREAD : 0),
                                        .node_timeout_ms = 2000);
    return callers_open(&o, TTL_MS);
}

static bool is_native(redlock *client)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    return redlock_node(client, 0, &info) == REDLOCK_OK && info.native;
}

static struct cost measure(const struct nodes *n, const struct settings *s, redlock *client,
                           uint32_t request_flags)
{
    static struct sample sample;
    struct window window;
    /*
     * From quiet to quiet: a lock is decided by a majority, and the slowest server may be
     * thousands of locks behind at any moment in between.
     */
    struct account before = settle_account(n);
    int error;
    struct account after;
    double visits, took_s, done;
    window_open(&window, s->seconds, false, &sample);
    error = callers_run(&(struct callers){.client = &client,
                                          .client_count = 1,
                                          .count = s->in_flight * (unsigned)n->quorum_count,
                                          .ttl_ms = TTL_MS,
                                          .flags = request_flags},
                        &window);
    took_s = (double)(now_ns() - window.start_ns) / 1e9;
    done = (double)sample.cycles;
    callers_settle(client);
    window_close(&window);
    after = settle_account(n);
    if (done < 1)
        done = 1;
    /* Every lock is on the nodes of one quorum. */
    visits = done * (double)n->count / (double)n->quorum_count;
    return (struct cost){
        .rate = done / took_s,
        .client_us = sample.client_cpu_s * 1e6 / done,
        .server_us = (after.cpu_s - before.cpu_s) * 1e6 / visits,
        .commands = (after.commands - before.commands) / visits,
        .bytes_in = (after.bytes_in - before.bytes_in) / visits,
        .bytes_out = (after.bytes_out - before.bytes_out) / visits,
        .reads = (after.reads - before.reads) / visits,
        .writes = (after.writes - before.writes) / visits,
        .failures = (double)sample.failures + (error != 0),
    };
}

static void print_plan(const char *name, const struct cost *c, const struct nodes *n)
{
    double nodes = (double)n->count / (double)n->quorum_count;
    double quorum_rate = LOAD * 1e6 / c->server_us;
    double thread_rate = LOAD * 1e6 / c->client_us;
    double quorums = ceil(MILLION / quorum_rate);
    printf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f | %.1f |\n", name, quorum_rate,
           thread_rate, quorums, quorums * nodes, ceil(MILLION / thread_rate),
           c->bytes_in * nodes * MILLION * 8 / 1e9, c->bytes_out * nodes * MILLION * 8 / 1e9);
}

static int run(const struct nodes *n, const struct settings *s)
{
    static const struct {
        const char *name;
        uint32_t client, request;
        bool native;
    } variant[] = {
        {"plain, script release", REDLOCK_NO_NATIVE, 0, false},
        {"fenced, script release", REDLOCK_NO_NATIVE, REDLOCK_FENCED, false},
        {"plain, native release", 0, 0, true},
        {"fenced, native release", 0, REDLOCK_FENCED, true},
    };
    struct cost cost[4];
    bool measured[4] = {false};
    printf("%zu quorum%s of %zu nodes, %u in flight each, %s, %.1f s\n\n", n->quorum_count,
           n->quorum_count == 1 ? "" : "s", n->count / n->quorum_count, s->in_flight,
           s->threaded ? "a thread per quorum" : "one thread", s->seconds);
    printf("| lock and release | locks/s here | client CPU, us | each server's CPU, us | "
           "commands | bytes to it | bytes back | reads | writes |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < 4; i++) {
        redlock *client = open_client(s, variant[i].client);
        if (!client)
            return 69;
        measured[i] = !variant[i].native || is_native(client);
        if (measured[i]) {
            const struct cost *c;
            cost[i] = measure(n, s, client, variant[i].request);
            c = &cost[i];
            printf("| %s | %.0f | %.2f | %.2f | %.2f | %.0f | %.0f | %.3f | %.3f |%s\n",
                   variant[i].name, c->rate, c->client_us, c->server_us, c->commands,
                   c->bytes_in, c->bytes_out, c->reads, c->writes,
                   c->failures > 0 ? " (some failed)" : "");
        } else {
            printf("| %s | these servers cannot | | | | | | | |\n", variant[i].name);
        }
        redlock_close(client);
    }
    if (!s->plan)
        return 0;
    printf(
        "\nAt %.0f %% of a core each, for a million locks a second:\n\n"
        "| lock and release | locks/s of one quorum | of one client thread | quorums | servers "
        "| client threads | Gbit/s to servers | back |\n|---|---|---|---|---|---|---|---|\n",
        100 * LOAD);
    for (int i = 0; i < 4; i++)
        if (measured[i])
            print_plan(variant[i].name, &cost[i], n);
    return 0;
}

static const char usage[] =
    "Usage: redlock-capacity [OPTION]...\n"
    "Measures what a lock costs on the nodes of REDLOCK_NODES, and plans for a million a "
    "second.\n"
    "\n"
    "  -s, --seconds S    of each measurement (default 2)\n"
    "  -i, --in-flight N  locks under way per quorum (default 256)\n"
    "  -t, --thread       a thread per quorum, instead of one loop for all\n"
    "  -n, --no-plan      what was measured only\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 's'}, {"in-flight", required_argument, NULL, 'i'},
        {"thread", no_argument, NULL, 't'},        {"no-plan", no_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},          {0},
    };
    static struct nodes nodes;
    struct settings s = {.seconds = 2, .in_flight = 256, .plan = true};
    redlock *client;
    int option;
    while ((option = getopt_long(argc, argv, "s:i:tnh", options, NULL)) != -1) {
        if (option == 's')
            s.seconds = strtod(optarg, NULL);
        else if (option == 'i')
            s.in_flight = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 't')
            s.threaded = true;
        else if (option == 'n')
            s.plan = false;
        else
            return fputs(usage, option == 'h' ? stdout : stderr), option == 'h' ? 0 : 64;
    }
    client = open_client(&s, 0);
    if (!client || !find_nodes(&nodes, client)) {
        fprintf(stderr, "redlock-capacity: REDLOCK_NODES names no nodes that answer; "
                        "`redlock dev -c 5 -- redlock-capacity` starts some\n");
        return 69;
    }
    redlock_close(client);
    if (!(s.seconds >= 0.1 && s.seconds <= 600) || s.in_flight == 0 ||
        s.in_flight * nodes.quorum_count > CALLERS_MAX) {
        fputs(usage, stderr);
        return 64;
    }
    return run(&nodes, &s);
}
