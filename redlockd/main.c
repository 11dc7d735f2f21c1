/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "life/life.h"
#include "settings/settings.h"
#include "system/log.h"

/* As sysexits.h and the command have them. */
#define EXIT_USAGE 64
#define EXIT_UNAVAILABLE 69

int main(int argc, char **argv)
{
    struct settings settings;
    static struct life life; /* too large for a stack */
    char why[SETTINGS_WHY_MAX];
    int result = settings_read(&settings, argc, argv, why, sizeof why);

    if (result > 0)
        return 0;
    if (result < 0 || (settings.check && life_check(&settings, why, sizeof why) < 0)) {
        log_line("%s", why);
        return EXIT_USAGE;
    }
    if (settings.check) {
        puts("the settings can be used");
        return 0;
    }
    if (life_open(&life, &settings, argc, argv, why, sizeof why) < 0) {
        log_line("%s", why);
        return EXIT_UNAVAILABLE;
    }
    life_run(&life);
    life_close(&life);
    return 0;
}
