/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "hold.h"
#include "options.h"

/*
 * What callers do when they are told is sent in the same turn of the loop; what comes of that so
 * quickly is for the next one, so that other handles of the loop get theirs.
 */
enum { ROUNDS_PER_TURN = 2 };

struct client *client_of(napi_env env, napi_value external)
{
    void *c = NULL;

    if (napi_get_value_external(env, external, &c) != napi_ok || ((struct client *)c)->is_shut)
        return NULL;
    return c;
}

/* ---- events ------------------------------------------------------------------------------- */

void client_note(struct client *c, enum event_type type, uint32_t index, int code,
                 uint32_t generation)
{
    if (c->is_shut)
        return;
    if (c->event_count == c->event_capacity) {
        c->event_capacity = c->event_capacity ? 2 * c->event_capacity : 64;
        c->events = must_have(realloc(c->events, c->event_capacity * sizeof *c->events));
    }
    c->events[c->event_count++] =
        (struct event){(int32_t)type, (int32_t)index, code, (int32_t)generation};
}

void client_note_answer(struct client *c, enum event_type type, uint32_t key, int code,
                        napi_value answer)
{
    napi_value answers = NULL;

    if (c->is_shut)
        return;
    if (!key)
        key = ++c->next_answer;
    napi_get_reference_value(c->env, c->answers, &answers);
    if (answers && answer)
        napi_set_element(c->env, answers, key, answer);
    client_note(c, type, key, code, 0);
}

/* An exception that reaches this point is treated as every uncaught one. */
static void report_exception(napi_env env)
{
    napi_value error = NULL;

    if (napi_get_and_clear_last_exception(env, &error) == napi_ok && error)
        napi_fatal_exception(env, error);
}

static void deliver(struct client *c)
{
    napi_value function = NULL;
    napi_value receiver = NULL;
    napi_value argument;

    napi_get_reference_value(c->env, c->deliver, &function);
    napi_get_reference_value(c->env, c->answers, &receiver);
    while (c->event_count && !c->is_shut) {
        size_t count = c->event_count < MAILBOX_EVENTS ? c->event_count : MAILBOX_EVENTS;

        memcpy(c->mailbox, c->events, count * sizeof *c->events);
        c->event_count -= count;
        memmove(c->events, c->events + count, c->event_count * sizeof *c->events);
        argument = new_number(c->env, (double)count);
        napi_status status =
            napi_make_callback(c->env, c->context, receiver, function, 1, &argument, NULL);
        if (status == napi_pending_exception) {
            report_exception(c->env);
        } else if (status != napi_ok) {
            c->event_count = 0; /* the environment is ending: no caller is left to be told */
        }
    }
    holds_recycle(c);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct client *c = poll->data;
    napi_handle_scope scope;

    (void)status;
    (void)events;
    if (c->is_shut || napi_open_handle_scope(c->env, &scope) != napi_ok)
        return;
    for (int round = 0; round < ROUNDS_PER_TURN && !c->is_shut; round++) {
        redlock_process(c->redlock, 0);
        if (!c->event_count)
            break;
        deliver(c);
    }
    napi_close_handle_scope(c->env, scope);
}

void client_begin(struct client *c)
{
    if (c->pending++ == 0)
        uv_ref((uv_handle_t *)&c->poll);
}

void client_end(struct client *c)
{
    if (--c->pending == 0 && !c->is_shut)
        uv_unref((uv_handle_t *)&c->poll);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void drop_reference(struct client *c)
{
    if (--c->references)
        return;
    holds_free(c);
    free(c->events);
    free(c);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct client *c = handle->data;

    napi_remove_async_cleanup_hook(c->hook);
    drop_reference(c);
}

/* Once; runs no JavaScript, so it is right while the environment ends, too. */
static void shut(struct client *c)
{
    if (c->is_shut)
        return;
    c->is_shut = true;
    uv_poll_stop(&c->poll);
    redlock_close(c->redlock);
    c->redlock = NULL;
    napi_delete_reference(c->env, c->deliver);
    napi_delete_reference(c->env, c->answers);
    napi_delete_reference(c->env, c->mailbox_buffer);
    napi_async_destroy(c->env, c->context);
    uv_close((uv_handle_t *)&c->poll, on_poll_closed);
}

/* A worker is terminated, or the program ends: locks are given up. */
static void on_environment_end(napi_async_cleanup_hook_handle hook, void *data)
{
    (void)hook;
    shut(data);
}

static void on_external_gone(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    shut(data);
    drop_reference(data);
}

napi_value client_close(napi_env env, napi_callback_info info)
{
    napi_value argument;

    values_arguments(env, info, 1, &argument);
    struct client *c = client_of(env, argument);
    if (c)
        shut(c);
    return NULL;
}

/* ---- the beginning ------------------------------------------------------------------------ */

static void on_warning(const char *address, const char *text, void *data)
{
    struct client *c = data;

    if (c->is_shut)
        return;
    napi_value warning = new_object(c->env);
    put_text(c->env, warning, "address", address);
    put_text(c->env, warning, "text", text);
    client_note_answer(c, EVENT_WARNING, 0, 0, warning);
}

static bool watch(struct client *c)
{
    uv_loop_t *loop;

    if (napi_get_uv_event_loop(c->env, &loop) != napi_ok ||
        uv_poll_init(loop, &c->poll, redlock_fd(c->redlock)) != 0)
        return false;
    c->poll.data = c;
    uv_unref((uv_handle_t *)&c->poll);
    uv_poll_start(&c->poll, UV_READABLE, on_readable);
    return true;
}

static void refer(struct client *c, const napi_value *argument)
{
    napi_value resource;
    napi_value name;
    void *mailbox;

    napi_get_typedarray_info(c->env, argument[1], NULL, NULL, &mailbox, NULL, NULL);
    c->mailbox = mailbox;
    napi_create_reference(c->env, argument[1], 1, &c->mailbox_buffer);
    napi_create_reference(c->env, argument[2], 1, &c->answers);
    napi_create_reference(c->env, argument[3], 1, &c->deliver);
    resource = new_object(c->env);
    name = new_text(c->env, "redlock");
    napi_async_init(c->env, resource, name, &c->context);
}

napi_value client_open(napi_env env, napi_callback_info info)
{
    napi_value argument[4];
    napi_value external = NULL;
    struct options options;

    values_arguments(env, info, 4, argument);
    struct client *c = must_have(calloc(1, sizeof *c));
    c->env = env;
    options_read(env, argument[0], &options);
    options.options.warn = on_warning;
    options.options.warn_data = c;
    int error = redlock_open(&options.options, &c->redlock);
    options_free(&options);
    if (error) {
        free(c);
        return new_number(env, error);
    }
    if (!watch(c)) {
        redlock_close(c->redlock);
        free(c);
        return new_number(env, REDLOCK_SYSTEM);
    }
    c->references = 2;
    refer(c, argument);
    napi_add_async_cleanup_hook(env, on_environment_end, c, &c->hook);
    napi_create_external(env, c, on_external_gone, NULL, &external);
    return external;
}
