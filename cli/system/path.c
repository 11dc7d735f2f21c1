/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

bool path_find(const char *name, bool any, char out[PATH_FIND_MAX])
{
    struct stat info;
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        path = "";
    else if (!path || !*path)
        path = DEFAULT_PATH;
    for (;;) {
        size_t length = strcspn(path, ":");
        int size = snprintf(out, PATH_FIND_MAX, "%.*s%s%s", (int)length, path,
                            length > 0 ? "/" : "", name);
        if (size > 0 && size < PATH_FIND_MAX && stat(out, &info) == 0 &&
            (any || (S_ISREG(info.st_mode) && access(out, X_OK) == 0)))
            return true;
        if (path[length] == '\0')
            return false;
        path += length + 1;
    }
}
