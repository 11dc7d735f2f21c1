/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON bodies: what is taken, what is refused, and what they may cost. */
#include "check.h"

#include "http/json.h"

#include <stdlib.h>
#include <string.h>

static json_t *read_text(const char *text, const char **why)
{
    /* An exact copy: a sanitizer sees a look beyond it. */
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    json_t *value;

    memcpy(copy, text, size);
    value = http_json_read((struct rl_slice){copy, size}, why);
    free(copy);
    return value;
}

static void expect_refused(const char *text, const char *expected)
{
    const char *why = "taken";

    CHECK(!read_text(text, &why));
    CHECK_STR(expected, why);
}

CASE(objects, "A body is one object, and an empty body is an empty one.")
{
    const char *why = NULL;
    json_t *value;

    http_json_init();
    value = read_text("{\"ttl_ms\":30000,\"label\":\"web3 \\u00e9\",\"owner\":null}\n", &why);
    CHECK(value);
    CHECK_INT(30000, json_integer_value(json_object_get(value, "ttl_ms")));
    CHECK_STR("web3 \xc3\xa9", json_string_value(json_object_get(value, "label")));
    CHECK(json_is_null(json_object_get(value, "owner")));
    value = read_text("", &why);
    CHECK(value && json_object_size(value) == 0);
}

CASE(refusals, "Other JSON, two of a name, bytes behind the object and NULs are refused.")
{
    http_json_init();
    expect_refused("[]", "the body must be a JSON object");
    expect_refused("1", "the body is not JSON");
    expect_refused("{", "the body is not JSON");
    expect_refused("{} {}", "the body is not JSON");
    expect_refused("{\"a\":1,\"a\":1}", "a name stands twice in the object");
    expect_refused("{\"a\":\"\\u0000\"}", "the body is not JSON");
    expect_refused("{\"a\":\"\xff\"}", "the body is not JSON");
    expect_refused("{\"a\":99999999999999999999}", "the body is not JSON");
}

CASE(bounded, "A body that wants more memory than there is fails, and the next one does not.")
{
    static char text[8193] = "{\"a\":[{}";
    const char *why = NULL;
    size_t size = strlen(text);

    http_json_init();
    for (; size + 5 < sizeof text; size += 3)
        memcpy(text + size, ",{}", 3);
    memcpy(text + size, "]}", 2);
    CHECK(!http_json_read((struct rl_slice){text, size + 2}, &why));
    CHECK(http_json_read((struct rl_slice){"{\"a\":[{},{},{}]}", 16}, &why));
    memset(text, '[', 8192);
    CHECK(!http_json_read((struct rl_slice){text, 8192}, &why));
    for (int i = 0; i < 10000; i++)
        CHECK(http_json_read((struct rl_slice){"{\"a\":[1,2,3]}", 13}, &why));
}
