/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of several quorums a lock belongs to. What is hashed is the key, prefix and name: a
 * client with the prefix "redlock:" and the name x means the same lock as one with no prefix
 * and the name redlock:x, and they exclude each other in one quorum. So they must in several.
 */
#include <string.h>

#include "client/calls.h"
#include "core/rendezvous.h"

size_t rl_quorum_of(const struct rl_reader *reader, const char *name, size_t name_size)
{
    const redlock *first = reader->member[0];
    char key[REDLOCK_PREFIX_MAX + REDLOCK_NAME_MAX];
    uint64_t hash;
    uint64_t best_weight = 0;
    size_t best = 0;

    memcpy(key, first->prefix, first->prefix_size);
    memcpy(key + first->prefix_size, name, name_size);
    hash = rl_rendezvous_key((struct rl_slice){key, first->prefix_size + name_size});
    for (size_t i = 0; i < reader->count; i++) {
        uint64_t weight = rl_rendezvous_weight(reader->member[i]->quorum_seed, hash);
        bool wins = weight > best_weight;

        /* All that matters is that every client decides alike, whatever the order. */
        if (weight == best_weight)
            wins =
                strcmp(reader->member[i]->quorum_name, reader->member[best]->quorum_name) < 0;
        if (i == 0 || wins) {
            best = i;
            best_weight = weight;
        }
    }
    return best;
}

static int refuse_split(const struct rl_reader *reader, const struct rl_names *names, size_t at,
                        size_t quorum)
{
    const struct rl_slice *first = &names->name[0];
    const struct rl_slice *other = &names->name[at];
    size_t other_quorum = rl_quorum_of(reader, other->data, other->size);

    return rl_detail(REDLOCK_INVAL,
                     "'%.*s' lives in quorum '%s' and '%.*s' in quorum '%s': names that are "
                     "locked together must live together; give them a common part in braces, "
                     "such as {%.*s}",
                     (int)first->size, first->data, reader->member[quorum]->quorum_name,
                     (int)other->size, other->data, reader->member[other_quorum]->quorum_name,
                     (int)first->size, first->data);
}

/* Only what is needed to find the way is read here; the member reads all of it again. */
int rl_route(redlock **client, const char *name, const redlock_request *request)
{
    const struct rl_reader *reader;
    redlock_request r = REDLOCK_REQUEST();
    struct rl_names names;
    size_t quorum;
    int error = REDLOCK_OK;

    if (!*client || !((*client)->is_sharded || (*client)->is_member))
        return REDLOCK_OK;
    if ((*client)->is_member)
        return rl_detail(REDLOCK_INVAL, "this is one quorum of several: locks are taken "
                                        "through the client that was opened");
    reader = (*client)->reader;
    if (request)
        error = rl_struct_read("redlock_request", request, request->size, &r, sizeof r);
    if (!error)
        error = rl_names_read(*client, name, &r, &names);
    if (error)
        return error;
    quorum = rl_quorum_of(reader, names.name[0].data, names.name[0].size);
    for (size_t i = 1; i < names.count; i++)
        if (rl_quorum_of(reader, names.name[i].data, names.name[i].size) != quorum)
            return refuse_split(reader, &names, i, quorum);
    *client = reader->member[quorum];
    return REDLOCK_OK;
}

/* A member by itself may be queried for any name, for instance one that it should not have. */
int rl_route_job(redlock **client, const char *name)
{
    size_t name_size = 0;
    int error;

    if (!*client || !(*client)->is_sharded)
        return REDLOCK_OK;
    error = rl_name_check(*client, name, &name_size);
    if (!error)
        *client = (*client)->reader->member[rl_quorum_of((*client)->reader, name, name_size)];
    return error;
}

int redlock_quorum_of(redlock *client, const char *name)
{
    size_t name_size = 0;
    int error = rl_client_check(client);

    if (!error)
        error = rl_name_check(client, name, &name_size);
    if (error)
        return error;
    /* A member answers for all. */
    return client->is_sharded || client->is_member
               ? (int)rl_quorum_of(client->reader, name, name_size)
               : 0;
}

redlock *redlock_member(redlock *client, size_t index)
{
    if (client && client->is_sharded)
        return index < client->reader->count ? client->reader->member[index] : NULL;
    return index == 0 ? client : NULL;
}
