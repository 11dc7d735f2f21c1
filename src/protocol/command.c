/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/command.h"

#include <assert.h>
#include <string.h>

#include "core/rules.h"
#include "protocol/command_scripts.h"
#include "protocol/resp.h"
#include "rl_scripts.h"

/* ---- words ---- */

void rl_add(struct rl_command *command, struct rl_slice word)
{
    assert(command->argument_count < RL_ARGUMENTS_MAX);
    command->argument[command->argument_count++] = word;
}

void rl_add_written(struct rl_command *command, const char *end)
{
    char *start = command->text + command->text_size;

    command->text_size = (size_t)(end - command->text);
    rl_add(command, (struct rl_slice){start, (size_t)(end - start)});
}

void rl_add_number(struct rl_command *command, int64_t number)
{
    char *at = command->text + command->text_size;

    rl_add_written(command, rl_resp_decimal((uint64_t)number, at));
}

/*
 * Beside the lock redlock:NAME stand redlock.fence:NAME and so on; beside any other KEY, of
 * another prefix, redlock.fence@KEY. Two locks never share what stands beside them.
 */
void rl_add_beside(struct rl_command *command, struct rl_slice head, struct rl_slice key)
{
    bool is_usual = rl_slice_starts(key, RL_USUAL_PREFIX);
    size_t skipped = is_usual ? sizeof RL_USUAL_PREFIX - 1 : 0;
    char *at = rl_slice_append(command->text + command->text_size, head);

    *at++ = is_usual ? ':' : '@';
    at = rl_slice_append(at, (struct rl_slice){key.data + skipped, key.size - skipped});
    rl_add_written(command, at);
}

void rl_add_keys(struct rl_command *command, const struct rl_request *request, unsigned keys)
{
    const char *at = request->keys.data;
    const char *end = at + request->keys.size;

    for (uint8_t i = 0; i < request->name_count; i++) {
        const char *stop =
            request->name_count > 1 ? memchr(at, RL_KEY_SEPARATOR, (size_t)(end - at)) : NULL;
        struct rl_slice key = {at, (size_t)((stop ? stop : end) - at)};

        rl_add(command, key);
        if (keys & KEY_FENCE)
            ADD_BESIDE(command, FENCE, key);
        if (keys & KEY_QUEUE)
            ADD_BESIDE(command, QUEUE, key);
        if (keys & KEY_ALIVE)
            ADD_BESIDE(command, ALIVE, key);
        at = key.data + key.size + 1;
    }
}

void rl_add_script(struct rl_command *out, const struct rl_abilities *abilities,
                   enum rl_script script, struct rl_slice text, struct rl_slice sha1,
                   unsigned key_count)
{
    out->script = 1u << script;
    if (!(abilities->known_scripts & out->script)) {
        ADD_TEXT(out, "EVAL");
        rl_add(out, text);
    } else {
        ADD_TEXT(out, "EVALSHA");
        rl_add(out, sha1);
    }
    rl_add_number(out, key_count);
}

/* ---- taking ---- */

/* Creates the key or does nothing: the acquire of the specification. Healing looks first. */
static void acquire_command(const struct rl_request *request,
                            const struct rl_abilities *abilities, struct rl_command *out)
{
    if (!request->is_plain || request->as_waiter || request->fenced ||
        request->op == RL_OP_HEAL) {
        rl_take_command(request, abilities, out);
        return;
    }
    out->needs_witness = request->needs_marker;
    ADD_TEXT(out, "SET");
    rl_add(out, request->keys);
    rl_add(out, request->value);
    ADD_TEXT(out, "NX");
    ADD_TEXT(out, "PX");
    rl_add_number(out, request->ttl_ms);
}

