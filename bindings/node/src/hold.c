/* SPDX-License-Identifier: BSD-2-Clause */
#include "hold.h"

#include <stdlib.h>
#include <string.h>

#include "told.h"

enum { INDEX_BITS = 20, HOLDS_MAX = 1 << INDEX_BITS, START_ARGUMENTS = 13 };

/* ---- the table ---------------------------------------------------------------------------- */

static struct hold *take(struct client *c)
{
    struct hold *hold = c->idle;

    if (hold) {
        c->idle = hold->next;
        hold->generation++;
        return hold;
    }
    if (c->hold_count == HOLDS_MAX)
        return NULL;
    if (c->hold_count == c->hold_capacity) {
        c->hold_capacity = c->hold_capacity ? 2 * c->hold_capacity : 64;
        c->holds = must_have(realloc(c->holds, c->hold_capacity * sizeof(struct hold *)));
    }
    hold = must_have(calloc(1, sizeof *hold));
    hold->client = c;
    hold->index = (uint32_t)c->hold_count;
    c->holds[c->hold_count++] = hold;
    return hold;
}

static void end(struct hold *hold)
{
    struct client *c = hold->client;

    redlock_lock_free(hold->lock);
    hold->lock = NULL;
    free(hold->said);
    free(hold->lost_said);
    hold->said = hold->lost_said = NULL;
    hold->next = c->ended;
    c->ended = hold;
}

void holds_recycle(struct client *c)
{
    while (c->ended) {
        struct hold *hold = c->ended;

        c->ended = hold->next;
        hold->next = c->idle;
        c->idle = hold;
    }
}

void holds_free(struct client *c)
{
    for (size_t i = 0; i < c->hold_count; i++) {
        redlock_lock_free(c->holds[i]->lock);
        free(c->holds[i]->said);
        free(c->holds[i]->lost_said);
        free(c->holds[i]);
    }
    free(c->holds);
}

static struct hold *hold_at(napi_env env, const napi_value *argument)
{
    struct client *c = client_of(env, argument[0]);
    double index = value_number(env, argument[1]);

    if (!c || !(index >= 0 && index < (double)c->hold_count) || !c->holds[(size_t)index]->lock)
        return NULL;
    return c->holds[(size_t)index];
}

/* ---- callbacks of the library: they only note --------------------------------------------- */

static void remember(char **said, int error)
{
    free(*said);
    *said = error ? must_have(strdup(redlock_detail())) : NULL;
}

static void on_acquired(redlock_lock *lock, int error, void *data)
{
    struct hold *hold = data;

    (void)lock;
    remember(&hold->said, error);
    client_note(hold->client, EVENT_ACQUIRED, hold->index, error, hold->generation);
    client_end(hold->client);
}

static void on_extended(redlock_lock *lock, int error, void *data)
{
    struct hold *hold = data;

    (void)lock;
    remember(&hold->said, error);
    client_note(hold->client, EVENT_EXTENDED, hold->index, error, hold->generation);
    client_end(hold->client);
}

static void on_released(redlock_lock *lock, int error, void *data)
{
    struct hold *hold = data;

    (void)lock;
    remember(&hold->said, error);
    client_note(hold->client, EVENT_RELEASED, hold->index, error, hold->generation);
    client_end(hold->client);
    if (!error)
        end(hold); /* of one that failed, JavaScript asks for the report first */
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct hold *hold = data;

    (void)lock;
    remember(&hold->lost_said, error);
    client_note(hold->client, EVENT_LOST, hold->index, error, hold->generation);
}

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    struct hold *hold = data;

    (void)lock;
    remember(&hold->said, error);
    client_note(hold->client, EVENT_JEOPARDY, hold->index, error, hold->generation);
}

static void on_queued(redlock_lock *lock, int place, void *data)
{
    struct hold *hold = data;

    (void)lock;
    client_note(hold->client, EVENT_QUEUED, hold->index, place, hold->generation);
}

/* ---- acquiring ---------------------------------------------------------------------------- */

