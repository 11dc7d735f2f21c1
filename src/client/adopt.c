/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/adopt.h"

#include <string.h>

#include "client/request.h"
#include "core/kind.h"
#include "drive/client.h"
#include "drive/detail.h"
#include "drive/order.h"
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

    rl_value_read((struct rl_slice){value, strlen(value)}, &parts);
    if (!rl_kinds[r->kind].has_slots && parts.slot)
        return rl_detail(REDLOCK_INVAL, "the value holds slot %u of a semaphore, not a %s lock",
                         parts.slot, redlock_kind_text(r->kind));
    if (rl_kinds[r->kind].has_slots && (parts.slot == 0 || parts.slot > r->slots))
        return rl_detail(REDLOCK_INVAL, "the value holds none of %u slots", r->slots);
    *slot = parts.slot;
    return REDLOCK_OK;
}

/* The mutex is held. r: NULL if nothing but the value is known. */
static int adopt(redlock *client, const struct rl_names *names,
                 const struct rl_lock_terms *terms, const char *value, const redlock_request *r,
                 redlock_lock **out)
{
    redlock_lock *lock = rl_lock_new(client, names, terms);

    if (!lock)
        return REDLOCK_NOMEM;
    lock->adopted = true;
    if (rl_handle_adopt(&client->engine, &lock->handle, value, strlen(value), r != NULL) < 0) {
        rl_lock_discard(client, lock, false);
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    if (r) {
        lock->data = r->data;
        lock->handle.lock.token = r->fence;
    }
    *out = lock;
    return REDLOCK_OK;
}

/* Without a request: it was acquired with what is not known. */
static int read_unknown(redlock *client, const char *name, const char *value,
                        redlock_lock **out)
{
    struct rl_lock_terms terms = {0};
    redlock_request nothing = REDLOCK_REQUEST();
    struct rl_names names;
    int error = rl_names_read(client, name, &nothing, &names);

    names.tag = names.label = (struct rl_slice){"", 0};
    if (!error)
        error = check_value(value, out);
    return error ? error : adopt(client, &names, &terms, value, NULL, out);
}

static int read_known(redlock *client, const char *name, const char *value,
                      const redlock_request *request, redlock_lock **out)
{
    struct rl_lock_terms terms;
    struct rl_names names;
    redlock_request r;
    uint16_t slot = 0;
    int error = rl_adoption_read(client, name, request, &r, &names);

    if (!error)
        error = check_value(value, out);
    if (!error)
        error = read_slot(value, &r, &slot);
    if (!error && (r.flags & REDLOCK_RENEW))
        error = rl_renewal_check(client);
    if (error)
        return error;
    terms = (struct rl_lock_terms){
        .renew = r.flags & REDLOCK_RENEW,
        .fenced = r.fence != 0,
        .kind = (uint8_t)r.kind,
        .slots = (uint16_t)r.slots,
        .max_extensions = r.max_extensions,
    };
    error = adopt(client, &names, &terms, value, &r, out);
    if (!error)
        (*out)->handle.lock.slot = slot;
    return error;
}

int rl_client_adopt(redlock *client, const char *name, const char *value,
                    const redlock_request *request, redlock_lock **out)
{
    int error = rl_client_enter(client);

    if (error)
        return error;
    error = request ? read_known(client, name, value, request, out)
                    : read_unknown(client, name, value, out);
    rl_client_leave(client);
    return error;
}
