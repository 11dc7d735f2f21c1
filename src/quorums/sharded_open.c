/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening several quorums: all or none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/slice.h"
#include "client/calls.h"
#include "core/rendezvous.h"
#include "quorums/sharded.h"

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

int rl_sharded_check(const redlock_options *o)
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
uint64_t rl_sharded_fingerprint(const redlock_options *o)
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

static bool has_tls(const redlock_quorum *quorums, size_t count)
{
    bool tls = false;

    for (size_t k = 0; k < count && !tls; k++)
        for (size_t i = 0; i < quorums[k].node_count && !tls; i++) {
            const char *node = quorums[k].nodes[i];
            struct rl_url url;
            char why[256];

            /* What is wrong with a URL is reported when its member is opened. */
            tls = node && rl_url_parse(node, &url, why, sizeof why) == 0 && url.tls;
            rl_url_wipe(&url);
        }
    return tls;
}

static int open_member(const redlock_options *o, size_t index, struct rl_reader *reader)
{
    const redlock_quorum *quorum = &o->quorums[index];
    struct rl_member_terms terms = {
        .reader = reader,
        .index = (uint32_t)index,
        .name = quorum->name,
        .set = rl_sharded_fingerprint(o),
    };
    redlock_options own = *o;
    redlock *member;
    int error;

    own.nodes = quorum->nodes;
    own.node_count = quorum->node_count;
    own.quorums = NULL;
    own.quorum_count = 0;
    /* TLS files are an error where no node uses them; here one quorum that does is enough. */
    if (!has_tls(quorum, 1) && has_tls(o->quorums, o->quorum_count))
        own.tls_ca_file = own.tls_cert_file = own.tls_key_file = NULL;
    error = rl_client_open(&own, &terms, &member);
    if (error) {
        char detail[DETAIL_KEPT];

        snprintf(detail, sizeof detail, "%s", redlock_detail());
        return rl_detail(error, "quorum '%s': %s", quorum->name, detail);
    }
    member->quorum_seed = rl_rendezvous_quorum(rl_slice_of(quorum->name));
    reader->member[reader->count++] = member;
    for (size_t i = 0; i < index && !error; i++)
        error = check_apart(reader->member[i], member);
    return error;
}

static int watch_members(struct rl_reader *reader)
{
    reader->driven_fd = epoll_create1(EPOLL_CLOEXEC);
    if (reader->driven_fd < 0)
        return rl_detail_system("setting up the event loop", errno);
    for (size_t i = 0; i < reader->count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};

        if (epoll_ctl(reader->driven_fd, EPOLL_CTL_ADD, reader->member[i]->reactor.epoll_fd,
                      &event) < 0)
            return rl_detail_system("setting up the event loop", errno);
        reader->member[i]->is_shared = true;
    }
    return REDLOCK_OK;
}

int rl_sharded_open(const redlock_options *o, redlock **out)
{
    redlock *client = calloc(1, sizeof *client);
    struct rl_reader *reader = rl_reader_new();
    int error = REDLOCK_OK;

    if (!client || !reader) {
        rl_reader_free(reader);
        free(client);
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    pthread_mutex_init(&client->mutex, NULL);
    client->references = 1;
    client->stamp = rl_process_stamp();
    client->is_sharded = true;
    client->reader = reader;
    client->prefix_size = strlen(o->prefix);
    memcpy(client->prefix, o->prefix, client->prefix_size);
    for (size_t i = 0; i < o->quorum_count && !error; i++)
        error = open_member(o, i, reader);
    if (!error && !(o->flags & REDLOCK_THREAD))
        error = watch_members(reader);
    if (error) {
        char detail[DETAIL_KEPT + 64];

        /* Closing is full of calls that may leave a message. */
        snprintf(detail, sizeof detail, "%s", redlock_detail());
        redlock_close(client);
        return rl_detail(error, "%s", detail);
    }
    *out = client;
    return REDLOCK_OK;
}
