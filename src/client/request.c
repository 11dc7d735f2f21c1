/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/calls.h"

#include <string.h>

#include "core/answer.h"
#include "core/kind.h"
#include "protocol/value.h"

#define STRUCT_LIMIT 65536 /* a larger size is an uninitialised one */

/* ---- structs of callers ---- */

/* A struct of a newer header is fine as long as what this library does not know is zero. */
int rl_struct_read(const char *what, const void *given, size_t given_size, void *out,
                   size_t known_size)
{
    const unsigned char *bytes = given;

    if (given_size < sizeof(size_t) || given_size > STRUCT_LIMIT)
        return rl_detail(REDLOCK_INVAL, "%s.size is %zu; set it to sizeof the struct", what,
                         given_size);
    for (size_t i = known_size; i < given_size; i++)
        if (bytes[i])
            return rl_detail(REDLOCK_INVAL,
                             "%s uses a field that this library (%s) does not know; build "
                             "against its own header",
                             what, redlock_version());
    memset(out, 0, known_size);
    memcpy(out, given, given_size < known_size ? given_size : known_size);
    return REDLOCK_OK;
}

/* A struct that is filled by us: what the caller's header knows of it; its size field stays. */
int rl_struct_fill(const char *what, void *out, const void *known, size_t known_size)
{
    size_t size;

    if (!out)
        return rl_detail(REDLOCK_INVAL, "the %s is NULL", what);
    memcpy(&size, out, sizeof size);
    if (size <= sizeof size || size > STRUCT_LIMIT)
        return rl_detail(REDLOCK_INVAL, "%s.size is %zu; set it to sizeof the struct", what,
                         size);
    if (size > known_size)
        size = known_size;
    memcpy((char *)out + sizeof size, (const char *)known + sizeof size, size - sizeof size);
    return REDLOCK_OK;
}

/* ---- an acquire: which names, which kind, which combinations make sense ---- */

bool rl_is_reserved(const redlock *client, const char *name, size_t length)
{
    char head[sizeof RL_RESERVED_PREFIX - 1] = "";
    size_t prefix_size = client->prefix_size < sizeof head ? client->prefix_size : sizeof head;
    size_t room = sizeof head - prefix_size;

    memcpy(head, client->prefix, prefix_size);
    memcpy(head + prefix_size, name, length < room ? length : room);
    return memcmp(head, RL_RESERVED_PREFIX, sizeof head) == 0;
}

int rl_name_check(const redlock *client, const char *name, size_t *length)
{
    if (!name)
        return rl_detail(REDLOCK_INVAL, "the name is NULL");
    *length = strnlen(name, REDLOCK_NAME_MAX + 1);
    if (*length == 0)
        return rl_detail(REDLOCK_INVAL, "the name is empty");
    if (*length > REDLOCK_NAME_MAX)
        return rl_detail(REDLOCK_INVAL, "the name is longer than %d bytes", REDLOCK_NAME_MAX);
    if (rl_is_reserved(client, name, *length))
        return rl_detail(REDLOCK_INVAL,
                         "with the prefix, '%.*s' makes a key of those that stand beside locks "
                         "(redlock.*); choose another name or prefix",
                         (int)*length, name);
    return REDLOCK_OK;
}

int rl_ttl_check(const redlock *client, int64_t ttl_ms)
{
    if (ttl_ms <= 0)
        return rl_detail(REDLOCK_INVAL, "the TTL must be positive, not %lld ms: at least %d ms",
                         (long long)ttl_ms, REDLOCK_TTL_MIN_MS);
    if (ttl_ms < REDLOCK_TTL_MIN_MS)
        return rl_detail(REDLOCK_INVAL,
                         "a TTL of %lld ms is too short; at least %d ms are needed",
                         (long long)ttl_ms, REDLOCK_TTL_MIN_MS);
    if (ttl_ms > client->max_ttl_ms)
        return rl_detail(
            REDLOCK_INVAL,
            "a TTL of %lld ms is beyond the maximum TTL of this client, %lld ms; "
            "ask for less and have it renewed, or raise the maximum on every client",
            (long long)ttl_ms, (long long)client->max_ttl_ms);
    if (rl_validity_end_ns(0, ttl_ms * RL_NS_PER_MS, client->engine.policy.drift_ppm) <= 0)
        return rl_detail(REDLOCK_INVAL,
                         "the drift allowance leaves nothing of a TTL of %lld ms",
                         (long long)ttl_ms);
    return REDLOCK_OK;
}

/* In order, and each once: two requests for the same names are requests for the same lock. */
static void insert_name(struct rl_names *names, struct rl_slice name)
{
    size_t at = names->count;

    for (; at > 0; at--) {
        const struct rl_slice *before = &names->name[at - 1];
        size_t common = before->size < name.size ? before->size : name.size;
        int order = memcmp(before->data, name.data, common);

        if (order == 0)
            order = (before->size > name.size) - (before->size < name.size);
        if (order == 0)
            return;
        if (order < 0)
            break;
    }
    memmove(&names->name[at + 1], &names->name[at],
            (names->count - at) * sizeof names->name[0]);
    names->name[at] = name;
    names->count++;
}

