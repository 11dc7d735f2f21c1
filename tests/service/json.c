/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON that another program wrote: what is taken and refused. lab/fuzz/json.c has an oracle. */
#include "check.h"

#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

/* Members; -1: refused, by both ways of reading. An exact copy is read: a sanitizer sees a look
 * beyond it. */
static int read_all(const char *text, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct rl_slice input = {copy, size};
    struct rl_json_reader reader = rl_json_read(input);
    struct rl_json_value name, value;
    char out[128];
    int count = 0;

    memcpy(copy, text, size);
    while (rl_json_next(&reader, &name, &value)) {
        rl_json_text(name, out, sizeof out);
        rl_json_text(value, out, sizeof out);
        count++;
    }
    CHECK(reader.failed != (rl_json_whole(input).type == RL_JSON_OBJECT));
    free(copy);
    return reader.failed ? -1 : count;
}

static void expect_refused(const char *text)
{
    if (read_all(text, strlen(text)) >= 0)
        FAIL("taken: %s", text);
}

CASE(objects, "The members of an object come in their order, with what they are.")
{
    static const char text[] =
        " {\"ttl_ms\":30000, \"label\" :\"web\\t\\u00e9\\ud83d\\ude00\","
        "\"owner\":null,\"fair\":true,\"leave\":false,\"less\":-7,"
        "\"real\":1.5e2,\"list\":[1,{\"a\":[]}],\"\\u006b\\u0069nd\":\"\"}\n";
    static const enum rl_json_type types[] = {
        RL_JSON_INTEGER, RL_JSON_TEXT, RL_JSON_NULL,  RL_JSON_BOOL, RL_JSON_BOOL,
        RL_JSON_INTEGER, RL_JSON_REAL, RL_JSON_ARRAY, RL_JSON_TEXT,
    };
    static const char *const names[] = {"ttl_ms", "label", "owner", "fair", "leave",
                                        "less",   "real",  "list",  "kind"};
    static const int64_t numbers[] = {30000, 0, 0, 1, 0, -7, 0, 0, 0};
    struct rl_json_reader reader = rl_json_read(rl_slice_of(text));
    struct rl_json_value name, value;
    unsigned count = 0;
    char out[16];

    for (; rl_json_next(&reader, &name, &value); count++) {
        CHECK(count < 9 && rl_json_is(name, names[count]));
        CHECK_INT(types[count], value.type);
        CHECK_INT(numbers[count], value.integer);
        if (count == 1) {
            CHECK_INT(10, rl_json_text(value, out, sizeof out));
            CHECK_STR("web\t\xc3\xa9\xf0\x9f\x98\x80", out);
            CHECK_INT(-1, rl_json_text(value, out, 10));
        }
    }
    CHECK_INT(9, count);
    CHECK(!reader.failed && !rl_json_next(&reader, &name, &value));
    CHECK_INT(0, read_all("{}", 2));
}

CASE(sole,
     "An object with one member of a name is distinguished from others, and from no object.")
{
    struct rl_json_value value;

    CHECK_INT(1, rl_json_sole(rl_slice_of("{\"a\":7}"), "a", &value));
    CHECK_INT(7, value.integer);
    CHECK_INT(0, rl_json_sole(rl_slice_of("{\"a\":7,\"b\":1}"), "a", &value));
    CHECK_INT(0, rl_json_sole(rl_slice_of("{\"a\":7,\"a\":7}"), "a", &value));
    CHECK_INT(0, rl_json_sole(rl_slice_of("{\"b\":7}"), "a", &value));
    CHECK_INT(0, rl_json_sole(rl_slice_of("{}"), "a", &value));
    CHECK_INT(-1, rl_json_sole(rl_slice_of("{\"a\":7"), "a", &value));
}

static struct rl_json_value whole(const char *text)
{
    return rl_json_whole(rl_slice_of(text));
}

CASE(members,
     "Members of an object are found by name, of their type, also behind nested values.")
{
    struct rl_json_value v = whole(
        " {\"a\" : {\"name\":1, \"x\":[{}]} , \"name\":\"b\\\"c\\u00e9\\ud83d\\ude00\\n\","
        "\"n\":-12,\"yes\":true,\"no\":false,\"nothing\":null,\"half\":1.5,\"n\":3}\n");
    char text[32];

    CHECK_INT(10, rl_json_text(rl_json_member(v, "name"), text, sizeof text));
    CHECK_STR("b\"c\xc3\xa9\xf0\x9f\x98\x80\n", text);
    CHECK_INT(-12, rl_json_number(rl_json_member(v, "n"), 7));
    CHECK_INT(7, rl_json_number(rl_json_member(v, "half"), 7));
    CHECK_INT(7, rl_json_number(rl_json_member(v, "nothing"), 7));
    CHECK_INT(7, rl_json_number(rl_json_member(v, "yes"), 7));
    CHECK_INT(7, rl_json_number(rl_json_member(v, "missing"), 7));
    CHECK_INT(1, rl_json_number(rl_json_member(rl_json_member(v, "a"), "name"), 7));
    CHECK(rl_json_true(rl_json_member(v, "yes")) && !rl_json_true(rl_json_member(v, "no")));
    CHECK(!rl_json_true(rl_json_member(v, "n")));
    CHECK_INT(-1, rl_json_text(rl_json_member(v, "n"), text, sizeof text));
    CHECK_STR("", text);
    CHECK_INT(RL_JSON_ABSENT, rl_json_member(rl_json_member(v, "n"), "x").type);
}

