/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file and durations. The input is a file as it is; its first line is tried
 * as a duration too. Whatever stands in it: a setting is within its bounds or the file is
 * refused with one harmless message that names the line and no password.
 */
#include "settings/config.h"

#include <string.h>

#include "capture.h"
#include "fuzz.h"
#include "json_check.h"
#include "settings/duration.h"
#include "settings/settings.h"
#include "ui/exit.h"
#include "ui/message.h"

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
    const char *problem = duration_parse(text, &parsed_ms);
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

static void check_settings(const struct settings *s)
{
    FUZZ_CHECK(s->node_count <= SETTINGS_NODES_MAX);
    for (size_t i = 0; i < s->node_count; i++)
        FUZZ_CHECK(s->nodes[i][0] != '\0' && !strpbrk(s->nodes[i], ", \t\r\n"));
    FUZZ_CHECK(s->ttl_ms > 0 && s->ttl_ms <= REDLOCK_TTL_LIMIT_MS);
    FUZZ_CHECK(s->max_ttl_ms >= 0 && s->max_ttl_ms <= REDLOCK_TTL_LIMIT_MS);
    FUZZ_CHECK(s->node_timeout_ms >= 0 && s->node_timeout_ms <= 60000);
    FUZZ_CHECK(s->connect_timeout_ms >= 0 && s->connect_timeout_ms <= 60000);
    FUZZ_CHECK(s->wait_ms >= REDLOCK_WAIT_FOREVER && s->wait_ms <= REDLOCK_WAIT_MAX_MS);
    if (s->text[SETTING_PREFIX])
        FUZZ_CHECK(strlen(s->text[SETTING_PREFIX]) <= REDLOCK_PREFIX_MAX);
}

/* A URL of a node in the file may have a password in it. */
static void check_message(const char *text)
{
    const char *line = strstr(text, CONFIG_NAME ":");

    FUZZ_CHECK(text_is_harmless(text));
    FUZZ_CHECK(line && strchr("123456789", line[strlen(CONFIG_NAME ":")]));
    FUZZ_CHECK(strchr(text, '\n') == text + strlen(text) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char line[LINE_MAX_BYTES];
    struct capture printed;
    struct settings s;
    size_t length = 0;
    int status;

    while (length < size && length < sizeof line - 1 && bytes[length] != '\n') {
        line[length] = (char)bytes[length];
        length++;
    }
    line[length] = '\0';
    check_duration(line);

    settings_init(&s);
    message_setup("run", false);
    FUZZ_CHECK(!settings_set(&s, SETTING_CONFIG, CONFIG_NAME));
    file_bytes = bytes;
    file_size = size;
    capture_begin(&printed);
    status = config_load(&s);
    capture_end(&printed);
    if (status == 0)
        FUZZ_CHECK(printed.err_size == 0);
    else
        check_message(printed.err);
    FUZZ_CHECK(status == 0 || status == EXIT_CONFIG);
    FUZZ_CHECK(printed.out_size == 0);
    check_settings(&s);
    capture_free(&printed);
    settings_free(&s);
    return 0;
}