int rl_names_read(const redlock *client, const char *name, const redlock_request *r,
                  struct rl_names *out)
{
    size_t name_size;
    int error = rl_name_check(client, name, &name_size);

    if (error)
        return error;
    *out = (struct rl_names){
        .count = 1,
        .name = {{name, name_size}},
        .owner = {"", 0},
        .tag = {"", 0},
        .label = {"", 0},
    };
    if (r->more_name_count && !r->more_names)
        return rl_detail(REDLOCK_INVAL, "more_names is NULL, but more_name_count is %zu",
                         r->more_name_count);
    if (r->more_name_count >= REDLOCK_NAMES_MAX)
        return rl_detail(REDLOCK_INVAL, "%zu names; at most %d can be locked together",
                         r->more_name_count + 1, REDLOCK_NAMES_MAX);
    for (size_t i = 0; i < r->more_name_count; i++) {
        size_t length = 0;

        error = rl_name_check(client, r->more_names[i], &length);
        if (error)
            return error;
        insert_name(out, (struct rl_slice){r->more_names[i], length});
    }
    if (out->count > 1 && !(rl_kind_is_known(r->kind) && rl_kinds[r->kind].single))
        return rl_detail(REDLOCK_INVAL,
                         "several names can be locked together as a mutex only, not as %s",
                         redlock_kind_text(r->kind));
    return REDLOCK_OK;
}

static int read_owner(redlock *client, const redlock_request *r, struct rl_names *out)
{
    const char *owner = r->owner ? r->owner : client->engine.id;
    size_t length = strnlen(owner, REDLOCK_OWNER_MAX + 1);

    if (!rl_kinds[r->kind].has_owner)
        return rl_detail(REDLOCK_INVAL, "a %s lock has no owner", redlock_kind_text(r->kind));
    if (length == 0 || length > REDLOCK_OWNER_MAX)
        return rl_detail(REDLOCK_INVAL, "an owner has 1 to %d bytes", REDLOCK_OWNER_MAX);
    out->owner = (struct rl_slice){owner, length};
    return REDLOCK_OK;
}

int rl_tag_check(const char *tag)
{
    if (tag &&
        rl_tag_is_valid((struct rl_slice){tag, strnlen(tag, REDLOCK_IDEMPOTENCY_KEY_SIZE + 1)}))
        return REDLOCK_OK;
    return rl_detail(REDLOCK_INVAL, "an idempotency key has %d characters of A-Z a-z 0-9 _ -",
                     REDLOCK_IDEMPOTENCY_KEY_SIZE);
}

/* Label and tag: what the caller wants in its values. */
static int read_texts(const redlock_request *r, struct rl_names *out)
{
    const char *fault = NULL;

    if (r->label) {
        out->label = (struct rl_slice){r->label, strnlen(r->label, REDLOCK_LABEL_MAX + 1)};
        fault = rl_label_fault(out->label);
    }
    if (r->idempotency_key)
        out->tag = (struct rl_slice){
            r->idempotency_key, strnlen(r->idempotency_key, REDLOCK_IDEMPOTENCY_KEY_SIZE + 1)};
    if (fault)
        return rl_detail(REDLOCK_INVAL, "the label %s", fault);
    return r->idempotency_key ? rl_tag_check(r->idempotency_key) : REDLOCK_OK;
}

static int check_kind(const redlock_request *r)
{
    const uint32_t known = REDLOCK_RENEW | REDLOCK_FENCED | REDLOCK_BOUND | REDLOCK_FAIR |
                           REDLOCK_KEEP | REDLOCK_PLACES;
    const struct rl_kind *kind;

    if (!rl_kind_is_known(r->kind))
        return rl_detail(REDLOCK_INVAL, "unknown kind of lock %d", r->kind);
    kind = &rl_kinds[r->kind];
    if (r->flags & ~known)
        return rl_detail(REDLOCK_INVAL, "unknown flags 0x%x in redlock_request",
                         r->flags & ~known);
    if ((r->flags & REDLOCK_KEEP) && (r->flags & REDLOCK_BOUND))
        return rl_detail(REDLOCK_INVAL, "REDLOCK_KEEP and REDLOCK_BOUND contradict each other: "
                                        "the end of a thread would delete what is to be kept");
    if (!kind->exclusive && (r->flags & REDLOCK_FENCED))
        return rl_detail(REDLOCK_INVAL,
                         "a %s lock has several holders at once: no order of fencing tokens "
                         "could keep a late one out",
                         redlock_kind_text(r->kind));
    if (!kind->has_slots && r->slots)
        return rl_detail(REDLOCK_INVAL, "a %s lock has no slots", redlock_kind_text(r->kind));
    if (kind->has_slots && (r->slots == 0 || r->slots > REDLOCK_SLOTS_MAX))
        return rl_detail(REDLOCK_INVAL, "a semaphore has 1 to %d slots, not %u",
                         REDLOCK_SLOTS_MAX, r->slots);
    return REDLOCK_OK;
}

