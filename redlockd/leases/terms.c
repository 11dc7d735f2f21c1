/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/terms.h"

#include <stdio.h>
#include <string.h>

#include "base/json_read.h"

#define KIND_MAX 32 /* bytes of a word for a kind */
#define NO_KIND (-1)

static bool refuse(struct lease_refusal *refusal, int status, const char *code,
                   const char *detail)
{
    *refusal = (struct lease_refusal){status, code, detail};
    return false;
}

static bool invalid(struct lease_refusal *refusal, const char *detail)
{
    return refuse(refusal, 422, "INVAL", detail);
}

/* ---- header fields ----------------------------------------------------------------------- */

static bool read_id(const struct http_request *request, struct lease_terms *terms,
                    struct lease_refusal *refusal)
{
    struct rl_slice id;

    if (http_request_field(request, HTTP_FIELD_LEASE_ID, &id) != 1 ||
        !lease_tag_of(id, &terms->tag))
        return refuse(refusal, 400, "LEASE_ID",
                      "send one Lease-Id: 22 to 128 random characters of A-Z a-z 0-9 _ -");
    return true;
}

static bool read_grant(const struct http_request *request, struct lease_terms *terms,
                       struct lease_refusal *refusal)
{
    struct rl_slice grant;
    int count = http_request_field(request, HTTP_FIELD_GRANT, &grant);

    terms->has_grant = count == 1;
    if (count > 1 || (count == 1 && !lease_grant_read(grant, &terms->tag, &terms->grant)))
        return refuse(refusal, 400, "GRANT", "the Grant is not one that was given");
    if (count == 1 && request->method == HTTP_PUT &&
        !(terms->is_stream && terms->grant.is_stream))
        return refuse(refusal, 400, "GRANT", "a lease is renewed by POST");
    return true; /* which grant a POST needs, lease.c decides */
}

/*
 * A proxy can hide the death of a client, or close a stream that is in use: the rest of the
 * ways through it are leases.
 */
static bool read_accept(const struct http_request *request, struct lease_terms *terms,
                        struct lease_refusal *refusal)
{
    if (!request->parser->accepts_events)
        return true;
    if (request->method != HTTP_PUT)
        return refuse(refusal, 400, "NO_STREAM", "only PUT is answered with a stream");
    if (request->parser->is_forwarded)
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

/* By their numbers; ABSENT: left out. */
struct fields {
    struct rl_json_value of[FIELD_COUNT];
    unsigned count;
};

enum fields_fault { FIELDS_FINE, FIELDS_UNKNOWN, FIELDS_TWICE, FIELDS_NO_OBJECT };

static enum field field_of(struct rl_json_value name)
{
    static const char *const keys[] = {
#define X(name, key) key,
        FIELDS(X)
#undef X
    };
    unsigned i = 0;

    while (i < FIELD_COUNT && !rl_json_is(name, keys[i]))
        i++;
    return (enum field)i;
}

/* No body, as most releases have it, leaves out every field. */
static enum fields_fault collect(struct rl_slice body, struct fields *fields)
{
    struct rl_json_reader reader = rl_json_read(body);
    enum fields_fault fault = FIELDS_FINE;
    struct rl_json_value name, value;

    while (body.size > 0 && rl_json_next(&reader, &name, &value)) {
        enum field field = field_of(name);

        if (field == FIELD_COUNT) {
            fault = fault == FIELDS_TWICE ? fault : FIELDS_UNKNOWN;
            continue;
        }
        if (fields->of[field].type != RL_JSON_ABSENT)
            fault = FIELDS_TWICE;
        fields->of[field] = value;
        fields->count++;
    }
    return reader.failed ? FIELDS_NO_OBJECT : fault;
}

static bool read_number(const struct rl_json_value *value, int64_t most, int64_t *out)
{
    if (value->type == RL_JSON_ABSENT)
        return true;
    if (value->type != RL_JSON_INTEGER || value->integer < 0 || value->integer > most)
        return false;
    *out = value->integer;
    return true;
}

static bool read_flag(const struct rl_json_value *value, uint32_t bit, uint32_t *flags)
{
    if (value->type == RL_JSON_ABSENT)
        return true;
    *flags = value->integer ? *flags | bit : *flags & ~bit;
    return value->type == RL_JSON_BOOL;
}

/* A text that `out` has room for, or null, or nothing: then it stays as it is. */
static bool read_text(const struct rl_json_value *value, char *out, size_t size)
{
    return value->type == RL_JSON_ABSENT || value->type == RL_JSON_NULL ||
           rl_json_text(*value, out, size) >= 0;
}

#define WORD_OF_KIND(name, number, text) " " text

static bool read_kind_fields(const struct fields *fields, const char *principal,
                             struct lease_terms *terms, struct lease_refusal *refusal)
{
    const struct rl_json_value *kind = &fields->of[FIELD_KIND];
    char word[KIND_MAX] = "", owner[REDLOCK_OWNER_MAX + 1] = "";
    int64_t slots = 0;
    uint32_t traits;

