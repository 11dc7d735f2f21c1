/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <stdlib.h>

#include "objects.h"

struct client *client_of(napi_env env, napi_value external)
{
    void *c = NULL;

    if (napi_get_value_external(env, external, &c) != napi_ok || !((struct client *)c)->redlock)
        return NULL;
    return c;
}

/* ---- events ----------------------------------------------------------------------------- */

napi_value client_next(napi_env env, napi_callback_info info)
{
    napi_value argument;
    const redlock_event *event;
    struct client *c;

    values_arguments(env, info, 1, &argument);
    c = client_of(env, argument);
    if (!c || redlock_next(c->redlock, &event, 0) != 1)
        return NULL;
    c->event[0] = event->type;
    c->event[1] = event->error;
    c->event[2] = (int32_t)(intptr_t)event->data;
    c->event[3] = event->place;
    return new_event(env, event);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct client *c = poll->data;
    napi_env env = c->env;
    napi_handle_scope scope;
    napi_value global = NULL;
    napi_value drain = NULL;
    napi_value error = NULL;

    (void)status;
    (void)events;
    if (!c->redlock || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    napi_get_global(env, &global);
    napi_get_reference_value(env, c->drain, &drain);
    /* An exception that reaches this point is treated as every uncaught one. */
    if (napi_make_callback(env, c->context, global, drain, 0, NULL, NULL) ==
            napi_pending_exception &&
        napi_get_and_clear_last_exception(env, &error) == napi_ok)
        napi_fatal_exception(env, error);
    napi_close_handle_scope(env, scope);
}

napi_value client_keep_alive(napi_env env, napi_callback_info info)
{
    napi_value argument[2];
    bool yes = false;
    struct client *c;

    values_arguments(env, info, 2, argument);
    c = client_of(env, argument[0]);
    napi_get_value_bool(env, argument[1], &yes);
    if (c && yes)
        uv_ref((uv_handle_t *)&c->poll);
    else if (c)
        uv_unref((uv_handle_t *)&c->poll);
    return NULL;
}

/* ---- the end ---------------------------------------------------------------------------- */

static void drop_reference(struct client *c)
{
    if (--c->references > 0)
        return;
    for (size_t i = 0; i < c->lock_capacity; i++)
        redlock_lock_free(c->locks[i]);
    free(c->locks);
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
    if (!c->redlock)
        return;
    uv_poll_stop(&c->poll);
    redlock_close(c->redlock);
    c->redlock = NULL;
    napi_delete_reference(c->env, c->drain);
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
    struct client *c;

    values_arguments(env, info, 1, &argument);
    c = client_of(env, argument);
    if (c)
        shut(c);
    return NULL;
}

/* ---- the beginning ---------------------------------------------------------------------- */

static int open_redlock(napi_env env, napi_value object, redlock **out)
{
    struct options options;
    int error;

    options_read(env, object, &options);
    error = redlock_open(&options.options, out);
    options_free(&options);
    return error;
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

napi_value client_open(napi_env env, napi_callback_info info)
{
    napi_value argument[3];
    napi_value external = NULL;
    void *event = NULL;
    redlock *opened;
    struct client *c;
    int error;

    values_arguments(env, info, 3, argument);
    error = open_redlock(env, argument[0], &opened);
    if (error)
        return new_number(env, error);
    c = must_have(calloc(1, sizeof *c));
    c->env = env;
    c->redlock = opened;
    if (!watch(c)) {
        redlock_close(opened);
        free(c);
        return new_number(env, REDLOCK_SYSTEM);
    }
    napi_get_typedarray_info(env, argument[1], NULL, NULL, &event, NULL, NULL);
    c->event = event;
    napi_create_reference(env, argument[2], 1, &c->drain);
    napi_async_init(env, new_object(env), new_text(env, "redlock"), &c->context);
    c->references = 2;
    napi_add_async_cleanup_hook(env, on_environment_end, c, &c->hook);
    napi_create_external(env, c, on_external_gone, NULL, &external);
    return external;
}
