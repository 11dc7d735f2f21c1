/* SPDX-License-Identifier: BSD-2-Clause */
/* A client's beginning. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/slice.h"
#include "client/calls.h"
#include "io/clock.h"

static int copy_text(const char *text, char **out)
{
    if (!text)
        return REDLOCK_OK;
    *out = strdup(text);
    return *out ? REDLOCK_OK : rl_detail(REDLOCK_NOMEM, "out of memory");
}

static int open_secret(struct rl_secret *secret, const char *text, const char *path,
                       const char *command, uint32_t max_age_ms)
{
    char why[RL_SECRET_WHY_MAX];
    int error =
        rl_secret_open(secret, text, path, command, max_age_ms * (int64_t)RL_NS_PER_MS, why);

    if (error == EINVAL)
        return rl_detail(REDLOCK_INVAL, "%s", why);
    return error ? rl_detail(REDLOCK_NOMEM, "out of memory") : REDLOCK_OK;
}

static int copy_texts(redlock *client, const redlock_options *o)
{
    int error = copy_text(o->username, &client->username);

    if (!error)
        error = copy_text(o->sentinel_username, &client->sentinel_username);
    if (!error)
        error = open_secret(&client->sentinel_password, o->sentinel_password,
                            o->sentinel_password_file, o->sentinel_password_command,
                            o->password_max_age_ms);
    if (!error)
        error = open_secret(&client->password, o->password, o->password_file,
                            o->password_command, o->password_max_age_ms);
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
    return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0 &&
           strcmp(a->sentinels, b->sentinels) == 0 && strcmp(a->group, b->group) == 0;
}

/* As many nodes as it has votes, of which the first has been read. */
static int add_votes(redlock *client, const struct rl_url *url)
{
    struct rl_policy *policy = &client->engine.policy;
    uint8_t vote_count = url->vote_count ? url->vote_count : 1;

    if (policy->node_count + vote_count > REDLOCK_NODES_MAX)
        return rl_detail(REDLOCK_INVAL, "the nodes have more than %d votes together",
                         REDLOCK_NODES_MAX);
    for (uint8_t vote = 0; vote < vote_count; vote++) {
        struct rl_url *added = &client->url[policy->node_count++];

        *added = *url;
        if (url->vote_count)
            rl_url_choose_vote(added, vote);
        /* One server with two votes would make a majority of itself. */
        for (uint8_t i = 0; i + 1 < policy->node_count; i++)
            if (rl_same_place(added, &client->url[i]))
                return rl_detail(REDLOCK_INVAL,
                                 "nodes %u and %u are the same server, %s; every node must "
                                 "be an independent one",
                                 i + 1u, policy->node_count + 0u, added->printable);
    }
    return REDLOCK_OK;
}

static int read_urls(redlock *client, const redlock_options *o)
{
    struct rl_policy *policy = &client->engine.policy;
    char why[256];
    int error = REDLOCK_OK;

    for (size_t i = 0; i < o->node_count && !error; i++) {
        struct rl_url url;

        if (!o->nodes[i])
            return rl_detail(REDLOCK_INVAL, "the URL of node %zu is NULL", i + 1);
        if (rl_url_parse(o->nodes[i], &url, why, sizeof why) < 0)
            return rl_detail(REDLOCK_INVAL, "node %zu: %s", i + 1, why);
        error = add_votes(client, &url);
        rl_url_wipe(&url);
    }
    policy->quorum = rl_quorum(policy->node_count);
    policy->all_nodes = rl_all_nodes(policy->node_count);
    return error;
}

static int set_up_tls(redlock *client, const redlock_options *o)
{
    char why[256];

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        if (!client->url[i].tls && !client->url[i].sentinel_tls)
            continue;
        if (rl_tls_context_new(o->tls_ca_file, o->tls_cert_file, o->tls_key_file, why,
                               sizeof why, &client->tls) < 0)
            return rl_detail(REDLOCK_INVAL, "TLS: %s", why);
        return REDLOCK_OK;
    }
    if (o->tls_ca_file || o->tls_cert_file)
        return rl_detail(REDLOCK_INVAL,
                         "TLS files are given but no node has a rediss://, valkeys://, "
                         "sentinels:// or clusters:// URL");
    return REDLOCK_OK;
}