CASE(elements, "The elements of an array come one by one, and none of what is no array.")
{
    struct rl_json_value v = whole("{\"e\":[],\"a\":[1 , [2,3],\n\"x,]\" ]}"), element;
    struct rl_json_value rest = rl_json_member(v, "a");
    char text[8];

    CHECK(rl_json_element(&rest, &element) && rl_json_number(element, 0) == 1);
    CHECK(rl_json_element(&rest, &element) && element.type == RL_JSON_ARRAY);
    CHECK(rl_json_element(&rest, &element));
    CHECK_INT(3, rl_json_text(element, text, sizeof text));
    CHECK_STR("x,]", text);
    CHECK(!rl_json_element(&rest, &element) && !rl_json_element(&rest, &element));
    rest = rl_json_member(v, "e");
    CHECK(!rl_json_element(&rest, &element) && !rl_json_element(&rest, &element));
    rest = rl_json_member(v, "missing");
    CHECK(!rl_json_element(&rest, &element));
    CHECK(!rl_json_element(&v, &element));
}

CASE(short_room, "A text that does not fit is cut at a character.")
{
    char text[4];

    CHECK_INT(-1, rl_json_text(whole("\"ab\\u00e9\""), text, sizeof text));
    CHECK_STR("ab", text);
    CHECK_INT(-1, rl_json_text(whole("\"ab\xc3\xa9\""), text, sizeof text));
    CHECK_STR("ab", text);
}

CASE(cut_off, "An object that is cut off anywhere is refused.")
{
    static const char text[] = "{\"a\":[1,{\"b\":\"x\\\"\"}],\"c\":null}";

    CHECK_INT(2, read_all(text, sizeof text - 1));
    for (size_t size = 0; size < sizeof text - 1; size++)
        CHECK_INT(-1, read_all(text, size));
}

CASE(refusals, "Other JSON, bytes behind the object, NULs and what is almost JSON are refused.")
{
    static const char *const texts[] = {
        "",
        " ",
        "[]",
        "1",
        "\"a\"",
        "{",
        "}",
        "{} {}",
        "{},",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1",
        "{\"a\":1]",
        "{a:1}",
        "{'a':1}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xc3\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\ud800\\u0041\"}",
        "{\"a\":\"\\ud800\\ue000\"}",
        "{\"a\":\"\\udc00\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\x1f\"}",
        "{\"a\":99999999999999999999}",
        "{\"a\":9223372036854775808}",
        "{\"a\":-9223372036854775809}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":1.}",
        "{\"a\":.5}",
        "{\"a\":1e}",
        "{\"a\":+1}",
        "{\"a\":tru}",
        "{\"a\":nulls}",
        "{\"a\":[1,]}",
        "{\"a\":[1 2]}",
        "{\"a\":[\"\x01\"]}",
        "\"a",
        "\"a\\",
        "{\"a\":{1:2}}",
        "{\"a\":NaN}",
        "{\"a\":1}\v",
        "\xef\xbb\xbf{}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_refused(texts[i]);
    CHECK_INT(-1, read_all("{\"a\":\0}", 7));
    CHECK_INT(1, read_all("{\"a\":-9223372036854775808}", 26));
    CHECK_INT(1, read_all("{\"a\":9223372036854775807}", 25));
}

CASE(bounded, "What is nested too deeply is refused, however much of it comes.")
{
    static char text[8192];
    size_t deep = RL_JSON_DEPTH_MAX;

    memset(text, '[', sizeof text);
    CHECK_INT(-1, read_all(text, sizeof text));
    memcpy(text, "{\"a\":", 5);
    CHECK_INT(-1, read_all(text, sizeof text));
    memset(text + 5 + deep, ']', deep);
    text[5 + 2 * deep] = '}';
    CHECK_INT(1, read_all(text, 6 + 2 * deep));
    text[5 + deep] = '[';
    memset(text + 6 + deep, ']', deep + 1);
    text[7 + 2 * deep] = '}';
    CHECK_INT(-1, read_all(text, 8 + 2 * deep));
}
