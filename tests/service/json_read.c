/* SPDX-License-Identifier: BSD-2-Clause */
/* What `redlock --service` reads: JSON that another program wrote, and the URL that
 * a user did. */
#include "service/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "service/url.h"

static struct json_value read_text(const char *text)
{
    return json_read(text, strlen(text));
}

static bool is_json(const char *text)
{
    return read_text(text).at != NULL;
}

CASE(members,
     "Members of an object are found by name, of their type, also behind nested values.")
{
    char text[32];
    struct json_value v = read_text(
        " {\"a\" : {\"name\":1, \"x\":[{}]} , \"name\":\"b\\\"c\\u00e9\\ud83d\\ude00\\n\","
        "\"n\":-12,\"yes\":true,\"no\":false,\"nothing\":null,\"half\":1.5}\n");
    CHECK(json_text(json_member(v, "name"), text, sizeof text));
    CHECK(strcmp(text, "b\"c\xc3\xa9\xf0\x9f\x98\x80\n") == 0);
    CHECK(json_number(json_member(v, "n"), 7) == -12);
    CHECK(json_number(json_member(v, "half"), 7) == 7);
    CHECK(json_number(json_member(v, "nothing"), 7) == 7);
    CHECK(json_number(json_member(v, "missing"), 7) == 7);
    CHECK(json_number(json_member(json_member(v, "a"), "name"), 7) == 1);
    CHECK(json_true(json_member(v, "yes")) && !json_true(json_member(v, "no")));
    CHECK(!json_text(json_member(v, "n"), text, sizeof text) && text[0] == '\0');
    CHECK(!json_member(json_member(v, "n"), "x").at);
}

CASE(elements, "The elements of an array come one by one, and none of what is no array.")
{
    struct json_value v = read_text("{\"e\":[],\"a\":[1 , [2,3],\n\"x,]\" ]}"), element;
    struct json_value next = json_member(v, "a");
    char text[8];
    CHECK(json_next(&next, &element) && json_number(element, 0) == 1);
    CHECK(json_next(&next, &element) && *element.at == '[');
    CHECK(json_next(&next, &element) && json_text(element, text, sizeof text));
    CHECK(strcmp(text, "x,]") == 0);
    CHECK(!json_next(&next, &element));
    next = json_member(v, "e");
    CHECK(!json_next(&next, &element));
    next = json_member(v, "missing");
    CHECK(!json_next(&next, &element));
}

CASE(refused, "What is not JSON, or is cut off anywhere, has no value at all.")
{
    static const char whole[] = "{\"a\":[1,{\"b\":\"x\\\"\"}],\"c\":null}";
    static const char *const wrong[] = {"",      "{",     "{\"a\"}",    "{\"a\":}",
                                        "{a:1}", "[1,]",  "[1 2]",      "{}{}",
                                        "\"a",   "\"a\\", "{\"a\":1,}", "[\"\x01\"]"};
    char deep[64];
    CHECK(is_json(whole));
    for (size_t size = 0; size + 1 < sizeof whole; size++) {
        /* A copy of its own: a reader that goes on behind the end is caught. */
        char *copy = malloc(size + 1);
        memcpy(copy, whole, size);
        CHECK(!json_read(copy, size).at);
        free(copy);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!is_json(wrong[i]));
    memset(deep, '[', sizeof deep);
    CHECK(!json_read(deep, sizeof deep).at);
}

CASE(short_room, "A text that does not fit is cut at a character.")
{
    char text[4];
    CHECK(json_text(read_text("\"ab\\u00e9\""), text, sizeof text));
    CHECK(strcmp(text, "ab") == 0);
}

CASE(urls, "A URL names a socket, or a host and a port; anything else is refused.")
{
    static const char *const wrong[] = {"",
                                        "unix:",
                                        "unix:relative",
                                        "http://",
                                        "http://:80",
                                        "http://h:x",
                                        "http://h/path",
                                        "h:80",
                                        "http://[::1",
                                        "https://u@h",
                                        "http+unix://x"};
    struct service_url url;
    CHECK(!service_url_read(&url, "unix:/run/r.sock") && strcmp(url.path, "/run/r.sock") == 0);
    CHECK(!service_url_read(&url, "unix:///run/r") && strcmp(url.path, "/run/r") == 0);
    CHECK(!service_url_read(&url, "http+unix://%2Frun%2Fr") && strcmp(url.path, "/run/r") == 0);
    CHECK(!service_url_read(&url, "http://h") && strcmp(url.port, "80") == 0 && !url.tls);
    CHECK(!service_url_read(&url, "https://h/") && strcmp(url.port, "443") == 0 && url.tls);
    CHECK(!service_url_read(&url, "http://[::1]:9402") && strcmp(url.host, "::1") == 0 &&
          strcmp(url.port, "9402") == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(service_url_read(&url, wrong[i]));
}