static void set_policy(redlock *client, const redlock_options *o)
{
    client->flags = o->flags;
    client->profile =
        o->profile ? (enum redlock_profile)o->profile : REDLOCK_PROFILE_EFFICIENCY;
    client->engine.requires_safety = client->profile == REDLOCK_PROFILE_CORRECTNESS;
    client->max_ttl_ms = o->max_ttl_ms;
    client->notify = o->notify;
    client->engine.max_ttl_ns = (int64_t)o->max_ttl_ms * RL_NS_PER_MS;
    client->engine.guard_mode = o->flags & REDLOCK_NO_GUARD ? RL_GUARD_OFF
                                : o->flags & REDLOCK_STRICT || client->engine.requires_safety
                                    ? RL_GUARD_STRICT
                                    : RL_GUARD_DEFAULT;
    client->engine.random = rl_entropy_jitter;
    client->engine.secret = rl_entropy_draw;
    client->engine.wall_ms = rl_wall_ms;
    client->engine.random_data = &client->entropy;
    client->engine.stall_ns = rl_link_stall_ns((int64_t)o->node_timeout_ms * RL_NS_PER_MS);
    client->engine.policy = (struct rl_policy){
        .drift_ppm = o->drift_ppm,
        .node_timeout_ns = (int64_t)o->node_timeout_ms * RL_NS_PER_MS,
        .retry_min_ns = (int64_t)o->retry_min_ms * RL_NS_PER_MS,
        .retry_max_ns = (int64_t)o->retry_max_ms * RL_NS_PER_MS,
    };
}

static void set_up_electors(redlock *client, uint8_t i, const redlock_options *o)
{
    const struct rl_url *group = &client->url[i];
    struct rl_node *node = &client->engine.node[i];
    struct rl_elected *elected = node->elected;
    struct rl_url place;

    elected->electors.count = group->sentinel_count;
    elected->login = (struct rl_login){
        .user = client->sentinel_username,
        .password = client->sentinel_password.text,
        .awaits_password = client->sentinel_password.is_changing,
        .client_name = client->client_name,
        .group = group->group,
    };
    if (group->vote_count) {
        /* They are servers like those that vote. */
        elected->login = node->login;
        elected->login.vote_count = group->vote_count;
        elected->home = client->engine.node[i - group->vote].elected;
        elected->vote = group->vote;
        snprintf(elected->tag, sizeof elected->tag, RL_RESERVED_PREFIX "{%.*s}",
                 (int)(RL_TAG_MAX - sizeof RL_RESERVED_PREFIX "{}"), group->group);
        node->login.tag = elected->tag;
    }
    for (uint8_t k = 0; k < group->sentinel_count; k++) {
        rl_url_sentinel(group, k, &place);
        memcpy(elected->address[k], place.printable, sizeof elected->address[k]);
    }
    if (group->vote > 0)
        return;
    for (uint8_t k = 0; k < group->sentinel_count; k++) {
        struct rl_conn *conn = &client->elector[client->elector_count];
        struct rl_url *url = &client->elector_url[client->elector_count++];

        rl_url_sentinel(group, k, url);
        rl_conn_init(conn);
        conn->link.engine = &client->engine;
        conn->link.node = i;
        conn->link.role = RL_LINK_ELECTOR;
        conn->link.elector = k;
        conn->link.connect_timeout_ns = (int64_t)o->connect_timeout_ms * RL_NS_PER_MS;
        conn->reactor = &client->reactor;
        conn->url = url;
        conn->tls_context = url->tls ? client->tls : NULL;
        conn->tls_name = client->tls_server_name;
        if (elected->login.awaits_password)
            conn->secret = group->vote_count ? &client->password : &client->sentinel_password;
    }
}

/*
 * The set of a client with Sentinel groups shows it: one that names a server of theirs by its
 * address has no electors, and must not count it (G8).
 */
static void place_groups(redlock *client, unsigned group_count, bool are_of_clusters)
{
    size_t size = strlen(client->placement);

    snprintf(client->placement + size, sizeof client->placement - size, "%s%x",
             size              ? "+"
             : are_of_clusters ? "@cluster"
                               : "@sentinel",
             group_count); /* of 15 at most: one digit */
    client->engine.placement = rl_slice_of(client->placement);
}

/* Room for the electors of all nodes that are Sentinel groups; they make the client strict. */
static int make_electors(redlock *client)
{
    size_t count = 0;
    unsigned group_count = 0;
    bool are_of_clusters = true;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        if (client->url[i].sentinel_count == 0)
            continue;
        if (client->url[i].vote == 0)
            count += client->url[i].sentinel_count;
        group_count++;
        are_of_clusters &= client->url[i].vote_count > 0;
        client->engine.node[i].elected = calloc(1, sizeof(struct rl_elected));
        if (!client->engine.node[i].elected)
            return rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    if (count == 0)
        return REDLOCK_OK;
    client->elector = calloc(count, sizeof *client->elector);
    client->elector_url = calloc(count, sizeof *client->elector_url);
    if (!client->elector || !client->elector_url)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    place_groups(client, group_count, are_of_clusters);
    if (client->engine.guard_mode != RL_GUARD_OFF)
        client->engine.guard_mode = RL_GUARD_STRICT;
    return REDLOCK_OK;
}

