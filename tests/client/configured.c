/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that names no nodes: redlock_open(NULL) and options without nodes take what they
 * leave open from the environment and the configuration file, as the command does.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "invalid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "sEcReT-0815"

static redlock *const untouched = (redlock *)(uintptr_t)0x5a5a;

/*
 * No variable of the user that runs the tests counts; the usual files are in the case's
 * directory.
 */
static void clean_environment(void)
{
    unsetenv("REDLOCK_NODES");
    unsetenv("REDLOCK_PASSWORD");
    unsetenv("REDLOCK_CONFIG");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", check_dir(), 1);
}

/* Writes the configuration file that REDLOCK_CONFIG names; its path. */
static const char *configure(const char *text)
{
    static char path[512];
    FILE *file;
    snprintf(path, sizeof path, "%s/given.conf", check_dir());
    file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    CHECK(chmod(path, 0600) == 0);
    setenv("REDLOCK_CONFIG", path, 1);
    return path;
}

/* The cluster's nodes, as REDLOCK_NODES and a line of the file have them. */
static void list_nodes(const struct cluster *c, char *out, size_t size)
{
    redlock_options o = client_options(c);
    size_t used = 0;
    for (size_t i = 0; i < o.node_count; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "," : "", o.nodes[i]);
}

static void expect_node(redlock *r, size_t index, const char *address)
{
    CHECK_STR(address, client_node(r, index).address);
}

CASE(null_takes_the_environment, "redlock_open(NULL) locks on the nodes of REDLOCK_NODES.")
{
    struct cluster c;
    char list[1024], text[1200];
    redlock *r = NULL;
    redlock_lock *lock;
    clean_environment();
    cluster_start(&c, 3);
    list_nodes(&c, list, sizeof list);
    setenv("REDLOCK_NODES", list, 1);
    configure("node-timeout = 2s\nnodes = 127.0.0.1:1\nprefix = mine:\n");
    CHECK_OK(redlock_open(NULL, &r));
    client_warm(r);
    lock = client_lock(r, "x", 5000);
    CHECK_INT(1, server_int(&c.node[0], "EXISTS", "mine:x", NULL));
    client_unlock(lock);
    redlock_close(r);
    snprintf(text, sizeof text, "nodes = %s\n", list);
    configure(text);
    unsetenv("REDLOCK_NODES");
    CHECK_OK(redlock_open(NULL, &r));
    for (size_t i = 0; i < 3; i++)
        expect_node(r, i, strstr(c.urls[i], "127"));
    redlock_close(r);
}

CASE(options_go_before_the_file,
     "What the options set goes before the file, which gives the rest.")
{
    struct cluster c;
    char list[1024], text[1200];
    redlock *r = NULL;
    redlock_options o;
    redlock_lock *lock;
    clean_environment();
    cluster_start(&c, 1);
    list_nodes(&c, list, sizeof list);
    snprintf(text, sizeof text, "nodes = %s\nprefix = file:\nnode-timeout = 2s\n", list);
    o = (redlock_options)REDLOCK_OPTIONS(.flags = REDLOCK_THREAD,
                                         .prefix = "program:", .config_file = configure(text));
    setenv("REDLOCK_CONFIG", "/nonexistent", 1);
    CHECK_OK(redlock_open(&o, &r));
    client_warm(r);
    lock = client_lock(r, "x", 5000);
    CHECK_INT(1, server_int(&c.node[0], "EXISTS", "program:x", NULL));
    client_unlock(lock);
    redlock_close(r);
}

CASE(quorums_of_the_configuration, "Quorums are taken from the configuration by name.")
{
    redlock *r = NULL;
    redlock_node_info info = REDLOCK_NODE_INFO();
    clean_environment();
    setenv("REDLOCK_NODES", "east=127.0.0.1:1,127.0.0.1:2;west=127.0.0.1:3", 1);
    configure("");
    CHECK_OK(redlock_open(NULL, &r));
    CHECK_OK(redlock_node(r, 2, &info));
    CHECK_STR("127.0.0.1:3", info.address);
    CHECK_STR("west", info.quorum_name);
    CHECK(redlock_member(r, 1) && !redlock_member(r, 2));
    redlock_close(r);
}