static int start(napi_env env, const napi_value *argument, struct hold *hold)
{
    redlock_request request = {.size = sizeof request, .done = on_acquired, .data = hold};
    size_t more_count;
    char *name = value_text(env, argument[1], &request.name_length);
    char **more = value_texts(env, argument[2], &more_count);
    char *owner = value_text(env, argument[8], NULL);
    char *label = value_text(env, argument[9], NULL);

    request.more_names = (const char *const *)more;
    request.more_name_count = more_count;
    request.wait_ms = (int64_t)value_number(env, argument[4]);
    request.kind = (int32_t)value_number(env, argument[5]);
    request.flags = (uint32_t)value_number(env, argument[6]);
    request.slots = (uint32_t)value_number(env, argument[7]);
    request.owner = owner;
    request.label = label;
    request.max_extensions = (uint32_t)value_number(env, argument[10]);
    request.max_hold_ms = (int64_t)value_number(env, argument[11]);
    request.lost = on_lost;
    request.jeopardy = on_jeopardy;
    request.queued = value_number(env, argument[12]) != 0 ? on_queued : NULL;
    int error = redlock_start(hold->client->redlock, name,
                              (int64_t)value_number(env, argument[3]), &request, &hold->lock);
    free(name);
    values_free_texts(more, more_count);
    free(owner);
    free(label);
    return error;
}

napi_value hold_start(napi_env env, napi_callback_info info)
{
    napi_value argument[START_ARGUMENTS];

    values_arguments(env, info, START_ARGUMENTS, argument);
    struct client *c = client_of(env, argument[0]);
    if (!c)
        return new_number(env, REDLOCK_INVAL);
    struct hold *hold = take(c);
    if (!hold)
        return new_number(env, REDLOCK_NOMEM);
    int error = start(env, argument, hold);
    if (error) {
        hold->next = c->idle;
        c->idle = hold;
        return new_number(env, error);
    }
    client_begin(c);
    return new_number(env, (double)hold->generation * HOLDS_MAX + hold->index);
}

/* ---- what is done with a handle ----------------------------------------------------------- */

napi_value hold_extend(napi_env env, napi_callback_info info)
{
    napi_value argument[3];

    values_arguments(env, info, 3, argument);
    struct hold *hold = hold_at(env, argument);
    if (!hold)
        return new_number(env, REDLOCK_INVAL);
    int error = redlock_start_extend(hold->lock, (int64_t)value_number(env, argument[2]),
                                     on_extended, hold);
    if (!error)
        client_begin(hold->client);
    return new_number(env, error);
}

napi_value hold_release(napi_env env, napi_callback_info info)
{
    napi_value argument[2];

    values_arguments(env, info, 2, argument);
    struct hold *hold = hold_at(env, argument);
    if (!hold)
        return new_number(env, REDLOCK_INVAL);
    int error = redlock_start_release(hold->lock, on_released, hold);
    if (!error)
        client_begin(hold->client);
    return new_number(env, error);
}

napi_value hold_cancel(napi_env env, napi_callback_info info)
{
    napi_value argument[2];

    values_arguments(env, info, 2, argument);
    struct hold *hold = hold_at(env, argument);
    if (hold)
        redlock_cancel(hold->lock);
    return NULL;
}

napi_value hold_drop(napi_env env, napi_callback_info info)
{
    napi_value argument[2];

    values_arguments(env, info, 2, argument);
    struct hold *hold = hold_at(env, argument);
    if (hold)
        end(hold);
    return NULL;
}

/* ---- what a handle tells ------------------------------------------------------------------ */

napi_value hold_number(napi_env env, napi_callback_info info)
{
    napi_value argument[3];

    values_arguments(env, info, 3, argument);
    struct hold *hold = hold_at(env, argument);
    if (!hold)
        return new_number(env, 0);
    switch ((int)value_number(env, argument[2])) {
    case 0:
        return new_number(env, (double)redlock_remaining_ms(hold->lock));
    case 1:
        return new_number(env, redlock_state(hold->lock));
    case 2:
        return new_number(env, (double)redlock_fence(hold->lock));
    case 3:
        return new_number(env, redlock_slot(hold->lock));
    default:
        return new_number(env, redlock_margin(hold->lock));
    }
}

napi_value hold_value(napi_env env, napi_callback_info info)
{
    napi_value argument[2];

    values_arguments(env, info, 2, argument);
    struct hold *hold = hold_at(env, argument);
    return hold ? new_text(env, redlock_value(hold->lock)) : NULL;
}

napi_value hold_told(napi_env env, napi_callback_info info)
{
    napi_value argument[3];
    redlock_report report = {.size = sizeof report};

    values_arguments(env, info, 3, argument);
    struct hold *hold = hold_at(env, argument);
    if (!hold)
        return NULL;
    redlock_lock_report(hold->lock, &report);
    napi_value told = told_report(env, &report);
    put_text(env, told, "said",
             value_number(env, argument[2]) != 0 ? hold->lost_said : hold->said);
    return told;
}
