/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/callers/window.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NUMBER_LENGTH 6 /* digits at the end of a name */

/* Of a round's length: enough for caches and server allocators to settle. */
#define WARM_UP_SHARE 0.15

static atomic_uint runs; /* windows opened so far */

int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * RL_NS_PER_S + t.tv_nsec;
}

static double cpu_s(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void window_open(struct window *window, double seconds, bool warm_up, struct sample *sample)
{
    atomic_fetch_add(&runs, 1);
    memset(sample, 0, sizeof *sample);
    memset(window, 0, sizeof *window);
    window->seconds = seconds;
    window->sample = sample;
    window->warm_until_ns = now_ns() + (int64_t)(warm_up ? seconds * WARM_UP_SHARE * 1e9 : 0);
}

void window_begin(struct window *window)
{
    if (window->costs)
        window->costs(window);
    window->has_begun = true;
    window->client_cpu_start_s = cpu_s();
    window->start_ns = now_ns();
    window->end_ns = window->start_ns + (int64_t)(window->seconds * 1e9);
    atomic_store(&window->state, WINDOW_MEASURING);
}

void window_close(struct window *window)
{
    struct sample *sample = window->sample;
    sample->seconds = (double)(now_ns() - window->start_ns) / 1e9;
    sample->client_cpu_s = cpu_s() - window->client_cpu_start_s;
    if (window->costs)
        window->costs(window);
}

enum window_state window_tick(struct window *window)
{
    enum window_state state = window_state(window);
    if (state == WINDOW_WARMING && now_ns() >= window->warm_until_ns)
        window_begin(window);
    else if (state == WINDOW_MEASURING && now_ns() >= window->end_ns)
        atomic_store(&window->state, WINDOW_OVER);
    return window_state(window);
}

bool window_counts(const struct window *window)
{
    return window_state(window) != WINDOW_WARMING;
}

enum window_state window_state(const struct window *window)
{
    return (enum window_state)atomic_load_explicit(&window->state, memory_order_relaxed);
}

void name_first(struct name *name, unsigned caller, unsigned reuse)
{
    unsigned run;
    name->reuse = reuse;
    name->used = 0;
    run = atomic_load(&runs);
    snprintf(name->text, sizeof name->text, "bench-%08x-%04x-000000",
             (unsigned)getpid() << 10 | run % 1024, caller & 0xffff);
}

/*
 * Counts up in place: formatting would cost both sides the same and so flatter the ratio.
 * The number wraps after a million cycles, long after the earlier lock was released.
 */
void name_next(struct name *name)
{
    if (name->reuse && name->used++ == name->reuse) {
        memset(name->text + NAME_LENGTH - NUMBER_LENGTH, '0', NUMBER_LENGTH);
        name->used = 1;
    }
    for (char *digit = name->text + NAME_LENGTH - 1; *digit != '-'; digit--) {
        if (*digit != '9') {
            (*digit)++;
            return;
        }
        *digit = '0';
    }
}
