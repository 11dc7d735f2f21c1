/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file and durations. The input is a file as it is; its first line is tried
 * as a duration too. Whatever stands in it: a setting is within its bounds or the file is
 * refused with one harmless message that names the line and no password.
 */
#include "config/sources.h"

#include <string.h>

#include "base/duration.h"
#include "fuzz.h"
#include "json_check.h"

#define LINE_MAX_BYTES 512
#define CONFIG_NAME "given.conf"

static const uint8_t *file_bytes;
static size_t file_size;

/* The linker sends every fopen() here: the file of that name is the input. */
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    static uint8_t nothing[1] = "\n";

    if (strcmp(path, CONFIG_NAME) != 0)
        return __real_fopen(path, mode);
    return file_size ? fmemopen((void *)(uintptr_t)file_bytes, file_size, "r")
                     : fmemopen(nothing, sizeof nothing, "r");
}

/* Reads the digits once more, in a type that does not overflow. */
static void check_duration(const char *text)
{
    int64_t parsed_ms = -7;
    const char *problem = rl_duration_parse(text, &parsed_ms);
    long double whole = 0;
    long double unit_ms = 1000;
    const char *at = text;

    if (problem) {
        FUZZ_CHECK(parsed_ms == -7 && text_is_harmless(problem));
        return;
    }
    FUZZ_CHECK(parsed_ms >= 0 && parsed_ms <= REDLOCK_WAIT_MAX_MS);
    for (; *at >= '0' && *at <= '9'; at++)
        whole = whole * 10 + (*at - '0');
    if (*at == '.')
        at += 1 + strspn(at + 1, "0123456789");
    if (strcmp(at, "ms") == 0)
        unit_ms = 1;
    else if (*at)
        unit_ms = *at == 's' ? 1000 : *at == 'm' ? 60000 : *at == 'h' ? 3600000 : 86400000;
    /* The fraction adds less than one unit. */
    FUZZ_CHECK(parsed_ms >= whole * unit_ms);
    FUZZ_CHECK(parsed_ms < (whole + 1) * unit_ms);
}

static void check_config(const struct rl_config *c)
{
    FUZZ_CHECK(c->node_count <= RL_CONFIG_NODES_MAX);
    for (size_t i = 0; i < c->node_count; i++)
        FUZZ_CHECK(c->nodes[i][0] != '\0' && !strpbrk(c->nodes[i], ", \t\r\n"));
    FUZZ_CHECK(c->ttl_ms > 0 && c->ttl_ms <= REDLOCK_TTL_LIMIT_MS);
    FUZZ_CHECK(c->max_ttl_ms >= 0 && c->max_ttl_ms <= REDLOCK_TTL_LIMIT_MS);
    FUZZ_CHECK(c->node_timeout_ms >= 0 && c->node_timeout_ms <= 60000);
    FUZZ_CHECK(c->connect_timeout_ms >= 0 && c->connect_timeout_ms <= 60000);
    FUZZ_CHECK(c->wait_ms >= REDLOCK_WAIT_FOREVER && c->wait_ms <= REDLOCK_WAIT_MAX_MS);
    if (c->text[RL_SETTING_PREFIX])
        FUZZ_CHECK(strlen(c->text[RL_SETTING_PREFIX]) <= REDLOCK_PREFIX_MAX);
}

/* A URL of a node in the file may have a password in it. */
static void check_message(const char *text)
{
    const char *line = strstr(text, CONFIG_NAME ":");

    FUZZ_CHECK(line == text && strchr("123456789", line[strlen(CONFIG_NAME ":")]));
    for (; *text; text++)
        FUZZ_CHECK((unsigned char)*text >= 0x20 && *text != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char line[LINE_MAX_BYTES];
    char looked[RL_LOOKED_MAX] = "";
    struct rl_config c;
    size_t length = 0;
    int error;

    while (length < size && length < sizeof line - 1 && bytes[length] != '\n') {
        line[length] = (char)bytes[length];
        length++;
    }
    line[length] = '\0';
    check_duration(line);

    rl_config_init(&c);
    c.file = CONFIG_NAME;
    file_bytes = bytes;
    file_size = size;
    error = rl_config_read_file(&c, looked);
    FUZZ_CHECK(error == REDLOCK_OK || error == REDLOCK_INVAL);
    if (error)
        check_message(redlock_detail());
    FUZZ_CHECK(strcmp(looked, CONFIG_NAME) == 0);
    check_config(&c);
    rl_config_free(&c);
    return 0;
}
