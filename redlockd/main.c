/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "life/dev.h"
#include "life/life.h"
#include "settings/settings.h"
#include "system/log.h"

/* As sysexits.h and the command have them. */
#define EXIT_USAGE 64
#define EXIT_UNAVAILABLE 69

/* A line of the log must never end up in a connection that got the number of a closed standard file. */
static void open_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

/* From listening to the end. The status. */
static int serve(const struct settings *settings, struct dev *dev, char *why, size_t why_size)
{
    static struct life life; /* rules and tokens make it too large for a stack */

    if (life_open(&life, settings, why, why_size) < 0) {
        log_line("%s", why);
        return EXIT_UNAVAILABLE;
    }
    if (settings->dev)
        dev_announce(dev, life.listeners[life.listener_count - 1].name);
    life_run(&life);
    life_close(&life);
    return 0;
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct dev dev = {0};
    char why[SETTINGS_WHY_MAX];
    int result;

    open_standard_files();
    result = settings_read(&settings, argc, argv, why, sizeof why);
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
    if (settings.dev && dev_begin(&dev, &settings, argv, why, sizeof why) < 0) {
        log_line("%s", why);
        result = EXIT_UNAVAILABLE;
    } else {
        result = serve(&settings, &dev, why, sizeof why);
    }
    dev_end(&dev);
    return result;
}
