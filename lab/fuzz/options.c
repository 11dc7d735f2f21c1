/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structs that callers pass in, with sizes of older and newer headers, tails and texts of
 * any kind. What is accepted must be within the documented limits; what is refused leaves the
 * out-parameters alone and a sentence in redlock_detail(). Accepted options open a client,
 * whose nodes are sockets that do not exist, and a request is started there.
 */
#include <string.h>

#include "client/calls.h"
#include "drive/client.h"
#include "fuzz.h"

#define TAIL_MAX 256
#define NAME_BYTES_MAX (REDLOCK_NAME_MAX + 64)

/* No server listens there, and no name is looked up. */
static const char *const nodes[] = {
    "unix:///nonexistent/redlock/a", "unix:///nonexistent/redlock/b",
    "unix:///nonexistent/redlock/c", "unix:///nonexistent/redlock/d?db=3",
    "unix:///nonexistent/redlock/a", NULL,
};

/*
 * A struct as a caller with another header would have it: `given` of `size` bytes, or with a
 * tail. Sizes that end in the middle of a field cannot come out of a compiler.
 */
static void *resize(struct fuzz_input *input, const void *known, size_t known_size)
{
    uint8_t choice = fuzz_byte(input);
    size_t size = known_size;
    uint8_t *out;

    if (choice & 1)
        size = (size_t)fuzz_byte(input) * 8;
    if (choice & 2)
        size = known_size + fuzz_byte(input) % TAIL_MAX;
    if (choice & 4)
        size = (size_t)fuzz_number(input, 4) << 8;
    out = calloc(1, size > sizeof size && size < (1 << 17) ? size : 1 << 17);
    if (!out)
        abort();
    memcpy(out, known, size < known_size ? size : known_size);
    if ((choice & 2) && (choice & 8) && size > known_size)
        out[known_size + fuzz_byte(input) % (size - known_size)] = fuzz_byte(input);
    memcpy(out, &size, sizeof size);
    return out;
}

/* Small ones mostly, but also far beyond a year, and negative ones. */
static int64_t wide_number(struct fuzz_input *input)
{
    int64_t number = (int32_t)fuzz_number(input, 4);

    return number * ((int64_t)1 << (fuzz_byte(input) & 31));
}

static void check_refusal(int error)
{
    FUZZ_CHECK(error == REDLOCK_INVAL && redlock_detail()[0] != '\0');
}

static void check_options(const redlock_options *o)
{
    FUZZ_CHECK(o->node_count >= 1 && o->node_count <= REDLOCK_NODES_MAX && o->nodes);
    FUZZ_CHECK(o->node_timeout_ms >= 1 && o->connect_timeout_ms >= 1);
    FUZZ_CHECK(o->max_ttl_ms >= REDLOCK_TTL_MIN_MS && o->max_ttl_ms <= REDLOCK_TTL_LIMIT_MS);
    FUZZ_CHECK(o->retry_min_ms >= 1 && o->retry_min_ms <= o->retry_max_ms);
    FUZZ_CHECK(o->prefix && strlen(o->prefix) <= REDLOCK_PREFIX_MAX);
    FUZZ_CHECK(o->client_name && *o->client_name);
}

static void call_acquire(struct fuzz_input *input, redlock *client)
{
    redlock_request known = REDLOCK_REQUEST();
    redlock_lock *const nothing = (redlock_lock *)&known;
    redlock_lock *lock = nothing;
    redlock_request *given;
    int64_t ttl_ms = (int32_t)fuzz_number(input, 4) >> (fuzz_byte(input) & 31);
    char *name = fuzz_text(input, NAME_BYTES_MAX);
    int error;

    known.kind = (int8_t)fuzz_byte(input) / 32;
    known.flags = fuzz_byte(input) & (REDLOCK_RENEW | REDLOCK_FENCED | 0x40);
    known.wait_ms = wide_number(input);
    known.max_hold_ms = wide_number(input);
    known.max_extensions = fuzz_byte(input);
    given = resize(input, &known, sizeof known);
    error = redlock_start_acquire(client, name, ttl_ms, given, &lock);
    if (error) {
        check_refusal(error);
        FUZZ_CHECK(lock == nothing);
    } else {
        FUZZ_CHECK(ttl_ms >= REDLOCK_TTL_MIN_MS && ttl_ms <= client->max_ttl_ms);
        FUZZ_CHECK(strlen(redlock_name(lock)) >= 1 &&
                   strlen(redlock_name(lock)) <= REDLOCK_NAME_MAX);
        FUZZ_CHECK(strncmp(redlock_name(lock), name, strlen(redlock_name(lock))) == 0);
        FUZZ_CHECK(redlock_remaining_ms(lock) == 0 &&
                   redlock_state(lock) == REDLOCK_STATE_WAITING);
        redlock_lock_free(lock);
    }
    free(given);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    redlock_options known = REDLOCK_OPTIONS(.nodes = nodes);
    redlock_options read;
    redlock_options *given;
    redlock *client = NULL;
    uint8_t texts = fuzz_byte(&input);
    char *prefix = fuzz_text(&input, REDLOCK_PREFIX_MAX + 8);
    char *name = fuzz_text(&input, 80);
    int error;

    known.node_count = fuzz_byte(&input) % 8;
    known.flags =
        fuzz_byte(&input) & (REDLOCK_NO_NATIVE | REDLOCK_STRICT | REDLOCK_NO_GUARD | 0x80);
    known.node_timeout_ms = fuzz_number(&input, 4) >> (fuzz_byte(&input) & 31);
    known.connect_timeout_ms = fuzz_number(&input, 3);
    known.max_ttl_ms = fuzz_number(&input, 4) >> (fuzz_byte(&input) & 31);
    known.drift_ppm = fuzz_number(&input, 3);
    known.retry_min_ms = fuzz_number(&input, 2);
    known.retry_max_ms = fuzz_number(&input, 2);
    known.prefix = texts & 1 ? prefix : NULL;
    known.client_name = texts & 2 ? name : NULL;
    known.username = texts & 4 ? name : NULL;
    known.password = texts & 8 ? name : NULL;
    known.password_file = texts & 16 ? "/nonexistent/redlock/password" : NULL;
    known.tls_key_file = texts & 32 ? "/nonexistent/redlock/key" : NULL;
    known.tls_cert_file = texts & 64 ? "/nonexistent/redlock/cert" : NULL;
    given = resize(&input, &known, sizeof known);
    /* A struct that ends before its nodes requests the machine's: there are none. */
    setenv("REDLOCK_CONFIG", "/dev/null", 1);
    unsetenv("REDLOCK_NODES");
    error = rl_options_read(given, &read);
    if (!error)
        error = rl_options_check(&read);
    if (error)
        check_refusal(error);
    else
        check_options(&read);
    if (redlock_open(given, &client) == REDLOCK_OK) {
        FUZZ_CHECK(error == REDLOCK_OK && client);
        for (int i = 0; i < 4 && input.left > 0; i++)
            call_acquire(&input, client);
        redlock_close(client);
    } else {
        FUZZ_CHECK(!client && redlock_detail()[0] != '\0');
    }
    free(given);
    free(prefix);
    free(name);
    return 0;
}
