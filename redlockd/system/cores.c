/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/cores.h"

#include <sys/resource.h>

void cores_forbid(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit) != 0)
        return;
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &limit);
}
