/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/subcommand.h"

#include <redlock.h>

bool subcommand_is_init(int reason)
{
    switch (reason) {
    case REDLOCK_REASON_YOUNG:
    case REDLOCK_REASON_NOT_ADMITTED:
    case REDLOCK_REASON_MAX_TTL:
    case REDLOCK_REASON_OTHER_SET:
    case REDLOCK_REASON_OTHER_NUMBER:
    case REDLOCK_REASON_OTHER_QUORUM:
    case REDLOCK_REASON_NO_SET:
    case REDLOCK_REASON_SET_PENDING:
    case REDLOCK_REASON_SET_CHANGED:
    case REDLOCK_REASON_SET_BY_NAME:
    case REDLOCK_REASON_NO_SETS:
    case REDLOCK_REASON_PROMOTED:
    case REDLOCK_REASON_VERSION:
    case REDLOCK_REASON_ELECTORS:
        return true;
    default:
        return false;
    }
}

const char *subcommand_for(int reason)
{
    if (subcommand_is_init(reason))
        return " (`redlock init`)";
    return reason == REDLOCK_REASON_SET_UNREADABLE ? " (`redlock doctor` has more)" : "";
}
