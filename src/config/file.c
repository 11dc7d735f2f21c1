/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/pairs.h"
#include "base/quote.h"
#include "drive/detail.h"

#define SYSTEM_FILE "/etc/redlock.conf"

struct source {
    struct rl_pairs pairs; /* its file is NULL while there is none */
    char path[RL_CONFIG_PATH_MAX];
    uint32_t seen; /* bit per setting that this file has given */
    bool secret;   /* there is a password in it */
};

static int complain(const struct source *f, const char *problem)
{
    char path[RL_QUOTE_PATH_MAX];

    rl_quote_path(path, f->path);
    return rl_detail(REDLOCK_INVAL, "%s:%u: %s", path, f->pairs.line, problem);
}

static int apply_pair(struct source *f, struct rl_config *c, const struct rl_pairs *pair)
{
    enum rl_setting setting = rl_config_key(pair->key);
    char problem[RL_QUOTE_MAX + RL_PAIRS_PROBLEM_MAX], shown[RL_QUOTE_MAX];
    const char *wrong;

    if (setting == RL_SETTING_NONE) {
        rl_pairs_unknown(problem, pair->key, rl_config_keys());
        return complain(f, problem);
    }
    if (setting != RL_SETTING_NODES && (f->seen & (1u << setting))) {
        rl_pairs_twice(problem, pair->key);
        return complain(f, problem);
    }
    f->seen |= 1u << setting;
    f->secret =
        f->secret || (setting == RL_SETTING_NODES && rl_config_has_password(pair->value));
    wrong = rl_config_set(c, setting, pair->value);
    if (!wrong)
        return 0;
    rl_quote(shown, pair->value);
    if (setting == RL_SETTING_NODES || *pair->value == '\0')
        snprintf(problem, sizeof problem, "'%s' %s", pair->key, wrong);
    else
        snprintf(problem, sizeof problem, "%s: '%s' %s", pair->key, shown, wrong);
    complain(f, problem);
    return rl_config_error(wrong);
}

/* Returns 0 and opens it; f->pairs.file stays NULL when a file that need not exist does not. */
static int open_source(struct source *f, const char *directory, const char *file, bool needed)
{
    int length = snprintf(f->path, sizeof f->path, "%s%s", directory, file);
    struct stat info;
    char path[RL_QUOTE_PATH_MAX];
    int error;

    if (length < 0 || (size_t)length >= sizeof f->path)
        return rl_detail(REDLOCK_INVAL, "the path of the configuration file is too long");
    f->pairs.file = fopen(f->path, "re");
    if (f->pairs.file && (fstat(fileno(f->pairs.file), &info) != 0 || !S_ISDIR(info.st_mode)))
        return 0;
    error = f->pairs.file ? EISDIR : errno;
    if (f->pairs.file)
        fclose(f->pairs.file);
    f->pairs.file = NULL;
    if (!needed && (error == ENOENT || error == ENOTDIR))
        return 0;
    rl_quote_path(path, f->path);
    return rl_detail(REDLOCK_INVAL, "cannot read the configuration file %s: %s", path,
                     strerror(error));
}

/*
 * The file that was named, or the first of the usual ones that exists. Reports where it looked.
 */
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
    if (error || f->pairs.file)
        return error;
    rl_quote_path(shown, f->path);
    snprintf(looked, RL_LOOKED_MAX, "%s%s%s", shown, *shown ? " and " : "", SYSTEM_FILE);
    return open_source(f, "", SYSTEM_FILE, false);
}

int rl_config_read_file(struct rl_config *c, char looked[RL_LOOKED_MAX])
{
    struct source f = {.pairs.file = NULL};
    char problem[RL_PAIRS_PROBLEM_MAX];
    int error = find_source(&f, c, looked), more = 1;

    if (error || !f.pairs.file)
        return error;
    error = rl_trust_check("the configuration file", f.path, fileno(f.pairs.file));
    while (error == 0 && more > 0) {
        more = rl_pairs_next(&f.pairs, problem);
        if (more != 0)
            error = more > 0 ? apply_pair(&f, c, &f.pairs) : complain(&f, problem);
    }
    if (error == 0 && f.secret)
        rl_trust_warn(c, "the password", f.path, fileno(f.pairs.file));
    explicit_bzero(f.pairs.text, sizeof f.pairs.text);
    fclose(f.pairs.file);
    rl_quote_path(looked, f.path);
    return error;
}