    if (kind->type != RL_JSON_ABSENT)
        terms->kind =
            rl_json_text(*kind, word, sizeof word) >= 0 ? redlock_kind_number(word) : NO_KIND;
    traits = redlock_kind_traits(terms->kind);
    if (!traits)
        return invalid(refusal, "kind is one of" REDLOCK_KINDS(WORD_OF_KIND));
    if (!read_number(&fields->of[FIELD_SLOTS], REDLOCK_SLOTS_MAX, &slots) ||
        (slots > 0) != !!(traits & REDLOCK_KIND_SLOTS))
        return invalid(refusal, "slots is 1 to 1024 of a semaphore, and 0 otherwise");
    terms->slots = (uint32_t)slots;
    /* Without an owner all clients of this daemon would be one. */
    if (!read_text(&fields->of[FIELD_OWNER], owner, sizeof owner) ||
        (owner[0] != '\0') != !!(traits & REDLOCK_KIND_OWNER))
        return invalid(refusal,
                       "reentrant needs an owner of at most 64 bytes, and no other has it");
    if (traits & REDLOCK_KIND_OWNER)
        lease_owner_of(principal, owner, terms->owner);
    /* Several hold the other kinds at once: no order of tokens could keep a late one out. */
    if (traits & REDLOCK_KIND_EXCLUSIVE)
        terms->flags |= REDLOCK_FENCED;
    if (!read_flag(&fields->of[FIELD_FENCED], REDLOCK_FENCED, &terms->flags) ||
        !read_flag(&fields->of[FIELD_FAIR], REDLOCK_FAIR, &terms->flags))
        return invalid(refusal, "fenced and fair are true or false");
    return true;
}

static bool read_acquire(const struct fields *fields, const char *principal,
                         struct lease_terms *terms, struct lease_refusal *refusal)
{
    const struct rl_json_value *leave = &fields->of[FIELD_LEAVE];
    size_t size = strlen(principal);

    if (!read_number(&fields->of[FIELD_WAIT],
                     terms->is_stream ? REDLOCK_WAIT_MAX_MS : LEASE_WAIT_MAX_MS,
                     &terms->wait_ms))
        return invalid(refusal, terms->is_stream
                                    ? "wait_ms is a number from 0 to 31536000000"
                                    : "wait_ms is a number from 0 to 50000, or use a stream");
    /* A principal is ASCII, and may be longer than a label. */
    memcpy(terms->label, principal, size < REDLOCK_LABEL_MAX ? size : REDLOCK_LABEL_MAX);
    if (!read_text(&fields->of[FIELD_LABEL], terms->label, sizeof terms->label))
        return invalid(refusal, "label is a text of at most 64 bytes");
    if (leave->type != RL_JSON_ABSENT && leave->type != RL_JSON_BOOL)
        return invalid(refusal, "leave is true or false");
    terms->leaves = leave->integer;
    return read_kind_fields(fields, principal, terms, refusal);
}

static bool read_body(const struct http_request *request, const char *principal,
                      struct lease_terms *terms, struct lease_refusal *refusal)
{
    bool is_acquire = request->method == HTTP_PUT && !terms->has_grant;
    struct fields fields = {.count = 0};
    enum fields_fault fault = collect(request->body, &fields);

    if (fault == FIELDS_NO_OBJECT)
        return refuse(refusal, 400, "JSON", "the body is not a JSON object");
    if (fault == FIELDS_TWICE)
        return refuse(refusal, 400, "JSON", "a name stands twice in the object");
    if (request->method == HTTP_DELETE && (fault || fields.count > 0))
        return invalid(refusal, "a release has no fields");
    terms->has_ttl = fields.of[FIELD_TTL].type != RL_JSON_ABSENT;
    if (!is_acquire && (fault || fields.count > terms->has_ttl))
        return invalid(refusal, "a renewal has no field but ttl_ms");
    if (fault)
        return invalid(refusal,
                       "a field is none of ttl_ms, wait_ms, kind, fenced, fair, label, "
                       "slots, owner, leave");
    terms->ttl_ms = LEASE_TTL_DEFAULT_MS;
    if (!read_number(&fields.of[FIELD_TTL], REDLOCK_TTL_LIMIT_MS, &terms->ttl_ms) ||
        terms->ttl_ms < REDLOCK_TTL_MIN_MS)
        return invalid(refusal, "ttl_ms is a number from 10 to 86400000");
    return !is_acquire || read_acquire(&fields, principal, terms, refusal);
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
    struct rl_json_value value;
    char text[REDLOCK_FINGERPRINT_SIZE + 1];
    int is_sole;

    if (request->query.size > 0)
        return refuse(refusal, 400, "QUERY", "there is no such parameter");
    is_sole = request->body.size > 0 ? rl_json_sole(request->body, "fingerprint", &value) : 0;
    if (is_sole < 0)
        return refuse(refusal, 400, "JSON", "the body is not a JSON object");
    if (!is_sole || rl_json_text(value, text, sizeof text) != REDLOCK_FINGERPRINT_SIZE ||
        strspn(text, "0123456789abcdef") != REDLOCK_FINGERPRINT_SIZE)
        return invalid(refusal, "a break has one field, the fingerprint of a holder of GET");
    memcpy(fingerprint, text, REDLOCK_FINGERPRINT_SIZE + 1);
    return true;
}
