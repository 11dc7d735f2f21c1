/* SPDX-License-Identifier: BSD-2-Clause */
#include "network.h"

#include "check.h"
#include "helper.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs a shell command, silently; true when it succeeded. */
__attribute__((format(printf, 1, 2))) static bool run(const char *format, ...)
{
    char command[256], line[384];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    snprintf(line, sizeof line, "PATH=$PATH:/usr/sbin:/sbin; { %s; } >/dev/null 2>&1", command);
    return system(line) == 0;
}

static bool refuse(struct network *n, const char *why)
{
    snprintf(n->why, sizeof n->why, "%s", why);
    return false;
}

static int namespace_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* A new namespace, open; the process stays where it is. */
static int make_namespace(const struct network *n)
{
    int fd;
    if (unshare(CLONE_NEWNET) != 0)
        return -1;
    fd = namespace_of(getpid());
    network_leave(n);
    return fd;
}

static bool connect_node(struct network *n, int i)
{
    bool made;
    n->node[i] = make_namespace(n);
    if (n->node[i] < 0)
        return false;
    snprintf(n->address[i], sizeof n->address[i], "10.213.%d.2", i + 1);
    /* The path is the shell's own child's view of our descriptor. */
    made = run("ip link add veth%d type veth peer name eth0 netns /proc/%d/fd/%d", i,
               (int)getpid(), n->node[i]) &&
           run("ip addr add 10.213.%d.1/24 dev veth%d && ip link set veth%d up", i + 1, i, i);
    network_enter(n, i);
    made =
        made && run("ip link set lo up && ip addr add %s/24 dev eth0 && ip link set eth0 up && "
                    "ip route add default via 10.213.%d.1",
                    n->address[i], i + 1);
    network_leave(n);
    return made;
}

static bool prepare(struct network *n)
{
    if (geteuid() != 0)
        return refuse(n, "not root");
    if (!run("ip -V && tc -V"))
        return refuse(n, "no iproute2");
    if (unshare(CLONE_NEWNET) != 0)
        return refuse(n, "namespaces are not allowed here");
    n->home = namespace_of(getpid());
    if (n->home < 0 || !run("ip link set lo up && echo 1 >/proc/sys/net/ipv4/ip_forward"))
        return refuse(n, "no loopback in a new namespace");
    for (int i = 0; i < n->count; i++)
        if (!connect_node(n, i))
            return refuse(n, "veth pairs cannot be made here");
    n->netem = run("tc qdisc add dev veth0 root netem loss 1%% && tc qdisc del dev veth0 root");
    if (!n->netem)
        refuse(n, "this kernel has no netem: links go down, but lose nothing");
    return true;
}

void network_open(struct network *n, int count)
{
    int outside = namespace_of(getpid());
    *n = (struct network){.count = count};
    n->ready = prepare(n);
    /* Half of it is worse than nothing: back to where loopback works. */
    if (!n->ready && n->home > 0 && setns(outside, CLONE_NEWNET) != 0)
        FAIL("cannot return to the machine's network");
    close(outside);
}

void network_enter(const struct network *n, int node)
{
    if (setns(n->node[node], CLONE_NEWNET) != 0)
        FAIL("cannot enter the namespace of node %d", node + 1);
}

void network_leave(const struct network *n)
{
    if (setns(n->home, CLONE_NEWNET) != 0)
        FAIL("cannot leave the namespace");
}

void network_url(const struct network *n, int node, int port, char *out, size_t size)
{
    char address[sizeof n->address[node]];
    memcpy(address, n->address[node], sizeof address);
    snprintf(out, size, "redis://%s:%d", address, port);
}

void network_down(const struct network *n, int node)
{
    (void)n;
    CHECK(run("ip link set veth%d down", node));
}

void network_loss(const struct network *n, int node, int percent)
{
    (void)n;
    CHECK(run("tc qdisc replace dev veth%d root netem loss %d%% delay 10ms 8ms 25%%", node,
              percent));
}

void network_heal(const struct network *n, int node)
{
    if (n->netem)
        run("tc qdisc del dev veth%d root", node);
    CHECK(run("ip link set veth%d up", node));
}

/* All rules at once: a fault is to begin at one moment. */
static void change(struct network *n, const char *verb, unsigned int from, unsigned int to)
{
    FILE *ip = popen("PATH=$PATH:/usr/sbin:/sbin ip -batch - >/dev/null 2>&1", "we");
    int step = verb[0] == 'a' ? 1 : -1;
    CHECK(ip != NULL);
    for (int i = 0; i < n->count; i++)
        for (int k = 0; k < n->count; k++) {
            if (i == k || !(from >> i & 1) || !(to >> k & 1))
                continue;
            n->blocked[i][k] += step;
            if (n->blocked[i][k] == (step > 0 ? 1 : 0))
                fprintf(ip, "rule %s from %s to %s blackhole\n", verb, n->address[i],
                        n->address[k]);
        }
    CHECK_INT(0, pclose(ip));
}

void network_block(struct network *n, unsigned int from, unsigned int to)
{
    change(n, "add", from, to);
}

void network_unblock(struct network *n, unsigned int from, unsigned int to)
{
    change(n, "del", from, to);
}
