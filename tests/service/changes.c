/* SPDX-License-Identifier: BSD-2-Clause */
/* What the log says when nodes and quorums come and go, with nodes made up here and time
 * as an argument. */
#include "nodes/changes.h"
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3 };

static redlock_node_info nodes[NODES];
static char lines[4096]; /* since the last look at them */
static int noticed;      /* changes that the listener got */
static struct changes changes;
static int64_t now_s;

int __wrap_redlock_node(redlock *client, size_t index, redlock_node_info *out);
int __wrap_redlock_node(redlock *client, size_t index, redlock_node_info *out)
{
    (void)client;
    if (index >= NODES)
        return REDLOCK_INVAL;
    *out = nodes[index];
    return REDLOCK_OK;
}

__attribute__((format(printf, 1, 2))) void __wrap_log_line(const char *format, ...);
void __wrap_log_line(const char *format, ...)
{
    size_t used = strlen(lines);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(lines + used, sizeof lines - used, format, arguments);
    va_end(arguments);
    strncat(lines, "\n", sizeof lines - strlen(lines) - 1);
}

static void on_node(void *context, const redlock_node_info *node, enum changes_state state)
{
    (void)context;
    (void)node;
    (void)state;
    noticed++;
}

static void set(int node, int state, const char *text)
{
    redlock_node_info *info = &nodes[node - 1];

    *info = (redlock_node_info)REDLOCK_NODE_INFO(.state = state);
    snprintf(info->address, sizeof info->address, "node-%d", node);
    snprintf(info->text, sizeof info->text, "%s", text);
}

static void begin(int state)
{
    changes = (struct changes){.on_node = on_node};
    for (int i = 1; i <= NODES; i++)
        set(i, state, "");
}

/* What was logged in so many seconds, looked at every second. */
static const char *pass(int seconds)
{
    lines[0] = '\0';
    for (int i = 0; i < seconds; i++)
        changes_turn(&changes, ++now_s * RL_NS_PER_S);
    return lines;
}

CASE(down_from_the_start,
     "A node that is down from the start is logged, and a majority that never was.")
{
    begin(REDLOCK_NODE_CONNECTING);
    set(1, REDLOCK_NODE_DOWN, "Connection refused");
    set(2, REDLOCK_NODE_DOWN, "Connection refused");
    CHECK_STR("node node-1 is down: Connection refused\n"
              "node node-2 is down: Connection refused\n",
              pass(5));
    set(3, REDLOCK_NODE_UP, "");
    CHECK_STR("quorum has no majority: 1 of 3 nodes vote, 2 are needed\n", pass(5));
}

CASE(flapping,
     "A flapping node has a line in ten seconds, which counts, and the last one is true.")
{
    int count = 0;

    begin(REDLOCK_NODE_UP);
    pass(60);
    noticed = 0;
    for (int i = 0; i < 61; i++) {
        set(1, i % 2 ? REDLOCK_NODE_UP : REDLOCK_NODE_DOWN, "Connection refused");
        count += pass(1)[0] != '\0';
    }
    CHECK_INT(61, noticed);
    CHECK(count >= 4 && count <= 7);
    pass(30);
    set(1, REDLOCK_NODE_UP, "");
    CHECK_STR("node node-1 is up and votes\n", pass(30));
    set(1, REDLOCK_NODE_DOWN, "Connection refused");
    CHECK_STR("node node-1 is down: Connection refused\n", pass(1));
    for (int i = 0; i < 3; i++) {
        set(1, i % 2 ? REDLOCK_NODE_DOWN : REDLOCK_NODE_UP, "Connection refused");
        CHECK_STR("", pass(1));
    }
    CHECK_STR("node node-1 is up and votes (3 changes since the last line about it)\n",
              pass(30));
}
