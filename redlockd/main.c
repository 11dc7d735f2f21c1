/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "life/dev.h"
#include "life/life.h"
#include "life/ready.h"
#include "life/token.h"
#include "settings/settings.h"
#include "system/cores.h"
#include "system/log.h"
#include "system/lookup.h"
#include "system/signals.h"

/* As sysexits.h and the command have them. */
#define EXIT_USAGE 64
#define EXIT_UNAVAILABLE 69
#define EXIT_CONFIG 78 /* no restart helps: RestartPreventExitStatus= of the unit */

/* Of settings_read(), life_check(), life_open() and ready_check(). */
static int fail(int result, const char *why)
{
    log_line("%s", why);
    return result == SETTINGS_USAGE   ? EXIT_USAGE
           : result == SETTINGS_WRONG ? EXIT_CONFIG
                                      : EXIT_UNAVAILABLE;
}

/* A line of the log must never end up in a connection that got the number of a
 * closed standard file. */
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
    int result;

    cores_forbid();
    result = life_open(&life, settings, why, why_size);
    if (result < 0)
        return fail(result, why);
    if (settings->dev)
        dev_announce(dev, life.listeners[life.listener_count - 1].name);
    life_run(&life);
    life_close(&life);
    return 0;
}

/* Without serving. The status. */
static int check(const struct settings *settings, char *why, size_t why_size)
{
    const struct passwd *user = getpwuid(geteuid());
    unsigned warnings;
    int result = life_check(settings, &warnings, why, why_size);

    if (result < 0)
        return fail(result, why);
    printf("the settings can be used%s, as %s (uid %lu) sees them\n",
           warnings ? " in spite of the warnings" : "", user ? user->pw_name : "this user",
           (unsigned long)geteuid());
    return 0;
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct dev dev = {0};
    char why[SETTINGS_WHY_MAX];
    int result;

    signals_hold();
    open_standard_files();
    lookup_without_modules();
    if (argc == 3 && strcmp(argv[1], "token") == 0)
        return token_print(argv[2], why, sizeof why) < 0 ? fail(SETTINGS_USAGE, why) : 0;
    result = settings_read(&settings, argc, argv, why, sizeof why);
    if (result > 0)
        return 0;
    if (result < 0)
        return fail(result, why);
    if (settings.check)
        return check(&settings, why, sizeof why);
    if (settings.ready) {
        result = ready_check(&settings, why, sizeof why);
        return result < 0 ? fail(result, why) : puts("ready") < 0;
    }
    if (settings.dev)
        result = dev_begin(&dev, &settings, argv, why, sizeof why);
    result = result < 0 ? fail(result, why) : serve(&settings, &dev, why, sizeof why);
    dev_end(&dev);
    return result;
}
