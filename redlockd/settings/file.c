/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exposed.h"
#include "settings/values.h"

#define FILE_MAX_BYTES 65536
#define LINE_MAX_BYTES 1024

static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r", end[-1]))
        *--end = '\0';
    return text + strspn(text, " \t");
}

static void cut_comment(char *line)
{
    for (char *at = line; *at; at++) {
        if (*at == '#' && (at == line || at[-1] == ' ' || at[-1] == '\t')) {
            *at = '\0';
            return;
        }
    }
}

/* Line is changed. */
static int read_line(struct settings *settings, char *line, char *why, size_t why_size)
{
    char *equals, *name;
    int key;

    cut_comment(line);
    line = trim(line);
    if (line[0] == '\0')
        return 0;
    equals = strchr(line, '=');
    if (!equals)
        return value_complain(why, why_size, line, "expected key = value");
    *equals = '\0';
    name = trim(line);
    key = settings_key_of(name);
    if (key < 0) {
        const char *nearest = settings_nearest_key(name);

        snprintf(why, why_size, "%.100s: there is no such key%s%s%s", name,
                 nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
        return -1;
    }
    if (settings->given & 1u << key)
        return 0;
    if (settings->line[key] && key != SETTING_LISTEN && key != SETTING_HOST &&
        key != SETTING_ALLOW && key != SETTING_CLASS)
        return value_complain(why, why_size, name, "is given twice");
    return settings_apply(settings, (enum settings_key)key, trim(equals + 1), why, why_size);
}

int settings_read_text(struct settings *settings, const char *text, char *why, size_t why_size)
{
    for (settings->reading = 1; *text; settings->reading++) {
        size_t length = strcspn(text, "\n");
        char line[LINE_MAX_BYTES];
        int result;

        memcpy(line, text, length < sizeof line ? length : 0);
        line[length < sizeof line ? length : 0] = '\0';
        result = length < sizeof line
                     ? read_line(settings, line, why, why_size)
                     : value_complain(why, why_size, "a line", "is longer than 1023 bytes");
        if (result < 0) {
            settings_locate(settings, settings->reading, why, why_size);
            return -1;
        }
        text += length + (text[length] == '\n');
    }
    settings->reading = 0;
    return 0;
}

/* Bytes in text, or -1 with a sentence. Rules that others can write are theirs. */
static long read_bytes(FILE *file, const char *path, char *text, char *why, size_t why_size)
{
    struct stat info;
    size_t size;

    if (fstat(fileno(file), &info) == 0 && rl_file_is_exposed(&info))
        return value_complain(why, why_size, path,
                              "others can write to it: give it to this user or to root, and "
                              "chmod go-w");
    size = fread(text, 1, FILE_MAX_BYTES, file);
    if (size == FILE_MAX_BYTES)
        return value_complain(why, why_size, path, "is larger than 65535 bytes");
    if (ferror(file) || memchr(text, '\0', size))
        return value_complain(why, why_size, path, "cannot be read as text");
    text[size] = '\0';
    return (long)size;
}

int settings_file_read(struct settings *settings, char *why, size_t why_size)
{
    FILE *file = fopen(settings->config, "re");
    char *text = malloc(FILE_MAX_BYTES);
    int result = -1;

    if (!file)
        snprintf(why, why_size, "%s: cannot be read: %s", settings->config, strerror(errno));
    else if (!text)
        snprintf(why, why_size, "out of memory");
    else if (read_bytes(file, settings->config, text, why, why_size) >= 0)
        result = settings_read_text(settings, text, why, why_size);
    if (file)
        fclose(file);
    free(text);
    return result;
}
