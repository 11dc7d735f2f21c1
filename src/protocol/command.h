/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a request to the command that is sent: keys, numbers, scripts, arguments. answer.h has
 * the way back, from a reply to what it means.
 *
 * The mutex is the plain string key of the Redlock specification. Where a server can compare
 * and delete (or compare and renew) by itself, that is used instead of a script: the rule is
 * the same, the server works half as much. Everything that needs a queue, another kind of lock
 * or several names at once is a script.
 */
#ifndef RL_PROTOCOL_COMMAND_H
#define RL_PROTOCOL_COMMAND_H

#include "base/slice.h"
#include "core/kind.h"
#include "protocol/request.h"

/* The longest takes a lock: script, number of keys, four keys a name, the marker, arguments. */
#define RL_ARGUMENTS_MAX (3 + 4 * REDLOCK_NAMES_MAX + 1 + 10)

/* What a node can do without a script, learnt once per connection (native.lua). */
enum rl_delete_style { RL_DELETE_SCRIPT, RL_DELETE_DELIFEQ, RL_DELETE_DELEX };

struct rl_abilities {
    enum rl_delete_style delete_style;
    bool set_ifeq; /* SET key value IFEQ value PX ttl */
    uint32_t
        known_scripts; /* a bit each: EVALSHA will do; the others are sent with their text */
};

enum rl_script {
    RL_SCRIPT_ID_RELEASE,
    RL_SCRIPT_ID_EXTEND,
    RL_SCRIPT_ID_ACQUIRE,
#define RL_SCRIPT_ID_OF_KIND(name, key_type, waiter, exclusive, single, has_owner, has_slots,  \
                             script)                                                           \
    RL_SCRIPT_ID_##script,
    RL_KINDS(RL_SCRIPT_ID_OF_KIND)
#undef RL_SCRIPT_ID_OF_KIND
        RL_SCRIPT_ID_WAIT,
    RL_SCRIPT_ID_ALIGN,
    RL_SCRIPT_ID_GIVEBACK,
    RL_SCRIPT_ID_LEAVE,
    RL_SCRIPT_ID_RENEW,
    RL_SCRIPT_ID_TICKET,
    RL_SCRIPT_ID_LOOK,
    RL_SCRIPT_ID_PEEK,
    RL_SCRIPT_ID_BREAK,
    RL_SCRIPT_ID_LIST,
    RL_SCRIPT_ID_ATTESTATION,
    RL_SCRIPT_ID_VOUCH,
    RL_SCRIPT_ID_COUNT,
};

_Static_assert(RL_SCRIPT_ID_COUNT <= 32, "a bit for every script in known_scripts");

/* Keys beside those of the locks, numbers, the name of a waiter, an incarnation. */
#define RL_COMMAND_TEXT_MAX                                                                    \
    (RL_BESIDE_KEYS_MAX + 8 * RL_DIGITS_MAX + RL_WAITER_MAX + RL_INCARNATION_SIZE + 1)

/* The command that one node gets. Its arguments point into the request and into
 * its own text. */
struct rl_command {
    const struct rl_abilities *abilities; /* of the node */
    uint32_t argument_count;
    struct rl_slice argument[RL_ARGUMENTS_MAX];
    bool is_key[RL_ARGUMENTS_MAX]; /* of each of these: a key, a channel or a pattern of keys */
    struct rl_slice tag;    /* stands in front of those; set by the session that it goes to */
    uint32_t script;        /* a bit: the script that it runs; 0: none */
    bool needs_attestation; /* its grant counts once the attestation behind it has answered */
    size_t text_size;
    char text[RL_COMMAND_TEXT_MAX]; /* words that had to be written */
};

/* For one node: the fields of the request that depend on the node must be filled by now. */
void rl_command_write(const struct rl_request *request, const struct rl_abilities *abilities,
                      struct rl_command *out);

/* The attestation: the identity of the node, and the one that its marker names. */
void rl_command_write_attestation(const struct rl_abilities *abilities, struct rl_command *out);

/* Does a node of these abilities give the lock back without a script? */
bool rl_command_deletes_natively(const struct rl_request *request,
                                 const struct rl_abilities *abilities);

#endif
