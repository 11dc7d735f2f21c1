/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder.h"

#include "base/time.h"
#include "record.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SIGN_MS = 5 };

static int64_t environment_number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? atoll(text) : 0;
}

static int64_t boottime_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * RL_NS_PER_S + t.tv_nsec;
}

/* It holds the lock now, and knows of no later moment. */
static void sign(int history, struct record about, int what)
{
    about.what = (uint8_t)what;
    about.at_ns = boottime_ns();
    about.deadline_ns = about.at_ns;
    record_append(history, about);
}

int main(void)
{
    const char *text = getenv(HOLDER_ABOUT);
    struct record about = {.token = environment_number("REDLOCK_FENCE"),
                           .slot = (uint8_t)environment_number("REDLOCK_SLOT")};
    int history = -1;
    if (text == NULL || sscanf(text, HOLDER_FORMAT, &history, &about.worker, &about.life,
                               &about.hold, &about.kind, &about.names, &about.flags) != 7) {
        fprintf(stderr, "holder: only for the fault rig\n");
        return 2;
    }
    sign(history, about, RECORD_GRANT);
    printf("held fence %lld until %lld\n", (long long)about.token,
           (long long)environment_number("REDLOCK_DEADLINE"));
    fflush(stdout);
    for (struct pollfd input = {STDIN_FILENO, POLLIN, 0}; poll(&input, 1, SIGN_MS) == 0;)
        sign(history, about, RECORD_SEEN);
    sign(history, about, RECORD_RELEASE);
    return 0;
}
