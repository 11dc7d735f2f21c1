/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands that only a script can carry out: tokens, waiting, other kinds, several names, and
 * questions. And what they share with the others (command.c): how a command gets its words.
 */
#ifndef RL_PROTOCOL_COMMAND_SCRIPTS_H
#define RL_PROTOCOL_COMMAND_SCRIPTS_H

#include "protocol/command.h"

/* Takes the lock with more than a SET. */
void rl_take_command(const struct rl_request *request, const struct rl_abilities *abilities,
                     struct rl_command *out);
/* Everything about giving back that a compare-and-delete of one key cannot do. */
void rl_delete_script_command(const struct rl_request *request,
                              const struct rl_abilities *abilities, struct rl_command *out);
/* The other ops that are scripts. */
void rl_script_command(const struct rl_request *request, const struct rl_abilities *abilities,
                       struct rl_command *out);

/* ---- words (command.c) ---- */

#define TEXT(literal) ((struct rl_slice){(literal), sizeof(literal) - 1})
#define ADD_TEXT(command, literal) rl_add((command), TEXT(literal))
#define ADD_BESIDE(command, NAME, key) rl_add_beside((command), TEXT(RL_##NAME##_HEAD), (key))
#define SCRIPT_HEAD(out, abilities, NAME, key_count)                                           \
    rl_add_script((out), (abilities), RL_SCRIPT_ID_##NAME, TEXT(RL_SCRIPT_##NAME),             \
                  TEXT(RL_SCRIPT_##NAME##_SHA1), (key_count))

enum { KEY_LOCK = 1, KEY_FENCE = 2, KEY_QUEUE = 4, KEY_ALIVE = 8 };

void rl_add(struct rl_command *command, struct rl_slice word);
/* What was written from the end of the command's own text up to `end` is its next word. */
void rl_add_written(struct rl_command *command, const char *end);
void rl_add_number(struct rl_command *command, int64_t number);
/* A key beside that of a lock. */
void rl_add_beside(struct rl_command *command, struct rl_slice head, struct rl_slice key);
/* Those keys of every name, the lock's own first. */
void rl_add_keys(struct rl_command *command, const struct rl_request *request, unsigned keys);
/* A script that this connection has not used before goes with its text, and the server keeps it. */
void rl_add_script(struct rl_command *out, const struct rl_abilities *abilities,
                   enum rl_script script, struct rl_slice text, struct rl_slice sha1,
                   unsigned key_count);

#endif
