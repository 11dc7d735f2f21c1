/* SPDX-License-Identifier: BSD-2-Clause */
/* usage: redlock-bench-asked SOCKET SECONDS: cycles of PUT and DELETE a second that 64 callers
 * reach in C. */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "clients.h"
#include "cycles.h"

int main(int argc, char **argv)
{
    static struct clients callers;
    struct clients_result result = {0};

    if (argc != 3 || atoi(argv[2]) < 1)
        errx(64, "usage: redlock-bench-asked SOCKET SECONDS");
    clients_open(&callers, argv[1], CLIENTS_MAX);
    clients_run(&callers, &cycle_redlockd, atoi(argv[2]) * RL_NS_PER_S, &result);
    printf("%.0f\n", (double)result.cycles / result.seconds);
    clients_close(&callers);
    return 0;
}
