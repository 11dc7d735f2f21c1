/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/exposed.h"

#include <unistd.h>

bool rl_file_is_exposed(const struct stat *info)
{
    return S_ISREG(info->st_mode) && ((info->st_uid != 0 && info->st_uid != geteuid()) ||
                                      (info->st_mode & (S_IWGRP | S_IWOTH)));
}
