/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/subcommand.h"

#include <redlock.h>

const char *subcommand_for(int reason)
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
        return " (`redlock init`)";
    case REDLOCK_REASON_SET_UNREADABLE:
        return " (`redlock doctor` says more)";
    default:
        return "";
    }
}
