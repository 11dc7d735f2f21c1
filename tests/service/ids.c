/* SPDX-License-Identifier: BSD-2-Clause */
/* Lease ids, tags and grants. */
#include "base/slice.h"
#include "check.h"
#include "leases/id.h"

#include <stdio.h>
#include <string.h>

static struct rl_slice span(const char *text)
{
    return rl_slice_of(text);
}

static struct lease_tag tag_of(const char *id)
{
    struct lease_tag tag;

    CHECK(lease_tag_of(span(id), &tag));
    return tag;
}

static struct lease_tag numbered(unsigned number)
{
    char id[64];

    snprintf(id, sizeof id, "lease-of-some-client-%010u", number);
    return tag_of(id);
}

CASE(tag_is_sha256, "The tag is the first 22 characters of base64url of the id's SHA-256.")
{
    /* printf 5f0c5f0c5f0c5f0c5f0c5f0c | openssl dgst -sha256 -binary | base64 | tr +/ -_ */
    CHECK_STR("szBEFZGvrXKnlyCaExe5G1", tag_of("5f0c5f0c5f0c5f0c5f0c5f0c").text);
}

CASE(ids_are_checked, "A lease id has 22 to 128 characters of the alphabet, and no other.")
{
    char text[LEASE_ID_MAX + 2];
    struct lease_tag tag;

    memset(text, 'a', sizeof text);
    CHECK(!lease_tag_of((struct rl_slice){text, 0}, &tag));
    CHECK(!lease_tag_of((struct rl_slice){text, LEASE_ID_MIN - 1}, &tag));
    CHECK(lease_tag_of((struct rl_slice){text, LEASE_ID_MIN}, &tag));
    CHECK(lease_tag_of((struct rl_slice){text, LEASE_ID_MAX}, &tag));
    CHECK(!lease_tag_of((struct rl_slice){text, LEASE_ID_MAX + 1}, &tag));
    CHECK(!lease_tag_of(span("0123456789012345678901 "), &tag));
    CHECK(!lease_tag_of(span("012345678901234567890:1"), &tag));
    CHECK(lease_tag_of(span("_-AZaz09_-AZaz09_-AZaz"), &tag));
}

CASE(grants_come_back, "A grant is read as the value and the terms that it was made of.")
{
    struct lease_tag tag = numbered(1), other = numbered(2);
    char text[LEASE_GRANT_MAX + 1];

    /* Every length up to the longest value, with bytes of UTF-8 in it. */
    for (int size = LEASE_TAG_SIZE + 2; size <= REDLOCK_VALUE_MAX; size++) {
        struct lease_grant grant = {
            .kind = size % 4, .slots = REDLOCK_SLOTS_MAX, .fence = (INT64_C(1) << 52) - size};
        struct lease_grant back;

        memset(grant.value, size % 2 ? 0xc3 : 'x', (size_t)size);
        memcpy(grant.value, tag.text, LEASE_TAG_SIZE);
        grant.value[LEASE_TAG_SIZE] = ':';
        if (size % 3 == 0)
            lease_owner_of("uid:1000", "me", grant.owner);
        CHECK(lease_grant_write(&grant, text));
        CHECK(!strstr(text, tag.text));
        CHECK(lease_grant_read(span(text), &tag, &back));
        CHECK_STR(grant.value, back.value);
        CHECK_STR(grant.owner, back.owner);
        CHECK(grant.kind == back.kind && grant.slots == back.slots);
        CHECK_INT(grant.fence, back.fence);
        CHECK(lease_has_tag(back.value, &tag));
        CHECK(!lease_has_tag(back.value, &other));
    }
    CHECK(!lease_grant_write(&(struct lease_grant){.value = "without a tag in front"}, text));
}

CASE(grants_are_checked,
     "A grant that was cut, changed or made up is refused, or is another value.")
{
    struct lease_tag tag = numbered(1);
    struct lease_grant grant = {.value = "0123456789012345678901:ab"}, back;
    char text[LEASE_GRANT_MAX + 1], copy[LEASE_GRANT_MAX + 64];

    CHECK(lease_grant_write(&grant, text));
    CHECK(lease_grant_read(span(text), &tag, &back));
    CHECK(!lease_grant_read(span(""), &tag, &back));
    for (size_t size = 0; size < strlen(text) - 2; size++)
        CHECK(!lease_grant_read((struct rl_slice){text, size}, &tag, &back));
    for (size_t at = 0; at < strlen(text); at++) {
        strcpy(copy, text);
        copy[at] = at % 2 ? '\n' : '=';
        CHECK(!lease_grant_read(span(copy), &tag, &back));
    }
    strcpy(copy, text);
    copy[0] = 'P'; /* kind 60, and more: there is none */
    CHECK(!lease_grant_read(span(copy), &tag, &back));
    /* A newline in the value: "ab" becomes "a", 0x0a. */
    strcpy(grant.value + LEASE_TAG_SIZE + 1, "a\n");
    CHECK(lease_grant_write(&grant, text));
    CHECK(!lease_grant_read(span(text), &tag, &back));
    /* An owner is a digest. */
    grant = (struct lease_grant){.value = "0123456789012345678901:ab", .owner = "short"};
    CHECK(lease_grant_write(&grant, text));
    CHECK(!lease_grant_read(span(text), &tag, &back));
    /* A fence is positive. */
    grant = (struct lease_grant){.value = "0123456789012345678901:ab", .fence = -1};
    CHECK(lease_grant_write(&grant, text));
    CHECK(!lease_grant_read(span(text), &tag, &back));
    memset(copy, 'A', sizeof copy);
    CHECK(!lease_grant_read((struct rl_slice){copy, sizeof copy}, &tag, &back));
}

CASE(owners_have_principals,
     "Equal owner words of two principals are two owners, however the text is cut.")
{
    char a[LEASE_TAG_SIZE + 1], b[LEASE_TAG_SIZE + 1];

    lease_owner_of("uid:1", "1me", a);
    lease_owner_of("uid:11", "me", b);
    CHECK(strcmp(a, b) != 0);
    lease_owner_of("uid:1", "1me", b);
    CHECK_STR(a, b);
    lease_owner_of("uid:2", "1me", b);
    CHECK(strcmp(a, b) != 0);
}
