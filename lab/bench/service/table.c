/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned missed;

void table_begin(int rounds)
{
    double load = -1;

    getloadavg(&load, 1);
    printf("medians of %d rounds, %ld processors, load average %.1f before\n"
           "| measure | value | goal | |\n|---|---|---|---|\n",
           rounds, sysconf(_SC_NPROCESSORS_ONLN), load);
    fflush(stdout);
}

void table_note(const char *what, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("| %s | ", what);
    vprintf(format, args);
    printf(" | | |\n");
    va_end(args);
    fflush(stdout);
}

static void print(const char *what, double value, const char *sign, double goal,
                  const char *unit, bool met)
{
    missed += !met;
    printf("| %s | **%.3g**%s | %s %g%s | %s |\n", what, value, unit, sign, goal, unit,
           met ? "met" : "MISSED");
    fflush(stdout);
}

void table_most(const char *what, double value, double goal, const char *unit)
{
    print(what, value, "<=", goal, unit, value <= goal);
}

void table_least(const char *what, double value, double goal, const char *unit)
{
    print(what, value, ">=", goal, unit, value >= goal);
}

void table_left_out(const char *what, const char *why)
{
    printf("| %s | left out: %s | | |\n", what, why);
    fflush(stdout);
}

int table_end(void)
{
    if (missed == 0)
        printf("every goal is met\n");
    else
        printf("%u goals are missed\n", missed);
    return missed > 0;
}