static void extend_command(const struct rl_request *request,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    if (!request->is_plain && RL_RULE(EXTEND_COMPARES)) {
        SCRIPT_HEAD(out, abilities, RENEW, request->name_count);
        rl_add_keys(out, request, KEY_LOCK);
    } else if ((abilities->set_ifeq && !request->may_shorten) || !RL_RULE(EXTEND_COMPARES)) {
        /* It replaces the expiry, so it serves only where it cannot shorten a life (A7). */
        ADD_TEXT(out, "SET");
        rl_add(out, request->keys);
        rl_add(out, request->value);
        if (RL_RULE(EXTEND_COMPARES)) {
            ADD_TEXT(out, "IFEQ");
            rl_add(out, request->value);
        }
        ADD_TEXT(out, "PX");
        rl_add_number(out, request->ttl_ms);
        return;
    } else {
        SCRIPT_HEAD(out, abilities, EXTEND, 1);
        rl_add(out, request->keys);
    }
    rl_add(out, request->value);
    rl_add_number(out, request->ttl_ms);
}

/* ---- giving back ---- */

bool rl_command_deletes_natively(const struct rl_request *request,
                                 const struct rl_abilities *abilities)
{
    return abilities->delete_style != RL_DELETE_SCRIPT && request->is_plain &&
           !request->contended;
}

static void native_delete_command(const struct rl_request *request,
                                  const struct rl_abilities *abilities, struct rl_command *out)
{
    if (abilities->delete_style == RL_DELETE_DELIFEQ) {
        ADD_TEXT(out, "DELIFEQ");
        rl_add(out, request->keys);
        rl_add(out, request->value);
        return;
    }
    /* Never without its condition: a bare DELEX deletes whatever is there. */
    ADD_TEXT(out, "DELEX");
    rl_add(out, request->keys);
    ADD_TEXT(out, "IFEQ");
    rl_add(out, request->value);
}

/* Deletes the key if it has this value, and wakes the head of the queue; '' only wakes. */
static void release_command(const struct rl_request *request,
                            const struct rl_abilities *abilities, struct rl_slice value,
                            struct rl_command *out)
{
    SCRIPT_HEAD(out, abilities, RELEASE, 3);
    rl_add(out, request->keys);
    ADD_BESIDE(out, QUEUE, request->keys);
    ADD_BESIDE(out, ALIVE, request->keys);
    rl_add(out, value);
    rl_add(out, request->contended ? TEXT("1") : TEXT("0"));
}

static void delete_command(const struct rl_request *request,
                           const struct rl_abilities *abilities, struct rl_command *out)
{
    if (!RL_RULE(RELEASE_COMPARES)) {
        ADD_TEXT(out, "DEL");
        rl_add_keys(out, request, KEY_LOCK);
    } else if (!request->is_plain || request->as_waiter) {
        rl_delete_script_command(request, abilities, out);
    } else if (rl_command_deletes_natively(request, abilities)) {
        native_delete_command(request, abilities, out);
    } else {
        release_command(request, abilities, request->value, out);
    }
}

/* ---- each of them ---- */

void rl_command_write(const struct rl_request *request, const struct rl_abilities *abilities,
                      struct rl_command *out)
{
    out->argument_count = 0;
    out->text_size = 0;
    out->script = 0;
    out->needs_witness = false;
    switch (request->op) {
    case RL_OP_ACQUIRE:
    case RL_OP_ACQUIRE_AGAIN:
    case RL_OP_HEAL:
        acquire_command(request, abilities, out);
        return;
    case RL_OP_EXTEND:
        extend_command(request, abilities, out);
        return;
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
        delete_command(request, abilities, out);
        return;
    case RL_OP_WAKE:
        release_command(request, abilities, TEXT(""), out);
        return;
    case RL_OP_WAITERS:
        ADD_TEXT(out, "EXISTS");
        ADD_BESIDE(out, QUEUE, request->keys);
        return;
    case RL_OP_FORGET:
        ADD_TEXT(out, "DEL");
        ADD_BESIDE(out, FENCE, request->keys);
        return;
    case RL_OP_PING:
        ADD_TEXT(out, "PING");
        return;
    case RL_OP_ALIGN:
    case RL_OP_LEAVE:
    case RL_OP_TICKET:
    case RL_OP_INQUIRE:
    case RL_OP_LOOK:
    case RL_OP_BREAK:
    case RL_OP_LIST:
    case RL_OP_ADMIT:
        rl_script_command(request, abilities, out);
        return;
    }
}
