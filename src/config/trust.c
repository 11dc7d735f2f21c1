/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/sources.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exposed.h"
#include "base/quote.h"
#include "drive/detail.h"

int rl_trust_check(const char *what, const char *path, int fd)
{
    struct stat info;
    char shown[RL_QUOTE_PATH_MAX];

    if (fstat(fd, &info) != 0 || !rl_file_is_exposed(&info))
        return REDLOCK_OK;
    rl_quote_path(shown, path);
    if (info.st_uid != 0 && info.st_uid != geteuid())
        return rl_detail(REDLOCK_INVAL,
                         "%s %s belongs to another user, who can change it; chown it to "
                         "root or to yourself",
                         what, shown);
    return rl_detail(REDLOCK_INVAL, "others can write to %s %s; forbid it with: chmod go-w %s",
                     what, shown, shown);
}

void rl_trust_warn(struct rl_config *c, const char *secret, const char *path, int fd)
{
    struct rl_config_warning *warning = &c->warning[c->warning_count];
    struct stat info;
    char shown[RL_QUOTE_PATH_MAX];
    bool of_root;

    if (c->warning_count == RL_CONFIG_WARNINGS_MAX || fstat(fd, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return;
    of_root = info.st_uid == 0;
    if (!(info.st_mode & (of_root ? S_IROTH : S_IRGRP | S_IROTH)))
        return;
    rl_quote_path(shown, path);
    memcpy(warning->path, shown, sizeof shown);
    snprintf(warning->text, sizeof warning->text,
             "others can read %s; forbid it with: chmod %s-rwx %s", secret,
             of_root ? "o" : "go", shown);
    c->warning_count++;
}
