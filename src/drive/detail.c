/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/detail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DETAIL_MAX 1024

static _Thread_local char detail[DETAIL_MAX];

const char *redlock_detail(void)
{
    return detail;
}

int rl_detail(int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return error;
}

int rl_detail_system(const char *what, int error)
{
    return rl_detail(REDLOCK_SYSTEM, "%s: %s", what, strerror(error));
}
