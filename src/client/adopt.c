/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/calls.h"

#include <string.h>

#include "base/slice.h"
#include "core/kind.h"
#include "protocol/value.h"

static int check_value(const char *value, redlock_lock **out)
{
    if (!value || !*value || strlen(value) > REDLOCK_VALUE_MAX)
        return rl_detail(REDLOCK_INVAL,
                         "a value has 1 to %d characters; it is what the "
                         "acquiring side printed",
                         REDLOCK_VALUE_MAX);
    return out ? REDLOCK_OK : rl_detail(REDLOCK_INVAL, "there is nowhere to put the lock");
}

/* Which slot a value holds; INVAL: none that a lock of this kind could have. */
static int read_slot(const char *value, const redlock_request *r, uint16_t *slot)
{
    struct rl_value parts;

    rl_value_read(rl_slice_of(value), &parts);
    if (!rl_kinds[r->kind].has_slots && parts.slot)
        return rl_detail(REDLOCK_INVAL, "the value holds slot %u of a semaphore, not a %s lock",
                         parts.slot, redlock_kind_text(r->kind));
    if (rl_kinds[r->kind].has_slots && (parts.slot == 0 || parts.slot > r->slots))
        return rl_detail(REDLOCK_INVAL, "the value holds none of %u slots", r->slots);
    *slot = parts.slot;
    return REDLOCK_OK;
}

/* The mutex is held. Without a request it was acquired with what is not known. */
static int adopt(redlock *client, const char *name, const char *value,
                 const redlock_request *request, redlock_lock **out)
{
    redlock_request r = REDLOCK_REQUEST();
    struct rl_lock_terms terms = {0};
    struct rl_names names;
    redlock_lock *lock;
    uint16_t slot = 0;
    int error = request ? rl_adoption_read(client, name, request, &r, &names)
                        : rl_names_read(client, name, &r, &names);

    if (!error)
        error = check_value(value, out);
    if (!error && request)
        error = read_slot(value, &r, &slot);
    if (!error && (r.flags & REDLOCK_RENEW))
        error = rl_renewal_check(client);
    if (error)
        return error;
    if (request)
        terms = (struct rl_lock_terms){
            .renew = r.flags & REDLOCK_RENEW,
            .fenced = r.fence != 0,
            .kind = (uint8_t)r.kind,
            .slots = (uint16_t)r.slots,
            .max_extensions = r.max_extensions,
        };
    lock = rl_lock_new(client, &names, &terms);
    if (!lock)
        return REDLOCK_NOMEM;
    lock->adopted = true;
    if (rl_handle_adopt(&client->engine, &lock->handle, value, strlen(value), request != NULL) <
        0) {
        rl_lock_discard(client, lock, false);
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    lock->data = r.data;
    lock->handle.lock.token = r.fence;
    if (request)
        lock->handle.lock.slot = slot;
    *out = lock;
    return REDLOCK_OK;
}

int redlock_adopt(redlock *client, const char *name, const char *value,
                  const redlock_request *request, redlock_lock **out)
{
    int error = rl_route(&client, name, request);

    if (!error)
        error = rl_client_enter(client);
    if (error)
        return error;
    error = adopt(client, name, value, request, out);
    rl_client_leave(client);
    return error;
}
