/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's beginning. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/open.h"
#include "drive/detail.h"
#include "drive/next.h"
#include "drive/order.h"
#include "drive/thread.h"
#include "drive/trace.h"
#include "drive/turn.h"
#include "io/clock.h"
#include "io/exposed.h"

#define PASSWORD_MAX 512

static int copy_text(const char *text, char **out)
{
    if (!text)
        return REDLOCK_OK;
    *out = strdup(text);
    return *out ? REDLOCK_OK : rl_detail(REDLOCK_NOMEM, "out of memory");
}

/* The first line of the file. */
static int read_password_file(const char *path, char **out)
{
    char line[PASSWORD_MAX + 2] = "";
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool exposed = fd >= 0 && fstat(fd, &info) == 0 && rl_file_is_exposed(&info);
    ssize_t got = fd < 0 || exposed ? -1 : read(fd, line, sizeof line - 1);
    int failure = errno;
    int error;

    if (fd >= 0)
        close(fd);
    if (exposed)
        return rl_detail(REDLOCK_INVAL,
                         "others can write to the password file %s: give it to this user or "
                         "to root, and chmod go-w",
                         path);
    if (got < 0)
        return rl_detail(REDLOCK_INVAL, "cannot read the password file %s: %s", path,
                         strerror(failure));
    line[strcspn(line, "\r\n")] = '\0';
    if (!line[0])
        error = rl_detail(REDLOCK_INVAL, "the password file %s has an empty first line", path);
    else if (strlen(line) > PASSWORD_MAX)
        error = rl_detail(REDLOCK_INVAL, "the password in %s is longer than %d bytes", path,
                          PASSWORD_MAX);
    else
        error = copy_text(line, out);
    explicit_bzero(line, sizeof line);
    return error;
}

static int copy_texts(redlock *client, const redlock_options *o)
{
    int error = copy_text(o->username, &client->username);

    if (!error)
        error = o->password_file ? read_password_file(o->password_file, &client->password)
                                 : copy_text(o->password, &client->password);
    if (!error)
        error = copy_text(o->client_name, &client->client_name);
    if (!error)
        error = copy_text(o->tls_server_name, &client->tls_server_name);
    client->prefix_size = strlen(o->prefix);
    memcpy(client->prefix, o->prefix, client->prefix_size + 1);
    return error;
}

