/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "base/quote.h"
#include "base/slice.h"
#include "drive/detail.h"

#define LINE_MAX_BYTES 4096
#define SYSTEM_FILE "/etc/redlock.conf"

struct source {
    FILE *file;
    char path[RL_CONFIG_PATH_MAX];
    unsigned line;
    uint32_t seen; /* bit per setting that this file has given */
    bool secret;   /* there is a password in it */
};

static int complain(const struct source *f, const char *problem)
{
    char path[RL_QUOTE_PATH_MAX];

    rl_quote_path(path, f->path);
    return rl_detail(REDLOCK_INVAL, "%s:%u: %s", path, f->line, problem);
}

/*
 * Reads a line without its end into `line`. Returns 1, 0 at the end of the file, or -1 with
 * *error set.
 */
static int read_line(struct source *f, char line[LINE_MAX_BYTES], int *error)
{
    size_t used = 0;
    int c = getc(f->file);

    if (c == EOF && !ferror(f->file))
        return 0;
    f->line++;
    for (; c != EOF && c != '\n'; c = getc(f->file)) {
        if (c == '\0') {
            *error = complain(f, "the line contains a NUL byte");
            return -1;
        }
        if (used == LINE_MAX_BYTES - 1) {
            *error = complain(f, "the line is too long: at most 4095 bytes");
            return -1;
        }
        line[used++] = (char)c;
    }
    if (ferror(f->file)) {
        *error = complain(f, strerror(errno));
        return -1;
    }
    line[used] = '\0';
    return 1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts comment and blanks off both ends. */
static char *trim(char *text)
{
    while (is_blank(*text))
        text++;
    char *end = text;
    for (char *c = text; *c; c++) {
        if (*c == '#' && (c == text || is_blank(c[-1])))
            break;
        if (!is_blank(*c))
            end = c + 1;
    }
    *end = '\0';
    return text;
}

static int complain_key(const struct source *f, const char *key)
{
    const char *known[RL_SETTING_END];
    char problem[160];
    size_t count = 0;

    for (int i = RL_SETTING_NONE + 1; i < RL_SETTING_END; i++)
        known[count++] = rl_config_name((enum rl_setting)i);
    known[count] = NULL;
    const char *nearest = rl_nearest(rl_slice_of(key), known);
    snprintf(problem, sizeof problem, "unknown key '%s'%s%s%s", key,
             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return complain(f, problem);
}

static int apply_line(struct source *f, struct rl_config *c, char *line)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    char *text = trim(line);

    if (*text == '\0')
        return 0;
    char *equals = strchr(text, '=');
    if (!equals)
        return complain(f, "expected: key = value");
    *equals = '\0';
    char *key = trim(text), *value = trim(equals + 1);
    size_t length = strspn(key, letters);
    /* A misplaced URL may carry a password: only what looks like a key is ever shown. */
    if (length == 0 || length > 32 || key[length] != '\0')
        return complain(f, "expected: key = value");
    enum rl_setting setting = rl_config_key(key);
    if (setting == RL_SETTING_NONE)
        return complain_key(f, key);

    char problem[RL_QUOTE_MAX + 160];
    if (setting != RL_SETTING_NODES && (f->seen & (1u << setting))) {
        snprintf(problem, sizeof problem, "'%s' is given twice", key);
        return complain(f, problem);
    }
    f->seen |= 1u << setting;
    f->secret = f->secret || (setting == RL_SETTING_NODES && rl_config_has_password(value));
    const char *wrong = rl_config_set(c, setting, value);
    if (!wrong)
        return 0;
    char shown[RL_QUOTE_MAX];
    rl_quote(shown, value);
    if (setting == RL_SETTING_NODES || *value == '\0')
        snprintf(problem, sizeof problem, "'%s' %s", key, wrong);
    else
        snprintf(problem, sizeof problem, "%s: '%s' %s", key, shown, wrong);
    complain(f, problem);
    return rl_config_error(wrong);
}

/* Returns 0 and opens it; f->file stays NULL when a file that need not exist does not. */
static int open_source(struct source *f, const char *directory, const char *file, bool needed)
{
    int length = snprintf(f->path, sizeof f->path, "%s%s", directory, file);
    struct stat info;
    char path[RL_QUOTE_PATH_MAX];

    if (length < 0 || (size_t)length >= sizeof f->path)
        return rl_detail(REDLOCK_INVAL, "the path of the configuration file is too long");
    f->file = fopen(f->path, "re");
    if (f->file && (fstat(fileno(f->file), &info) != 0 || !S_ISDIR(info.st_mode)))
        return 0;
    int error = f->file ? EISDIR : errno;
    if (f->file)
        fclose(f->file);
    f->file = NULL;
    if (!needed && (error == ENOENT || error == ENOTDIR))
        return 0;
    rl_quote_path(path, f->path);
    return rl_detail(REDLOCK_INVAL, "cannot read the configuration file %s: %s", path,
                     strerror(error));
}

/* The file that was named, or the first of the usual ones that exists. Says where it looked. */
static int find_source(struct source *f, const struct rl_config *c, char looked[RL_LOOKED_MAX])
{
    const char *named = c->file ? c->file : secure_getenv("REDLOCK_CONFIG");
    const char *xdg = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    char shown[RL_QUOTE_PATH_MAX];
    int error = 0;

    if (named && *named)
        return open_source(f, "", named, true);
    if (xdg && *xdg)
        error = open_source(f, xdg, "/redlock/redlock.conf", false);
    else if (home && *home)
        error = open_source(f, home, "/.config/redlock/redlock.conf", false);
    if (error || f->file)
        return error;
    rl_quote_path(shown, f->path);
    snprintf(looked, RL_LOOKED_MAX, "%s%s%s", shown, *shown ? " and " : "", SYSTEM_FILE);
    return open_source(f, "", SYSTEM_FILE, false);
}

int rl_config_read_file(struct rl_config *c, char looked[RL_LOOKED_MAX])
{
    struct source f = {.file = NULL};
    char line[LINE_MAX_BYTES];
    int error = find_source(&f, c, looked);

    if (error || !f.file)
        return error;
    error = rl_trust_check("the configuration file", f.path, fileno(f.file));
    while (error == 0 && read_line(&f, line, &error) > 0)
        error = apply_line(&f, c, line);
    if (error == 0 && f.secret)
        rl_trust_warn(c, "the password", f.path, fileno(f.file));
    explicit_bzero(line, sizeof line);
    fclose(f.file);
    rl_quote_path(looked, f.path);
    return error;
}