static void set_up_node(redlock *client, uint8_t i, const redlock_options *o)
{
    const struct rl_url *url = &client->url[i];
    struct rl_node *node = &client->engine.node[i];
    struct rl_conn *conns[] = {&client->conn[i], &client->subscriber[i]};

    node->login = (struct rl_login){
        .user = url->has_user ? url->user : client->username,
        .password = url->has_password ? url->password : client->password.text,
        .awaits_password = !url->has_password && client->password.is_changing,
        .database = url->db,
        .client_name = client->client_name,
        .probe_native = !(o->flags & REDLOCK_NO_NATIVE),
    };
    memcpy(node->address, url->printable, sizeof node->address);
    for (int k = 0; k < 2; k++) {
        conns[k]->link.engine = &client->engine;
        conns[k]->link.node = i;
        conns[k]->link.connect_timeout_ns = (int64_t)o->connect_timeout_ms * RL_NS_PER_MS;
        conns[k]->link.role = k == 1 ? RL_LINK_SUBSCRIBER : RL_LINK_NODE;
        conns[k]->reactor = &client->reactor;
        conns[k]->url = url;
        conns[k]->tls_context = url->tls ? client->tls : NULL;
        conns[k]->tls_name = client->tls_server_name;
        if (node->login.awaits_password)
            conns[k]->secret = &client->password;
    }
    if (node->elected)
        set_up_electors(client, i, o);
}

static int set_up(redlock *client, const redlock_options *o)
{
    const char *trace_file = o->trace_file ? o->trace_file : secure_getenv("REDLOCK_TRACE");
    int error;

    if (!client->is_member) {
        client->reader = rl_reader_new();
        if (!client->reader)
            return rl_detail_system("making a descriptor for the events", errno);
        client->reader->member[client->reader->count++] = client;
    }
    set_policy(client, o);
    error = copy_texts(client, o);
    if (!error)
        error = read_urls(client, o);
    if (!error)
        error = set_up_tls(client, o);
    if (!error)
        error = make_electors(client);
    if (!error && trace_file && *trace_file)
        error = rl_trace_open(client, trace_file);
    if (error)
        return error;
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
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
    client->password.wake_fd = client->sentinel_password.wake_fd = client->reactor.wake_fd;
    if (!client->is_member && !(o->flags & REDLOCK_THREAD))
        client->reader->driven_fd = client->reactor.epoll_fd;
    /* Connecting begins here, so that requests can be queued behind it from now on. */
    rl_tick(client, rl_now_ns());
    rl_wake(client);
    return o->flags & REDLOCK_THREAD ? rl_thread_start(client) : REDLOCK_OK;
}

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void rl_client_tear_down(redlock *client)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        rl_conn_close(&client->conn[i]);
        rl_conn_close(&client->subscriber[i]);
        rl_url_wipe(&client->url[i]);
    }
    for (uint32_t i = 0; i < client->elector_count; i++)
        rl_conn_close(&client->elector[i]);
    rl_engine_free(&client->engine);
    free(client->elector);
    free(client->elector_url);
    rl_trace_close(client->engine.trace);
    rl_reactor_free(&client->reactor);
    rl_tls_context_free(client->tls);
    wipe(&client->username);
    wipe(&client->sentinel_username);
    rl_secret_close(&client->password);
    rl_secret_close(&client->sentinel_password);
    wipe(&client->client_name);
    wipe(&client->tls_server_name);
    explicit_bzero(&client->entropy, sizeof client->entropy);
    rl_pool_close(&client->kept_locks);
    if (!client->is_member)
        rl_reader_free(client->reader);
}

int rl_client_open(const redlock_options *o, const struct rl_member_terms *terms, redlock **out)
{
    redlock *client = calloc(1, sizeof *client);
    pthread_condattr_t attributes;
    int error;

    if (!client)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    client->references = 1;
    client->stamp = rl_process_stamp();
    client->is_member = terms->reader;
    client->reader = terms->reader;
    client->quorum_index = terms->index;
    memcpy(client->quorum_name, terms->name, strlen(terms->name) + 1);
    if (terms->name[0]) {
        snprintf(client->of_quorum, sizeof client->of_quorum, " of quorum '%s'",
                 client->quorum_name);
        snprintf(client->placement, sizeof client->placement, "%s@%016" PRIx64, terms->name,
                 terms->set);
    }
    client->engine.placement = rl_slice_of(client->placement);
    client->reactor = (struct rl_reactor){-1, -1, -1, RL_NEVER_NS, false};
    atomic_init(&client->dozing, true);
    for (int i = 0; i < REDLOCK_NODES_MAX; i++) {
        rl_conn_init(&client->conn[i]);
        rl_conn_init(&client->subscriber[i]);
    }
    rl_jobs_init(client);
    TAILQ_INIT(&client->events.urgent);
    TAILQ_INIT(&client->events.others);
    pthread_mutex_init(&client->mutex, NULL);
    /* Setting the clock must not move a wait on it. */
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->driver_cond, &attributes);
    pthread_cond_init(&client->relief.wake_cond, &attributes);
    pthread_condattr_destroy(&attributes);
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
