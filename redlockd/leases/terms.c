/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/terms.h"

#include <stdio.h>
#include <string.h>

#include "http/accept.h"
#include "http/json.h"

static bool refuse(struct lease_refusal *refusal, int status, const char *code,
                   const char *detail)
{
    *refusal = (struct lease_refusal){status, code, detail};
    return false;
}

static bool invalid(struct lease_refusal *refusal, const char *detail)
{
    return refuse(refusal, 422, "INVALID", detail);
}

/* ---- header fields ----------------------------------------------------------------------- */

static bool read_id(const struct http_request *request, struct lease_terms *terms,
                    struct lease_refusal *refusal)
{
    struct rl_slice id;

    if (http_request_field(request, "lease-id", &id) != 1 || !lease_tag_of(id, &terms->tag))
        return refuse(refusal, 400, "LEASE_ID",
                      "send one Lease-Id: 22 to 128 random characters of A-Z a-z 0-9 _ -");
    return true;
}

static bool read_grant(const struct http_request *request, struct lease_terms *terms,
                       struct lease_refusal *refusal)
{
    struct rl_slice grant;
    int count = http_request_field(request, "grant", &grant);

    terms->has_grant = count == 1;
    if (count == 0 && request->method == HTTP_POST)
        return refuse(refusal, 400, "GRANT", "send the Grant that the answer to PUT gave");
    if (count > 1 || (count == 1 && !lease_grant_read(grant, &terms->tag, &terms->grant)))
        return refuse(refusal, 400, "GRANT", "the Grant is not one that was given");
    if (count == 1 && request->method == HTTP_PUT && !terms->is_stream)
        return refuse(refusal, 400, "GRANT", "a lease is renewed by POST");
    /* A lease has one way to be renewed, and a stream the other: while a close may be
     * deleting what a stream held, no POST may tell a client that it holds it. */
    if (count == 1 && request->method == HTTP_POST && terms->grant.is_stream)
        return refuse(refusal, 400, "GRANT", "the grant of a stream serves for coming back");
    if (count == 1 && request->method == HTTP_PUT && !terms->grant.is_stream)
        return refuse(refusal, 400, "GRANT", "the grant of a lease is renewed by POST");
    return true;
}

/*
 * A proxy can hide the death of a client, or close a stream that is in use: the rest of the
 * ways through it are leases.
 */
static bool read_accept(const struct http_request *request, struct lease_terms *terms,
                        struct lease_refusal *refusal)
{
    struct rl_slice field;

    if (!http_accepts(request->parser, request->head, "text/event-stream"))
        return true;
    if (request->method != HTTP_PUT)
        return refuse(refusal, 400, "NO_STREAM", "only PUT is answered with a stream");
    if (http_request_field(request, "via", &field) > 0 ||
        http_request_field(request, "forwarded", &field) > 0 ||
        http_request_has_like(request, "x-forwarded-"))
        return refuse(refusal, 400, "PROXIED",
                      "no stream through a proxy: connect directly, or use a lease");
    terms->is_stream = true;
    return true;
}

/* ---- fields of the body ------------------------------------------------------------------ */

/* NAME, its key. */
#define FIELDS(X)                                                                              \
    X(TTL, "ttl_ms")                                                                           \
    X(WAIT, "wait_ms")                                                                         \
    X(KIND, "kind")                                                                            \
    X(FENCED, "fenced")                                                                        \
    X(FAIR, "fair")                                                                            \
    X(LABEL, "label")                                                                          \
    X(SLOTS, "slots")                                                                          \
    X(OWNER, "owner")                                                                          \
    X(LEAVE, "leave")

enum field {
#define X(name, key) FIELD_##name,
    FIELDS(X)
#undef X
        FIELD_COUNT
};

/* By their numbers; NULL: left out. */
struct fields {
    const json_t *of[FIELD_COUNT];
    unsigned count;
};

/* False: there is one that does not exist. */
static bool collect(json_t *body, struct fields *fields)
{
    static const char *const keys[] = {
#define X(name, key) key,
        FIELDS(X)
#undef X
    };
    const char *key;
    json_t *value;

    json_object_foreach(body, key, value)
    {
        unsigned i = 0;

        while (i < FIELD_COUNT && strcmp(keys[i], key) != 0)
            i++;
        if (i == FIELD_COUNT)
            return false;
        fields->of[i] = value;
        fields->count++;
    }
    return true;
}

static bool read_number(const json_t *value, int64_t most, int64_t *out)
{
    json_int_t number;

    if (!value)
        return true;
    number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || number > most)
        return false;
    *out = number;
    return true;
}

static bool read_flag(const json_t *value, uint32_t bit, uint32_t *flags)
{
    if (!value)
        return true;
    if (!json_is_boolean(value))
        return false;
    *flags = json_is_true(value) ? *flags | bit : *flags & ~bit;
    return true;
}

/* A text, or null, or nothing: then *out stays as it is. */
static bool read_text(const json_t *value, size_t most, const char **out)
{
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(value) || json_string_length(value) > most)
        return false;
    *out = json_string_value(value);
    return true;
}

#define WORD_OF_KIND(name, number, text) " " text

static bool read_kind_fields(const struct fields *fields, const char *principal,
                             struct lease_terms *terms, struct lease_refusal *refusal)
{
    const json_t *kind = fields->of[FIELD_KIND];
    const char *owner = NULL;
    int64_t slots = 0;
    uint32_t traits;

