/* SPDX-License-Identifier: BSD-2-Clause */
#include "certs.h"

#include "check.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void certs_make(void)
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        execlp("sh", "sh", CERTS_SCRIPT, check_dir(), (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        FAIL("%s failed; is openssl installed?", CERTS_SCRIPT);
}

const char *certs_path(const char *file)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", check_dir(), file);
    return path;
}
