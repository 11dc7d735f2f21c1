/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/descriptors.h"

#include <sys/resource.h>

unsigned descriptors_for(unsigned clients)
{
    rlim_t wanted = (rlim_t)clients + DESCRIPTORS_KEPT;
    struct rlimit limit, raised;
    rlim_t room;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return clients;
    if (limit.rlim_cur < wanted) {
        raised = limit;
        raised.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    room = limit.rlim_cur < 2 * DESCRIPTORS_KEPT ? limit.rlim_cur / 2
                                                 : limit.rlim_cur - DESCRIPTORS_KEPT;
    return room < clients ? (unsigned)room : clients;
}