    if (kind)
        terms->kind = redlock_kind_number(json_string_value(kind));
    traits = redlock_kind_traits(terms->kind);
    if (!traits)
        return invalid(refusal, "kind is one of" REDLOCK_KINDS(WORD_OF_KIND));
    if (!read_number(fields->of[FIELD_SLOTS], REDLOCK_SLOTS_MAX, &slots) ||
        (slots > 0) != !!(traits & REDLOCK_KIND_SLOTS))
        return invalid(refusal, "slots is 1 to 1024 of a semaphore, and 0 otherwise");
    terms->slots = (uint32_t)slots;
    /* Without an owner all clients of this daemon would be one. */
    if (!read_text(fields->of[FIELD_OWNER], REDLOCK_OWNER_MAX, &owner) ||
        (owner && owner[0] != '\0') != !!(traits & REDLOCK_KIND_OWNER))
        return invalid(refusal,
                       "reentrant needs an owner of at most 64 bytes, and no other has it");
    if (traits & REDLOCK_KIND_OWNER)
        lease_owner_of(principal, owner, terms->owner);
    /* Several hold the other kinds at once: no order of tokens could keep a late one out. */
    if (traits & REDLOCK_KIND_EXCLUSIVE)
        terms->flags |= REDLOCK_FENCED;
    if (!read_flag(fields->of[FIELD_FENCED], REDLOCK_FENCED, &terms->flags) ||
        !read_flag(fields->of[FIELD_FAIR], REDLOCK_FAIR, &terms->flags))
        return invalid(refusal, "fenced and fair are true or false");
    return true;
}

static bool read_acquire(const struct fields *fields, const char *principal,
                         struct lease_terms *terms, struct lease_refusal *refusal)
{
    const char *label = principal;

    if (!read_number(fields->of[FIELD_WAIT],
                     terms->is_stream ? REDLOCK_WAIT_MAX_MS : LEASE_WAIT_MAX_MS,
                     &terms->wait_ms))
        return invalid(refusal, terms->is_stream
                                    ? "wait_ms is a number from 0 to 31536000000"
                                    : "wait_ms is a number from 0 to 50000, or use a stream");
    if (!read_text(fields->of[FIELD_LABEL], REDLOCK_LABEL_MAX, &label))
        return invalid(refusal, "label is a text of at most 64 bytes");
    /* A principal is ASCII, and may be longer than a label. */
    snprintf(terms->label, sizeof terms->label, "%s", label);
    if (fields->of[FIELD_LEAVE] && !json_is_boolean(fields->of[FIELD_LEAVE]))
        return invalid(refusal, "leave is true or false");
    terms->leaves = json_is_true(fields->of[FIELD_LEAVE]);
    return read_kind_fields(fields, principal, terms, refusal);
}

static bool read_body(const struct http_request *request, const char *principal,
                      struct lease_terms *terms, struct lease_refusal *refusal)
{
    bool is_acquire = request->method == HTTP_PUT && !terms->has_grant;
    struct fields fields = {.count = 0};
    const char *why;
    json_t *body = NULL; /* of no body, as most releases have it: every field is left out */
    bool exist;

    if (request->body.size > 0 && !(body = http_json_read(request->body, &why)))
        return refuse(refusal, 400, "JSON", why);
    exist = collect(body, &fields);
    if (request->method == HTTP_DELETE && (!exist || fields.count > 0))
        return invalid(refusal, "a release has no fields");
    terms->has_ttl = fields.of[FIELD_TTL] != NULL;
    if (!is_acquire && (!exist || fields.count > terms->has_ttl))
        return invalid(refusal, "a renewal has no field but ttl_ms");
    if (!exist)
        return invalid(refusal,
                       "a field is none of ttl_ms, wait_ms, kind, fenced, fair, label, "
                       "slots, owner, leave");
    terms->ttl_ms = LEASE_TTL_DEFAULT_MS;
    if (!read_number(fields.of[FIELD_TTL], REDLOCK_TTL_LIMIT_MS, &terms->ttl_ms) ||
        terms->ttl_ms < REDLOCK_TTL_MIN_MS)
        return invalid(refusal, "ttl_ms is a number from 10 to 86400000");
    return !is_acquire || read_acquire(&fields, principal, terms, refusal);
}

void lease_terms_init(void)
{
    http_json_init();
}

bool lease_terms_read(const struct http_request *request, const char *name,
                      const char *principal, struct lease_terms *terms,
                      struct lease_refusal *refusal)
{
    *terms = (struct lease_terms){.name = name, .path = request->path};
    return read_accept(request, terms, refusal) && read_id(request, terms, refusal) &&
           read_grant(request, terms, refusal) && read_body(request, principal, terms, refusal);
}

bool break_terms_read(const struct http_request *request,
                      char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1],
                      struct lease_refusal *refusal)
{
    const char *why, *text;
    json_t *body;

    if (request->query.size > 0)
        return refuse(refusal, 400, "QUERY", "there is no such parameter");
    body = http_json_read(request->body, &why);
    if (!body)
        return refuse(refusal, 400, "JSON", why);
    text = json_string_value(json_object_get(body, "fingerprint"));
    if (!text || json_object_size(body) != 1 || strlen(text) != REDLOCK_FINGERPRINT_SIZE ||
        strspn(text, "0123456789abcdef") != REDLOCK_FINGERPRINT_SIZE)
        return invalid(refusal, "a break has one field, the fingerprint of a holder of GET");
    memcpy(fingerprint, text, REDLOCK_FINGERPRINT_SIZE + 1);
    return true;
}
