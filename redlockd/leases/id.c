/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/id.h"

#include <assert.h>
#define OPENSSL_SUPPRESS_DEPRECATED /* digest_text() says why */
#include <openssl/sha.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"
#include "protocol/value.h"

#define SKIPPED (LEASE_TAG_SIZE + 1) /* the tag and its colon */
/* Kind, slots and fence, big-endian; the size of the owner, the owner; the value to the end. */
#define FIXED_SIZE (1 + 2 + 8 + 1)
#define STREAM_BIT 0x80 /* in the byte of the kind */
#define BYTES_MAX (FIXED_SIZE + LEASE_TAG_SIZE + REDLOCK_VALUE_MAX - SKIPPED)

_Static_assert((BYTES_MAX + 2) / 3 * 4 <= LEASE_GRANT_MAX, "a grant has room for every value");

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define VALID 64 /* a bit beside the six of a number */

/* The number of each character of the alphabet with VALID; 0: it is none. */
static const uint8_t
    numbers[256] =
        {
            ['-'] = 126, ['0'] = 116, 117, 118, 119, 120, 121, 122,         123,        124,
            125,         ['A'] = 64,  65,  66,  67,  68,  69,  70,          71,         72,
            73,          74,          75,  76,  77,  78,  79,  80,          81,         82,
            83,          84,          85,  86,  87,  88,  89,  ['_'] = 127, ['a'] = 90, 91,
            92,          93,          94,  95,  96,  97,  98,  99,          100,        101,
            102,         103,         104, 105, 106, 107, 108, 109,         110,        111,
            112,         113,         114, 115,
};

/* ---- base64url, without padding ---------------------------------------------------------- */

static size_t encode(const uint8_t *bytes, size_t size, char *out)
{
    char *at = out;
    uint32_t bits;

    for (; size >= 3; size -= 3, bytes += 3) {
        bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        *at++ = alphabet[bits >> 18];
        *at++ = alphabet[bits >> 12 & 63];
        *at++ = alphabet[bits >> 6 & 63];
        *at++ = alphabet[bits & 63];
    }
    if (size > 0) {
        bits = (uint32_t)bytes[0] << 8 | (size > 1 ? bytes[1] : 0);
        *at++ = alphabet[bits >> 10];
        *at++ = alphabet[bits >> 4 & 63];
        if (size > 1)
            *at++ = alphabet[bits << 2 & 63];
    }
    return (size_t)(at - out);
}

/* The bits of a character; *valid loses VALID if it is not of the alphabet. */
static uint32_t bits_of(char character, uint8_t *valid)
{
    uint8_t number = numbers[(uint8_t)character];

    *valid &= number;
    return number & 63;
}

/* Bytes in out, or -1. Bits that are left over must be 0: one grant has one form. */
static int decode(struct rl_slice text, uint8_t *out, size_t size)
{
    size_t rest = text.size % 4, length = text.size / 4 * 3 + (rest ? rest - 1 : 0);
    unsigned spare = rest == 2 ? 4 : 2; /* bits that are left over, if there is a rest */
    const char *at = text.data, *end = text.data + text.size - rest;
    uint8_t valid = VALID;
    uint32_t bits = 0;

    if (rest == 1 || length > size)
        return -1;
    for (; at < end; at += 4) {
        bits = bits_of(at[0], &valid) << 18 | bits_of(at[1], &valid) << 12 |
               bits_of(at[2], &valid) << 6 | bits_of(at[3], &valid);
        *out++ = (uint8_t)(bits >> 16);
        *out++ = (uint8_t)(bits >> 8);
        *out++ = (uint8_t)bits;
    }
    for (bits = 0; at < text.data + text.size; at++)
        bits = bits << 6 | bits_of(*at, &valid);
    if (rest > 0 && (bits & ((1u << spare) - 1)) != 0)
        return -1;
    if (rest == 3)
        *out++ = (uint8_t)(bits >> 10);
    if (rest > 0)
        *out = (uint8_t)(bits >> spare);
    return valid & VALID ? (int)length : -1;
}

/* ---- tags -------------------------------------------------------------------------------- */

#define TAG_BYTES ((LEASE_TAG_SIZE * 6 + 7) / 8) /* of the digest: those that a tag shows */

/* SHA256() and the calls of EVP allocate for every digest, which takes longer than the digest
 * of an id; with a context of EVP that is used again, that of an id takes twice as long as so.
 *  */
static void digest_text(const char *text, size_t size, char out[LEASE_TAG_SIZE + 1])
{
    SHA256_CTX state;
    uint8_t bytes[SHA256_DIGEST_LENGTH];
    char encoded[(TAG_BYTES + 2) / 3 * 4];

    SHA256_Init(&state);
    SHA256_Update(&state, text, size);
    SHA256_Final(bytes, &state);
    encode(bytes, TAG_BYTES, encoded);
    memcpy(out, encoded, LEASE_TAG_SIZE);
    out[LEASE_TAG_SIZE] = '\0';
}

