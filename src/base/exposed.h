/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with a secret or a trusted certificate: can another user change them? */
#ifndef RL_BASE_EXPOSED_H
#define RL_BASE_EXPOSED_H

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if a user other than root and the effective one can write to the file. Only regular
 * files are judged: a pipe or a device has no mode that would mean anything. */
static inline bool rl_file_is_exposed(const struct stat *info)
{
    return S_ISREG(info->st_mode) && ((info->st_uid != 0 && info->st_uid != geteuid()) ||
                                      (info->st_mode & (S_IWGRP | S_IWOTH)));
}

#endif