CASE(no_nodes, "Without nodes anywhere opening fails and says where they were looked for.")
{
    redlock *r = untouched;
    redlock_options o = REDLOCK_OPTIONS();
    const char *path;
    clean_environment();
    if (access("/etc/redlock.conf", F_OK) == 0)
        check_skip("this machine has a configuration of its own");
    CHECK_ERR(REDLOCK_INVAL, redlock_open(NULL, &r));
    CHECK_HAS("no nodes: set REDLOCK_NODES, or nodes in redlock.conf (looked in ",
              redlock_detail());
    CHECK_HAS("/.config/redlock/redlock.conf and /etc/redlock.conf)", redlock_detail());
    path = configure("prefix = a:\n");
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    CHECK_HAS(path, redlock_detail());
    CHECK_LACKS("/etc/redlock.conf", redlock_detail());
    CHECK(r == untouched);
}

CASE(mistakes, "Mistakes of the configuration are INVAL, with their place and without secrets.")
{
    redlock *r = untouched;
    char text[512];
    clean_environment();
    configure("nodes = 127.0.0.1:1\nnoddes = x\n");
    INVALID(redlock_open(NULL, &r));
    CHECK_HAS("given.conf:2: unknown key 'noddes'; did you mean 'nodes'?", redlock_detail());
    configure("nodes = redis://u:" SECRET "@127.0.0.1:99999\n");
    INVALID(redlock_open(NULL, &r));
    CHECK_LACKS(SECRET, redlock_detail());
    configure("redis://u:" SECRET "@127.0.0.1:1\n");
    INVALID(redlock_open(NULL, &r));
    CHECK_LACKS(SECRET, redlock_detail());
    configure("ttl = " SECRET "@x\n");
    INVALID(redlock_open(NULL, &r));
    CHECK_LACKS(SECRET, redlock_detail());
    snprintf(text, sizeof text, "nodes = 127.0.0.1:1\npassword-file = %s/none\n", check_dir());
    configure(text);
    INVALID(redlock_open(NULL, &r));
    CHECK_HAS("password-file: cannot read ", redlock_detail());
    setenv("REDLOCK_NODES", "", 1);
    configure("nodes = 127.0.0.1:1\n");
    INVALID(redlock_open(NULL, &r));
    CHECK_HAS("REDLOCK_NODES names no node", redlock_detail());
    unsetenv("REDLOCK_NODES");
    CHECK(chmod(configure("nodes = 127.0.0.1:1\n"), 0622) == 0);
    INVALID(redlock_open(NULL, &r));
    CHECK_HAS("others can write to the configuration file", redlock_detail());
    setenv("REDLOCK_CONFIG", "/nonexistent", 1);
    INVALID(redlock_open(NULL, &r));
    CHECK(r == untouched);
}

CASE(exposed_secret_is_warned_about,
     "A password that others can read is warned about, unprinted.")
{
    redlock *r = NULL;
    const redlock_event *event;
    const char *path;
    clean_environment();
    path = configure("nodes = redis://u:" SECRET "@127.0.0.1:1\n");
    CHECK(chmod(path, 0644) == 0);
    CHECK_OK(redlock_open(NULL, &r));
    CHECK((event = next_event(r, GIVE_UP_MS)) != NULL);
    CHECK_INT(REDLOCK_EVENT_WARNING, event->type);
    CHECK_HAS("given.conf", event->address);
    CHECK_HAS("others can read the password; forbid it with: chmod", event->detail);
    CHECK_LACKS(SECRET, event->detail);
    redlock_close(r);
}

CASE(given_nodes_ask_nothing, "Options that name nodes look at neither environment nor file.")
{
    static const char *const nodes[] = {"127.0.0.1:7"};
    redlock_options o = REDLOCK_OPTIONS(.nodes = nodes, .node_count = 1);
    redlock *r = NULL;
    redlock_node_info info = REDLOCK_NODE_INFO();
    clean_environment();
    setenv("REDLOCK_NODES", "127.0.0.1:1,127.0.0.1:2", 1);
    setenv("REDLOCK_CONFIG", "/nonexistent", 1);
    CHECK_OK(redlock_open(&o, &r));
    expect_node(r, 0, "127.0.0.1:7");
    CHECK_ERR(REDLOCK_INVAL, redlock_node(r, 1, &info));
    redlock_close(r);
}