bool rl_same_place(const struct rl_url *a, const struct rl_url *b)
{
    if (a->is_unix != b->is_unix)
        return false;
    if (a->is_unix)
        return strcmp(a->path, b->path) == 0;
    return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

static int read_urls(redlock *client, const redlock_options *o)
{
    char why[256];

    for (size_t i = 0; i < o->node_count; i++) {
        if (!o->nodes[i])
            return rl_detail(REDLOCK_INVAL, "the URL of node %zu is NULL", i + 1);
        if (rl_url_parse(o->nodes[i], &client->url[i], why, sizeof why) < 0)
            return rl_detail(REDLOCK_INVAL, "node %zu: %s", i + 1, why);
        /* One server with two votes would make a majority of itself. */
        for (size_t j = 0; j < i; j++)
            if (rl_same_place(&client->url[i], &client->url[j]))
                return rl_detail(REDLOCK_INVAL,
                                 "nodes %zu and %zu are the same server, %s; every node must "
                                 "be an independent one",
                                 j + 1, i + 1, client->url[i].printable);
    }
    return REDLOCK_OK;
}

static int set_up_tls(redlock *client, const redlock_options *o)
{
    char why[256];

    for (size_t i = 0; i < o->node_count; i++) {
        if (!client->url[i].tls)
            continue;
        if (rl_tls_context_new(o->tls_ca_file, o->tls_cert_file, o->tls_key_file, why,
                               sizeof why, &client->tls) < 0)
            return rl_detail(REDLOCK_INVAL, "TLS: %s", why);
        return REDLOCK_OK;
    }
    if (o->tls_ca_file || o->tls_cert_file)
        return rl_detail(REDLOCK_INVAL,
                         "TLS files are given but no node has a rediss:// or valkeys:// URL");
    return REDLOCK_OK;
}

static void set_policy(redlock *client, const redlock_options *o)
{
    client->flags = o->flags;
    client->max_ttl_ms = o->max_ttl_ms;
    client->notify = o->notify;
    client->engine.max_ttl_ns = (int64_t)o->max_ttl_ms * RL_NS_PER_MS;
    client->engine.guard_mode = o->flags & REDLOCK_NO_GUARD ? RL_GUARD_OFF
                                : o->flags & REDLOCK_STRICT ? RL_GUARD_STRICT
                                                            : RL_GUARD_DEFAULT;
    client->engine.random = rl_entropy_jitter;
    client->engine.secret = rl_entropy_draw;
    client->engine.wall_ms = rl_wall_ms;
    client->engine.random_data = &client->entropy;
    client->engine.stall_ns = rl_link_stall_ns((int64_t)o->node_timeout_ms * RL_NS_PER_MS);
    client->engine.policy = (struct rl_policy){
        .node_count = (uint8_t)o->node_count,
        .quorum = rl_quorum((uint8_t)o->node_count),
        .all_nodes = rl_all_nodes((uint8_t)o->node_count),
        .drift_ppm = o->drift_ppm,
        .node_timeout_ns = (int64_t)o->node_timeout_ms * RL_NS_PER_MS,
        .retry_min_ns = (int64_t)o->retry_min_ms * RL_NS_PER_MS,
        .retry_max_ns = (int64_t)o->retry_max_ms * RL_NS_PER_MS,
    };
}

static void set_up_conn(redlock *client, struct rl_conn *conn, uint8_t i,
                        const redlock_options *o)
{
    const struct rl_url *url = &client->url[i];

    conn->link.engine = &client->engine;
    conn->link.node = i;
    conn->link.connect_timeout_ns = (int64_t)o->connect_timeout_ms * RL_NS_PER_MS;
    conn->reactor = &client->reactor;
    conn->url = url;
    conn->tls_context = url->tls ? client->tls : NULL;
    conn->tls_name = client->tls_server_name ? client->tls_server_name : url->host;
}

static void set_up_node(redlock *client, uint8_t i, const redlock_options *o)
{
    const struct rl_url *url = &client->url[i];
    struct rl_node *node = &client->engine.node[i];

    node->login = (struct rl_login){
        .user = url->has_user ? url->user : client->username,
        .password = url->has_password ? url->password : client->password,
        .database = url->db,
        .client_name = client->client_name,
        .probe_native = !(o->flags & REDLOCK_NO_NATIVE),
    };
    memcpy(node->address, url->printable, sizeof node->address);
    set_up_conn(client, &client->conn[i], i, o);
    set_up_conn(client, &client->subscriber[i], i, o);
    client->subscriber[i].link.is_subscriber = true;
}

static int set_up_trace(redlock *client, const redlock_options *o)
{
    const char *path = o->trace_file ? o->trace_file : secure_getenv("REDLOCK_TRACE");

    return path && *path ? rl_trace_open(client, path) : REDLOCK_OK;
}

static int set_up(redlock *client, const redlock_options *o)
{
    int error;

    if (!client->reader)
        client->reader = rl_reader_new();
    if (!client->reader)
        return rl_detail_system("making a descriptor for the events", errno);
    set_policy(client, o);
    error = copy_texts(client, o);
    if (!error)
        error = read_urls(client, o);
    if (!error)
        error = set_up_tls(client, o);
    if (!error)
        error = set_up_trace(client, o);
    if (error)
        return error;
    for (uint8_t i = 0; i < o->node_count; i++)
        set_up_node(client, i, o);
    if (rl_entropy_init(&client->entropy) < 0)
        return rl_detail_system("reading randomness", errno);
    error = rl_engine_init(&client->engine);
    if (error == REDLOCK_SYSTEM)
        return rl_detail_system("reading randomness", errno);
    if (error)
        return rl_detail(error, "out of memory");
    if (rl_reactor_init(&client->reactor) < 0)
        return rl_detail_system("setting up the event loop", errno);
    /* Connecting begins here, so that requests can be queued behind it from now on. */
    rl_tick(client, rl_now_ns());
    rl_wake(client);
    return o->flags & REDLOCK_THREAD ? rl_thread_start(client) : REDLOCK_OK;
}

/* Setting the clock must not move a wait on it. */
static void init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

int rl_client_open(const redlock_options *o, const struct rl_membership *membership,
                   redlock **out)
{
    redlock *client = calloc(1, sizeof *client);
    int error;

    if (!client)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    client->references = 1;
    client->stamp = rl_process_stamp();
    client->group = membership->group;
    client->reader = membership->reader;
    client->quorum_index = membership->index;
    memcpy(client->quorum_name, membership->name, strlen(membership->name) + 1);
    if (membership->name[0])
        snprintf(client->placement, sizeof client->placement, "%s@%016" PRIx64,
                 membership->name, membership->set);
    client->engine.placement = (struct rl_slice){client->placement, strlen(client->placement)};
    client->reactor = (struct rl_reactor){-1, -1, -1, RL_NEVER_NS, false};
    atomic_init(&client->dozing, true);
    for (int i = 0; i < REDLOCK_NODES_MAX; i++) {
        rl_conn_init(&client->conn[i]);
        rl_conn_init(&client->subscriber[i]);
    }
    rl_questions_init(client);
    rl_events_init(client);
    pthread_mutex_init(&client->mutex, NULL);
    init_cond(&client->turn_cond);
    error = set_up(client, o);
    if (error) {
        rl_client_tear_down(client);
        pthread_mutex_lock(&client->mutex);
        client->references--;
        rl_client_leave(client);
        return error;
    }
    *out = client;
    return REDLOCK_OK;
}