/* Correctness is what a token makes of a lock: a holder that is late is kept out by it. */
static int apply_profile(const redlock *client, redlock_request *r)
{
    const redlock *member = client->is_sharded ? client->reader->member[0] : client;

    if (member->profile != REDLOCK_PROFILE_CORRECTNESS)
        return REDLOCK_OK;
    if (!rl_kinds[r->kind].exclusive)
        return rl_detail(
            REDLOCK_INVAL,
            "the profile is correctness, and a %s lock has no fencing token: use a "
            "mutex, or a client with the profile efficiency",
            redlock_kind_text(r->kind));
    r->flags |= REDLOCK_FENCED;
    return REDLOCK_OK;
}

int rl_request_read(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *given, redlock_request *out, struct rl_names *names)
{
    int error = REDLOCK_OK;

    if (given)
        error = rl_struct_read("redlock_request", given, given->size, out, sizeof *out);
    else
        *out = (redlock_request)REDLOCK_REQUEST();
    if (!error)
        error = check_kind(out);
    if (!error)
        error = apply_profile(client, out);
    if (!error)
        error = rl_names_read(client, name, out, names);
    if (!error)
        error = rl_ttl_check(client, ttl_ms);
    if (!error && (out->owner || rl_kinds[out->kind].has_owner))
        error = read_owner(client, out, names);
    if (!error && (out->label || out->idempotency_key))
        error = read_texts(out, names);
    if (!error && out->wait_ms < REDLOCK_WAIT_FOREVER)
        error = rl_detail(REDLOCK_INVAL, "wait_ms %lld is negative; -1 waits for ever",
                          (long long)out->wait_ms);
    if (!error && out->wait_ms > REDLOCK_WAIT_MAX_MS)
        error =
            rl_detail(REDLOCK_INVAL,
                      "wait_ms %lld is more than a year; REDLOCK_WAIT_FOREVER waits for ever",
                      (long long)out->wait_ms);
    if (!error && (out->max_hold_ms < 0 || out->max_hold_ms > REDLOCK_WAIT_MAX_MS))
        error = rl_detail(REDLOCK_INVAL, "max_hold_ms %lld is not between 0 and a year",
                          (long long)out->max_hold_ms);
    if (!error && out->fence)
        error = rl_detail(REDLOCK_INVAL, "redlock_request.fence is for redlock_adopt() only; "
                                         "REDLOCK_FENCED asks for a token");
    return error;
}

/* ---- an adoption ---- */

static int check_adoption(const redlock_request *r)
{
    if (r->flags & ~REDLOCK_RENEW)
        return rl_detail(REDLOCK_INVAL, "flags 0x%x: an adoption knows REDLOCK_RENEW only",
                         r->flags & ~REDLOCK_RENEW);
    if (r->wait_ms || r->max_hold_ms || r->label || r->idempotency_key)
        return rl_detail(REDLOCK_INVAL,
                         "an adoption has no wait_ms, max_hold_ms, label or idempotency_key: "
                         "nothing is asked of the nodes");
    if (r->fence && !rl_is_token(r->fence))
        return rl_detail(REDLOCK_INVAL, "%lld is no fencing token", (long long)r->fence);
    if (r->fence && !rl_kinds[r->kind].exclusive)
        return rl_detail(REDLOCK_INVAL, "a %s lock has no fencing token",
                         redlock_kind_text(r->kind));
    if (rl_kinds[r->kind].has_owner && !r->owner)
        return rl_detail(REDLOCK_INVAL, "the owner of the lock is needed to adopt it");
    return REDLOCK_OK;
}

int rl_adoption_read(redlock *client, const char *name, const redlock_request *given,
                     redlock_request *out, struct rl_names *names)
{
    int error = rl_struct_read("redlock_request", given, given->size, out, sizeof *out);

    if (!error)
        error = check_kind(out);
    if (!error)
        error = check_adoption(out);
    if (!error)
        error = rl_names_read(client, name, out, names);
    if (!error && (out->owner || rl_kinds[out->kind].has_owner))
        error = read_owner(client, out, names);
    return error;
}

/* A renewal is a timer of the engine: between two calls only a driver looks at it. */
int rl_renewal_check(redlock *client)
{
    if (client->threaded || atomic_load(&client->driven))
        return REDLOCK_OK;
    return rl_detail(
        REDLOCK_INVAL,
        "REDLOCK_RENEW on a client that nothing drives: the lock would not be "
        "renewed. Open the client with REDLOCK_THREAD, or ask for redlock_fd() and "
        "call redlock_next() when it is readable");
}
