/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/exit.h"

#include <redlock.h>

int exit_status_of(int error)
{
    switch (error) {
    case REDLOCK_OK:
        return 0;
    case REDLOCK_BUSY:
    case REDLOCK_TIMEOUT:
        return EXIT_BUSY;
    case REDLOCK_NOQUORUM:
    case REDLOCK_GUARDED:
    case REDLOCK_PROTO:
        return EXIT_UNAVAILABLE;
    case REDLOCK_LOST:
    case REDLOCK_EXPIRED:
        return EXIT_LOST;
    case REDLOCK_AUTH:
        return EXIT_AUTH;
    case REDLOCK_INVAL:
        return EXIT_USAGE;
    default:
        return EXIT_INTERNAL;
    }
}

const char *exit_status_word(int status)
{
    switch (status) {
    case EXIT_DECLINED:
        return "DECLINED";
    case EXIT_USAGE:
        return "USAGE";
    case EXIT_UNAVAILABLE:
        return "UNAVAILABLE";
    case EXIT_LOST:
        return "LOST";
    case EXIT_CONFIG:
        return "CONFIG";
    case EXIT_CANNOT_RUN:
        return "CANNOT_RUN";
    case EXIT_NOT_FOUND:
        return "NOT_FOUND";
    default:
        return "INTERNAL";
    }
}
