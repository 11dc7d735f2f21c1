/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <stdlib.h>
#include <string.h>

#include "objects.h"

enum { START_ARGUMENTS = 13 };

/* Where the handle of this index is; NULL: the client is closed. Grows with the index. */
static redlock_lock **slot_of(struct client *c, napi_env env, napi_value index_value)
{
    size_t index = (size_t)value_number(env, index_value);

    if (!c)
        return NULL;
    if (index >= c->lock_capacity) {
        size_t capacity = 2 * index + 64;

        c->locks = must_have(realloc(c->locks, capacity * sizeof *c->locks));
        memset(c->locks + c->lock_capacity, 0,
               (capacity - c->lock_capacity) * sizeof *c->locks);
        c->lock_capacity = capacity;
    }
    return &c->locks[index];
}

/* The arguments of a call, of which the first two name a handle; NULL: there is none. */
static redlock_lock *read_arguments(napi_env env, napi_callback_info info, size_t count,
                                    napi_value *out)
{
    redlock_lock **slot;

    values_arguments(env, info, count, out);
    slot = slot_of(client_of(env, out[0]), env, out[1]);
    return slot ? *slot : NULL;
}

napi_value lock_start(napi_env env, napi_callback_info info)
{
    napi_value argument[START_ARGUMENTS];
    struct client *c;
    redlock_lock **slot;
    redlock_request request;
    size_t more_count;
    char *name;
    char **more;
    char *owner;
    char *label;
    int error;

    values_arguments(env, info, START_ARGUMENTS, argument);
    c = client_of(env, argument[0]);
    slot = slot_of(c, env, argument[1]);
    if (!slot)
        return new_number(env, REDLOCK_INVAL);
    name = value_text(env, argument[2]);
    more = value_texts(env, argument[3], &more_count);
    owner = value_text(env, argument[9]);
    label = value_text(env, argument[10]);
    request = (redlock_request)
        REDLOCK_REQUEST(.data = (void *)(intptr_t)value_number(env, argument[1]),
                        .more_names = (const char *const *)more, .more_name_count = more_count,
                        .wait_ms = (int64_t)value_number(env, argument[5]),
                        .kind = (int32_t)value_number(env, argument[6]),
                        .flags = (uint32_t)value_number(env, argument[7]),
                        .slots = (uint32_t)value_number(env, argument[8]), .owner = owner,
                        .label = label,
                        .max_extensions = (uint32_t)value_number(env, argument[11]),
                        .max_hold_ms = (int64_t)value_number(env, argument[12]));
    error = redlock_start_acquire(c->redlock, name, (int64_t)value_number(env, argument[4]),
                                  &request, slot);
    free(name);
    values_free_texts(more, more_count);
    free(owner);
    free(label);
    return new_number(env, error);
}

napi_value lock_extend(napi_env env, napi_callback_info info)
{
    napi_value argument[3];
    redlock_lock *lock = read_arguments(env, info, 3, argument);

    return new_number(env, redlock_start_extend(lock, (int64_t)value_number(env, argument[2])));
}

napi_value lock_release(napi_env env, napi_callback_info info)
{
    napi_value argument[2];

    return new_number(env, redlock_start_release(read_arguments(env, info, 2, argument)));
}

napi_value lock_drop(napi_env env, napi_callback_info info)
{
    napi_value argument[3];
    redlock_lock **slot;

    values_arguments(env, info, 3, argument);
    slot = slot_of(client_of(env, argument[0]), env, argument[1]);
    if (slot) {
        if (value_number(env, argument[2]) != 0)
            redlock_lock_leave(*slot);
        else
            redlock_lock_free(*slot);
        *slot = NULL;
    }
    return NULL;
}

napi_value lock_number(napi_env env, napi_callback_info info)
{
    napi_value argument[3];
    redlock_lock *lock = read_arguments(env, info, 3, argument);

    switch (lock ? (int)value_number(env, argument[2]) : -1) {
    case 0:
        return new_number(env, (double)redlock_remaining_ms(lock));
    case 1:
        return new_number(env, redlock_state(lock));
    case 2:
        return new_number(env, (double)redlock_fence(lock));
    case 3:
        return new_number(env, redlock_slot(lock));
    case 4:
        return new_number(env, redlock_margin(lock));
    default:
        return new_number(env, 0);
    }
}

napi_value lock_report(napi_env env, napi_callback_info info)
{
    napi_value argument[2];

    return new_report(env, redlock_lock_report(read_arguments(env, info, 2, argument)));
}

napi_value lock_value(napi_env env, napi_callback_info info)
{
    napi_value argument[2];
    redlock_lock *lock = read_arguments(env, info, 2, argument);

    return new_text(env, lock ? redlock_value(lock) : NULL);
}
