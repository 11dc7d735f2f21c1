/* SPDX-License-Identifier: BSD-2-Clause */
#include "pulse.h"

#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

enum {
    BEAT_MS = 5,
    ON_TIME_US = 1000, /* what a sleep is late by on a machine that has nothing else to do */
};

struct pulse {
    _Atomic int64_t late_us;
    _Atomic bool stop;
};

static struct pulse *pulse; /* shared with the case; NULL: not measured */
static pthread_t thread;
static bool runs;

static void *beat(void *data)
{
    (void)data;
    while (!pulse->stop) {
        int64_t start_ns = now_ns();
        int64_t late_us;
        sleep_ms(BEAT_MS);
        late_us = (now_ns() - start_ns) / 1000 - BEAT_MS * 1000;
        if (late_us > ON_TIME_US)
            pulse->late_us += late_us;
    }
    return NULL;
}

void pulse_prepare(void)
{
    if (pulse == NULL) {
        void *memory = mmap(NULL, sizeof *pulse, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pulse = memory != MAP_FAILED ? memory : NULL;
    }
    if (pulse != NULL) {
        pulse->late_us = 0;
        pulse->stop = false;
    }
}

void pulse_start(void)
{
    runs = pulse != NULL && pthread_create(&thread, NULL, beat, NULL) == 0;
}

void pulse_stop(void)
{
    if (pulse != NULL)
        pulse->stop = true;
    if (runs)
        pthread_join(thread, NULL);
    runs = false;
}

static int64_t stalled_us(const char *path)
{
    long long total_us = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "some avg10=%*s avg60=%*s avg300=%*s total=%lld", &total_us) != 1)
        total_us = 0;
    fclose(file);
    return total_us;
}

int64_t pulse_stalled_ms(void)
{
    return (stalled_us("/proc/pressure/cpu") + stalled_us("/proc/pressure/io")) / 1000;
}

int64_t pulse_late_ms(void)
{
    return pulse != NULL ? pulse->late_us / 1000 : 0;
}