bool lease_tag_of(struct rl_slice id, struct lease_tag *tag)
{
    uint8_t valid = VALID;

    if (id.size < LEASE_ID_MIN || id.size > LEASE_ID_MAX)
        return false;
    for (size_t i = 0; i < id.size; i++)
        valid &= numbers[(uint8_t)id.data[i]];
    if (!valid)
        return false;
    digest_text(id.data, id.size, tag->text);
    return true;
}

void lease_owner_of(const char *principal, const char *owner, char out[LEASE_TAG_SIZE + 1])
{
    char text[LEASE_PRINCIPAL_MAX + 1 + REDLOCK_OWNER_MAX + 1];
    size_t first = strlen(principal), second = strlen(owner);

    assert(first <= LEASE_PRINCIPAL_MAX && second <= REDLOCK_OWNER_MAX);
    memcpy(text, principal, first + 1); /* with its NUL, which stands in neither */
    memcpy(text + first + 1, owner, second);
    digest_text(text, first + 1 + second, out);
}

bool lease_has_tag(const char *value, const struct lease_tag *tag)
{
    return strncmp(value, tag->text, LEASE_TAG_SIZE) == 0 && value[LEASE_TAG_SIZE] == ':';
}

void lease_label_of(const char *value, char label[REDLOCK_LABEL_MAX + 1])
{
    /* The value of a grant is the client's and may be made up: what is no label
     * is none here. */
    struct rl_slice text = rl_label_of(rl_slice_of(value));

    memcpy(label, text.data, text.size);
    label[text.size] = '\0';
}

/* ---- grants ------------------------------------------------------------------------------ */

static void put_number(uint8_t *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(number >> 8 * (size - 1 - i));
}

static uint64_t get_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

bool lease_grant_write(const struct lease_grant *grant, char text[LEASE_GRANT_MAX + 1])
{
    uint8_t bytes[BYTES_MAX];
    size_t owner_size = strlen(grant->owner);
    size_t size = strlen(grant->value);

    if (size <= SKIPPED || grant->value[LEASE_TAG_SIZE] != ':')
        return false;
    bytes[0] = (uint8_t)(grant->kind | (grant->is_stream ? STREAM_BIT : 0));
    put_number(bytes + 1, grant->slots, 2);
    put_number(bytes + 3, (uint64_t)grant->fence, 8);
    bytes[11] = (uint8_t)owner_size;
    memcpy(bytes + FIXED_SIZE, grant->owner, owner_size);
    memcpy(bytes + FIXED_SIZE + owner_size, grant->value + SKIPPED, size - SKIPPED);
    text[encode(bytes, FIXED_SIZE + owner_size + size - SKIPPED, text)] = '\0';
    return true;
}

uint64_t lease_grant_mark(const struct lease_grant *grant, uint64_t key)
{
    char bytes[sizeof key + 3 + LEASE_TAG_SIZE + REDLOCK_VALUE_MAX + 1];
    size_t owner_size = strlen(grant->owner), value_size = strlen(grant->value);
    char *at = bytes + sizeof key;

    memcpy(bytes, &key, sizeof key);
    *at++ = (char)grant->kind;
    *at++ = (char)(grant->slots >> 8);
    *at++ = (char)grant->slots;
    at = rl_slice_append(at, (struct rl_slice){grant->owner, owner_size + 1});
    at = rl_slice_append(at, (struct rl_slice){grant->value, value_size});
    return rl_slice_hash((struct rl_slice){bytes, (size_t)(at - bytes)});
}

/* Nodes are sent no control and no NUL that a client made up. */
static bool is_text(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (rl_is_control((char)bytes[i]))
            return false;
    return size > 0;
}

bool lease_grant_read(struct rl_slice text, const struct lease_tag *tag,
                      struct lease_grant *grant)
{
    uint8_t bytes[BYTES_MAX];
    int decoded = decode(text, bytes, sizeof bytes);
    size_t owner_size, value_size;

    if (decoded < FIXED_SIZE || !redlock_kind_traits(bytes[0] & ~STREAM_BIT))
        return false;
    owner_size = bytes[11];
    if ((owner_size != 0 && owner_size != LEASE_TAG_SIZE) ||
        FIXED_SIZE + owner_size > (size_t)decoded)
        return false;
    value_size = (size_t)decoded - FIXED_SIZE - owner_size;
    if (!is_text(bytes + FIXED_SIZE, owner_size + value_size) || value_size == 0 ||
        value_size > REDLOCK_VALUE_MAX - SKIPPED)
        return false;
    grant->kind = bytes[0] & ~STREAM_BIT;
    grant->is_stream = (bytes[0] & STREAM_BIT) != 0;
    grant->slots = (unsigned)get_number(bytes + 1, 2);
    grant->fence = (int64_t)get_number(bytes + 3, 8);
    memcpy(grant->owner, bytes + FIXED_SIZE, owner_size);
    grant->owner[owner_size] = '\0';
    memcpy(grant->value, tag->text, LEASE_TAG_SIZE);
    grant->value[LEASE_TAG_SIZE] = ':';
    memcpy(grant->value + SKIPPED, bytes + FIXED_SIZE + owner_size, value_size);
    grant->value[SKIPPED + value_size] = '\0';
    return grant->fence >= 0;
}
