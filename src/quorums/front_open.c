/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening several quorums: all or none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "client/open.h"
#include "core/rendezvous.h"
#include "drive/detail.h"
#include "drive/next.h"
#include "quorums/front.h"

#define DETAIL_KEPT 640

static int check_name(const redlock_options *o, size_t index)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *name = o->quorums[index].name;
    size_t size = name ? strnlen(name, REDLOCK_QUORUM_MAX + 1) : 0;

    if (size == 0)
        return rl_detail(REDLOCK_INVAL, "quorum %zu has no name", index + 1);
    if (size > REDLOCK_QUORUM_MAX)
        return rl_detail(REDLOCK_INVAL, "the name of quorum %zu is longer than %d bytes",
                         index + 1, REDLOCK_QUORUM_MAX);
    if (strspn(name, allowed) != size)
        return rl_detail(REDLOCK_INVAL,
                         "the name of quorum %zu may have a-z, 0-9, '.', '_' and '-' only",
                         index + 1);
    for (size_t i = 0; i < index; i++)
        if (strcmp(o->quorums[i].name, name) == 0)
            return rl_detail(REDLOCK_INVAL, "two quorums are called '%s'", name);
    return REDLOCK_OK;
}

int rl_front_check(const redlock_options *o)
{
    if (o->node_count || o->nodes)
        return rl_detail(REDLOCK_INVAL,
                         "nodes and quorums are both given: nodes of several quorums belong to "
                         "one of them each");
    if (!o->quorums)
        return rl_detail(REDLOCK_INVAL, "quorums is NULL, but quorum_count is %zu",
                         o->quorum_count);
    if (o->quorum_count > REDLOCK_QUORUMS_MAX)
        return rl_detail(REDLOCK_INVAL, "%zu quorums; at most %d are allowed", o->quorum_count,
                         REDLOCK_QUORUMS_MAX);
    for (size_t i = 0; i < o->quorum_count; i++) {
        const redlock_quorum *quorum = &o->quorums[i];
        int error = check_name(o, i);

        if (error)
            return error;
        if (quorum->node_count == 0 || !quorum->nodes)
            return rl_detail(REDLOCK_INVAL, "quorum '%s' has no nodes", quorum->name);
        if (quorum->node_count > REDLOCK_NODES_MAX)
            return rl_detail(REDLOCK_INVAL, "quorum '%s' has %zu nodes; at most %d are allowed",
                             quorum->name, quorum->node_count, REDLOCK_NODES_MAX);
    }
    return REDLOCK_OK;
}

/* Of the set of names: the same in whatever order they come. */
uint64_t rl_front_fingerprint(const redlock_options *o)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < o->quorum_count; i++)
        sum += rl_rendezvous_quorum(
            (struct rl_slice){o->quorums[i].name, strlen(o->quorums[i].name)});
    return sum;
}

/* The members have read their URLs: no server may decide for two. */
static int check_apart(const redlock *a, const redlock *b)
{
    for (uint8_t i = 0; i < a->engine.policy.node_count; i++)
        for (uint8_t j = 0; j < b->engine.policy.node_count; j++)
            if (rl_same_place(&a->url[i], &b->url[j]))
                return rl_detail(REDLOCK_INVAL,
                                 "%s is in the quorums '%s' and '%s'; every quorum needs "
                                 "servers of its own",
                                 a->url[i].printable, a->quorum_name, b->quorum_name);
    return REDLOCK_OK;
}

static bool has_tls(const redlock_quorum *quorum)
{
    bool tls = false;

    for (size_t i = 0; i < quorum->node_count && !tls; i++) {
        struct rl_url url;
        char why[256];

        /* What is wrong with a URL is said when its member is opened. */
        tls = quorum->nodes[i] && rl_url_parse(quorum->nodes[i], &url, why, sizeof why) == 0 &&
              url.tls;
        rl_url_wipe(&url);
    }
    return tls;
}

/* TLS files are an error where no node uses them; of several quorums one that does is enough. */
static bool some_tls(const redlock_options *o)
{
    for (size_t i = 0; i < o->quorum_count; i++)
        if (has_tls(&o->quorums[i]))
            return true;
    return false;
}

static int open_member(const redlock_options *o, size_t index, struct rl_front *front)
{
    const redlock_quorum *quorum = &o->quorums[index];
    struct rl_membership membership = {
        .group = front,
        .reader = front->client->reader,
        .index = (uint32_t)index,
        .name = quorum->name,
        .set = rl_front_fingerprint(o),
    };
    redlock_options own = *o;
    int error;

    own.nodes = quorum->nodes;
    own.node_count = quorum->node_count;
    own.quorums = NULL;
    own.quorum_count = 0;
    if (!has_tls(quorum) && some_tls(o))
        own.tls_ca_file = own.tls_cert_file = own.tls_key_file = NULL;
    error = rl_client_open(&own, &membership, &front->member[index]);
    if (error) {
        char detail[DETAIL_KEPT];

        strncpy(detail, redlock_detail(), sizeof detail - 1);
        detail[sizeof detail - 1] = '\0';
        return rl_detail(error, "quorum '%s': %s", quorum->name, detail);
    }
    front->seed[index] =
        rl_rendezvous_quorum((struct rl_slice){quorum->name, strlen(quorum->name)});
    front->count++;
    for (size_t i = 0; i < index && !error; i++)
        error = check_apart(front->member[i], front->member[index]);
    return error;
}

static int watch_members(struct rl_front *front)
{
    front->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (front->epoll_fd < 0)
        return rl_detail_system("setting up the event loop", errno);
    for (size_t i = 0; i < front->count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};

        if (epoll_ctl(front->epoll_fd, EPOLL_CTL_ADD, front->member[i]->reactor.epoll_fd,
                      &event) < 0)
            return rl_detail_system("setting up the event loop", errno);
        front->member[i]->wait = rl_front_wait;
    }
    return REDLOCK_OK;
}

int rl_front_open(const redlock_options *o, redlock **out)
{
    struct rl_front *front = calloc(1, sizeof *front);
    redlock *client = calloc(1, sizeof *client);
    int error = REDLOCK_OK;

    if (client)
        client->reader = rl_reader_new();
    if (!front || !client || !client->reader) {
        if (client)
            rl_reader_free(client->reader);
        free(front);
        free(client);
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    client->stamp = rl_process_stamp();
    client->front = front;
    client->group = front;
    client->prefix_size = strlen(o->prefix);
    memcpy(client->prefix, o->prefix, client->prefix_size);
    front->client = client;
    front->epoll_fd = -1;
    for (size_t i = 0; i < o->quorum_count && !error; i++)
        error = open_member(o, i, front);
    if (!error && !(o->flags & REDLOCK_THREAD))
        error = watch_members(front);
    if (error) {
        char detail[DETAIL_KEPT + 64];

        /* Closing is full of calls that may have something to say. */
        strncpy(detail, redlock_detail(), sizeof detail - 1);
        detail[sizeof detail - 1] = '\0';
        rl_front_close(client);
        return rl_detail(error, "%s", detail);
    }
    *out = client;
    return REDLOCK_OK;
}
