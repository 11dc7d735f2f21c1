/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/record.h"

#include <string.h>

bool record_is(const char *name, const redlock_info *info)
{
    size_t size = strlen(name), suffix = strlen(RECORD_SUFFIX);
    uint32_t traits = redlock_kind_traits(info->kind);
    bool is_plain = info->kind < 0 || /* what is left of it is on no majority */
                    ((traits & REDLOCK_KIND_EXCLUSIVE) && !(traits & REDLOCK_KIND_OWNER));
    return size > suffix && strcmp(name + size - suffix, RECORD_SUFFIX) == 0 && is_plain &&
           info->fence == 0 && info->waiter_count == 0;
}
