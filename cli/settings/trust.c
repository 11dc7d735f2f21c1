/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

static bool look(int fd, struct stat *info)
{
    return fstat(fd, info) == 0 && S_ISREG(info->st_mode);
}

int trust_check(const char *what, const char *path, int fd)
{
    struct stat info;
    char shown[TEXT_PATH_MAX];
    if (!look(fd, &info))
        return 0;
    text_path(shown, path);
    if (info.st_uid != 0 && info.st_uid != geteuid())
        return message_fail(EXIT_CONFIG,
                            "%s %s belongs to another user, who can change it; chown it to "
                            "root or to yourself",
                            what, shown);
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return message_fail(EXIT_CONFIG,
                            "others can write to %s %s; forbid it with: chmod go-w %s", what,
                            shown, shown);
    return 0;
}

void trust_warn(const char *secret, const char *path, int fd)
{
    struct stat info;
    char shown[TEXT_PATH_MAX];
    if (!look(fd, &info))
        return;
    bool of_root = info.st_uid == 0;
    if (!(info.st_mode & (of_root ? S_IROTH : S_IRGRP | S_IROTH)))
        return;
    text_path(shown, path);
    message_warn("warning: others can read %s in %s; forbid it with: chmod %s-rwx %s", secret,
                 shown, of_root ? "o" : "go", shown);
}
